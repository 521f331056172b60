//! Connections that nobody waits for while they are made. connect(2)

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

/// A connection that is being made, or is there; it does not block. Reading finds out if it cannot be made.
///
/// # Errors
/// When that is known at once.
pub fn begin_to_connect(to: &SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_connection_is_made_while_others_work_or_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut here = begin_to_connect(&address).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        there.write_all(b"octets").unwrap();
        let (until, mut octets) = (Instant::now() + Duration::from_secs(20), [0; 6]);
        while here.read(&mut octets).is_err() {
            assert!(Instant::now() < until);
        }
        assert_eq!(&octets, b"octets");
        drop((listener, there, here));
        let refused = begin_to_connect(&address).and_then(|mut socket| {
            loop {
                match socket.read(&mut octets) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    ended => return ended,
                }
                assert!(Instant::now() < until);
            }
        });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
