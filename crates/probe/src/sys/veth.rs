//! A cable between two interfaces in a network of the probe's own: no frame of it is seen outside,
//! and it vanishes with the sockets that were opened on it, also after a kill.
//!
//! network_namespaces(7), veth(4), rtnetlink(7). Written here and not taken from the testbed's
//! libraries for netlink: two messages are needed, and the probe is to stay small.

use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

/// The ends of the cable.
pub(crate) const ENDS: [&str; 2] = ["probe0", "probe1"];
/// Until the kernel has seen both ends up, what is sent is thrown away.
const CARRIER_PATIENCE: Duration = Duration::from_secs(5);
/// From the kernel's `if_link.h` and `veth.h`.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Lays a cable in a new network and does `work` in there. The network lasts as long as what the
/// work has opened in it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `EOPNOTSUPP` on kernels without veth, and those of the work.
pub(crate) fn on_a_cable<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    // A thread of its own: only that leaves the network of this program.
    thread::scope(|scope| {
        let inside = || {
            // SAFETY: takes a number only; it concerns this thread alone.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            lay()?;
            work()
        };
        scope.spawn(inside).join().expect("it does not panic")
    })
}

fn lay() -> io::Result<()> {
    let name = |name: &str| attribute(libc::IFLA_IFNAME, name.as_bytes());
    let peer = attribute(VETH_INFO_PEER, &[interface(false), name(ENDS[1])].concat());
    let kind = attribute(IFLA_INFO_KIND, b"veth");
    let info = attribute(libc::IFLA_LINKINFO, &[kind, attribute(IFLA_INFO_DATA, &peer)].concat());
    let create = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    ask(create, &[interface(false), name(ENDS[0]), info].concat())?;
    for end in ENDS {
        ask(0, &[interface(true), name(end)].concat())?;
    }
    let begin = Instant::now();
    while !ENDS.iter().all(|end| is_running(end)) {
        if begin.elapsed() > CARRIER_PATIENCE {
            return Err(io::Error::other("the ends of the cable do not come up"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// `struct ifinfomsg`: an interface that is to be named by attributes, and brought up or not.
fn interface(up: bool) -> Vec<u8> {
    let flags = if up { libc::IFF_UP as u32 } else { 0 };
    let mut octets = vec![0; 8];
    octets.extend(flags.to_ne_bytes());
    octets.extend(flags.to_ne_bytes());
    octets
}

/// `struct rtattr` with its value, padded to a multiple of four octets.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    octets.extend(kind.to_ne_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// Sends a request about an interface to the kernel, and waits for its answer.
fn ask(flags: u16, payload: &[u8]) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let mut message = ((16 + payload.len()) as u32).to_ne_bytes().to_vec();
    message.extend(libc::RTM_NEWLINK.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(payload);
    // SAFETY: the message is read for its length.
    let sent = unsafe { libc::send(fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = [0; 1024];
    // SAFETY: the answer is written for its length at most.
    let count = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    if count < 20 {
        return Err(io::Error::last_os_error());
    }
    // `struct nlmsgerr` behind the header: a negative error, or 0.
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

fn is_running(name: &str) -> bool {
    // SAFETY: a plain structure of numbers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // Any socket of this network will do.
    let Ok(socket) = UdpSocket::bind("0.0.0.0:0") else { return false };
    let asked = libc::SIOCGIFFLAGS;
    // SAFETY: the request holds a name that ends with zero, and is written by the kernel.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), asked as _, &raw mut request) };
    // SAFETY: that ioctl sets this member of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    result == 0 && i32::from(flags) & libc::IFF_RUNNING != 0
}
