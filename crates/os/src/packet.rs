//! Frames of one EtherType from and to one interface, in batches, each stamped by the kernel when
//! it came.
//!
//! `recvmmsg` on a plain packet socket with a large buffer: on two cores and twenty streams it
//! lost nothing where rings (`TPACKET_V3`) hand frames over late and one call a frame falls
//! behind. Bound to an EtherType, the socket gets tagged frames too, but never their tags: the
//! kernel takes them off before it looks at the type. Frames that this host sends do not come back.
//!
//! packet(7), recvmmsg(2), socket(7) (`SO_RCVBUFFORCE`), and `Documentation/networking/
//! timestamping.rst` of the kernel (`SO_TIMESTAMPNS`).

use std::io::{self, ErrorKind::Interrupted, ErrorKind::WouldBlock};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::net::netdevice::name_to_index;
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, socket_recv_buffer_size,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Octets of receive buffer that are asked for: more than a tenth of a second of 100 Mbit/s, of
/// which the kernel counts several times the length of each frame.
const RECEIVE_BUFFER_OCTETS: usize = 16 << 20;
/// Longest frame: an Ethernet frame of 1500 octets with tag and the trailer of a redundancy
/// protocol, rounded up.
pub const FRAME_OCTETS_MAX: usize = 2048;
/// Octets for what the kernel reports beside a frame: a time, and room to spare.
const CONTROL_OCTETS: usize = 64;

/// A hardware address, as it stands in an Ethernet frame.
pub type HardwareAddress = [u8; 6];

/// A socket on one interface for one EtherType.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    interface: String,
    interface_index: i32,
    address: HardwareAddress,
    receive_buffer_octets: usize,
}

/// What the kernel says of a socket's frames since it was last asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelCounters {
    /// All that came, the dropped ones included.
    pub frames: u32,
    /// Those that found the receive buffer full.
    pub dropped: u32,
}

/// Whether an interface carries frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Frames pass in both directions.
    Up,
    /// It would, but there is nobody at the other end.
    NoCarrier,
    /// It was set down.
    Down,
    /// It was deleted, or given to another network namespace.
    Gone,
}

impl Link {
    /// The state as users read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::NoCarrier => "no carrier",
            Self::Down => "down",
            Self::Gone => "gone",
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl PacketSocket {
    /// Opens a socket for the frames of `ethertype` that come to `interface`, with as large a
    /// receive buffer as this process may have.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` when there is no such interface, and those of
    /// packet(7).
    pub fn open(interface: &str, ethertype: u16) -> io::Result<Self> {
        // Protocol 0 until it is bound: nothing of other interfaces gets in beforehand.
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let interface_index = name_to_index(&fd, interface)?.cast_signed();
        let address = hardware_address(&fd, interface)?;
        // The forced way passes `net.core.rmem_max` and needs `CAP_NET_ADMIN`; without it, as much as
        // that limit allows.
        if set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER_OCTETS).is_err() {
            set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER_OCTETS)?;
        }
        let receive_buffer_octets = socket_recv_buffer_size(&fd)?;
        set_option(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        let interface = interface.to_owned();
        let socket = Self { fd, interface, interface_index, address, receive_buffer_octets };
        socket.bind(ethertype)?;
        Ok(socket)
    }

    /// The hardware address of the interface.
    pub const fn address(&self) -> HardwareAddress {
        self.address
    }

    /// Whether the interface that it was opened on carries frames (netdevice(7), `SIOCGIFFLAGS`).
    pub fn link(&self) -> Link {
        // One of the same name may be another one by now.
        let index = name_to_index(&self.fd, &self.interface);
        if index.ok() != Some(self.interface_index.cast_unsigned()) {
            return Link::Gone;
        }
        let mut request = interface_request(&self.interface);
        // SAFETY: the request is a structure of the size that this call reads and writes.
        let asked = check(unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request)
        });
        if asked.is_err() {
            return Link::Gone;
        }
        // SAFETY: that ioctl sets this member of the union.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        match (flags & libc::IFF_UP != 0, flags & libc::IFF_RUNNING != 0) {
            (false, _) => Link::Down,
            (true, false) => Link::NoCarrier,
            (true, true) => Link::Up,
        }
    }

    /// Octets of receive buffer as the kernel counts them, twice what was granted.
    pub const fn receive_buffer_octets(&self) -> usize {
        self.receive_buffer_octets
    }

    /// Has the interface take frames for this group in, for as long as the socket is open.
    ///
    /// # Errors
    /// Those of `PACKET_ADD_MEMBERSHIP`; more groups than the interface can filter are no error,
    /// it then takes all in.
    pub fn join(&self, group: HardwareAddress) -> io::Result<()> {
        self.add_membership(libc::PACKET_MR_MULTICAST, group)
    }

    /// Has the interface take frames for all groups in, for as long as the socket is open.
    pub fn join_all(&self) -> io::Result<()> {
        self.add_membership(libc::PACKET_MR_ALLMULTI, HardwareAddress::default())
    }

    /// Takes waiting frames in, at most as many as the batch holds; returns how many. None are
    /// waiting: 0, at once.
    ///
    /// # Errors
    /// Those of recvmmsg(2); `ENETDOWN` once when the interface goes down.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<usize> {
        batch.receive(&self.fd)
    }

    /// Sends whole frames in their order; returns how many the interface took.
    ///
    /// # Errors
    /// Those of sendmmsg(2), when not even the first was taken.
    pub fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        const AT_ONCE: usize = 64;
        let mut sent = 0;
        for frames in frames.chunks(AT_ONCE) {
            match self.send_some(frames) {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// How many frames came and were dropped since this was last called.
    pub fn kernel_counters(&self) -> io::Result<KernelCounters> {
        // SAFETY: two numbers.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut octets = size_of_val(&statistics) as libc::socklen_t;
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let to = (&raw mut statistics).cast();
        // SAFETY: the numbers are written for at most their size.
        check(unsafe { libc::getsockopt(self.fd.as_raw_fd(), level, name, to, &raw mut octets) })?;
        Ok(KernelCounters { frames: statistics.tp_packets, dropped: statistics.tp_drops })
    }

    fn send_some(&self, frames: &[&[u8]]) -> io::Result<usize> {
        // On the stack: a task that publishes may not ask for memory.
        // SAFETY: both are plain structures of numbers and pointers, for which zero is valid.
        let (mut pieces, mut messages): ([libc::iovec; 64], [libc::mmsghdr; 64]) =
            unsafe { (zeroed(), zeroed()) };
        for (piece, frame) in pieces.iter_mut().zip(frames) {
            piece.iov_base = frame.as_ptr().cast_mut().cast();
            piece.iov_len = frame.len();
        }
        for (message, piece) in messages.iter_mut().zip(&mut pieces) {
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        let count = frames.len() as u32;
        // SAFETY: the first `count` messages point to frames that are borrowed for this call and
        // that are only read.
        let sent = unsafe {
            let fd = self.fd.as_raw_fd();
            libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
        };
        check(sent).map(|sent| sent as usize)
    }

    fn bind(&self, ethertype: u16) -> io::Result<()> {
        // SAFETY: a plain structure of numbers.
        let mut place: libc::sockaddr_ll = unsafe { zeroed() };
        place.sll_family = libc::AF_PACKET as u16;
        place.sll_protocol = ethertype.to_be();
        place.sll_ifindex = self.interface_index;
        let octets = size_of_val(&place) as libc::socklen_t;
        // SAFETY: the address is read for the size that is given.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const place).cast(), octets) })?;
        Ok(())
    }

    fn add_membership(&self, kind: i32, group: HardwareAddress) -> io::Result<()> {
        // SAFETY: a plain structure of numbers.
        let mut request: libc::packet_mreq = unsafe { zeroed() };
        request.mr_ifindex = self.interface_index;
        request.mr_type = kind as u16;
        request.mr_alen = group.len() as u16;
        request.mr_address[..group.len()].copy_from_slice(&group);
        set_option(&self.fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }
}

/// Waits until one of the sockets has a frame, or the time is over; returns whether one has.
///
/// # Errors
/// Those of ppoll(2); a signal is none, it ends the wait early.
///
/// # Panics
/// With more than 16 sockets: no host has so many process buses.
pub fn wait(sockets: &[&PacketSocket], at_most: Duration) -> io::Result<bool> {
    let left_ns = i64::try_from(at_most.as_nanos()).unwrap_or(i64::MAX);
    let ready = poll(sockets.iter().map(|socket| socket.fd.as_raw_fd()), left_ns)?;
    Ok(ready != Ready::default())
}

const WATCHED_MAX: usize = 16;

/// Which of the sockets that were waited for have something, by their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready(u16);

impl Ready {
    /// Whether the socket at this place has.
    pub const fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }
}

/// As [`wait`], for so many nanoseconds; returns which sockets have something.
pub(crate) fn poll(
    sockets: impl ExactSizeIterator<Item = RawFd>,
    left_ns: i64,
) -> io::Result<Ready> {
    // SAFETY: plain structures of numbers.
    let mut watched: [libc::pollfd; WATCHED_MAX] = unsafe { zeroed() };
    let count = sockets.len();
    assert!(count <= WATCHED_MAX, "{count} sockets");
    for (watched, socket) in watched.iter_mut().zip(sockets) {
        watched.fd = socket;
        watched.events = libc::POLLIN;
    }
    let left = libc::timespec { tv_sec: left_ns / 1_000_000_000, tv_nsec: left_ns % 1_000_000_000 };
    // SAFETY: the first `count` entries are set, the time is read, no signals are masked.
    let ready = unsafe {
        let count = count as libc::nfds_t;
        libc::ppoll(watched.as_mut_ptr(), count, &raw const left, std::ptr::null())
    };
    match check(ready) {
        Ok(_) => {
            let places = watched.iter().enumerate();
            Ok(Ready(places.fold(0, |all, (place, fd)| all | u16::from(fd.revents != 0) << place)))
        }
        Err(error) if error.kind() == Interrupted => Ok(Ready::default()),
        Err(error) => Err(error),
    }
}

/// One frame of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'b> {
    /// From the destination address on, without the tag.
    pub octets: &'b [u8],
    /// When the kernel got it, in nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub received_realtime_ns: i64,
    /// The frame is longer than [`FRAME_OCTETS_MAX`] and was cut.
    pub is_cut: bool,
}

/// Room for frames, allocated once.
pub struct Batch {
    frames: Vec<[u8; FRAME_OCTETS_MAX]>,
    controls: Vec<Control>,
    pieces: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    count: usize,
}

// SAFETY: the pointers in `pieces` and `messages` are set to this batch's own buffers before
// each use and mean nothing in between.
unsafe impl Send for Batch {}

/// Room for what the kernel reports beside a frame, aligned as cmsg(3) wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_OCTETS]);

impl std::fmt::Debug for Batch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Batch of {} with {} frames", self.frames.len(), self.count)
    }
}

impl Batch {
    /// Room for `frames` frames.
    pub fn new(frames: usize) -> Self {
        // SAFETY: both are plain structures of numbers and pointers, for which zero is valid.
        let (piece, message): (libc::iovec, libc::mmsghdr) = unsafe { (zeroed(), zeroed()) };
        Self {
            frames: vec![[0; FRAME_OCTETS_MAX]; frames],
            controls: vec![Control([0; CONTROL_OCTETS]); frames],
            pieces: vec![piece; frames],
            messages: vec![message; frames],
            count: 0,
        }
    }

    /// How many frames it has room for.
    pub fn capacity(&self) -> usize {
        self.frames.len()
    }

    /// The frames that were received last.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Frame<'_>> {
        let received = self.frames.iter().zip(&self.messages).take(self.count);
        received.map(|(octets, message)| Frame {
            octets: &octets[..(message.msg_len as usize).min(FRAME_OCTETS_MAX)],
            // SAFETY: the kernel has filled it when it counted the message, and pointed it to
            // buffers of this batch, which stay where they are.
            received_realtime_ns: unsafe { stamp_ns(&message.msg_hdr) },
            is_cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        })
    }

    /// Takes what waits at a socket in; returns how many. None are waiting: 0, at once.
    pub(crate) fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        self.count = 0;
        self.aim();
        // SAFETY: `aim` has set each message to buffers of the batch, which stay where they are;
        // the count is that of the messages; no time-out is given.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        match check(count) {
            Ok(count) => self.count = count as usize,
            Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(self.count)
    }

    /// Points each message to its buffers: the kernel has overwritten the lengths.
    fn aim(&mut self) {
        let buffers = self.frames.iter_mut().zip(&mut self.controls);
        let parts = self.pieces.iter_mut().zip(&mut self.messages);
        for ((frame, control), (piece, message)) in buffers.zip(parts) {
            piece.iov_base = frame.as_mut_ptr().cast();
            piece.iov_len = FRAME_OCTETS_MAX;
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_OCTETS as _;
        }
    }
}

/// The time that the kernel reported beside a frame; zero if it reported none.
///
/// # Safety
/// The message must be one that the kernel has filled, and its buffers must still be there.
unsafe fn stamp_ns(message: &libc::msghdr) -> i64 {
    // SAFETY: the kernel has filled the buffer of this message and set its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: a header within the buffer, by the macros' own bounds.
        let head = unsafe { *next };
        if (head.cmsg_level, head.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: a time stands behind this header; it may lie unaligned.
            let at = unsafe { libc::CMSG_DATA(next).cast::<libc::timespec>().read_unaligned() };
            return at.tv_sec * 1_000_000_000 + at.tv_nsec;
        }
        // SAFETY: the header is one of this message.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    0
}

/// Sets an option of a socket to a plain value. setsockopt(2)
pub fn set_option<T>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let octets = size_of::<T>() as libc::socklen_t;
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the value is read for its size.
    check(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, octets) })?;
    Ok(())
}

fn hardware_address(socket: &OwnedFd, interface: &str) -> io::Result<HardwareAddress> {
    let mut request = interface_request(interface);
    // SAFETY: the request holds a name and is written by the kernel.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) })?;
    // SAFETY: that ioctl sets this member of the union.
    let octets = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|place| octets[place].to_ne_bytes()[0]))
}

/// A question about an interface, for netdevice(7).
fn interface_request(interface: &str) -> libc::ifreq {
    // SAFETY: a plain structure of numbers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last octet stays zero: the kernel's names are shorter than the field.
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

pub(crate) fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
