//! The command line of `qcrelay`. Exit codes are those of `qcycle`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use substation::settings::{self, Relay};

use crate::run::{Ended, Missing, run};
use crate::top;

/// Done.
const DONE: u8 = 0;
/// A part died that the relay needs; what was measured up to then is told.
const PART_FAILED: u8 = 12;
/// A command line that makes no sense.
const USAGE: u8 = 64;
/// The settings are wrong.
const BAD_SETTINGS: u8 = 65;
/// Something is missing on this host.
const BROKEN_SETUP: u8 = 69;
/// Ended by Ctrl-C or a signal.
const INTERRUPTED: u8 = 130;

const EXAMPLES: &str = "\
Examples:
  qcrelay check relay.yaml
  qcrelay run relay.yaml --interface eth1 --duration 60s --json
  qcrelay top 127.0.0.1:9462

Exit codes: 0 done, 12 a part died, 64 usage, 65 bad settings, 69 something is missing on this \
host, 130 interrupted.";

#[derive(Parser)]
#[command(name = "qcrelay", version, about = "A protection relay as a program", after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a relay on a process bus until Ctrl-C
    #[command(after_help = EXAMPLES)]
    Run {
        /// Settings in YAML
        settings: PathBuf,
        /// Interface of the process bus, instead of the one in the settings
        #[arg(long)]
        interface: Option<String>,
        /// End after this time, such as `90s`, `500ms` or `24h`
        #[arg(long, value_parser = span)]
        duration: Option<Duration>,
        /// Print the summary as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check settings and run nothing
    Check {
        /// Settings in YAML
        settings: PathBuf,
    },
    /// Show the metrics of a running relay, once a second
    Top {
        /// Where it serves them
        #[arg(default_value = "127.0.0.1:9462")]
        address: SocketAddr,
        /// Show them once and end
        #[arg(long)]
        once: bool,
    },
}

/// Runs what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A pipe that is closed is no reason to fail differently.
            let _closed = error.print();
            return if error.use_stderr() { USAGE.into() } else { DONE.into() };
        }
    };
    match command(arguments.command) {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("qcrelay: {error:#}");
            BROKEN_SETUP.into()
        }
    }
}

fn command(command: Command) -> Result<u8> {
    match command {
        Command::Check { settings } => {
            let Some(relay) = read(&settings)? else { return Ok(BAD_SETTINGS) };
            let (streams, elements) = (relay.streams.len(), relay.elements.len());
            println!("{}: good: {streams} streams, {elements} elements", settings.display());
            Ok(DONE)
        }
        Command::Run { settings, interface, duration, json } => {
            let Some(mut relay) = read(&settings)? else { return Ok(BAD_SETTINGS) };
            relay.host.interface = interface.or(relay.host.interface);
            run_it(&relay, duration, json)
        }
        Command::Top { address, once } => loop {
            let metrics = top::fetch(address).with_context(|| format!("asking {address}"))?;
            let clear = if once { "" } else { "\x1b[H\x1b[2J" };
            print!("{clear}{}", top::page(&metrics));
            if once {
                return Ok(DONE);
            }
            sleep(Duration::from_secs(1));
        },
    }
}

fn run_it(relay: &Relay, duration: Option<Duration>, json: bool) -> Result<u8> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("catching signals")?;
    }
    let begun = |metrics: Option<SocketAddr>| {
        let at = metrics.map_or(String::new(), |at| format!(", metrics at http://{at}/metrics"));
        eprintln!("qcrelay: {} runs{at}", relay.name);
    };
    let Ended { totals, failure } = run(relay, duration, &stop, begun)?;
    for warning in &totals.warnings {
        eprintln!("qcrelay: warning: {warning}");
    }
    let summary = totals.summary();
    if json {
        println!("{summary}");
    } else {
        print!("{}", top::page(&crate::metrics::text(&totals)));
    }
    if let Some(failure) = failure {
        eprintln!("qcrelay: {failure}");
        return Ok(PART_FAILED);
    }
    Ok(if stop.load(Ordering::Relaxed) { INTERRUPTED } else { DONE })
}

/// The settings; problems are printed.
fn read(path: &Path) -> Result<Option<Relay>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Missing(format!("{} cannot be read ({error})", path.display())))?;
    match settings::read(&text) {
        Ok(relay) => Ok(Some(relay)),
        Err(problems) => {
            eprintln!("{}: {problems}", path.display());
            Ok(None)
        }
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let factor = match &text[number.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number and ms, s, min or h".into()),
    };
    let seconds = number.parse::<f64>().map_err(|error| error.to_string())? * factor;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
