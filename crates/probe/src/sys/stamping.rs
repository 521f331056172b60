//! The kernel's own stamps of what a socket sends and receives: when a driver took it, and when the
//! stack got it. All in software, in the time of day.
//!
//! socket(7), `Documentation/networking/timestamping.rst` of the kernel (`SO_TIMESTAMPING`,
//! `MSG_ERRQUEUE`). The structures are read by their octets: what the kernel says has the layout of
//! its headers, not of a libc's.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

use libc::{SO_TIMESTAMPING, SOL_SOCKET};
use os::packet::set_option;

/// From the kernel's `net_tstamp.h`.
const TX_SOFTWARE: i32 = 1 << 1;
const RX_SOFTWARE: i32 = 1 << 3;
const SOFTWARE: i32 = 1 << 4;
/// What is sent is not returned with its stamp.
const ONLY_STAMPS: i32 = 1 << 11;
/// Octets of what is received beside the stamps; more is cut off.
const DATA_OCTETS: usize = 64;
/// Room for what the kernel reports beside it: stamps (64), where an error is from (48 or less), a
/// time by another option (32).
const CONTROL_OCTETS: usize = 256;
/// Of cmsg(3): length, level and kind come before the data.
const HEAD_OCTETS: usize = 16;

/// Has the kernel stamp what the socket sends, for [`KernelStamps::sent`].
pub(crate) fn stamp_sent(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, SOL_SOCKET, SO_TIMESTAMPING, &(TX_SOFTWARE | SOFTWARE | ONLY_STAMPS))
}

/// Has the kernel stamp what the socket receives, and in no other way: asked for a plain time as
/// well, it would make one up for what came before it began to stamp.
pub(crate) fn stamp_received(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, SOL_SOCKET, libc::SO_TIMESTAMPNS, &0)?;
    set_option(socket, SOL_SOCKET, SO_TIMESTAMPING, &(RX_SOFTWARE | SOFTWARE))
}

/// What the kernel reported of the last thing that came out of a socket. Allocated once: a thread that
/// measures asks for no memory.
#[derive(Debug)]
pub(crate) struct KernelStamps {
    control: Control,
    octets: usize,
}

/// Aligned as cmsg(3) wants it.
#[repr(C, align(8))]
#[derive(Debug)]
struct Control([u8; CONTROL_OCTETS]);

impl Default for KernelStamps {
    fn default() -> Self {
        Self { control: Control([0; CONTROL_OCTETS]), octets: 0 }
    }
}

impl KernelStamps {
    /// Receives one datagram or frame, and waits for it if the socket does.
    pub(crate) fn receive(&mut self, socket: &impl AsFd) -> io::Result<()> {
        self.take(socket, 0)
    }

    /// Receives one if it is there.
    pub(crate) fn receive_now(&mut self, socket: &impl AsFd) -> io::Result<()> {
        self.take(socket, libc::MSG_DONTWAIT)
    }

    /// When the stack got what was received last, `CLOCK_REALTIME`, ns; none if it was not stamped.
    pub(crate) fn received_ns(&self) -> Option<i64> {
        software_stamp(&self.control.0[..self.octets])
    }

    /// When the driver took what was sent last, of all that has not been asked for yet.
    pub(crate) fn sent_ns(&mut self, socket: &impl AsFd) -> Option<i64> {
        let mut last = None;
        while self.take(socket, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT).is_ok() {
            last = self.received_ns().or(last);
        }
        last
    }

    fn take(&mut self, socket: &impl AsFd, flags: i32) -> io::Result<()> {
        self.octets = 0;
        let mut data = [0u8; DATA_OCTETS];
        let mut piece = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
        // SAFETY: a plain structure of numbers and pointers, for which zero is valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = self.control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_OCTETS as _;
        // SAFETY: the message points to buffers of the lengths that it names, which live longer
        // than this call.
        let count = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        self.octets = (message.msg_controllen as usize).min(CONTROL_OCTETS);
        Ok(())
    }
}

/// The stamp in software among control messages (cmsg(3)), ns since 1970.
fn software_stamp(mut control: &[u8]) -> Option<i64> {
    while let Some((head, _)) = control.split_at_checked(HEAD_OCTETS) {
        let length = usize::try_from(u64::from_ne_bytes(head[..8].try_into().ok()?)).ok()?;
        let data = control.get(HEAD_OCTETS..length)?;
        let (level, kind) = (number(&head[8..])?, number(&head[12..])?);
        if (level, kind) == (SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            // Three times: in software, one that is no more, by the device.
            return nanoseconds(data).filter(|ns| *ns != 0);
        }
        control = control.get(length.checked_next_multiple_of(8)?..)?;
    }
    None
}

fn number(octets: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(octets.get(..4)?.try_into().ok()?))
}

/// `struct timespec` of a 64-bit kernel.
fn nanoseconds(octets: &[u8]) -> Option<i64> {
    let part = |at: usize| Some(i64::from_ne_bytes(octets.get(at..at + 8)?.try_into().ok()?));
    part(0)?.checked_mul(1_000_000_000)?.checked_add(part(8)?)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;

    /// A control message as the kernel lays it out, padded for the next.
    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut octets = ((HEAD_OCTETS + data.len()) as u64).to_ne_bytes().to_vec();
        octets.extend(level.to_ne_bytes());
        octets.extend(kind.to_ne_bytes());
        octets.extend(data);
        octets.resize(octets.len().next_multiple_of(8), 0xa5);
        octets
    }

    fn stamps(software: (i64, i64)) -> Vec<u8> {
        let times = [software, (0, 0), (7, 8)];
        let data: Vec<u8> =
            times.iter().flat_map(|(s, ns)| [s.to_ne_bytes(), ns.to_ne_bytes()].concat()).collect();
        message(SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
    }

    #[test]
    fn the_stamp_is_found_wherever_it_stands() {
        let other = message(libc::SOL_IP, libc::IP_RECVERR, &[1; 20]);
        let stamp = stamps((1_700_000_000, 5));
        let expected = Some(1_700_000_000_000_000_005);
        assert_eq!(software_stamp(&stamp), expected);
        assert_eq!(software_stamp(&[other.clone(), stamp.clone()].concat()), expected);
        assert_eq!(software_stamp(&[stamp, other].concat()), expected);
    }

    #[test]
    fn what_is_cut_or_absent_is_no_stamp() {
        let stamp = stamps((1, 2));
        for length in 0..HEAD_OCTETS + 16 {
            let mut cut = stamp[..length].to_vec();
            assert_eq!(software_stamp(&cut), None, "{length}");
            // Also if the length says so.
            if length >= 8 {
                cut[..8].copy_from_slice(&(length as u64).to_ne_bytes());
                assert_eq!(software_stamp(&cut), None, "{length}");
            }
        }
        assert_eq!(software_stamp(&stamps((0, 0))), None);
        assert_eq!(software_stamp(&stamps((i64::MAX, 0))), None);
        assert_eq!(software_stamp(&message(libc::SOL_IP, 7, &[0; 48])), None);
        for wrong in [0u64, 15, u64::MAX, u64::MAX - 3] {
            let octets = [wrong.to_ne_bytes().to_vec(), vec![0; 56]].concat();
            assert_eq!(software_stamp(&octets), None, "{wrong}");
        }
    }

    #[test]
    fn a_datagram_over_loopback_is_stamped_on_both_sides() {
        let [from, to] = [0; 2].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        stamp_sent(&from).unwrap();
        stamp_received(&to).unwrap();
        let mut stamps_of = KernelStamps::default();
        assert_eq!(stamps_of.sent_ns(&from), None);
        // The kernel begins to stamp some time after it is asked to.
        let both = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            from.send(&[1]).unwrap();
            stamps_of.receive(&to).unwrap();
            let received_ns = stamps_of.received_ns()?;
            Some((stamps_of.sent_ns(&from)?, received_ns))
        });
        let (sent_ns, received_ns) = both.expect("loopback stamps");
        // Unless somebody sets the time of day in between, which takes longer than this.
        assert!((0..1_000_000_000).contains(&(received_ns - sent_ns)), "{sent_ns} {received_ns}");
        assert_eq!(stamps_of.sent_ns(&from), None);
        assert!(stamps_of.receive_now(&to).is_err());
    }
}
