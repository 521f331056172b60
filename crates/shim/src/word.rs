//! Words of the pages on which threads sleep. futex(2)

use core::sync::atomic::AtomicU32;

use vtime::HostTime;

use crate::arch::{self, nr};
use crate::namespace::native_timespec;

const FUTEX_WAIT_BITSET: usize = 9;
const FUTEX_BITSET_MATCH_ANY: usize = 0xffff_ffff;

/// A futex word of a page, and the value that it had.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) &'static AtomicU32, pub(crate) u32);

/// Waits on a futex word of a page until host time `until`.
pub(crate) fn wait_on(Word(word, value): Word, until: HostTime) -> isize {
    let until = native_timespec(until.as_ns());
    let until = &raw const until as usize;
    let word = word.as_ptr() as usize;
    let args = [word, FUTEX_WAIT_BITSET, value as usize, until, 0, FUTEX_BITSET_MATCH_ANY];
    // SAFETY: the word lies in a page; the kernel only reads it.
    unsafe { arch::syscall(nr::FUTEX, args) }
}
