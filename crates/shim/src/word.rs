//! Futex words of the pages of ours, and waiting on them. futex(2)

use core::sync::atomic::AtomicU32;

use vtime::HostTime;

use crate::arch::{self, nr};
use crate::clock::CLOCK_MONOTONIC;
use crate::namespace::native_timespec;

/// What a call of ours answers that a freeze has cut short: `ENOSYS`, of
/// [`vtime::image::FROZEN_CALL`]. It has waited in vain.
pub(crate) const FROZEN: isize = -38;

const FUTEX_WAIT_BITSET: usize = 9;
const FUTEX_BITSET_MATCH_ANY: usize = 0xffff_ffff;

/// A word, and the value that it had.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) &'static AtomicU32, pub(crate) u32);

/// Waits on a futex word of a page until host time `until`.
pub(crate) fn wait_on(Word(word, value): Word, until: HostTime) -> isize {
    let until = native_timespec(until.as_ns());
    let until = &raw const until as usize;
    let word = word.as_ptr() as usize;
    let args = [word, FUTEX_WAIT_BITSET, value as usize, until, 0, FUTEX_BITSET_MATCH_ANY];
    // SAFETY: the word lies in a page of ours; the kernel only reads it.
    unsafe { arch::syscall(nr::FUTEX, args) }
}

/// As [`wait_on`], but handlers with SA_RESTART do not end it: so the kernel does it for the newer
/// call, and for it only.
pub(crate) fn wait_restartably_on(word: Word, until: HostTime) -> isize {
    const ENOSYS: isize = -38;
    const FUTEX_32: u32 = 2;
    let awaited = Awaited {
        value: u64::from(word.1),
        address: word.0.as_ptr() as u64,
        flags: FUTEX_32,
        reserved: 0,
    };
    let time = native_timespec(until.as_ns());
    let time = &raw const time as usize;
    let args = [&raw const awaited as usize, 1, 0, time, CLOCK_MONOTONIC, 0];
    // SAFETY: the word lies in a page of ours; the kernel only reads it.
    match unsafe { arch::syscall(nr::FUTEX_WAITV, args) } {
        // Linux before 5.16.
        ENOSYS => wait_on(word, until),
        result => result,
    }
}

/// `struct futex_waitv`
#[repr(C)]
struct Awaited {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}
