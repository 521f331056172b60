//! Datagrams (UDP) between two addresses, in batches, each stamped by the kernel when it came; and
//! waiting for any of several sockets until a time of `CLOCK_REALTIME`.
//!
//! There is one socket for each peer, although all are bound to the same port: the kernel then
//! sorts what comes by its source, and a flood under one address fills the buffer of that address
//! and nobody else's. What comes from an address that is nobody's never reaches the program.
//!
//! udp(7), recvmmsg(2), ppoll(2), socket(7).

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use crate::packet::{Batch, Ready, poll, set_option};

/// Octets of receive buffer that are asked for: some hundred datagrams, a tenth of a second of what
/// peers say. A larger one would only hold what a flood brings, and keep what is new behind it.
const RECEIVE_BUFFER_OCTETS: usize = 128 << 10;

/// A socket between this host and one peer.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
}

impl DatagramSocket {
    /// Opens a socket from `local` to `peer`. Others of this host may use `local` with other
    /// peers; both are of the same family.
    pub fn open(local: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
        set_socket_reuseaddr(&socket, true)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_OCTETS)?;
        bind(&socket, &local)?;
        let socket = UdpSocket::from(socket);
        socket.connect(peer)?;
        Ok(Self { socket })
    }

    /// Takes waiting datagrams in, at most as many as the batch holds; returns how many. None are
    /// waiting: 0, at once.
    ///
    /// # Errors
    /// Those of recvmmsg(2) that are about this socket. What the network says of the peer is none: a
    /// peer that is down comes back.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<usize> {
        match batch.receive(&self.socket) {
            Err(error) if !is_about_the_socket(&error) => Ok(0),
            result => result,
        }
    }

    /// Sends a datagram; says whether the kernel took it.
    ///
    /// # Errors
    /// Those of send(2) that are about this socket. If the peer or the way to it is down, or a buffer
    /// full, the datagram is lost, as datagrams may be.
    pub fn send(&self, octets: &[u8]) -> io::Result<bool> {
        // An error that the kernel reports of an earlier datagram comes in place of sending this one.
        for _ in 0..2 {
            match self.socket.send(octets) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if is_about_the_socket(&error) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(false)
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Waits until one of the sockets has something, or `CLOCK_REALTIME` is there; returns which have.
/// A thread of SCHED_FIFO is woken at the time itself, without slack.
///
/// # Errors
/// Those of ppoll(2); a signal is none, it ends the wait early.
///
/// # Panics
/// With more than 16 sockets.
pub fn wait_until(sockets: &[BorrowedFd<'_>], realtime_ns: i64) -> io::Result<Ready> {
    let left_ns = (realtime_ns - crate::realtime::realtime_ns()).max(0);
    poll(sockets.iter().map(AsRawFd::as_raw_fd), left_ns)
}

/// Whether an error is about the socket itself, so that it will never work again.
///
/// All others are about the peer or the way to it. Most of them stand for a message of ICMP, which
/// anybody can forge who knows both addresses (RFC 5927), and of which there are many kinds: so those
/// that end a program are listed, and not those that do not.
fn is_about_the_socket(error: &io::Error) -> bool {
    let own = [libc::EBADF, libc::ENOTSOCK, libc::EFAULT, libc::EINVAL];
    error.raw_os_error().is_none_or(|number| own.contains(&number))
}

#[cfg(test)]
mod tests {
    use rustix::net::{SendFlags, ipproto, sendto};

    use super::*;

    fn address_of(host: &str) -> SocketAddr {
        // A port that is free now.
        let socket = UdpSocket::bind((host, 0)).unwrap();
        socket.local_addr().unwrap()
    }

    #[test]
    fn what_comes_is_sorted_by_its_source() {
        for host in ["127.0.0.1", "::1"] {
            let [here, one, other] = [(); 3].map(|()| address_of(host));
            let from_one = DatagramSocket::open(here, one).unwrap();
            let from_other = DatagramSocket::open(here, other).unwrap();
            let outside = UdpSocket::bind((host, 0)).unwrap();
            outside.send_to(b"from nobody", here).unwrap();
            let one = DatagramSocket::open(one, here).unwrap();
            let before_ns = crate::realtime::realtime_ns();
            assert!(one.send(b"first").unwrap() && one.send(b"second").unwrap());
            let sockets = [from_one.as_fd(), from_other.as_fd()];
            let ready =
                wait_until(&sockets, crate::realtime::realtime_ns() + 10_000_000_000).unwrap();
            assert_eq!([ready.has(0), ready.has(1)], [true, false]);
            let mut batch = Batch::new(4);
            assert_eq!(from_other.receive(&mut batch).unwrap(), 0);
            let mut heard = Vec::new();
            while heard.len() < 2 {
                from_one.receive(&mut batch).unwrap();
                heard.extend(batch.frames().map(|frame| {
                    assert!(frame.received_realtime_ns >= before_ns);
                    frame.octets.to_vec()
                }));
            }
            assert_eq!(heard, [b"first".to_vec(), b"second".to_vec()]);
        }
    }

    #[test]
    fn nobody_there_is_no_error() {
        let [here, there] = [(); 2].map(|()| address_of("127.0.0.1"));
        let socket = DatagramSocket::open(here, there).unwrap();
        let mut batch = Batch::new(1);
        for _ in 0..3 {
            socket.send(b"anybody").unwrap();
            assert_eq!(socket.receive(&mut batch).unwrap(), 0);
        }
    }

    /// A message of ICMP about a datagram that was never sent.
    fn forged(kind: u8, code: u8, [from, to]: [SocketAddr; 2]) -> Vec<u8> {
        let mut quoted =
            vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
        for port in [from, to].map(|address| address.port()) {
            quoted.extend(port.to_be_bytes());
        }
        quoted.extend([0, 8, 0, 0]);
        let mut message = vec![kind, code, 0, 0, 0, 0, 2, 0];
        message.extend(quoted);
        let words = message.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum::<u32>();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        message
    }

    #[test]
    fn no_message_of_icmp_that_somebody_forges_is_an_error() {
        let (raw, none) = (SocketType::RAW, SocketFlags::empty());
        let Ok(icmp) = socket_with(AddressFamily::INET, raw, none, Some(ipproto::ICMP)) else {
            println!("not measured: messages of ICMP are made with CAP_NET_RAW");
            return;
        };
        let [here, there] = [(); 2].map(|()| address_of("127.0.0.1"));
        let socket = DatagramSocket::open(here, there).unwrap();
        let other = UdpSocket::bind(there).unwrap();
        let mut batch = Batch::new(1);
        let unreachable = [2, 3, 4, 6, 7, 8].map(|code| (3, code));
        for (kind, code) in unreachable.into_iter().chain([(12, 0)]) {
            let message = forged(kind, code, [here, there]);
            let forge = || {
                let sent = sendto(&icmp, &message, SendFlags::empty(), &there);
                assert_eq!(sent, Ok(28 + 8));
                let until = crate::realtime::realtime_ns() + 10_000_000_000;
                assert!(wait_until(&[socket.as_fd()], until).unwrap().has(0), "{kind}/{code}");
            };
            forge();
            assert!(socket.socket.take_error().unwrap().is_some(), "{kind}/{code} arrives");
            forge();
            assert_eq!(socket.receive(&mut batch).unwrap(), 0, "{kind}/{code}");
            assert!(socket.socket.take_error().unwrap().is_none(), "{kind}/{code} was taken in");
            forge();
            assert!(socket.send(b"is sent nevertheless").unwrap(), "{kind}/{code}");
            let mut octets = [0; 32];
            assert_eq!(other.recv(&mut octets).unwrap(), 20);
        }
    }

    #[test]
    fn a_wait_is_not_shorter_than_it_shall_be() {
        let until = crate::realtime::realtime_ns() + 2_000_000;
        assert_eq!(wait_until(&[], until).unwrap(), Ready::default());
        assert!(crate::realtime::realtime_ns() >= until);
    }
}
