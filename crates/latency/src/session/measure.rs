//! One cell: neighbours, loads and probe are started, the stream is written down, and becomes a cell.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use probe::Cores;

use super::interrupt::Interrupt;
use super::progress::Progress;
use super::pump::Pump;
use crate::cell::{self, Cell, Mark, MarkKind};
use crate::matrix::{Coordinates, Matrix};
use crate::platform::{Attended, Ending, NotMeasured, Platform, Refusal, Role};
use crate::record::{STREAM, State};

/// Between two looks at what goes on.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A probe says something each second. After so long without a word, which is more than a guest takes
/// to boot under emulation, the far side hangs.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// What came of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) state: State,
    pub(super) reason: String,
    pub(super) fix: String,
    pub(super) samples: u64,
}

impl Outcome {
    pub(super) fn new(state: State, reason: impl Into<String>, samples: u64) -> Self {
        Self { state, reason: reason.into(), fix: String::new(), samples }
    }

    pub(super) fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotMeasured(NotMeasured { reason, fix }) => {
                Self { state: State::NotMeasured, reason, fix, samples: 0 }
            }
            Refusal::Failed(error) => Self::new(State::Failed, format!("{error:#}"), 0),
        }
    }
}

/// How a cell is measured.
pub(super) struct Measurement<'a> {
    pub(super) matrix: &'a Matrix,
    pub(super) cell: Coordinates<'a>,
    pub(super) cores: &'a Cores,
    pub(super) folder: &'a Path,
    /// Samples of it that are there already, from a time that it was cut.
    pub(super) samples_before: u64,
    pub(super) interrupt: &'a Interrupt,
}

/// Measures a cell on a platform that is prepared.
pub(super) fn measure(
    what: &Measurement<'_>,
    platform: &mut dyn Platform,
    progress: &mut Progress,
) -> Result<Outcome, Refusal> {
    let profile = what.cell.profile;
    let order = profile
        .order(what.cores, what.matrix.duration_ns, what.matrix.settle_ns)
        .map_err(|error| Refusal::missing(error.to_string(), "choose other cores"))?;
    fs::create_dir_all(what.folder)
        .with_context(|| format!("cannot make {}", what.folder.display()))?;
    let neighbours = start_neighbours(what, platform)?;
    let mut attended = platform.attend(&order, Role::Measured)?;
    let pump = Pump::start(attended.stream(), &what.folder.join(STREAM))?;
    listen(&mut attended, &pump, what.interrupt, progress);
    let ending = attended.finish();
    pump.finish().with_context(|| format!("cannot write {STREAM}"))?;
    let mut marks = platform.marks();
    let missing = |ending: &Ending, kind| -> Vec<Mark> {
        ending.loads_missing().into_iter().map(|load| Mark::new(kind, load)).collect()
    };
    marks.extend(missing(&ending, MarkKind::LoadMissing));
    for mut neighbour in neighbours {
        neighbour.stop();
        marks.extend(missing(&neighbour.finish(), MarkKind::NeighboursMissing));
    }
    take(what, &ending, marks)
}

fn start_neighbours(
    what: &Measurement<'_>,
    platform: &mut dyn Platform,
) -> Result<Vec<Attended>, Refusal> {
    let Some(neighbours) = &what.cell.profile.neighbours else { return Ok(Vec::new()) };
    let Some(cores) = platform.neighbour_cores() else {
        let fix = "neighbours are containers or virtual machines: use such a platform";
        return Err(Refusal::missing("this platform has no neighbours", fix));
    };
    let order = what.cell.profile.neighbour(&cores);
    let order = order.map_err(|error| Refusal::missing(error.to_string(), "choose other cores"))?;
    let Some(order) = order else { return Ok(Vec::new()) };
    (0..neighbours.count).map(|number| platform.attend(&order, Role::Neighbour(number))).collect()
}

/// Waits for the end of a stream, and asks for it when this run shall end, or the far side hangs.
fn listen(attended: &mut Attended, pump: &Pump, interrupt: &Interrupt, progress: &mut Progress) {
    let (mut octets, mut heard, mut asked) = (0, Instant::now(), false);
    while !pump.seen().is_over && !interrupt.is_urgent() {
        std::thread::sleep(LOOK_EVERY);
        let seen = pump.seen();
        progress.show(seen);
        if seen.octets > octets {
            (octets, heard) = (seen.octets, Instant::now());
        }
        let hangs = heard.elapsed() > SILENCE_MAX;
        if (interrupt.is_asked() || hangs) && !asked {
            attended.stop();
            asked = true;
            heard = Instant::now();
        } else if hangs {
            return;
        }
    }
}

/// Makes a cell of what was written down.
fn take(what: &Measurement<'_>, ending: &Ending, marks: Vec<Mark>) -> Result<Outcome, Refusal> {
    let path = what.folder.join(STREAM);
    let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let (platform, profile) = (&what.cell.platform.name, &what.cell.profile.name);
    let Ok(measured) = Cell::from_stream(BufReader::new(file), platform, profile) else {
        // Nobody measured: the last words say why. What was measured before stays.
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        // A folder with something in it stays, too.
        let _ = fs::remove_dir(what.folder);
        return Err(no_stream(what, ending));
    };
    let mut cell = measured.cell;
    marks.into_iter().for_each(|mark| cell.mark(mark));
    let (state, reason) = match measured.ended {
        Ok(cell::Outcome::Finished) => (State::Done, String::new()),
        Ok(cell::Outcome::Interrupted) => (State::Cut, "interrupted".to_owned()),
        Err(why) => (State::Cut, why),
        Ok(cell::Outcome::NotMeasured(why)) => (State::NotMeasured, why),
        Ok(cell::Outcome::Failed(why)) => (State::Failed, why),
    };
    let samples = cell.count();
    let is_longer = samples > what.samples_before || state == State::Done;
    if samples > 0 && is_longer {
        cell.write(what.folder)?;
    }
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    if !is_longer && what.samples_before > 0 {
        let reason = format!("the earlier part with {} samples is kept", what.samples_before);
        return Ok(Outcome::new(State::Cut, reason, what.samples_before));
    }
    Ok(Outcome::new(state, reason, samples))
}

fn no_stream(what: &Measurement<'_>, ending: &Ending) -> Refusal {
    let loads = ending.loads_missing();
    if loads.is_empty() {
        let why = ending.last_words();
        // What runc and the engines on top of it say where the shares of all groups together would
        // be more than there is (`Documentation/scheduler/sched-rt-group.rst`).
        if why.contains("cpu.rt_runtime_us") {
            let fix = "lower `real_time` of the platform, or end other groups with a share";
            return Refusal::missing("this share of real time is not available on this host", fix);
        }
        return Refusal::Failed(anyhow::anyhow!("the probe sent nothing; {why}"));
    }
    let packages: Vec<&str> =
        what.cell.profile.programs().into_iter().map(|(_, package)| package).collect();
    Refusal::missing(
        format!("a load of the profile does not run there: {}", loads.join("; ")),
        format!("apt-get install {}", packages.join(" ")),
    )
}
