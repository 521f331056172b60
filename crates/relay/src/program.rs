//! What all programs of this crate do first and last: read the command line and settings, catch
//! signals, and end with an exit code.

use std::error::Error;
use std::fmt::{self, Display};
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow};
use clap::Parser;
use settings::problems::quoted;
use settings::units::{self, Dimension};
use settings::{Fault, Problems};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use terminal::exit::Exit;

pub(crate) const SETTINGS_OCTETS_MAX: u64 = 16 << 20;

/// An error that does not mean that something is missing on this host.
#[derive(Debug)]
struct Refused {
    exit: Exit,
    text: String,
}

impl Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.text)
    }
}

impl Error for Refused {}

/// A command line that makes no sense.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    Refused { exit: Exit::Usage, text: text.into() }.into()
}

/// Settings or data that are wrong.
pub(crate) fn bad_input(text: impl Into<String>) -> anyhow::Error {
    Refused { exit: Exit::BadInput, text: text.into() }.into()
}

/// The main function of a program: `run` does what its command line says. An error is printed with
/// the name of the program, and means that something is missing on this host, unless it is made by
/// [`usage`] or [`bad_input`]; problems of settings are printed each on a line of its own.
pub(crate) fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Result<Exit>) -> ExitCode {
    terminal::exit::abort_on_panic();
    let arguments = match C::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked = !error.use_stderr();
            if asked {
                terminal::print(format_args!("{}", error.render()));
            } else {
                terminal::err!("{}", error.render().to_string().trim_end());
            }
            return terminal::exit_code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    terminal::exit_code(run(arguments).unwrap_or_else(|error| {
        if let Some(problems) = error.downcast_ref::<Problems>() {
            problems.iter().for_each(|problem| terminal::err!("{problem}"));
            return Exit::BadInput;
        }
        terminal::err!("{name}: {error:#}");
        error.downcast_ref::<Refused>().map_or(Exit::BrokenSetup, |refused| refused.exit)
    }))
}

/// A flag that Ctrl-C and the like set.
pub(crate) fn stop() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // Also when a terminal is closed: what runs in it ends in order, unless it was started so that it
    // outlives the terminal (`nohup`).
    let hangup = (!os::signals::is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
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

pub(crate) fn octets(path: &Path, octets_max: u64) -> Result<Vec<u8>> {
    let mut octets = Vec::new();
    let mut take = || File::open(path)?.take(octets_max + 1).read_to_end(&mut octets);
    take().map_err(|error| unreadable(path, &error))?;
    if octets.len() as u64 > octets_max {
        let path = path.display();
        return Err(bad_input(format!(
            "{path}: larger than {octets_max} octets; give a smaller file"
        )));
    }
    Ok(octets)
}

/// A file that is missing, or kept from this user.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow!(
        "{} cannot be read ({error}); give the path of a file that you may read",
        path.display()
    )
}

/// Makes a file, or empties the one that is there.
pub(crate) fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| {
        format!(
            "{} cannot be written: give a file in a folder that you may write to",
            path.display()
        )
    })
}

pub(crate) fn text(path: &Path, octets_max: u64) -> Result<String> {
    String::from_utf8(octets(path, octets_max)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|octet| **octet == b'\n').count() + 1;
        let path = path.display();
        bad_input(format!("{path}: line {line} is not UTF-8; save the file as UTF-8"))
    })
}

/// Reads whole numbers within limits from a command line.
pub(crate) fn whole<T: TryFrom<u64>>(
    min: u64,
    max: u64,
) -> impl Fn(&str) -> Result<T, Fault> + Clone + Send + Sync {
    move |text| {
        let number = units::whole(text, min, max)?;
        Ok(T::try_from(number).ok().expect("the limits are those of its type"))
    }
}

pub(crate) fn core(text: &str) -> Result<usize, Fault> {
    whole(0, 1023)(text)
}

pub(crate) fn priority(text: &str) -> Result<i32, Fault> {
    whole(1, 99)(text)
}

pub(crate) fn frequency_hz(text: &str) -> Result<f64, Fault> {
    units::quantity(text, Dimension::Number, 45.0, 65.0)
}

pub(crate) fn ipv4(text: &str) -> Result<SocketAddrV4, Fault> {
    text.parse().map_err(|_| {
        let what = format!("{} is not an IPv4 address with a port", quoted(text));
        Fault::new(what, "write it as `192.0.2.1:7400`")
    })
}

/// `1 stream`, `2 streams`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The settings of a file.
pub(crate) fn settings<'p, T>(
    path: &'p Path,
    read: impl FnOnce(&'p Path, &str) -> Result<T, Problems>,
) -> Result<T> {
    Ok(read(path, &text(path, SETTINGS_OCTETS_MAX)?)?)
}

/// The folder of settings, to which paths in them are relative.
pub(crate) fn folder_of(settings: &Path) -> &Path {
    settings.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named_with_the_fix() {
        let refused = format!("{:#}", create(Path::new("/nowhere/steps")).unwrap_err());
        assert!(
            refused.starts_with("/nowhere/steps cannot be written: give a file in"),
            "{refused}"
        );
    }
}
