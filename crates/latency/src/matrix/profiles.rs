//! Reads what stands below `profiles`: a name alone means a built-in one, and `like` takes the
//! values of one for the keys that are not given.

use std::path::Path;

use probe::WiredLines;

use super::keys::PROFILES;
use super::values::{check_name, cores, time_positive};
use crate::profile::{Load, Neighbours, Profile};
use settings::cursor::{Cursor, Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::table::Shape;
use settings::{suggest, words};

/// A period shorter than this is over before a wake-up is; cyclictest stops there too.
const PERIOD_NS_MIN: u64 = 10_000;

/// The built-in profiles, in the order in which they are listed.
pub fn built_in() -> Vec<Profile> {
    let text = include_str!("profiles.yaml");
    let whole = settings::cursor::read(Path::new("profiles.yaml"), text, &PROFILES, |top| {
        let mut profiles: Vec<Profile> = Vec::new();
        for (name, cursor) in top.named("profiles") {
            let profile = profile(&name, &cursor, &profiles);
            profiles.extend(profile);
        }
        Some(profiles)
    });
    whole.expect("the built-in profiles are right, which a test reads")
}

/// Reads one profile. Where there is no `like`, the values of the table hold for what is not given.
pub(super) fn profile(
    name: &Placed<'_, &str>,
    cursor: &Cursor<'_>,
    built_in: &[Profile],
) -> Option<Profile> {
    check_name(name);
    let find = |wanted: &str| built_in.iter().find(|profile| profile.name == wanted);
    let names = || built_in.iter().map(|profile| profile.name.as_str());
    if cursor.is_empty() {
        let found = find(name.value).cloned();
        if found.is_none() {
            let what = format!("{} is not a built-in profile", quoted(name.value));
            let fix = suggest::instead_of(name.value, "built-in profiles", names());
            name.place.wrong(what, format!("{fix}; or describe it under its name"));
        }
        return found;
    }
    let keys = cursor.mapping()?;
    let base = keys.text("like").and_then(|like| {
        let found = find(&like.value);
        if found.is_none() {
            let what = format!("{} is not a built-in profile", quoted(&like.value));
            like.place.wrong(what, suggest::instead_of(&like.value, "built-in profiles", names()));
        }
        found
    });
    let reader = Inherited { keys: &keys, base };
    let description = reader.value(
        "description",
        |base| base.description.clone(),
        |keys| Some(keys.text("description")?.value),
    );
    let source =
        reader.value("source", |base| base.source.clone(), |keys| Some(keys.text("source")?.value));
    let probe = reader.value(
        "probe",
        |base| base.probe,
        |keys| {
            let word = keys.choice("probe")?.value;
            Some(word.parse().expect("the table has the names of the probes"))
        },
    );
    let priority = reader.value(
        "priority",
        |base| base.priority,
        |keys| {
            let number = i32::try_from(keys.whole("priority")?.value).ok()?;
            Some(Some(number).filter(|number| *number > 0))
        },
    );
    let period_ns = reader.value(
        "period",
        |base| base.period_ns,
        |keys| Some(keys.parse("period", period)?.value),
    );
    let choice =
        reader.value("cores", |base| base.cores.clone(), |keys| cores(keys, &["all", "half"]));
    let pinned = reader.value(
        "affinity",
        |base| base.pinned,
        |keys| Some(keys.choice("affinity")?.value == "pinned"),
    );
    let yes = |key: &str, of: fn(&Profile) -> bool| {
        reader.value(key, of, |keys| Some(keys.choice(key)?.value == "yes"))
    };
    let lock_memory = yes("lock_memory", |base| base.lock_memory);
    let hold_awake = yes("hold_awake", |base| base.hold_awake);
    let stall_meter = yes("stall_meter", |base| base.stall_meter);
    let split = yes("split", |base| base.split);
    let gpio = reader.value(
        "gpio",
        |base| base.gpio.clone(),
        |keys| match keys.mapping("gpio") {
            None => Some(None),
            Some(keys) => wired(&keys).map(Some),
        },
    );
    let loads = reader.value("loads", |base| base.loads.clone(), loads);
    let neighbours = reader.value(
        "neighbours",
        |base| base.neighbours.clone(),
        |keys| match keys.mapping("neighbours") {
            None => Some(None),
            Some(keys) => neighbours(&keys).map(Some),
        },
    );
    let duration_ns = reader.value(
        "duration",
        |base| base.duration_ns,
        |keys| Some(keys.parse("duration", time_positive).map(|duration| duration.value)),
    );
    Some(Profile {
        name: name.value.to_owned(),
        description: description?,
        source: source?,
        probe: probe?,
        priority: priority?,
        period_ns: period_ns?,
        cores: choice?,
        pinned: pinned?,
        lock_memory: lock_memory?,
        hold_awake: hold_awake?,
        stall_meter: stall_meter?,
        split: split?,
        gpio: gpio?,
        loads: loads?,
        neighbours: neighbours?,
        duration_ns: duration_ns?,
    })
}

fn wired(keys: &Mapping<'_>) -> Option<WiredLines> {
    let line = |key| u32::try_from(keys.whole(key)?.value).ok();
    let chip = keys.text("chip").map(|chip| chip.value);
    let (output, input) = (line("output"), line("input"));
    Some(WiredLines { chip: chip?, output: output?, input: input? })
}

/// Keys of a profile over those of the one that it is like.
struct Inherited<'a> {
    keys: &'a Mapping<'a>,
    base: Option<&'a Profile>,
}

impl Inherited<'_> {
    fn value<T>(
        &self,
        key: &str,
        of: impl FnOnce(&Profile) -> T,
        read: impl FnOnce(&Mapping<'_>) -> Option<T>,
    ) -> Option<T> {
        match self.base {
            Some(base) if !self.keys.has(key) => Some(of(base)),
            _ => read(self.keys),
        }
    }
}

fn neighbours(keys: &Mapping<'_>) -> Option<Neighbours> {
    let count = keys.whole("count").and_then(|count| usize::try_from(count.value).ok());
    Some(Neighbours { count: count?, loads: loads(keys)? })
}

fn loads(keys: &Mapping<'_>) -> Option<Vec<Load>> {
    // All are read before one that is wrong ends it, so that each mistake is reported.
    let loads: Vec<Option<Load>> = keys.items("loads").iter().map(load).collect();
    loads.into_iter().collect()
}

fn load(cursor: &Cursor<'_>) -> Option<Load> {
    let keys = cursor.mapping()?;
    let run = keys.cursor("run").and_then(|cursor| {
        let words = if cursor.is_list() {
            list(&cursor)
        } else {
            cursor.parse(words::split).map(|words| words.value)
        };
        let words = words?;
        if words.first().is_none_or(String::is_empty) {
            cursor.place.wrong("no program is given", "write the program and its arguments");
            return None;
        }
        Some(words)
    });
    let cores = cores(&keys, &["all", "probe", "others"]);
    let package = keys.text("package");
    let words = run?;
    let package = package.map(|package| package.value).filter(|package| !package.is_empty());
    let package = package.unwrap_or_else(|| words[0].clone());
    Some(Load { cores: cores?, package, words })
}

fn list(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    static TEXT: Shape = Shape::Text;
    static LIST: Shape = Shape::List(&TEXT);
    let items = cursor.as_shape(&LIST).items()?;
    items.iter().map(|item| Some(item.parse(|text| Ok(text.to_owned()))?.value)).collect()
}

fn period(text: &str) -> Result<u64, Fault> {
    let period_ns = time_positive(text)?;
    if period_ns < PERIOD_NS_MIN {
        let what = format!("{} is shorter than a wake-up takes", quoted(text));
        return Err(Fault::new(what, "give `10 us` or more"));
    }
    Ok(period_ns)
}
