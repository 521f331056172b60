//! Asking for the stamp of the last datagram of a socket: `SIOCGSTAMP` and `SIOCGSTAMPNS` of
//! socket(7).

use super::result;
use crate::arch::{self, nr};
use crate::clock;
use crate::memory;
use crate::timespec::{Timespec, Timeval};

// Ours are asked for in nanoseconds, as a microsecond of the host may be many of the program's.
const SIOCGSTAMP: [u32; 2] = [0x8906, 0x8010_8906];
/// With 64 bits for the seconds, as here anyway.
const SIOCGSTAMPNS: usize = 0x8907;

/// ioctl(2) with one of these requests.
pub(crate) fn ioctl([fd, request, place, ..]: [usize; 6]) -> isize {
    let mut stamp = Timespec::default();
    let args = [fd, SIOCGSTAMPNS, &raw mut stamp as usize, 0, 0, 0];
    // SAFETY: `stamp` is a valid timespec.
    let answer = unsafe { arch::syscall(nr::IOCTL, args) };
    if answer < 0 {
        return answer;
    }
    let stamp = Timespec::from_ns(clock::realtime_of_stamp(stamp.saturating_ns()));
    let Timespec { seconds, nanoseconds } = stamp;
    let written = if SIOCGSTAMP.contains(&(request as u32)) {
        memory::write(place, &Timeval { seconds, microseconds: nanoseconds / 1000 })
    } else {
        memory::write(place, &stamp)
    };
    result(written.map(|()| answer))
}
