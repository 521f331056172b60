//! `qcycle latency`: from words on the command line to a run, its report, and an exit code.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use anyhow::{Context as _, Result};
use clap::Args;
use probe::Cores;
use report_kit::machine::Build;
use vtime::VirtualSpan;

use super::digest::Demands;
use super::matrix::{self, Matrix, PlatformKind};
use super::platform::{self, Binary};
use super::profile::Profile;
use super::record::State;
use super::report::Report;
use super::results_command::{Judged, ResultsCommand, tell};
use super::run_folder::make_first;
use super::session::{Interrupt, Session};
use super::verdict;
use report_kit::machine::utc_now;
use report_kit::page::distinct;
use report_kit::statistics::percentile::samples_needed;
use settings::problems::Problems;
use settings::suggest;
use terminal::exit::{BadUsage, Exit};

/// The profiles of a run without a matrix: two minutes together, where each has two threads or more.
const DEFAULT_PROFILES: [&str; 4] = ["tp1", "tp2", "tp3", "tp4"];
/// How long each is measured at least: longer where the samples would not do for a verdict.
const DEFAULT_DURATION_NS: u64 = 30_000_000_000;
const DEFAULT_SETTLE_NS: u64 = 1_000_000_000;

/// What can be asked.
#[derive(Args, Debug, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    results: Option<ResultsCommand>,
    /// File that describes what is measured where [default: this machine with tp1 to tp4].
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    matrix: Option<PathBuf>,
    /// How long each cell is measured, such as '30 s' or 8h, overriding the matrix.
    #[arg(long, value_parser = settings::units::time_positive, conflicts_with = "resume",
        allow_hyphen_values = true)]
    duration: Option<VirtualSpan>,
    /// Only this profile of the matrix, or a built-in one; may be repeated.
    #[arg(long = "profile", value_name = "NAME", conflicts_with = "resume")]
    profiles: Vec<String>,
    /// Only this platform of the matrix, or a built-in one; may be repeated.
    #[arg(long = "platform", value_name = "NAME", conflicts_with = "resume")]
    platforms: Vec<String>,
    /// Folder of the run [default: a new one in `runs`].
    #[arg(long, value_name = "FOLDER", conflicts_with = "resume")]
    output: Option<PathBuf>,
    /// Measure the remaining cells of the run in this folder.
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// Limits for the verdicts, in addition to those of the matrix.
    #[command(flatten)]
    judged: Judged,
    /// Print the report on the cells as JSON.
    #[arg(long)]
    json: bool,
    /// List platforms, profiles and cells with descriptions, and measure nothing.
    #[arg(long, conflicts_with_all = ["json", "resume", "output"])]
    list: bool,
}

/// Does what was asked.
pub fn run(arguments: Arguments, build: Build) -> Result<Exit> {
    match arguments.results {
        Some(results) => results.execute(),
        None => measure(&arguments, build),
    }
}

fn measure(arguments: &Arguments, build: Build) -> Result<Exit> {
    let judged = arguments.judged.demands()?;
    let mut session = match &arguments.resume {
        Some(folder) => Session::resume(folder)?,
        None => {
            let matrix = match matrix(arguments) {
                Err(error) if error.is::<Problems>() => {
                    // They name their file themselves.
                    terminal::err!("{error}");
                    return Ok(Exit::BadInput);
                }
                matrix => matrix?,
            };
            if arguments.list {
                terminal::print(format_args!("{}", listing(&matrix)));
                return Ok(Exit::Done);
            }
            Session::begin(&folder(arguments, &matrix)?, matrix, build)?
        }
    };
    let interrupt = Interrupt::on_signals()?;
    let binary = Binary::find()?;
    platform::sweep()?;
    announce(&session);
    session.measure(&binary, &interrupt)?;
    finish(&session, judged, arguments.json, interrupt.is_asked())
}

fn announce(session: &Session) {
    let Session { folder, matrix, run } = session;
    let cells = matrix.cells().zip(&run.cells);
    let open: Vec<u64> = cells
        .filter(|(_, state)| state.state != State::Done)
        .map(|(cell, _)| matrix.duration_ns(cell) + matrix.settle_ns)
        .collect();
    let length_ns = open.iter().copied().fold(0, u64::saturating_add);
    terminal::err!(
        "{}: {} of {} cells to measure, about {}; Ctrl-C stops and keeps the results so far",
        folder.display(),
        open.len(),
        run.cells.len(),
        spoken(length_ns / 1_000_000_000)
    );
    for warning in &run.warnings {
        terminal::err!("warning: {}: {}; {}", warning.name, warning.found, warning.fix);
    }
}

/// Draws the report and says what came of it.
fn finish(
    session: &Session,
    mut demands: Demands,
    json: bool,
    is_interrupted: bool,
) -> Result<Exit> {
    let Session { folder, matrix, run } = session;
    let known = run.for_report();
    demands.limits.extend(matrix.own_limits());
    if run.cells.iter().all(|cell| cell.samples == 0) && known.absent.is_empty() {
        terminal::err!(
            "nothing was measured; continue with qcycle latency --resume {}",
            folder.display()
        );
        return Ok(Exit::Interrupted);
    }
    let report = Report::read(folder, &known, &demands)?;
    let exit = tell(&report, json)?;
    if is_interrupted {
        terminal::err!("measure the rest with qcycle latency --resume {}", folder.display());
        return Ok(Exit::Interrupted);
    }
    if run.cells.iter().any(|cell| cell.state == State::Failed) {
        return Ok(Exit::PartFailed);
    }
    Ok(exit)
}

/// What is to be measured, by the file and the words on the command line.
fn matrix(arguments: &Arguments) -> Result<Matrix> {
    let mut matrix = match &arguments.matrix {
        Some(file) => matrix::read(file)?,
        // Without cores nothing can be measured, which is reported later.
        None => built_in(&probe::cores::chosen(&probe::Host::this(), None).unwrap_or_default()),
    };
    let platforms = matrix::built_in_platforms();
    let profiles = matrix::built_in_profiles();
    matrix.platforms =
        chosen(&arguments.platforms, matrix.platforms, platforms, "platforms", |p| &p.name)?;
    matrix.profiles =
        chosen(&arguments.profiles, matrix.profiles, profiles, "profiles", |p| &p.name)?;
    if let Some(duration) = arguments.duration {
        matrix.duration_ns = duration.as_ns().unsigned_abs();
        matrix.profiles.iter_mut().for_each(|profile| profile.duration_ns = None);
    }
    if let Some(short) = matrix.profiles.iter().find(|p| matrix.duration_ns < p.plan.period_ns) {
        let problem = format!("--duration is shorter than a period of {}", short.name);
        return Err(BadUsage(problem).into());
    }
    Ok(matrix)
}

/// This machine, with these cores, under the profiles that need neither a container nor a guest.
fn built_in(cores: &Cores) -> Matrix {
    let is_native = |kind: &PlatformKind| matches!(kind, PlatformKind::Native(_));
    let platforms = matrix::built_in_platforms();
    let is_default = |profile: &Profile| DEFAULT_PROFILES.contains(&profile.name.as_str());
    let profiles: Vec<Profile> =
        matrix::built_in_profiles().into_iter().filter(is_default).collect();
    let for_verdicts = profiles.iter().map(|profile| long_enough_ns(profile, cores)).max();
    Matrix {
        name: "latency".to_owned(),
        description: String::new(),
        duration_ns: for_verdicts.unwrap_or(0).max(DEFAULT_DURATION_NS),
        settle_ns: DEFAULT_SETTLE_NS,
        platforms: platforms.into_iter().filter(|platform| is_native(&platform.kind)).collect(),
        profiles,
        skip: Vec::new(),
        limits: Vec::new(),
    }
}

/// How long a profile takes to have the samples that a verdict needs, and a second more.
fn long_enough_ns(profile: &Profile, cores: &Cores) -> u64 {
    let threads = profile.cores.of(cores, &Cores::default()).map_or(1, |cores| cores.len().max(1));
    let samples = samples_needed(verdict::SHARE).div_ceil(threads as u64);
    ((samples * profile.plan.period_ns).div_ceil(1_000_000_000) + 1) * 1_000_000_000
}

/// Those of the matrix with these names, or built-in ones; all of the matrix if there are no names.
fn chosen<T: Clone>(
    names: &[String],
    own: Vec<T>,
    built_in: Vec<T>,
    what: &str,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>> {
    if names.is_empty() {
        return Ok(own);
    }
    let is_twice = |(index, name): &(usize, &String)| names[..*index].contains(name);
    if let Some((_, twice)) = names.iter().enumerate().find(is_twice) {
        return Err(BadUsage(format!("`{twice}` is named twice; name it once")).into());
    }
    let all = || own.iter().chain(&built_in);
    let find = |wanted: &String| {
        all().find(|one| name(one) == wanted).cloned().ok_or_else(|| {
            // Those of the matrix may be built-in ones by name.
            let known = distinct(all().map(|one| name(one).as_str()));
            let instead = suggest::instead_of(wanted, what, known);
            BadUsage(format!("`{wanted}` is not one of the {what}; {instead}")).into()
        })
    };
    names.iter().map(find).collect()
}

/// The folder that was asked for, or a new one.
fn folder(arguments: &Arguments, matrix: &Matrix) -> Result<PathBuf> {
    if let Some(folder) = &arguments.output {
        return Ok(folder.clone());
    }
    let runs = Path::new("runs");
    fs::create_dir_all(runs).context("cannot make the folder runs")?;
    // 2026-01-31T12:59:59.123Z as 20260131-125959.
    let digits: String = utc_now().chars().filter(char::is_ascii_digit).collect();
    let stamp = format!("{}-{}", &digits[..8], &digits[8..14]);
    // Not every name says that it is about latency, and all begin alike in a listing.
    let name = match matrix.name.as_str() {
        "latency" => format!("latency-{stamp}"),
        name => format!("latency-{name}-{stamp}"),
    };
    let numbered = (2..).map(|number| runs.join(format!("{name}-{number}")));
    make_first(iter::once(runs.join(&name)).chain(numbered))
}

fn listing(matrix: &Matrix) -> String {
    let mut text = String::from("built-in platforms:\n");
    for platform in matrix::built_in_platforms() {
        text += &format!("  {:<13} {}\n", platform.name, platform.kind);
    }
    text += "built-in profiles:\n";
    for profile in matrix::built_in_profiles() {
        text += &format!("  {:<13} {} [{}]\n", profile.name, profile.description, profile.source);
    }
    text += &format!("{}: at least {}\n", matrix.name, spoken(matrix.length_ns() / 1_000_000_000));
    for cell in matrix.cells() {
        let seconds = matrix.duration_ns(cell) as f64 / 1e9;
        text += &format!("  {:<27} {seconds} s\n", cell.name());
    }
    text
}

/// A time for people.
fn spoken(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &Arguments) -> Result<Vec<String>, String> {
        let matrix = matrix(arguments).map_err(|error| error.to_string())?;
        Ok(matrix.cells().map(|cell| cell.name()).collect())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn alone_it_is_two_minutes_on_this_machine() {
        let cells = asked(&Arguments::default()).unwrap();
        assert_eq!(cells, ["native.tp1", "native.tp2", "native.tp3", "native.tp4"]);
        let seconds = |cores: &str| {
            let matrix = built_in(&cores.parse().unwrap());
            matrix.cells().map(|cell| matrix.duration_ns(cell)).sum::<u64>() / 1_000_000_000
        };
        // Half of the cores measure; one alone needs longer for a verdict.
        assert_eq!((seconds("0-3"), seconds("0-1"), seconds("0")), (120, 152, 152));
    }

    #[test]
    fn names_choose_among_the_matrix_and_what_is_built_in() {
        let platforms = words(&["native", "container"]);
        let asked_for =
            Arguments { platforms, profiles: words(&["alonso"]), ..Arguments::default() };
        assert_eq!(asked(&asked_for).unwrap(), ["native.alonso", "container.alonso"]);
        let refused = |profiles: &[&str]| {
            asked(&Arguments { profiles: words(profiles), ..Arguments::default() }).unwrap_err()
        };
        let problem = refused(&["alonzo"]);
        assert_eq!(problem, "`alonzo` is not one of the profiles; did you mean `alonso`?");
        let problem = refused(&["x"]);
        assert_eq!(problem.matches("tp1,").count(), 1, "{problem}");
        assert_eq!(refused(&["tp1", "tp2", "tp1"]), "`tp1` is named twice; name it once");
        let duration = Some(VirtualSpan::from_ns(1_000));
        let problem = asked(&Arguments { duration, ..Arguments::default() }).unwrap_err();
        assert!(problem.contains("shorter than a period of tp1"), "{problem}");
    }

    #[test]
    fn the_listing_names_all_that_there_is() {
        let text = listing(&built_in(&Cores::default()));
        for wanted in ["  native ", "  vm-rt ", "  tp6 ", "  native.tp4 ", "Alonso et al. 2021"] {
            assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
        }
    }
}
