//! `qcwire`: a wire between guests of QEMU, as boards have one between their GPIO lines.
//!
//! Each guest gets a device `vhost-user-gpio-pci` at a socket of its own, with three lines that are all on the same
//! wire. [`wire`] decides what level that has and who is told; [`protocol`] is what guests say;
//! [`session`] is QEMU and the memory of guests.

mod protocol;
mod session;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use anyhow::anyhow;
use clap::{Parser, ValueEnum};
use terminal::exit::{self, Exit};
use vhost_user_backend::{Error, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use session::{Session, Shared};

/// Connects GPIO lines of guests of QEMU with a wire: wired OR
///
/// Guests need `-object memory-backend-memfd,id=memory,size=256M,share=on`, a machine with
/// `memory-backend=memory`, `-chardev socket,id=wire,path=SOCKET` and `-device vhost-user-gpio-pci,chardev=wire`.
#[derive(Parser)]
#[command(name = "qcwire", version)]
struct Arguments {
    /// Where guests connect, one each; made anew when a guest has gone
    #[arg(required = true)]
    sockets: Vec<PathBuf>,
    /// The level of the wire while nobody drives it to the other one
    #[arg(long, value_enum, default_value_t = Pull::Down)]
    pull: Pull,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pull {
    Down,
    Up,
}

fn main() -> ExitCode {
    exit::abort_on_panic();
    let arguments = Arguments::parse();
    let shared = Shared::new(arguments.sockets.len(), arguments.pull == Pull::Up);
    let (report, failed) = mpsc::channel();
    for (guest, socket) in arguments.sockets.into_iter().enumerate() {
        let (shared, report) = (shared.clone(), report.clone());
        thread::spawn(move || report.send(serve(guest, &socket, &shared)));
    }
    drop(report);
    // The first socket that fails ends it all: a wire without one of its guests is another wire.
    if let Ok(error) = failed.recv() {
        terminal::complain(format_args!("{error:#}"));
    }
    terminal::exit_code(Exit::BrokenSetup)
}

/// One guest after the other at a socket, until none can come any more.
fn serve(guest: usize, socket: &Path, shared: &Shared) -> anyhow::Error {
    loop {
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let session = Session::new(guest, shared.clone(), memory.clone());
        let session = Arc::new(Mutex::new(session));
        let served = VhostUserDaemon::new(format!("guest {guest}"), session, memory)
            .and_then(|mut daemon| daemon.serve(socket));
        shared.leave(guest);
        match served {
            Ok(()) => {}
            Err(Error::HandleRequest(error)) => {
                terminal::complain(format_args!("the guest at {}: {error}", socket.display()));
            }
            Err(error) => return anyhow!("{}: {error}", socket.display()),
        }
    }
}
