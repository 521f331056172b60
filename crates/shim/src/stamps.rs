//! The stamps that the kernel gives to what it receives and sends: `SO_TIMESTAMP` and its kin.
//!
//! They come with recvmsg(2) as control messages and count from 1970 by the host's clock. Here
//! they are replaced by what the program's clock showed at that moment, also if the clock has
//! been held or dilated since. Stamps of network hardware are left alone: its clock is its own.
//! Layout: cmsg(3) and `Documentation/networking/timestamping.rst`.

use crate::arch::{self, nr};
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

fn nano(at: usize) -> Result<(), isize> {
    // SAFETY: numbers, which may have any value.
    let stamp: Timespec = unsafe { memory::read(at)? };
    if stamp.seconds == 0 && stamp.nanoseconds == 0 {
        return Ok(());
    }
    memory::write(at, &shown(stamp.saturating_ns()))
}

fn micro(at: usize) -> Result<(), isize> {
    // SAFETY: numbers, which may have any value.
    let stamp: Timeval = unsafe { memory::read(at)? };
    memory::write(at, &Timeval::from(shown(stamp.saturating_ns())))
}

/// What the clock of the program showed when that of the host showed this.
fn shown(ns: i64) -> Timespec {
    Timespec::from_ns(clock::realtime_of_stamp(ns))
}

/// `SIOCGSTAMP` of either width: the stamp of the last datagram of a socket, socket(7).
const SIOCGSTAMP: [u32; 2] = [0x8906, 0x8010_8906];
/// With 64 bits for the seconds, as here anyway.
const SIOCGSTAMPNS: usize = 0x8907;

/// ioctl(2) with one of these requests. Ours are asked for in nanoseconds, as a microsecond of the
/// host may be many of the program's.
pub(crate) fn ioctl([fd, request, place, ..]: [usize; 6]) -> Result<isize, isize> {
    let mut stamp = Timespec::default();
    let args = [fd, SIOCGSTAMPNS, &raw mut stamp as usize, 0, 0, 0];
    // SAFETY: `stamp` is a valid timespec.
    let answer = unsafe { arch::syscall(nr::IOCTL, args) };
    if answer < 0 {
        return Err(answer);
    }
    let stamp = shown(stamp.saturating_ns());
    if SIOCGSTAMP.contains(&(request as u32)) {
        memory::write(place, &Timeval::from(stamp))?;
    } else {
        memory::write(place, &stamp)?;
    }
    Ok(answer)
}
