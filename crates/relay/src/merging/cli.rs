//! `qcmerge`: a merging unit as a program. It reads settings, makes this thread as much of a
//! real-time one as it may, publishes, and says at the end what became of each frame.

use realtime::prepare;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;
use terminal::exit::Exit;

use crate::merging::alternate::Alternate;
use crate::merging::expected;
use crate::merging::files::generators;
use crate::merging::publisher::Publisher;
use crate::program::{self, whole};
use anyhow::{Context as _, bail};
use clap::{Args, Parser, Subcommand};
use substation::settings::merging_unit::{self, MergingUnit, STREAMS_MAX};

const EXAMPLES: &str = "\
Examples:
  qcmerge stream --interface v0 --streams 20 --rate 4800 --duration 60s
      twenty streams with the preferred rate of IEC 61869-9 for protection
  qcmerge stream --interface v0 --streams 20 --settings-only >bay.yaml
      the same as settings, as a starting point
  qcmerge check bay.yaml
      lists all errors in settings, with line numbers
  qcmerge expect bay.yaml relay.yaml
      how long the relay's filter needs by itself, in ms; with --json, what each element did
  qcmerge run bay.yaml --interface v0 --core 1 --priority 80 --json
      publishes on a dedicated core and prints figures as JSON
  qcmerge alternate --interface v0 --actions 1000 --interval 50ms --records steps.jsonl
      a current that steps up and down, with a record of when each step was sent

Ctrl-C ends it and prints the summary. Publishing needs CAP_NET_RAW, a priority CAP_SYS_NICE,
locked memory CAP_IPC_LOCK. Exit codes: 0 done, 64 usage, 65 settings are wrong, 69 an interface,
file or right is missing, or nothing trips (expect, with and without --json).";

/// Publishes sampled values as merging units do: paced, many streams, with faults.
#[derive(Parser)]
#[command(name = "qcmerge", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Publish the streams of a settings file
    Run {
        /// Settings in YAML
        settings: PathBuf,
        /// Interface [default: the one in the settings]
        #[arg(long)]
        interface: Option<String>,
        #[command(flatten)]
        how: How,
    },
    /// Publish identical streams of steady load, without settings
    Stream {
        /// Interface
        #[arg(long, required_unless_present = "settings_only")]
        interface: Option<String>,
        #[command(flatten)]
        alike: Alike,
        /// Print the settings of these streams instead of publishing them
        #[arg(long)]
        settings_only: bool,
        #[command(flatten)]
        how: How,
    },
    /// Print the trip time of an ideal relay after the first inception, in ms: the delay of its
    /// filter and elements, without software and network. Records are looked at once
    Expect {
        /// Settings of the merging unit
        settings: PathBuf,
        /// Settings of the relay
        relay: PathBuf,
        /// Print as JSON when each element started and operated and each breaker tripped
        #[arg(long)]
        json: bool,
    },
    /// Publish one stream whose current steps up and down, and record when each step was sent
    Alternate {
        #[command(flatten)]
        alternate: Alternate,
        #[command(flatten)]
        real_time: RealTime,
    },
    /// Check settings and list all errors
    Check {
        /// Settings in YAML
        settings: PathBuf,
    },
}

#[derive(Args)]
struct Alike {
    /// Number of streams
    #[arg(long, default_value_t = 1, value_parser = whole::<u16>(1, STREAMS_MAX as u64))]
    streams: u16,
    /// Samples per second: 4000, 4800 and 14400 are usual
    #[arg(long, default_value_t = 4800, value_parser = whole::<u16>(1000, 15_360))]
    rate: u16,
    /// Samples per frame [default: that of the profile of the rate]
    #[arg(long, value_parser = whole::<u8>(1, 8))]
    asdus: Option<u8>,
    /// Frequency in Hz
    #[arg(long, default_value_t = 50.0, value_parser = program::frequency_hz)]
    frequency: f64,
    /// Delay of each stream after the previous one, such as 10us
    #[arg(long, default_value = "0s", value_parser = settings::units::duration)]
    phase: Duration,
}

#[derive(Args)]
struct How {
    /// Duration, such as 60s [default: that of the settings, or until Ctrl-C]
    #[arg(long, value_parser = settings::units::duration_positive)]
    duration: Option<Duration>,
    #[command(flatten)]
    real_time: RealTime,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RealTime {
    /// Core to run on
    #[arg(long, value_parser = program::core)]
    core: Option<usize>,
    /// SCHED_FIFO priority, 1 to 99
    #[arg(long, value_parser = program::priority)]
    priority: Option<i32>,
}

/// The program `qcmerge`.
pub fn main() -> ExitCode {
    program::main("qcmerge", |cli: Cli| command(cli.command))
}

fn command(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check { settings } => {
            let unit = program::settings(&settings, merging_unit::read)?;
            generators(&unit, &settings)?;
            let streams = program::counted(unit.streams.len(), "stream");
            terminal::out!("{}: {streams}, no errors", settings.display());
            Ok(Exit::Done)
        }
        Command::Alternate { alternate, real_time } => {
            prepare::cores(real_time.core.as_slice())?;
            let is_over = program::stop()?;
            let figures = alternate.run(&is_over, || {
                for warning in real_time.take() {
                    terminal::err!("qcmerge: warning: {warning}");
                }
            })?;
            terminal::out!("{figures}");
            Ok(Exit::Done)
        }
        Command::Expect { settings, relay, json } => expect(&settings, &relay, json),
        Command::Run { settings, interface, how } => {
            let unit = program::settings(&settings, merging_unit::read)?;
            publish(&unit, &settings, interface.as_deref(), &how)
        }
        Command::Stream { alike, settings_only: true, .. } => {
            terminal::print(format_args!("{}", alike.settings()));
            Ok(Exit::Done)
        }
        Command::Stream { interface, alike, how, .. } => {
            let unit = merging_unit::read("qcmerge stream", &alike.settings())?;
            publish(&unit, Path::new(""), interface.as_deref(), &how)
        }
    }
}

fn expect(settings: &Path, relay_path: &Path, json: bool) -> anyhow::Result<Exit> {
    let unit = program::settings(settings, merging_unit::read)?;
    let relay = program::settings(relay_path, substation::settings::read)?;
    let generators = generators(&unit, settings)?;
    let expected = expected::expect(&unit, &relay, generators);
    if json {
        terminal::print_json(&expected.summary().to_string());
    }
    match expected.trip_after_ns() {
        Some(after_ns) if !json => terminal::out!("{:.6}", after_ns as f64 / 1e6),
        Some(_) => {}
        None => bail!(expected.why_no_trip()),
    }
    Ok(Exit::Done)
}

fn publish(
    unit: &MergingUnit,
    settings: &Path,
    interface: Option<&str>,
    how: &How,
) -> anyhow::Result<Exit> {
    let Some(interface) = interface.or(unit.interface.as_deref()) else {
        bail!("no interface; give one with `--interface` or `interface:` in the settings");
    };
    prepare::cores(how.real_time.core.as_slice())?;
    let is_over = program::stop()?;
    let generators = generators(unit, settings)?;
    let said = || format!("interface {interface} (publishing needs CAP_NET_RAW)");
    let publisher = Publisher::new(unit, interface, generators).with_context(said)?;
    let (tell, lines) = channel::<String>();
    // Printing may block, and publishing may not.
    let printer =
        std::thread::spawn(move || lines.iter().for_each(|line| terminal::err!("{line}")));
    let warnings = how.real_time.take();
    let duration = how.duration.or(unit.duration);
    let summary = publisher.run(duration, &is_over, &tell, warnings).with_context(said)?;
    drop(tell);
    printer.join().ok();
    if how.json {
        terminal::print_json(&serde_json::to_string_pretty(&summary)?);
    } else {
        terminal::print(format_args!("{summary}"));
    }
    Ok(Exit::Done)
}

impl RealTime {
    /// Takes the core and priority that were asked for; what is refused is a warning, because the
    /// figures then say less.
    fn take(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut note = |what: &str, result: std::io::Result<()>| {
            if let Err(error) = result {
                warnings.push(format!("{what}: {error}"));
            }
        };
        // Without a priority the kernel may put off each wake-up by 50 us to save power.
        note("exact wake-ups", fs::write("/proc/self/timerslack_ns", "1"));
        if self.core.is_some() || self.priority.is_some() {
            note("memory that stays", os::realtime::lock_memory());
        }
        if let Some(core) = self.core {
            note(&format!("core {core}"), os::realtime::pin(core));
        }
        if let Some(priority) = self.priority {
            note(&format!("priority {priority}"), os::realtime::fifo(priority));
        }
        warnings
    }
}

impl Alike {
    /// These streams as settings.
    fn settings(&self) -> String {
        let Self { streams, rate, asdus, frequency, phase } = self;
        let mut text = format!(
            "merging_unit: alike\nfrequency: {frequency} Hz\n\nsources:\n  \
             load: {{kind: waveform, voltage: 63.5 kV, current: 400 A, lag: 30 deg}}\n\nstreams:\n"
        );
        for number in 1..=*streams {
            let own_phase_us = phase.as_nanos() as f64 / 1000.0 * f64::from(number - 1);
            write!(
                text,
                "  MU{number:02}: {{sv_id: MU{number:02}, destination: 01:0c:cd:04:{:02x}:{:02x}, \
                 app_id: 0x4000, rate: {rate} Hz, phase: {own_phase_us} us, source: load",
                number >> 8,
                number & 0xff
            )
            .expect("a text takes all");
            if let Some(asdus) = asdus {
                write!(text, ", asdus: {asdus}").expect("a text takes all");
            }
            text.push_str("}\n");
        }
        text
    }
}
