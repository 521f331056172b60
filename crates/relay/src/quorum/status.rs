//! How the breaker stands and who is heard, for those who ask: one line of JSON for each connection.
//!
//! It is for the breaker node's own host, where the rejuvenator runs, and says nothing
//! that acknowledgements do not say.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use quorum::{Action, CommonTime, NODES, NodeId, Remembered};
use realtime::time;
use serde::{Deserialize, Serialize};

/// How long one who asks may take: a slower one is not waited for.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long one who asks waits for the answer.
const ANSWER: Duration = Duration::from_millis(500);

/// What the thread that must be in time shows to the others.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    heard_ns: [AtomicU64; NODES],
    counters: [AtomicU64; NODES],
    generation: AtomicU64,
    is_open: AtomicBool,
    is_memory_lost: AtomicBool,
}

/// How the breaker stands, and whom its node hears.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// When something authentic came from each node last, in ns since 1970; 0 for never.
    pub heard_ns: [u64; NODES],
    /// The number of each node's working keys.
    pub counters: [u64; NODES],
    /// The number of the next action.
    pub generation: u64,
    /// Whether the last action was a trip.
    pub is_open: bool,
    /// Whether relay nodes know of actions that the breaker node does not: its memory was lost.
    #[serde(default)]
    pub is_memory_lost: bool,
    /// When this was said, in ns since 1970.
    pub now_ns: u64,
}

impl Shown {
    /// Something authentic came from a node.
    pub(crate) fn heard(&self, node: NodeId, at: CommonTime) {
        self.heard_ns[node.index()].store(at.ns(), Ordering::Relaxed);
    }

    /// The breaker stands so.
    pub(crate) fn stands(&self, remembered: &Remembered) {
        for (shown, counter) in self.counters.iter().zip(remembered.counters.highest()) {
            shown.store(counter, Ordering::Relaxed);
        }
        self.generation.store(remembered.generation.0, Ordering::Relaxed);
        self.is_open.store(remembered.state == Action::Trip, Ordering::Relaxed);
    }

    /// Relay nodes know of actions that are not in the memory.
    pub(crate) fn memory_is_lost(&self) {
        self.is_memory_lost.store(true, Ordering::Relaxed);
    }

    fn status(&self) -> Status {
        Status {
            heard_ns: self.heard_ns.each_ref().map(|at_ns| at_ns.load(Ordering::Relaxed)),
            counters: self.counters.each_ref().map(|counter| counter.load(Ordering::Relaxed)),
            generation: self.generation.load(Ordering::Relaxed),
            is_open: self.is_open.load(Ordering::Relaxed),
            is_memory_lost: self.is_memory_lost.load(Ordering::Relaxed),
            now_ns: time::common().ns(),
        }
    }
}

/// Answers those who wait.
pub(crate) fn serve(listener: &TcpListener, shown: &Shown) {
    while let Ok((mut caller, _)) = listener.accept() {
        let line = serde_json::to_string(&shown.status()).expect("these are plain numbers");
        let answered =
            caller.set_write_timeout(Some(PATIENCE)).and_then(|()| writeln!(caller, "{line}"));
        // One that has gone needs no answer.
        drop(answered);
    }
}

/// Asks a breaker node how it stands; an error is that nobody answers, or somebody else.
pub fn ask(address: SocketAddr) -> io::Result<Status> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut line = String::new();
    stream.read_to_string(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
