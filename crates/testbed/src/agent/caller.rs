//! Who calls an agent: a program of its own domain must not be frozen by the hold that it asks
//! for, for then it could never release it.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use super::orphans;

/// Whether the process at the other end of a connection comes from this one, as all programs of a
/// domain do: keepers and nodes adopt those that lose their parents.
pub(super) fn is_inside(stream: &UnixStream) -> bool {
    let own = std::process::id().cast_signed();
    let ancestors = std::iter::successors(peer(stream), |process| orphans::parent_of(*process));
    ancestors.take_while(|process| *process > 1).any(|process| process == own)
}

/// The process that has opened a connection. unix(7), `SO_PEERCRED`
fn peer(stream: &UnixStream) -> Option<i32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a live structure, and its size.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let to = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), level, name, to, &raw mut length)
    };
    (result == 0).then_some(peer.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_comes_from_itself() {
        let (own, _other) = UnixStream::pair().unwrap();
        assert_eq!(peer(&own), Some(std::process::id().cast_signed()));
        assert!(is_inside(&own));
    }
}
