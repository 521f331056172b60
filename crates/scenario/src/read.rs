//! Reads a scenario: the tree first, then part by part, then what the parts say about each
//! other. Every part is read whatever is wrong with the others, all variants included, so that
//! one pass names all problems.
//!
//! A scenario is right or wrong by itself. What the command line changes is applied afterwards:
//! a shorter run leaves out events at or after its end and keeps every requirement as it is.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use vtime::{Tdf, VirtualSpan};

use super::check::World;
use super::files::Places;
use super::model::{Event, Happening, Mention, Node, Order, Requirement, Scenario, Unchecked};
use super::{check, events, hosts, instant, network, nodes, plant, requirements, spread};
use crate::keys::{SCENARIO, TOP};
use ::network::plan::{self, Host, Link, Loss, Plan, PlanError};
use ::plant::name::{self, PointName};
use domain::Pace;
use os::regular;
use random::seed_named;
use settings::cursor::{self, Cursor, Mapping, Placed};
use settings::document;
use settings::problems::{Collector, Fault, Problems, quoted};
use settings::{names, suggest, units};

/// The file in a folder that is a scenario.
const FILE_NAME: &str = "scenario.yaml";
/// Largest file that is read.
const OCTETS_MAX: u64 = 1 << 20;

/// What the command line says about a run, instead of the file where it does.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub variant: Option<String>,
    pub duration: Option<VirtualSpan>,
    pub seed: Option<u64>,
    pub tdf: Option<Tdf>,
    pub pace: Option<Pace>,
}

/// Reads the scenario in a file, or in `scenario.yaml` of a folder, in the variant that
/// `options` choose.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(file_or_folder: &Path, options: &Options) -> Result<Scenario, Problems> {
    let source = Source::open(file_or_folder)?;
    cursor::read(&source.shown, &source.text, &TOP, |top| read_top(top, &source, options))
}

/// Names of the variants of a scenario, in the order of the file, as far as they can be made out; empty
/// if it has none. What is wrong with them, or with anything else, is for [`read`] to report with the rest.
///
/// # Errors
/// When there is no file that could be read.
pub fn variants(file_or_folder: &Path) -> Result<Vec<String>, Problems> {
    let source = Source::open(file_or_folder)?;
    let collector = Collector::new(&source.shown);
    let tree = document::parse(&source.text, &SCENARIO, &collector);
    let top = tree.as_ref().map(|tree| Cursor::top(tree, &TOP, &collector));
    let top = top.and_then(|top| top.mapping());
    let names = top.iter().flat_map(|top| top.named("variants"));
    Ok(names.map(|(name, _)| name.value.to_owned()).collect())
}

struct Source {
    text: String,
    file: PathBuf,
    directory: PathBuf,
    /// As the user gave it.
    shown: PathBuf,
}

impl Source {
    fn open(file_or_folder: &Path) -> Result<Self, Problems> {
        let shown = if file_or_folder.is_dir() {
            file_or_folder.join(FILE_NAME)
        } else {
            file_or_folder.to_owned()
        };
        let unreadable = |error: std::io::Error| {
            let what = format!("the scenario cannot be read ({error})");
            Problems::of_file(&shown, what, "give the path of a scenario.yaml, or its folder")
        };
        let mut octets = Vec::new();
        let file = regular::open(&shown).map_err(unreadable)?;
        file.take(OCTETS_MAX + 1).read_to_end(&mut octets).map_err(unreadable)?;
        if octets.len() as u64 > OCTETS_MAX {
            let what = format!("the file has more than {OCTETS_MAX} octets");
            return Err(Problems::of_file(&shown, what, "keep data in separate files"));
        }
        let text = String::from_utf8(octets).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|octet| **octet == b'\n').count() + 1;
            let what = format!("line {line} is not UTF-8");
            Problems::of_file(&shown, what, "save the file as UTF-8")
        })?;
        let parent = shown.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new(".")).canonicalize().map_err(unreadable)?;
        let file = directory.join(shown.file_name().unwrap_or_default());
        Ok(Self { text, file, directory, shown })
    }

    fn places(&self) -> Places {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let here = std::env::current_dir().unwrap_or_default();
        Places {
            directory: self.directory.clone(),
            directory_shown: self.shown.parent().map(Path::to_owned).unwrap_or_default(),
            search: std::env::split_paths(&path).map(|folder| here.join(folder)).collect(),
        }
    }
}

/// Events and requirements of a variant, or of all.
#[derive(Clone, Debug, Default)]
struct Story {
    events: Vec<Event>,
    requirements: Vec<Requirement>,
}

fn read_top(top: &Mapping<'_>, source: &Source, options: &Options) -> Option<Scenario> {
    let places = source.places();
    let name = top.parse("scenario", names::in_paths);
    let description = top.text("description");
    let duration = top.parse("duration", units::time_positive);
    let settle = top.parse("settle", units::time_not_negative);
    let seed = top.whole("seed");
    let tdf = top.parse("tdf", units::factor);
    let pace = top.parse("pace", spoken);
    let kernel_timers = top.parse("kernel_timers", spoken);
    let one_by_one = top.choice("order").is_some_and(|word| word.value == "one-node-at-a-time");
    let freeze = top.parse("freeze", spoken);
    let stall_guard = top.parse("stall_guard", units::time_of_guard);
    let start = top.parse("start", instant::realtime_ns);
    let plant = top.mapping("plant").map(|plant| plant::read(&plant, &places)).unwrap_or_default();
    let hosts = hosts::read(top, &places);
    let nodes = nodes::read(top, &places, &hosts);
    let captures = top.choice("capture").is_none_or(|word| word.value == "all");
    let programs = nodes.iter().flat_map(|node| node.programs.iter().map(move |name| (name, node)));
    let programs = programs.map(|(name, node)| (name.value.clone(), node.name.value.clone()));
    let world = World {
        network: network::read(top, &nodes),
        captures,
        has_plant: top.has("plant"),
        recorded: plant.recorded.iter().map(|point| name::point_key(&point.value)).collect(),
        programs: programs.collect(),
        duration: duration.as_ref().map(|duration| duration.value),
    };
    network::check_ends(&world.network, &nodes);
    check::addresses(&nodes);
    check::programs(&nodes);
    let paced = options.pace.or(pace.as_ref().map(|pace| pace.value));
    spread::check(top, &hosts, &nodes, paced);
    check::point_files(&nodes, &plant.driven, &world);
    let mut points = mentions(&plant, &nodes);
    let chosen = read_stories(top, options, &world, &mut points);
    if let Some(duration) = options.duration.filter(|span| *span <= VirtualSpan::ZERO) {
        let what = format!("the requested duration is {duration}");
        top.place.wrong(what, "give more than zero, or use the duration of the file");
    }

    let (variant, story) = chosen?;
    let duration = options.duration.unwrap_or(duration?.value);
    let mut events = story.events;
    events.retain(|event| event.at < duration);
    events.sort_by_key(|event| event.at);
    let placed: Vec<_> = nodes.into_iter().map(|read| (read.node, read.host)).collect();
    let nodes: Vec<Node> = placed.iter().map(|(node, _)| node.clone()).collect();
    let seed = options.seed.unwrap_or(seed?.value);
    let network = plan(&nodes, &world.network, &events, seed)
        .map_err(|error| {
            // Whatever else is wrong may be why.
            if top.place.collector().is_empty() {
                let (what, fix) = error.what_and_fix();
                top.place.wrong(what, fix);
            }
        })
        .ok()?;
    let hosts = spread::placed(top, hosts, &network, &world.network, &placed)?;
    Some(Scenario {
        name: name?.value,
        description: description?.value,
        variant,
        directory: source.directory.clone(),
        file: source.file.clone(),
        duration,
        settle: settle?.value,
        seed,
        tdf: options.tdf.unwrap_or(tdf?.value),
        pace: options.pace.unwrap_or(pace?.value),
        kernel_timers: kernel_timers?.value,
        order: if one_by_one { Order::OneNodeAtATime } else { Order::Together },
        freeze: freeze?.value,
        stall_guard: stall_guard.map(|guard| guard.value),
        realtime_ns: start.map(|start| start.value),
        unchecked: Unchecked { file: source.shown.clone(), circuit: plant.circuit, points },
        plant: plant.plant,
        nodes,
        network,
        hosts,
        captures,
        events,
        requirements: story.requirements,
    })
}

fn plan(
    nodes: &[Node],
    read: &network::Read<'_>,
    events: &[Event],
    seed: u64,
) -> Result<Plan, PlanError> {
    let host = |node: &Node| Host { name: node.name.clone(), address: node.address };
    let hosts: Vec<Host> = nodes.iter().map(host).collect();
    let events = events.iter().filter_map(|event| match &event.what {
        Happening::Network(what) => Some(plan::Event { at: event.at, what: what.clone() }),
        Happening::Set { .. } => None,
    });
    let events: Vec<plan::Event> = events.collect();
    let seeded = read.links.iter().map(|link| {
        let seed = seed_named(seed, &format!("{} {}", link.from, link.to));
        Link { loss: Loss { seed, ..link.loss }, ..link.clone() }
    });
    let links: Vec<Link> = seeded.collect();
    Plan::of(&hosts, &read.switches, &read.attackers, &links, &events)
}

/// The points that plant and nodes name.
fn mentions(plant: &plant::Read<'_>, nodes: &[nodes::Read<'_>]) -> Vec<Mention> {
    let driven = plant.driven.iter().map(|point| (point, true));
    let recorded = plant.recorded.iter().map(|point| (point, false));
    let served = nodes.iter().flat_map(|node| node.files.iter().map(|(point, set)| (point, *set)));
    let mention = |(point, written): (&Placed<'_, PointName>, bool)| Mention {
        point: point.value.clone(),
        spot: point.place.spot(),
        written,
        value: None,
    };
    driven.chain(recorded).chain(served).map(mention).collect()
}

/// Reads what happens and what is demanded, in all variants, and returns the one chosen.
fn read_stories(
    top: &Mapping<'_>,
    options: &Options,
    world: &World<'_>,
    points: &mut Vec<Mention>,
) -> Option<(Option<String>, Story)> {
    let mut taken = BTreeMap::new();
    let common = read_story(top, &mut taken, world, points);
    let (mut names, mut stories) = (Vec::new(), Vec::new());
    for (name, cursor) in top.named("variants") {
        name.place.clone().parse(name.value, names::in_paths);
        names.push(name.value);
        if let Some(variant) = cursor.mapping() {
            let own = read_story(&variant, &mut taken.clone(), world, points);
            stories.push((name.value, own));
        }
    }
    let chosen = choose_variant(top, options, &names)?;
    let own = match chosen {
        None => Story::default(),
        Some(name) => stories.into_iter().find(|(of, _)| *of == name)?.1,
    };
    let events = [common.events, own.events].concat();
    let requirements = [common.requirements, own.requirements].concat();
    Some((chosen.map(str::to_owned), Story { events, requirements }))
}

fn read_story(
    mapping: &Mapping<'_>,
    taken: &mut BTreeMap<String, usize>,
    world: &World<'_>,
    points: &mut Vec<Mention>,
) -> Story {
    Story {
        events: events::read(&mapping.items("events"), world, points),
        requirements: requirements::read(&mapping.items("requirements"), taken, world),
    }
}

/// The variant to run; `Some(None)` if there are none. Reports a choice that cannot be made.
fn choose_variant<'n>(
    top: &Mapping<'_>,
    options: &Options,
    names: &[&'n str],
) -> Option<Option<&'n str>> {
    let known = || names.iter().copied();
    let (what, fix) = match &options.variant {
        None if names.is_empty() => return Some(None),
        None => {
            let what = "a run needs one variant, and none is selected".to_owned();
            (what, suggest::all("variants", known()))
        }
        Some(chosen) => {
            if let Some(name) = known().find(|name| name == chosen) {
                return Some(Some(name));
            }
            let fix = suggest::instead_of(chosen, "variants", known());
            (format!("there is no variant {}", quoted(chosen)), fix)
        }
    };
    top.wrong("variants", what, fix);
    None
}

/// A setting whose errors say what is wrong and, behind a semicolon, the fix.
fn spoken<T: FromStr<Err = String>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|error: String| {
        let (what, fix) = error.split_once("; ").unwrap_or((&error, "choose a different one"));
        Fault::new(what, fix)
    })
}
