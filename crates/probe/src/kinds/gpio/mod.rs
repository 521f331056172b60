//! An edge of a GPIO line, from before the write that makes it to the return of read(2) with it.
//!
//! Either an output of a board is wired to an input, both named by the plan: then the edge goes
//! through real pins, and the interrupt is the board's. Or the kernel simulates the line ([`Lines`]):
//! then the interrupt is the kernel's own, and what is left is its way from there to the program. Each
//! time the line goes the other way, so that one call makes one edge. The kernel stamps it on the
//! clock of the samples.

mod simulated;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use self::simulated::Lines;
use super::handover::{self, Way};
use crate::clock::HostTime;
use crate::host::Host;
use crate::plan::{Plan, WiredLines};
use crate::sink::Sink;
use crate::sys::gpio::{Edge, Input, Output};
use crate::threads::Task;

/// All tasks of a plan.
///
/// # Errors
/// Which device or module is missing, and how to get it.
pub(super) fn tasks(plan: &Plan, sinks: Vec<Sink>) -> Result<Vec<Task>, String> {
    if let Some(wired) = &plan.gpio {
        return handover::tasks(plan, sinks, || Line::wired(wired));
    }
    let lines = Arc::new(Lines::make(sinks.len()).map_err(|error| format!("gpio: {error}"))?);
    let next = AtomicU32::new(0);
    handover::tasks(plan, sinks, || Line::simulated(&lines, next.fetch_add(1, Ordering::Relaxed)))
}

struct Line {
    input: Input,
    level: Level,
    /// Where it is or is about to go.
    is_high: AtomicBool,
    /// Stamp of the last edge, `CLOCK_MONOTONIC`, ns.
    stamp_ns: AtomicI64,
    /// Goes after the input: the last one takes the simulated lines down.
    _lines: Option<Arc<Lines>>,
}

/// What sets the level of a line.
enum Level {
    /// An output that is wired to it.
    Wire(Output),
    /// Its simulated pull resistor.
    Pull(File),
}

impl Level {
    fn set(&self, is_high: bool) -> io::Result<()> {
        match self {
            Self::Wire(output) => output.set(is_high),
            Self::Pull(file) => {
                file.write_all_at(if is_high { b"pull-up" } else { b"pull-down" }, 0)
            }
        }
    }
}

impl Line {
    fn wired(wired: &WiredLines) -> io::Result<Self> {
        let chip = open_chip(&wired.chip)?;
        let of = |line: u32| move |error| with_line(&wired.chip, line, &error);
        // The output first: it is low before edges are counted.
        let output = Output::open(&chip, wired.output).map_err(of(wired.output))?;
        let input = Input::open(&chip, wired.input).map_err(of(wired.input))?;
        Ok(Self::new(input, Level::Wire(output), None))
    }

    fn simulated(lines: &Arc<Lines>, line: u32) -> io::Result<Self> {
        let pull = File::options().write(true).open(lines.pull(line))?;
        let level = Level::Pull(pull);
        level.set(false)?;
        let chip = open_chip(&lines.chip)?;
        let input =
            Input::open(&chip, line).map_err(|error| with_line(&lines.chip, line, &error))?;
        Ok(Self::new(input, level, Some(Arc::clone(lines))))
    }

    fn new(input: Input, level: Level, lines: Option<Arc<Lines>>) -> Self {
        let (is_high, stamp_ns) = (AtomicBool::new(false), AtomicI64::new(0));
        Self { input, level, is_high, stamp_ns, _lines: lines }
    }
}

impl Way for Line {
    fn send(&self) -> io::Result<()> {
        // Only one thread sends.
        let is_high = !self.is_high.load(Ordering::Relaxed);
        self.is_high.store(is_high, Ordering::Release);
        self.level.set(is_high).inspect_err(|_| self.is_high.store(!is_high, Ordering::Release))
    }

    fn receive(&self) -> io::Result<()> {
        loop {
            let Edge { at, is_rising } = self.input.edge()?;
            // A contact that bounces goes back and forth; the way back is nobody's edge.
            if is_rising == self.is_high.load(Ordering::Acquire) {
                self.stamp_ns.store(at.as_ns(), Ordering::Relaxed);
                return Ok(());
            }
        }
    }

    fn noted(&self) -> [Option<HostTime>; 2] {
        [Some(HostTime::from_ns(self.stamp_ns.load(Ordering::Relaxed))), None]
    }
}

/// Opens a chip by its name or its path.
fn open_chip(chip: &str) -> io::Result<File> {
    let path = Path::new("/dev").join(chip);
    File::options().read(true).write(true).open(&path).map_err(|error| {
        let mut chips = Host::this().names("/dev");
        chips.retain(|name| name.starts_with("gpiochip"));
        let there = if chips.is_empty() { "no chip".to_owned() } else { chips.join(", ") };
        let what = format!("{}: {error}; available: {there}", path.display());
        io::Error::new(error.kind(), what)
    })
}

fn with_line(chip: &str, line: u32, error: &io::Error) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::EBUSY) => "in use by another process: see `gpioinfo`",
        Some(libc::EINVAL) => "the line does not exist, or not with this direction",
        Some(libc::ENXIO | libc::EOPNOTSUPP) => "it does not support interrupts",
        Some(libc::ENOTTY) => "no chip, or a kernel before 5.10",
        _ => "the kernel rejects it",
    };
    io::Error::new(error.kind(), format!("line {line} of {chip}: {why} ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let wired = WiredLines { chip: "gpiochip4711".to_owned(), output: 17, input: 27 };
        let error = Line::wired(&wired).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("/dev/gpiochip4711: ") && error.contains("available"), "{error}");
        let null = WiredLines { chip: "null".to_owned(), ..wired };
        let error = Line::wired(&null).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("line 17 of null: no chip"), "{error}");
    }
}
