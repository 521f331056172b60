//! What a network driver tells through `SIOCETHTOOL`: coalescing, rings, hardware stamps.
//!
//! Structures as in the kernel's `include/uapi/linux/ethtool.h`. Drivers answer `EOPNOTSUPP` to
//! what they do not have; that is `None` here.

use std::ffi::c_void;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const COALESCE: u32 = 0x0000_000e;
const RINGS: u32 = 0x0000_0010;
const STAMPS: u32 = 0x0000_0041;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// How long a card waits for further frames before it interrupts, µs.
pub(super) fn coalescing_us(interface: &str) -> Option<u32> {
    // Command, then rx_coalesce_usecs first of 22 fields.
    ask::<23>(interface, COALESCE).map(|answer| answer[1])
}

/// Frames that the receive ring holds: now, and at most.
pub(super) fn receive_ring(interface: &str) -> Option<(u32, u32)> {
    // Command, rx_max_pending and three more, then rx_pending.
    ask::<9>(interface, RINGS).map(|answer| (answer[5], answer[1]))
}

/// Whether the card stamps received frames by a clock of its own.
pub(super) fn stamps_frames(interface: &str) -> Option<bool> {
    /// `SOF_TIMESTAMPING_RX_HARDWARE` of net_tstamp.h.
    const RECEIVE_HARDWARE: u32 = 1 << 2;
    ask::<11>(interface, STAMPS).map(|answer| answer[1] & RECEIVE_HARDWARE != 0)
}

/// Asks for a structure of 32-bit words, the first of which is the command.
fn ask<const WORDS: usize>(interface: &str, command: u32) -> Option<[u32; WORDS]> {
    let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
    let mut answer = [0_u32; WORDS];
    answer[0] = command;
    // SAFETY: a plain structure of octets and numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, octet) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = libc::c_char::from_ne_bytes([octet]);
    }
    request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast::<libc::c_char>();
    // SAFETY: the driver fills in the structure of this command, which has `WORDS` words.
    let result = unsafe {
        libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, (&raw mut request).cast::<c_void>())
    };
    (result == 0).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_has_nothing_to_tell() {
        assert_eq!(coalescing_us("none-such"), None);
        assert_eq!(receive_ring("a-name-that-is-far-too-long"), None);
        // The loop-back interface stamps by software only.
        assert_ne!(stamps_frames("lo"), Some(true));
    }
}
