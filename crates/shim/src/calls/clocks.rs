//! Clocks read by a system call instead of the vDSO: clock_gettime(2), gettimeofday(2), time(2),
//! and the two calls that report the time since the start of the system beside other things.

use vtime::image::Kind;
use vtime::page::Epoch;
use vtime::time::NS_PER_S;

use super::processor;
use crate::arch::{self, nr};
use crate::clock;
use crate::memory;
use crate::pages;
use crate::timespec::{Timespec, Timeval};
use crate::vdso;

const EPERM: isize = -1;

/// Ticks a second in the results of times(2), the same on every Linux.
const TICKS_PER_S: i64 = 100;

pub(crate) fn clock_gettime([clockid, address, ..]: [usize; 6]) -> Result<isize, isize> {
    let mut time = Timespec::default();
    // SAFETY: `time` is a valid timespec.
    match unsafe { vdso::clock_gettime(clockid as i32, &raw mut time) } {
        0 => memory::write(address, &time).map(|()| 0),
        error => Err(error as isize),
    }
}

pub(crate) fn gettimeofday([address, zone, ..]: [usize; 6]) -> Result<isize, isize> {
    if address != 0 {
        memory::write(address, &Timeval::from(realtime()))?;
    }
    if zone == 0 {
        return Ok(0);
    }
    // SAFETY: null and an address that the kernel checks.
    Ok(unsafe { arch::syscall(nr::GETTIMEOFDAY, [0, zone, 0, 0, 0, 0]) })
}

pub(crate) fn time([address, ..]: [usize; 6]) -> Result<isize, isize> {
    let seconds = realtime().seconds;
    if address != 0 {
        memory::write(address, &seconds)?;
    }
    Ok(seconds as isize)
}

fn realtime() -> Timespec {
    Timespec::from_ns(clock::clock_ns(Epoch::Realtime))
}

/// sysinfo(2), whose first field is the time since the start of the system.
pub(crate) fn sysinfo([address, ..]: [usize; 6]) -> Result<isize, isize> {
    // SAFETY: the program's own arguments, which the kernel checks.
    match unsafe { arch::syscall(nr::SYSINFO, [address, 0, 0, 0, 0, 0]) } {
        0 => {
            // As the kernel, which rounds a begun second up.
            let seconds = (clock::clock_ns(Epoch::Boottime) + 999_999_999) / 1_000_000_000;
            memory::write(address, &seconds).map(|()| 0)
        }
        error => Err(error),
    }
}

/// times(2), whose result counts from an arbitrary point: here from that of `CLOCK_MONOTONIC`.
/// The host's count corrected by ours would go back and forth, as each is rounded to ticks.
pub(crate) fn times([address, ..]: [usize; 6]) -> Result<isize, isize> {
    const NS_PER_TICK: i64 = NS_PER_S / TICKS_PER_S;
    if address != 0 {
        memory::write(address, &processor::used().map(|ns| ns / NS_PER_TICK))?;
    }
    Ok((clock::clock_ns(Epoch::Monotonic) / NS_PER_TICK) as isize)
}

/// adjtimex(2) and clock_adjtime(2): asking for the state of a clock is allowed, setting it is
/// not. How well the host's clock is synchronised is reported as it is; the time is the program's.
pub(crate) fn adjtimex([state, ..]: [usize; 6]) -> Result<isize, isize> {
    ask_state(nr::ADJTIMEX, [state, 0, 0, 0, 0, 0], state, true)
}

pub(crate) fn clock_adjtime([clockid, state, ..]: [usize; 6]) -> Result<isize, isize> {
    let is_realtime = Epoch::of_clockid(clockid as i32) == Some(Epoch::Realtime);
    ask_state(nr::CLOCK_ADJTIME, [clockid, state, 0, 0, 0, 0], state, is_realtime)
}

/// `struct timex` of `include/uapi/linux/timex.h`: octets at which its fields lie.
const STATUS: usize = 40;
const TIME: usize = 72;
const STA_NANO: u32 = 0x2000;
/// `ADJ_OFFSET_SS_READ`, which only reads, as no bits do.
const READS: [u32; 2] = [0, 0xa001];

fn ask_state(
    number: i32,
    args: [usize; 6],
    state: usize,
    is_realtime: bool,
) -> Result<isize, isize> {
    // SAFETY: a number, which may have any value.
    let modes: u32 = unsafe { memory::read(state)? };
    if !READS.contains(&modes) {
        pages::count(Kind::SetClock);
        return Err(EPERM);
    }
    // SAFETY: the program's own call, which the kernel checks.
    let answer = unsafe { arch::syscall(number, args) };
    if answer >= 0 && is_realtime {
        // SAFETY: a number, which may have any value.
        let status: u32 = unsafe { memory::read(state + STATUS)? };
        let now = realtime();
        let part = if status & STA_NANO == 0 { now.nanoseconds / 1000 } else { now.nanoseconds };
        memory::write(state + TIME, &[now.seconds, part])?;
    }
    Ok(answer)
}
