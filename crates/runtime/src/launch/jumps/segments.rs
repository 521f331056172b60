//! TCP connections of programs for which a kernel may be about to do something: it sends a segment
//! again, asks for room, or acknowledges late, by timers that run on host time. The clock has to run
//! along with them: a jump meanwhile would let a timeout of a program pass before an answer that is
//! on its way. As long as the acknowledgement of a segment is not there, its sender has a timer. What is
//! not sent yet although it could be is spread over time by its congestion control (BBR), with a timer
//! of which nothing is told.
//!
//! Where the agent carries what programs send to others itself, it knows of that by its network, which sees
//! what is still under way ([`super::Outlook`]); then connections within a node are all that is looked at.
//!
//! Connections are looked at only when the namespace of the network has sent segments since nothing was
//! awaited there; where sending is spread over time, also as long as a program has a connection at all, since
//! a segment that is not sent yet shows in no count. proc_pid_net(5), network_namespaces(7)

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use libc::pid_t;
use os::process::live_thread_of;

/// The namespaces of the network in which programs are.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    namespaces: BTreeMap<PathBuf, Namespace>,
    which: Which,
    /// Whether connections of this host spread over time what they send.
    pace: bool,
}

/// Which connections of programs keep the clock from jumping while a timer runs for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Which {
    #[default]
    All,
    /// Those with both ends on one host.
    WithinHosts,
}

#[derive(Debug)]
struct Namespace {
    /// Statistics of TCP or of interfaces, and the connections over both versions of IP.
    counters: File,
    connections: Vec<File>,
    /// Segments sent when nothing was awaited.
    settled: Option<u64>,
    /// Nothing was awaited, and none of its processes has run since.
    is_quiet: bool,
    processes: BTreeSet<pid_t>,
}

impl Namespaces {
    pub(super) fn new(which: Which) -> Self {
        let control = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        // Nodes have one of these, whatever their host has (`network::tcp_settings`).
        let pace = which == Which::All && paces(control.unwrap_or_default().trim());
        Self { namespaces: BTreeMap::new(), which, pace }
    }

    /// Finds out anew where these processes are.
    pub(super) fn find(&mut self, processes: &BTreeSet<pid_t>) {
        self.namespaces.values_mut().for_each(|namespace| namespace.processes.clear());
        for process in processes {
            let thread = live_thread_of(*process);
            // One that hides from us is in ours, as far as is known.
            let path = std::fs::read_link(format!("/proc/{thread}/ns/net"))
                .or_else(|_| std::fs::read_link("/proc/self/ns/net"));
            let Ok(path) = path else { continue };
            if let Some(known) = self.namespaces.get_mut(&path) {
                known.processes.insert(*process);
                known.is_quiet = false;
            } else if let Ok(mut new) =
                Namespace::of(thread, self.which).or_else(|_| Namespace::of_ours(self.which))
            {
                new.processes.insert(*process);
                self.namespaces.insert(path, new);
            }
        }
        self.namespaces.retain(|_, namespace| !namespace.processes.is_empty());
    }

    /// A process has run: it may have sent something.
    pub(super) fn ran(&mut self, process: pid_t) {
        let its = self.namespaces.values_mut().filter(|one| one.processes.contains(&process));
        its.for_each(|namespace| namespace.is_quiet = false);
    }

    /// Whether a timer of a kernel runs for a connection of a program. What cannot be read has none.
    pub(super) fn are_owed(&mut self) -> bool {
        let (which, pace) = (self.which, self.pace);
        let mut namespaces = self.namespaces.values_mut();
        namespaces.any(|namespace| namespace.is_owed(which, pace).unwrap_or(false))
    }
}

impl Namespace {
    fn of(thread: pid_t, which: Which) -> io::Result<Self> {
        Self::in_folder(&format!("/proc/{thread}/net"), which)
    }

    fn of_ours(which: Which) -> io::Result<Self> {
        Self::in_folder("/proc/self/net", which)
    }

    fn in_folder(folder: &str, which: Which) -> io::Result<Self> {
        let open = |file: &str| File::open(format!("{folder}/{file}"));
        let connections = ["tcp", "tcp6"].into_iter().filter_map(|file| open(file).ok()).collect();
        let counters = match which {
            Which::All => open("snmp")?,
            Which::WithinHosts => open("dev")?,
        };
        Ok(Self {
            counters,
            connections,
            settled: None,
            is_quiet: false,
            processes: BTreeSet::new(),
        })
    }

    fn is_owed(&mut self, which: Which, pace: bool) -> io::Result<bool> {
        if self.is_quiet {
            return Ok(false);
        }
        let mut octets = [0; 4096];
        let count = self.counters.read_at(&mut octets, 0)?;
        let counters = String::from_utf8_lossy(&octets[..count]);
        let sent = match which {
            Which::All => segments_sent(&counters),
            Which::WithinHosts => sent_to_itself(&counters),
        };
        if sent.is_some() && sent == self.settled {
            self.is_quiet = true;
            return Ok(false);
        }
        let mut timed = Timed::default();
        for file in &mut self.connections {
            let mut lines = String::new();
            file.rewind()?;
            file.read_to_string(&mut lines)?;
            lines.lines().skip(1).for_each(|line| timed.note(line, which));
        }
        let is_owed = timed.is_local || self.have_one_of(&timed.sockets);
        let may_soon_be = || pace && self.have_one_of(&timed.open);
        if !(is_owed || may_soon_be()) {
            self.settled = sent;
        }
        Ok(is_owed)
    }

    fn have_one_of(&self, sockets: &BTreeSet<PathBuf>) -> bool {
        if sockets.is_empty() {
            return false;
        }
        let descriptors = |process: &pid_t| {
            std::fs::read_dir(format!("/proc/{}/fd", live_thread_of(*process)))
                .into_iter()
                .flatten()
        };
        let mut links = self
            .processes
            .iter()
            .flat_map(descriptors)
            .filter_map(|descriptor| std::fs::read_link(descriptor.ok()?.path()).ok());
        links.any(|link| sockets.contains(&link))
    }
}

/// `OutSegs` of the statistics: of two lines of `Tcp:`, the first has the names.
fn segments_sent(counters: &str) -> Option<u64> {
    let mut lines = counters.lines().filter(|line| line.starts_with("Tcp:"));
    let (mut names, mut values) = (lines.next()?.split(' '), lines.next()?.split(' '));
    let place = names.position(|name| name == "OutSegs")?;
    values.nth(place)?.parse().ok()
}

/// Packets that a host has sent to itself, of the statistics of its interfaces.
fn sent_to_itself(counters: &str) -> Option<u64> {
    let loopback = counters.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    loopback.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Connections for which a timer runs.
#[derive(Debug, Default)]
struct Timed {
    /// As links to their descriptors say.
    sockets: BTreeSet<PathBuf>,
    /// All others that may send.
    open: BTreeSet<PathBuf>,
    /// There is one within this host that no process has open any more.
    is_local: bool,
}

impl Timed {
    fn note(&mut self, line: &str, which: Which) {
        /// Of the timers: one that sends again, or asks for room.
        const SENDS: [&str; 2] = ["01", "04"];
        /// Of the states: `TCP_TIME_WAIT`, `TCP_CLOSE` and `TCP_LISTEN`.
        const SEND_NOTHING: [&str; 3] = ["06", "07", "0A"];
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, remote, state, queues, timer, _, _, _, socket] =
            fields[..fields.len().min(10)]
        else {
            return;
        };
        let [queue, timer] = [queues, timer].map(|field| field.split(':').next().unwrap_or(""));
        let name = || format!("socket:[{socket}]").into();
        if queue.bytes().all(|digit| digit == b'0') && !SENDS.contains(&timer) {
            if !SEND_NOTHING.contains(&state) {
                self.open.insert(name());
            }
            return;
        }
        let is_within = is_loopback(local) || host(local) == host(remote);
        if which == Which::WithinHosts && !is_within {
            return;
        }
        match socket {
            "0" => self.is_local |= is_loopback(local),
            _ => _ = self.sockets.insert(name()),
        }
    }
}

/// Whether a congestion control spreads over time what is sent; of one that is not known it is taken to.
fn paces(congestion_control: &str) -> bool {
    !matches!(congestion_control, "reno" | "cubic")
}

/// An address without its port.
fn host(address: &str) -> Option<&str> {
    Some(address.split_once(':')?.0)
}

/// Whether an address, in the host's order of octets, is of 127.0.0.0/8 or ::1.
fn is_loopback(address: &str) -> bool {
    let Some((address, _)) = address.split_once(':') else { return false };
    let words: Option<Vec<u32>> = (0..address.len() / 8)
        .map(|word| u32::from_str_radix(address.get(word * 8..word * 8 + 8)?, 16).ok())
        .collect();
    let octets: Vec<u8> = words.into_iter().flatten().flat_map(u32::to_ne_bytes).collect();
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127];
    octets.len() == 4 && octets[0] == 127
        || octets.len() == 16 && (octets[..15] == [0; 15] && octets[15] == 1)
        || octets.len() == 16 && octets[..13] == mapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    #[test]
    fn segments_are_counted_by_the_name() {
        let counters =
            "Ip: A B\nIp: 1 2\nTcp: RtoMin InSegs OutSegs Errs\nTcp: 200 7 8 9\nUdp: X\n";
        assert_eq!(segments_sent(counters), Some(8));
        for broken in ["", "Tcp: OutSegs\n", "Tcp: InSegs\nTcp: 4\n", "Tcp: OutSegs\nTcp: x\n"] {
            assert_eq!(segments_sent(broken), None);
        }
    }

    #[test]
    fn who_is_not_known_not_to_pace_is_taken_to() {
        assert!(!paces("reno") && !paces("cubic") && paces("bbr") && paces(""));
    }

    #[test]
    fn packets_to_itself_are_those_of_the_loopback_interface() {
        let counters = "Inter-| Receive\n face |bytes packets\n  eth0: 5 6 0\n    lo: 840 12 0 0\n";
        assert_eq!(sent_to_itself(counters), Some(12));
        for broken in ["", "lo", "lo: 7", "lo: 7 x"] {
            assert_eq!(sent_to_itself(broken), None);
        }
    }

    #[test]
    fn lines_name_connections_for_which_a_timer_runs() {
        let queued = |local: &str, unsent: u32, timer: &str, socket: &str| {
            format!(
                "   0: {local} 0100007F:0016 01 {unsent:08X}:00000007 {timer}:00000014 00000000  0 0 {socket} 4 0"
            )
        };
        let line = |local: &str, timer: &str, socket: &str| queued(local, 0, timer, socket);
        let mut timed = Timed::default();
        for (timer, socket) in
            [("00", "11"), ("02", "12"), ("03", "13"), ("01", "14"), ("04", "15")]
        {
            timed.note(&line("0100007F:1F90", timer, socket), Which::All);
        }
        timed.note(&queued("0100007F:1F90", 1, "00", "16"), Which::All);
        timed.note("", Which::All);
        timed.note("1: 2", Which::All);
        let mut within = Timed::default();
        let pair = |remote| format!("0: 0200000A:1F90 {remote}:0016 01 0:0 01:14 0 0 0 16 4 0");
        within.note(&pair("0100000A"), Which::WithinHosts);
        assert!(within.sockets.is_empty(), "the network of the agent carries that");
        within.note(&pair("0200000A"), Which::WithinHosts);
        assert_eq!(within.sockets.len(), 1);
        let expected = ["socket:[14]", "socket:[15]", "socket:[16]"].map(PathBuf::from);
        assert_eq!((timed.sockets, timed.is_local), (BTreeSet::from(expected), false));
        let open = ["socket:[11]", "socket:[12]", "socket:[13]"].map(PathBuf::from);
        assert_eq!(timed.open, BTreeSet::from(open));
        let orphan = |local| {
            let mut timed = Timed::default();
            timed.note(&line(local, "01", "0"), Which::All);
            timed.is_local
        };
        if cfg!(target_endian = "little") {
            assert!(orphan("0100007F:1F90") && !orphan("0100000A:1F90"));
            assert!(orphan("00000000000000000000000001000000:0016"));
            assert!(orphan("0000000000000000FFFF00000100007F:0016"));
            assert!(!orphan("00000000000000000000000002000000:0016") && !orphan("x:1"));
        }
    }

    /// Octets for which the receiver has no room have a timer until it reads.
    #[test]
    fn what_a_program_of_ours_has_sent_in_vain_is_owed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        let mut namespaces = Namespaces::default();
        namespaces.find(&BTreeSet::from([std::process::id().cast_signed()]));
        while sender.write(&[0; 65536]).is_ok() {}
        assert!(namespaces.are_owed());
        let mut nobodys = Namespaces::default();
        assert!(!nobodys.are_owed());
        nobodys.find(&BTreeSet::new());
        assert!(!nobodys.are_owed());
        drop((sender, receiver));
        let begun = Instant::now();
        // Other tests of this process may have connections too.
        while namespaces.are_owed() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
