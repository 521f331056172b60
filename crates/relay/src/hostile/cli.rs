//! `qchostile`: what tests set against relays that act as one. It holds the keys of a node that it
//! was given, or none, and does its worst.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use terminal::exit::Exit;

use crate::hostile::attack::Attack;
use crate::hostile::insider::{self, Plan};
use crate::hostile::outsider;
use crate::program::{self, whole};
use clap::{Parser, Subcommand};
use substation::settings::quorum::read_node;

/// A hostile relay node and an intruder on the network, for tests.
#[derive(Parser)]
#[command(name = "qchostile", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Act as a compromised relay node, with the keys named in its settings
    Insider {
        /// Settings of the node
        settings: PathBuf,
        /// Attack to carry out
        #[arg(long, value_enum)]
        attack: Attack,
        /// Number of valid-looking copies sent with each message
        #[arg(long, default_value_t = 0, value_parser = whole::<u32>(0, u32::MAX.into()))]
        copies: u32,
        /// Number of its working keys; a number that was used before makes them old keys
        #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
        counter: u64,
        /// Number of the next action of the breaker, if the keys are not valid for asking
        #[arg(long, value_parser = whole::<u64>(0, u64::MAX))]
        assumed: Option<u64>,
        /// Duration
        #[arg(long, value_parser = settings::units::duration_positive)]
        duration: Option<Duration>,
    },
    /// Record all datagrams of the protocol on an interface
    Record {
        /// Interface
        interface: String,
        /// File with the datagrams
        file: PathBuf,
    },
    /// Replay recorded datagrams in a loop
    Replay {
        /// File with the datagrams
        file: PathBuf,
        /// Packets per second
        #[arg(long, default_value_t = 10_000, value_parser = whole::<u32>(1, u32::MAX.into()))]
        rate: u32,
    },
    /// Send datagrams that are valid except for their tag, with a forged source address
    Flood {
        /// Forged source address
        #[arg(long, value_parser = program::ipv4)]
        from: SocketAddrV4,
        /// Address to flood
        #[arg(long, value_parser = program::ipv4)]
        to: SocketAddrV4,
        /// Number of the alleged sender; 4 is the breaker node
        #[arg(long, value_parser = whole::<u8>(0, 4))]
        sender: u8,
        /// Number of the recipient, another one
        #[arg(long, value_parser = whole::<u8>(0, 4))]
        recipient: u8,
        /// Key epoch
        #[arg(long, default_value_t = 1, value_parser = whole::<u32>(0, u32::MAX.into()))]
        epoch: u32,
        /// Datagrams per second
        #[arg(long, default_value_t = 100_000, value_parser = whole::<u32>(1, u32::MAX.into()))]
        rate: u32,
    },
}

/// The program `qchostile`.
pub fn main() -> ExitCode {
    program::main("qchostile", |cli: Cli| command(cli.command))
}

fn command(command: Command) -> anyhow::Result<Exit> {
    let stop = program::stop()?;
    match command {
        Command::Insider { settings, attack, copies, counter, assumed, duration } => {
            let node = program::settings(&settings, read_node)?;
            let plan = Plan { attack, copies, counter, assumed, duration };
            terminal::out!(
                "{}",
                insider::run(&node.quorum, program::folder_of(&settings), plan, &stop)?
            );
        }
        Command::Record { interface, file } => {
            terminal::out!("{}", outsider::record(&interface, &file, &stop)?);
        }
        Command::Replay { file, rate } => {
            terminal::out!("{}", outsider::replay(&file, rate, &stop)?);
        }
        Command::Flood { from, to, sender, recipient, epoch, rate } => {
            if sender == recipient {
                let what = format!("--sender and --recipient are both {sender}");
                return Err(program::usage(format!("{what}; give two parties")));
            }
            let about = (sender, recipient, epoch);
            terminal::out!("{}", outsider::flood((from, to), about, rate, &stop)?);
        }
    }
    Ok(Exit::Done)
}
