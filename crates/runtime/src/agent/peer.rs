//! Who is at the other end of a connection to an agent, and reaching it without waiting for ever.
//!
//! The kernel reports the user of a peer, so that neither side has to trust the folder of the socket
//! alone: an agent serves its own user and root, a caller believes an agent of its own user.
//!
//! A program of an agent's own domain must not be frozen by the hold that it asks for, for then it
//! could never release it. And what is done to the domain of a run is reported with who did it.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::intervention::Caller;
use os::glance;
use os::namespaces;
use os::process::parent_of;

const ROOT: u32 = 0;

/// Whether the process at the other end of a connection comes from this one, as all programs of a
/// domain do: keepers and nodes adopt those that lose their parents.
pub(super) fn is_inside(stream: &UnixStream) -> bool {
    let own = std::process::id().cast_signed();
    let peer = credentials(stream).map(|peer| peer.pid).ok();
    let ancestors = std::iter::successors(peer, |process| parent_of(*process));
    ancestors.take_while(|process| *process > 1).any(|process| process == own)
}

/// Who has opened a connection, while he is there. What he calls himself is made harmless.
pub(super) fn who(stream: &UnixStream, inside: bool) -> Caller {
    let Ok(peer) = credentials(stream) else { return Caller { inside, ..Caller::default() } };
    Caller {
        pid: peer.pid,
        uid: peer.uid,
        command: glance::command_of(peer.pid),
        inside,
        host: None,
    }
}

/// Whether the caller may give orders to this process.
pub(super) fn check_caller(stream: &UnixStream) -> io::Result<()> {
    let user = credentials(stream)?.uid;
    if user == namespaces::effective_user() || user == ROOT {
        return Ok(());
    }
    Err(io::Error::other(format!("the domain belongs to another user, and you are user {user}")))
}

/// Whether who listens there is to be believed.
///
/// # Errors
/// When it is a process of somebody else.
pub(super) fn check_agent(stream: &UnixStream) -> io::Result<()> {
    let user = credentials(stream)?.uid;
    if user == namespaces::effective_user() {
        return Ok(());
    }
    Err(io::Error::other(format!("it is served by user {user}, not by you")))
}

/// The number of the process that listens there, if it is known.
pub(super) fn process(stream: &UnixStream) -> Option<u32> {
    credentials(stream).ok()?.pid.try_into().ok()
}

/// The process and user at the other end, as they were when the connection was made, or when
/// listening began. unix(7), `SO_PEERCRED`
fn credentials(stream: &UnixStream) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a live structure, and its size.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let to = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), level, name, to, &raw mut length)
    };
    if result == 0 { Ok(peer) } else { Err(io::Error::last_os_error()) }
}

/// Connects to a socket without waiting for a place in the queue of who listens there.
///
/// # Errors
/// What connect(2) reports: `WouldBlock` where no place is free.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_process_comes_from_itself_and_may_call_itself() {
        let (own, _other) = UnixStream::pair().unwrap();
        assert_eq!(process(&own), Some(std::process::id()));
        let who = who(&own, true);
        assert_eq!(who.pid, std::process::id().cast_signed());
        assert!(!who.command.is_empty() && !who.command.contains(char::is_control), "{who:?}");
        assert!(is_inside(&own));
        assert!(check_caller(&own).is_ok() && check_agent(&own).is_ok());
    }

    #[test]
    fn nobody_waits_for_who_takes_no_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full");
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: takes numbers; makes the queue as short as it can be.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let mut waiting = Vec::new();
        let error = loop {
            match connect(&path) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(!waiting.is_empty());
        drop(listener);
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(
            connect(Path::new(&"x".repeat(200))).unwrap_err().kind(),
            io::ErrorKind::InvalidFilename
        );
    }
}
