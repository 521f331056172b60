//! Small networks for tests that need root: nodes whose namespaces live as long as the sockets
//! opened in them. No namespace gets a name, so nothing can be left behind.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::*;
use crate::capture::reader::{Packet, packets};
use crate::plan;
use crate::tap;

/// Runs `what` in a thread with a network namespace of its own; `None`, and a note, without the
/// right to make one.
pub(crate) fn in_new_namespace<T: Send>(what: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: takes no pointers and changes the calling thread only.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                let error = io::Error::last_os_error();
                eprintln!("not run: no network namespace without root: {error}");
                return None;
            }
            Some(what())
        });
        thread.join().unwrap()
    })
}

/// Runs `what` in a thread in the network namespace in which a socket was opened.
pub(super) fn in_namespace_of<T: Send>(socket: &UdpSocket, what: impl FnOnce() -> T + Send) -> T {
    /// From `linux/sockios.h`: the network namespace of a socket.
    const SIOCGSKNS: libc::Ioctl = 0x894c;
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            tap::enter_namespace_of(socket.as_raw_fd(), SIOCGSKNS).unwrap();
            what()
        });
        thread.join().unwrap()
    })
}

pub(crate) fn address(n: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(n).unwrap() + 1)
}

pub(crate) fn node(n: usize, name: &str) -> plan::Host {
    plan::Host { name: name.into(), address: Some((address(n), 24)) }
}

pub(crate) fn link(from: &str, to: &str, delay: VirtualSpan) -> plan::Link {
    let (from, to, loss) = (from.into(), to.into(), plan::Loss::default());
    plan::Link { from, to, delay, rate_bps: None, queue: 1000, loss }
}

/// A running network and one UDP socket, bound to port 5000, in each node.
pub(super) struct Testbed {
    pub(super) domain: Arc<Domain>,
    pub(super) emulator: Emulator,
    pub(super) sockets: Vec<UdpSocket>,
    pub(super) zero: VirtualTime,
    captures: Captures,
}

pub(crate) const PORT: u16 = 5000;

/// Receives a datagram. With a timeout, whoever was stopped and goes on is interrupted (signal(7)).
pub(crate) fn receive(socket: &UdpSocket, octets: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.recv(octets) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

impl Testbed {
    /// Starts `plan` in `domain`; `None` without root.
    pub(super) fn start(plan: &Plan, domain: &Arc<Domain>) -> Option<Self> {
        let mut taps = BTreeMap::new();
        let mut sockets = Vec::new();
        for (name, mac, ip, prefix) in plan.nodes() {
            let (tap, socket) = in_new_namespace(|| {
                let tap = tap::create_here("eth0", mac, ip, prefix, 1500).unwrap();
                (tap, UdpSocket::bind((ip, PORT)).unwrap())
            })?;
            // A test that waits for what never comes shall fail, not hang.
            socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            taps.insert(name.to_owned(), tap);
            sockets.push(socket);
        }
        let captures = Captures(tempfile::tempdir().unwrap());
        let zero = domain.now();
        let emulator = start(
            plan,
            taps,
            Arc::clone(domain),
            zero,
            Some(captures.0.path()),
            &BTreeMap::new(),
            None,
        )
        .unwrap();
        Some(Self { domain: Arc::clone(domain), emulator, sockets, zero, captures })
    }

    /// Sends from node 0 to node 1 and returns the virtual time that passed until it was there.
    pub(super) fn send_and_receive(&self) -> VirtualSpan {
        let before = self.domain.now();
        self.sockets[0].send_to(b"ping", (address(1), PORT)).unwrap();
        let mut buffer = [0; 2048];
        receive(&self.sockets[1], &mut buffer).unwrap();
        self.domain.now() - before
    }

    /// Counts what node 1 receives before a marker that node 0 sends. The network keeps the order
    /// of frames, so all that was sent before has arrived or was dropped.
    pub(super) fn receive_up_to_a_marker(&self) -> usize {
        let (mut buffer, socket) = ([0; 2048], &self.sockets[1]);
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut received = 0;
        for _ in 0..100 {
            // A full queue may swallow the marker.
            self.sockets[0].send_to(b"marker", (address(1), PORT)).unwrap();
            while let Ok(length) = receive(socket, &mut buffer) {
                if &buffer[..length] == b"marker" {
                    return received;
                }
                received += 1;
            }
        }
        panic!("the marker does not arrive");
    }

    /// Ends the network; returns what it counted and captured.
    pub(super) fn stop(self) -> (NetworkStats, Captures) {
        (self.emulator.stop(), self.captures)
    }
}

pub(super) struct Captures(tempfile::TempDir);

impl Captures {
    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(format!("{name}.pcapng"))
    }

    pub(super) fn of(&self, name: &str) -> Vec<Packet> {
        packets(&std::fs::read(self.path(name)).unwrap())
    }
}
