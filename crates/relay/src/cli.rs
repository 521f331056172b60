//! The command line of `qcrelay`. Exit codes are those of `qcycle`.

mod quorum;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;
use terminal::exit::Exit;

use anyhow::{Result, anyhow};
use clap::{Parser, Subcommand, ValueEnum};
use iec61850::scl;
use substation::settings::imported::{self, Wanted};
use substation::settings::merging_unit::MERGING_UNIT;
use substation::settings::quorum::{BREAKER_NODE, REJUVENATOR, RELAY_NODE};
use substation::settings::{self, Relay};

use crate::quorum::keys::KeysRequest;
use crate::run::run;
use crate::{control, metrics, program, top};

const EXAMPLES: &str = "\
Examples:
  qcrelay check relay.yaml
  qcrelay run relay.yaml --interface eth1 --duration 60s --json
  qcrelay import bay.cid --own REL1 > relay.yaml
  qcrelay schema relay > relay.schema.json
  qcrelay top 127.0.0.1:9462
  qcrelay group /run/bay-Q01.sock 2

Exit codes: 0 done, 12 a part failed, 64 usage, 65 bad settings, 69 something is missing on this \
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
        #[arg(long, value_parser = ::settings::units::duration_positive)]
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
    /// Run a relay node: one of four relays that act as one
    Node(quorum::Run),
    /// Run the breaker node of relays that act as one
    Breaker(quorum::Run),
    /// Make the keys of relays that act as one
    Keys(KeysRequest),
    /// Start relay nodes, and replace them one after the other by new instances
    Rejuvenate(quorum::Rejuvenate),
    /// Measure how much core time the host takes, while nodes run there
    Meter(quorum::Meter),
    /// Print the streams and messages of a substation file (ICD, CID, SCD) as settings
    Import {
        /// File in SCL
        file: PathBuf,
        /// Nominal frequency, which is not in these files
        #[arg(long, default_value_t = 50.0, value_name = "HZ", value_parser = program::frequency_hz)]
        frequency: f64,
        /// Device that the relay represents: its messages are published, those of others received
        #[arg(long, value_name = "IED")]
        own: Option<String>,
    },
    /// Print the JSON Schema of settings, for editors that complete and underline
    Schema {
        /// Kind of settings
        kind: SettingsKind,
    },
    /// Show the active setting group of a running relay, or change it
    Group {
        /// Its socket, which its settings name in `control`
        socket: PathBuf,
        /// The group that shall be active
        #[arg(value_parser = program::whole::<u8>(1, 8))]
        group: Option<u8>,
    },
    /// Show the metrics of a running relay, once a second
    Top {
        /// Address of its metrics
        #[arg(default_value = "127.0.0.1:9462", value_parser = settings::socket)]
        address: SocketAddr,
        /// Show them once and exit
        #[arg(long)]
        once: bool,
    },
}

/// Kinds of settings, each with a schema.
#[derive(Clone, Copy, ValueEnum)]
enum SettingsKind {
    /// Of `qcrelay run`
    Relay,
    /// Of `qcrelay node`
    Node,
    /// Of `qcrelay breaker`
    Breaker,
    /// Of `qcrelay rejuvenate`
    Rejuvenate,
    /// Of `qcmerge run`
    MergingUnit,
}

impl SettingsKind {
    fn schema(self) -> serde_json::Value {
        let table = match self {
            Self::Relay => &settings::RELAY,
            Self::Node => &RELAY_NODE,
            Self::Breaker => &BREAKER_NODE,
            Self::Rejuvenate => &REJUVENATOR,
            Self::MergingUnit => &MERGING_UNIT,
        };
        ::settings::schema::schema(table, &format!("Settings of {}", table.what))
    }
}

/// Runs what the command line says.
pub fn main() -> ExitCode {
    program::main("qcrelay", |arguments: Arguments| command(arguments.command))
}

fn command(command: Command) -> Result<Exit> {
    match command {
        Command::Node(run) => quorum::node(&run),
        Command::Breaker(run) => quorum::breaker(&run),
        Command::Keys(keys) => quorum::keys(&keys),
        Command::Meter(meter) => quorum::meter(&meter),
        Command::Rejuvenate(rejuvenate) => quorum::rejuvenate(&rejuvenate),
        Command::Check { settings: path } => {
            let relay = program::settings(&path, settings::read)?;
            let streams = program::counted(relay.protection.streams.len(), "stream");
            let elements = program::counted(relay.protection.elements.len(), "element");
            terminal::out!("{}: no errors: {streams}, {elements}", path.display());
            Ok(Exit::Done)
        }
        Command::Run { settings: path, interface, duration, json } => {
            let text = program::text(&path, program::SETTINGS_OCTETS_MAX)?;
            let mut relay = settings::read(&path, &text)?;
            relay.host.interface = interface.or(relay.host.interface);
            run_it(&relay, &text, duration, json)
        }
        Command::Schema { kind } => {
            terminal::print_json(&format!("{:#}", kind.schema()));
            Ok(Exit::Done)
        }
        Command::Import { file, frequency, own } => import(&file, frequency, own.as_deref()),
        Command::Group { socket, group } => Ok(match control::ask(&socket, group)? {
            Ok(said) => {
                terminal::out!("{said}");
                Exit::Done
            }
            Err(why) => {
                terminal::err!("qcrelay: {why}");
                Exit::PartFailed
            }
        }),
        Command::Top { address, once } => loop {
            let metrics = top::fetch(address).map_err(|error| {
                anyhow!(
                    "no relay answers at {address} ({error}): start one, or give the address that \
                     its settings name in `metrics`"
                )
            })?;
            let page = top::page(&metrics);
            if once {
                terminal::print(format_args!("{page}"));
                return Ok(Exit::Done);
            }
            terminal::print_page(&page);
            if terminal::is_closed() {
                return Ok(Exit::Done);
            }
            sleep(Duration::from_secs(1));
        },
    }
}

fn run_it(relay: &Relay, text: &str, duration: Option<Duration>, json: bool) -> Result<Exit> {
    let stop = program::stop()?;
    let (totals, failure) = run(relay, text, duration, &stop)?;
    for warning in &totals.warnings {
        terminal::err!("qcrelay: warning: {warning}");
    }
    if json {
        terminal::print_json(&totals.summary().to_string());
    } else {
        terminal::print(format_args!("{}", top::page(&metrics::text(&totals))));
    }
    Ok(program::end(failure, &stop))
}

/// Prints what a file says; what it lacks goes to the terminal.
fn import(path: &Path, frequency_hz: f64, own: Option<&str>) -> Result<Exit> {
    let station = match scl::read(&program::text(path, scl::OCTETS_MAX as u64)?) {
        Ok(station) => station,
        Err(error) => {
            terminal::err!("{}: {error}", path.display());
            return Ok(Exit::BadInput);
        }
    };
    let devices: BTreeSet<&str> = station.messages.iter().map(|m| m.device.as_str()).collect();
    if let Some(own) = own.filter(|own| !devices.contains(own)) {
        let there: Vec<&str> = devices.into_iter().collect();
        terminal::err!(
            "{}: {own} sends no messages; senders are: {}",
            path.display(),
            there.join(", ")
        );
        return Ok(Exit::BadInput);
    }
    let (yaml, unfit) = imported::from_scl(&station, &Wanted { frequency_hz, own });
    terminal::print(format_args!("{yaml}"));
    for left_out in &station.left_out {
        terminal::err!("{}: {left_out}", path.display());
    }
    for left_out in &unfit {
        terminal::err!("{}: {left_out}", path.display());
    }
    Ok(Exit::Done)
}
