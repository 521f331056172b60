//! TAP devices: the interfaces through which programs send Ethernet frames into this process.
//!
//! A device is made in the network namespace of the *calling thread* (opening `/dev/net/tun`
//! binds it), is not persistent and therefore vanishes with its descriptor, also after a crash.
//! IPv6 is switched off on it: router solicitations and duplicate address detection would add
//! frames to every capture that no program sent. All calls are the classic interface ioctls
//! (netdevice(7)), which need no netlink.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;

use crate::wire::MacAddress;
use os::namespaces::enter_network;

const DEVICE: &str = "/dev/net/tun";

/// Makes the TAP device `name` in the calling thread's network namespace, gives it its addresses
/// and brings it and the loopback interface up. Returns its non-blocking descriptor.
///
/// # Errors
/// Says which step failed and what is missing.
pub fn create_here(
    name: &str,
    mac: MacAddress,
    address: Ipv4Addr,
    prefix: u8,
    mtu: u16,
) -> io::Result<OwnedFd> {
    let mut request = Request::new(name)?;
    let device = open()?;
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    request.0.ifr_ifru.ifru_flags = flags as libc::c_short;
    request.call(&device, libc::TUNSETIFF as libc::Ioctl).map_err(|error| explain(name, error))?;
    disable_ipv6(name)?;
    configure(name, mac, address, prefix, mtu)?;
    Ok(device)
}

fn configure(
    name: &str,
    mac: MacAddress,
    address: Ipv4Addr,
    prefix: u8,
    mtu: u16,
) -> io::Result<()> {
    let step = |what: &str, result: io::Result<()>| {
        result.map_err(|error| because(&format!("cannot set {what} of `{name}`"), &error))
    };
    // Interface ioctls go through any socket of the namespace.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut request = Request::new(name)?;
    request.0.ifr_ifru.ifru_hwaddr = socket_address(libc::ARPHRD_ETHER, 0, &mac.0);
    step("the MAC address", request.call(&socket, libc::SIOCSIFHWADDR))?;
    request.0.ifr_ifru.ifru_mtu = i32::from(mtu);
    step("the MTU", request.call(&socket, libc::SIOCSIFMTU))?;
    request.0.ifr_ifru.ifru_addr = internet_address(address);
    step(&format!("address {address}"), request.call(&socket, libc::SIOCSIFADDR))?;
    request.0.ifr_ifru.ifru_netmask = internet_address(netmask(prefix)?);
    step(&format!("prefix length {prefix}"), request.call(&socket, libc::SIOCSIFNETMASK))?;
    step("the state", bring_up(&socket, name))?;
    loopback_up_here()
}

/// Brings the loopback interface of the calling thread's network namespace up.
pub fn loopback_up_here() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    bring_up(&socket, "lo").map_err(|error| because("cannot bring up `lo`", &error))
}

fn bring_up(socket: &UdpSocket, name: &str) -> io::Result<()> {
    let mut request = Request::new(name)?;
    request.0.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    request.call(socket, libc::SIOCSIFFLAGS)
}

/// Takes an interface down in the namespace of `socket`.
#[cfg(test)]
pub(super) fn bring_down(socket: &UdpSocket, name: &str) -> io::Result<()> {
    Request::new(name)?.call(socket, libc::SIOCSIFFLAGS)
}

/// Frames that the kernel has dropped because nobody read them from `device` in time.
///
/// # Errors
/// When `device` is no TAP device, or its namespace cannot be entered.
pub fn unread(device: &impl AsFd) -> io::Result<u64> {
    let mut request = Request::zeroed();
    let device = device.as_fd();
    request.call(&device, libc::TUNGETIFF as libc::Ioctl)?;
    // Characters of C have a sign on some processors and none on others.
    let name: Vec<u8> = request.0.ifr_name.iter().flat_map(|c| c.to_ne_bytes()).collect();
    let name = String::from_utf8_lossy(&name);
    let name = name.trim_end_matches('\0');
    // The counters show in the device's namespace, which a thread can enter by itself.
    let device = device.as_raw_fd();
    let table = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            /// From `linux/if_tun.h`: the network namespace of the device, since Linux 5.2.
            const TUNGETDEVNETNS: libc::Ioctl = 0x54e3;
            enter_namespace_of(device, TUNGETDEVNETNS)?;
            fs::read_to_string("/proc/thread-self/net/dev")
        });
        reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })?;
    sending_drops(&table, name).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The column `drop` of `Transmit` in `/proc/net/dev`: the twelfth after the name.
fn sending_drops(table: &str, name: &str) -> Option<u64> {
    let columns =
        table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
    columns.split_whitespace().nth(11)?.parse().ok()
}

/// Has the calling thread enter the network namespace that a call without an argument opens.
pub(super) fn enter_namespace_of(fd: RawFd, call: libc::Ioctl) -> io::Result<()> {
    // SAFETY: the call takes no pointer; the descriptor is checked before it is owned.
    let namespace = unsafe {
        let fd = libc::ioctl(fd, call);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    enter_network(namespace.as_fd())
}

/// An interface request; which part of its union counts, the call knows.
struct Request(libc::ifreq);

impl Request {
    fn new(name: &str) -> io::Result<Self> {
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || !name.bytes().all(is_plain) {
            let limit = libc::IFNAMSIZ - 1;
            let text = format!(
                "interface name `{name}`: 1 to {limit} letters, digits, `-` and `_` are allowed"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut request = Self::zeroed();
        for (to, from) in request.0.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        Ok(request)
    }

    fn zeroed() -> Self {
        // SAFETY: `ifreq` holds integers, arrays and a pointer, for all of which zero is valid.
        Self(unsafe { std::mem::zeroed() })
    }

    fn call(&mut self, on: &impl AsRawFd, what: libc::Ioctl) -> io::Result<()> {
        // SAFETY: every call made here takes a pointer to an `ifreq`, which outlives the call.
        let result = unsafe { libc::ioctl(on.as_raw_fd(), what, &raw mut self.0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn open() -> io::Result<OwnedFd> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    match options.open(DEVICE) {
        Ok(file) => Ok(file.into()),
        Err(error) => {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => {
                    "; load the kernel module with `modprobe tun`, or pass the device into the \
                     container with `--device /dev/net/tun`"
                }
                io::ErrorKind::PermissionDenied => "; run as root, or allow access to the device",
                _ => "",
            };
            Err(io::Error::new(error.kind(), format!("cannot open {DEVICE}: {error}{hint}")))
        }
    }
}

fn explain(name: &str, error: io::Error) -> io::Error {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM) => "; it needs CAP_NET_ADMIN in its network namespace: run as root",
        Some(libc::EBUSY) => "; an interface of this name already exists",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot make the TAP device `{name}`: {error}{hint}"))
}

fn because(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// `/proc/sys/net` shows the network namespace of the thread that looks.
fn disable_ipv6(name: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
    match fs::write(&path, "1") {
        // A kernel without IPv6 has nothing to switch off.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => {
            let what = format!("cannot switch off IPv6 through {path} (is it mounted read-only?)");
            Err(because(&what, &error))
        }
        Ok(()) => Ok(()),
    }
}

fn netmask(prefix: u8) -> io::Result<Ipv4Addr> {
    if prefix > 32 {
        let text = format!("prefix length {prefix} of an IPv4 address is more than 32");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)))
}

/// A `sockaddr_in` in the shape of a `sockaddr`: port 0, then the address.
fn internet_address(ip: Ipv4Addr) -> libc::sockaddr {
    socket_address(libc::AF_INET as libc::sa_family_t, 2, &ip.octets())
}

fn socket_address(sa_family: libc::sa_family_t, at: usize, octets: &[u8]) -> libc::sockaddr {
    let mut address = libc::sockaddr { sa_family, sa_data: [0; 14] };
    for (to, from) in address.sa_data[at..].iter_mut().zip(octets) {
        *to = *from as libc::c_char;
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::harness::in_new_namespace;

    const MAC: MacAddress = MacAddress([0x02, 0x51, 0x43, 0, 0, 1]);

    #[test]
    fn a_prefix_length_is_a_mask() {
        assert_eq!(netmask(24).unwrap(), Ipv4Addr::new(255, 255, 255, 0));
        assert_eq!(netmask(0).unwrap(), Ipv4Addr::UNSPECIFIED);
        assert_eq!(netmask(32).unwrap(), Ipv4Addr::BROADCAST);
        assert!(netmask(33).is_err());
    }

    #[test]
    fn drops_are_read_from_their_column() {
        let table = "Inter-|   Receive ...\n face |bytes ...\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n  \
                     eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(sending_drops(table, "eth0"), Some(12));
        assert_eq!(sending_drops(table, "eth"), None);
    }

    #[test]
    fn names_that_are_no_names_are_refused() {
        for name in ["", "sixteen-letters-", "../../etc", "a b"] {
            let error = create_here(name, MAC, Ipv4Addr::LOCALHOST, 8, 1500).unwrap_err();
            assert!(error.to_string().contains("interface name"), "{error}");
        }
    }

    #[test]
    fn a_device_is_as_ordered_and_vanishes_with_its_descriptor() {
        in_new_namespace(|| {
            let device = create_here("eth0", MAC, Ipv4Addr::new(10, 1, 2, 3), 22, 1400).unwrap();
            let mut request = Request::new("eth0").unwrap();
            let socket = UdpSocket::bind("10.1.2.3:0").unwrap();
            socket.set_broadcast(true).unwrap();
            request.call(&socket, libc::SIOCGIFMTU).unwrap();
            // SAFETY: SIOCGIFMTU has filled this member of the union.
            assert_eq!(unsafe { request.0.ifr_ifru.ifru_mtu }, 1400);
            assert_eq!(unread(&device).unwrap(), 0);
            // Nobody reads the device, so its queue overflows.
            for _ in 0..5000 {
                socket.send_to(b"x", "10.1.3.255:9").ok();
            }
            assert!(unread(&device).unwrap() > 0);
            let twice = create_here("eth0", MAC, Ipv4Addr::new(10, 1, 2, 4), 22, 1400);
            assert!(twice.unwrap_err().to_string().contains("already exists"));
            drop(device);
            // A child of another test has a copy until it runs its program.
            let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while Request::new("eth0").unwrap().call(&socket, libc::SIOCGIFMTU).is_ok() {
                assert!(std::time::Instant::now() < until, "it stays");
                thread::yield_now();
            }
        });
    }
}
