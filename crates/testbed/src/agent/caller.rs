//! Who calls an agent: a program of its own domain must not be frozen by the hold that it asks
//! for, for then it could never release it. And what is done to the domain of a run is told with who
//! did it.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use super::orphans;
use crate::results::intervention::Caller;

/// Most letters of a command line that are told.
const COMMAND_LENGTH_MAX: usize = 200;

/// Whether the process at the other end of a connection comes from this one, as all programs of a
/// domain do: keepers and nodes adopt those that lose their parents.
pub(super) fn is_inside(stream: &UnixStream) -> bool {
    let own = std::process::id().cast_signed();
    let peer = peer(stream).map(|peer| peer.pid);
    let ancestors = std::iter::successors(peer, |process| orphans::parent_of(*process));
    ancestors.take_while(|process| *process > 1).any(|process| process == own)
}

/// Who has opened a connection, while he is there. What he calls himself is made harmless.
pub(super) fn who(stream: &UnixStream, inside: bool) -> Caller {
    let Some(peer) = peer(stream) else { return Caller { inside, ..Caller::default() } };
    let line = std::fs::read(format!("/proc/{}/cmdline", peer.pid)).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace(char::is_control, " ");
    let command = line.trim().chars().take(COMMAND_LENGTH_MAX).collect();
    Caller { pid: peer.pid, uid: peer.uid, command, inside }
}

/// The process that has opened a connection. unix(7), `SO_PEERCRED`
fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a live structure, and its size.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let to = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), level, name, to, &raw mut length)
    };
    (result == 0).then_some(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_comes_from_itself() {
        let (own, _other) = UnixStream::pair().unwrap();
        let who = who(&own, true);
        assert_eq!(who.pid, std::process::id().cast_signed());
        assert!(!who.command.is_empty() && !who.command.contains(char::is_control), "{who:?}");
        assert!(is_inside(&own));
    }
}
