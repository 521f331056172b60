//! Datagrams (UDP) between two addresses, in batches, each stamped by the kernel when it came; and
//! waiting for any of several sockets until a time of `CLOCK_REALTIME`.
//!
//! There is one socket for each peer, although all are bound to the same port: the kernel then
//! sorts what comes by its source, and a flood under one address fills the buffer of that address
//! and nobody else's. What comes from an address that is nobody's never reaches the program.
//!
//! udp(7), recvmmsg(2), ppoll(2), socket(7).

use std::io::{self, ErrorKind};
use std::mem::zeroed;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

use crate::packet::{Batch, check, set_option};

/// Octets of receive buffer that are asked for: some hundred datagrams, a tenth of a second of what
/// peers say. A larger one would only hold what a flood brings, and keep what is new behind it.
const RECEIVE_BUFFER_OCTETS: i32 = 128 << 10;

/// Sockets that are waited for together, at most.
const WATCHED_MAX: usize = 16;

/// A socket between this host and one peer.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
}

impl DatagramSocket {
    /// Opens a socket from `local` to `peer`. Others of this host may use `local` with other
    /// peers; both are of the same family.
    ///
    /// # Errors
    /// Those of socket(2), bind(2) and connect(2).
    pub fn open(local: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::socket(family, kind, 0) })?;
        // SAFETY: the descriptor is new and nobody else's.
        let socket = unsafe { UdpSocket::from_raw_fd(fd) };
        let (sol, yes) = (libc::SOL_SOCKET, 1_i32);
        set_option(&socket, sol, libc::SO_REUSEADDR, &yes)?;
        set_option(&socket, sol, libc::SO_TIMESTAMPNS, &yes)?;
        set_option(&socket, sol, libc::SO_RCVBUF, &RECEIVE_BUFFER_OCTETS)?;
        let (address, octets) = address(local);
        // SAFETY: the address is read for the size that is given.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), octets) })?;
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
        // What the kernel tells of an earlier datagram comes in place of sending this one.
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

/// Which of the sockets that were waited for have something, by their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready(u16);

impl Ready {
    /// Whether the socket at this place has.
    #[must_use]
    pub const fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
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
    // SAFETY: plain structures of numbers.
    let mut watched: [libc::pollfd; WATCHED_MAX] = unsafe { zeroed() };
    assert!(sockets.len() <= WATCHED_MAX, "{} sockets", sockets.len());
    for (watched, socket) in watched.iter_mut().zip(sockets) {
        watched.fd = socket.as_raw_fd();
        watched.events = libc::POLLIN;
    }
    let left_ns = (realtime_ns - crate::realtime::realtime_ns()).max(0);
    let left = libc::timespec { tv_sec: left_ns / 1_000_000_000, tv_nsec: left_ns % 1_000_000_000 };
    // SAFETY: the first `sockets.len()` entries are set, the time is read, no signals are masked.
    let ready = unsafe {
        libc::ppoll(
            watched.as_mut_ptr(),
            sockets.len() as libc::nfds_t,
            &raw const left,
            std::ptr::null(),
        )
    };
    match check(ready) {
        Ok(_) => Ok(ready_of(&watched)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Ready::default()),
        Err(error) => Err(error),
    }
}

fn ready_of(watched: &[libc::pollfd; WATCHED_MAX]) -> Ready {
    let places = watched.iter().enumerate();
    Ready(places.fold(0, |ready, (place, fd)| ready | u16::from(fd.revents != 0) << place))
}

fn address(of: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: a plain structure of numbers.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let octets = match of {
        SocketAddr::V4(of) => {
            // SAFETY: the storage is large enough and aligned for each kind of address.
            let place = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in>() };
            place.sin_family = libc::AF_INET as _;
            place.sin_port = of.port().to_be();
            place.sin_addr.s_addr = u32::from_ne_bytes(of.ip().octets());
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(of) => {
            // SAFETY: as above.
            let place = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in6>() };
            place.sin6_family = libc::AF_INET6 as _;
            place.sin6_port = of.port().to_be();
            place.sin6_flowinfo = of.flowinfo();
            place.sin6_addr.s6_addr = of.ip().octets();
            place.sin6_scope_id = of.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, octets as libc::socklen_t)
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
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP) });
        let Ok(fd) = fd else {
            println!("not measured: messages of ICMP are made with CAP_NET_RAW");
            return;
        };
        // SAFETY: the descriptor is new and nobody else's; a raw socket sends as any other.
        let icmp = unsafe { UdpSocket::from_raw_fd(fd) };
        let [here, there] = [(); 2].map(|()| address_of("127.0.0.1"));
        let socket = DatagramSocket::open(here, there).unwrap();
        let other = UdpSocket::bind(there).unwrap();
        let mut batch = Batch::new(1);
        let unreachable = [2, 3, 4, 6, 7, 8].map(|code| (3, code));
        for (kind, code) in unreachable.into_iter().chain([(12, 0)]) {
            let message = forged(kind, code, [here, there]);
            let forge = || {
                let (address, octets) = address(there);
                // SAFETY: message and address are read for the sizes that are given.
                let sent = unsafe {
                    let (message, address) = (&raw const message[0], &raw const address);
                    libc::sendto(
                        icmp.as_raw_fd(),
                        message.cast(),
                        28 + 8,
                        0,
                        address.cast(),
                        octets,
                    )
                };
                assert_eq!(sent, 28 + 8);
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
