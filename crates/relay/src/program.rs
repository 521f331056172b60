//! What all programs of this crate do first and last: read the command line and settings, catch
//! signals, and end with an exit code.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow};
use clap::Parser;
use settings::Problems;
use terminal::exit::Exit;

/// Octets of settings that are read.
const SETTINGS_OCTETS_MAX: u64 = 16 << 20;

/// The main function of a program: `run` does what its command line says. An error is printed with
/// the name of the program, and means that something is missing on this host.
pub(crate) fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Result<Exit>) -> ExitCode {
    let arguments = match C::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A pipe that is closed is no reason to fail differently.
            let _closed = error.print();
            let asked = !error.use_stderr();
            return terminal::exit_code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    terminal::exit_code(run(arguments).unwrap_or_else(|error| {
        terminal::err!("{name}: {error:#}");
        Exit::BrokenSetup
    }))
}

/// A flag that Ctrl-C and the like set.
pub(crate) fn stop() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("catching signals")?;
    }
    Ok(stop)
}

/// How a program ends that ran until the flag was set, its time was over, or something failed.
pub(crate) fn end(failure: Option<String>, stop: &AtomicBool) -> Exit {
    if let Some(failure) = failure {
        terminal::err!("qcrelay: {failure}");
        return Exit::PartFailed;
    }
    if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done }
}

/// A text of at most so many octets and one.
pub(crate) fn text(path: &Path, octets_max: u64) -> Result<String> {
    let mut text = String::new();
    let mut take = || File::open(path)?.take(octets_max + 1).read_to_string(&mut text);
    take().map_err(|error| anyhow!("{} cannot be read ({error})", path.display()))?;
    Ok(text)
}

/// The settings of a file; none after printing all problems.
pub(crate) fn settings<T>(
    path: &Path,
    read: impl FnOnce(&Path, &str) -> Result<T, Problems>,
) -> Result<Option<T>> {
    Ok(or_print(read(path, &text(path, SETTINGS_OCTETS_MAX)?)))
}

/// Settings that were read; none after printing all problems.
pub(crate) fn or_print<T>(read: Result<T, Problems>) -> Option<T> {
    let print = |problems: Problems| {
        problems.iter().for_each(|problem| terminal::err!("{problem}"));
    };
    read.map_err(print).ok()
}

/// The folder of settings, to which paths in them are relative.
pub(crate) fn folder_of(settings: &Path) -> &Path {
    settings.parent().unwrap_or(Path::new(""))
}
