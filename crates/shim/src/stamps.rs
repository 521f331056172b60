//! The stamps that the kernel gives to what it receives and sends: `SO_TIMESTAMP` and its kin.
//!
//! They come with recvmsg(2) as control messages and count from 1970 by the host's clock. Here
//! they are replaced by what the program's clock showed at that moment, also if the clock has
//! been held or dilated since. Stamps of network hardware are left alone: its clock is its own.
//! Layout: cmsg(3) and `Documentation/networking/timestamping.rst`.

use crate::clock;
use crate::memory;
use crate::timespec::{Timespec, Timeval};

/// `struct msghdr`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Message {
    pub(crate) name: usize,
    pub(crate) name_length: u64,
    pub(crate) buffers: usize,
    pub(crate) buffer_count: usize,
    pub(crate) control: usize,
    pub(crate) control_length: usize,
    pub(crate) flags: u64,
}

/// `struct cmsghdr`
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
}

const SOL_SOCKET: i32 = 1;
// Options of sockets, whose control messages have the same numbers. The second of each pair is
// for programs with a `time_t` wider than their `long`.
const TIMESTAMP: [i32; 2] = [29, 63];
const TIMESTAMP_NS: [i32; 2] = [35, 64];
const TIMESTAMPING: [i32; 2] = [37, 65];

pub(crate) fn asks_for_stamps(option: usize) -> bool {
    let option = option as i32;
    [TIMESTAMP, TIMESTAMP_NS, TIMESTAMPING].iter().flatten().any(|asks| *asks == option)
}

/// Puts the stamps of a received message into virtual time. Messages that the program can change
/// under our hands are as wrong as it makes them.
pub(crate) fn translate(message: usize) {
    // SAFETY: numbers, which may have any value.
    let Ok(header) = (unsafe { memory::read::<Message>(message) }) else { return };
    let end = header.control.saturating_add(header.control_length);
    let mut at = header.control;
    while end.saturating_sub(at) >= size_of::<Control>() {
        // SAFETY: numbers, which may have any value.
        let Ok(control) = (unsafe { memory::read::<Control>(at) }) else { return };
        let whole = control.length >= size_of::<Control>() && control.length <= end - at;
        if !whole {
            return;
        }
        if control.level == SOL_SOCKET {
            let room = control.length - size_of::<Control>();
            translate_one(control.kind, at + size_of::<Control>(), room);
        }
        at = at.saturating_add(control.length.next_multiple_of(size_of::<usize>()));
    }
}

fn translate_one(kind: i32, at: usize, room: usize) {
    if room < size_of::<Timespec>() {
        return;
    }
    if TIMESTAMP.contains(&kind) {
        let _ = micro(at);
    } else if TIMESTAMP_NS.contains(&kind) || TIMESTAMPING.contains(&kind) {
        // The first of the three of SO_TIMESTAMPING is that of the kernel, or zero.
        let _ = nano(at);
    }
}

/// Translates a `struct timespec` of the program.
fn nano(at: usize) -> Result<(), isize> {
    // SAFETY: numbers, which may have any value.
    let stamp: Timespec = unsafe { memory::read(at)? };
    if stamp.seconds == 0 && stamp.nanoseconds == 0 {
        return Ok(());
    }
    let shown = clock::realtime_of_stamp(stamp.saturating_ns());
    memory::write(at, &Timespec::from_ns(shown))
}

/// Translates a `struct timeval` of the program.
fn micro(at: usize) -> Result<(), isize> {
    // SAFETY: numbers, which may have any value.
    let stamp: Timeval = unsafe { memory::read(at)? };
    let ns = stamp.seconds.saturating_mul(1_000_000_000).saturating_add(stamp.microseconds * 1000);
    let shown = Timespec::from_ns(clock::realtime_of_stamp(ns));
    let shown = Timeval { seconds: shown.seconds, microseconds: shown.nanoseconds / 1000 };
    memory::write(at, &shown)
}
