//! What is random, where runs are to be the same: from a seed instead of the kernel, getrandom(2).
//!
//! The seed is that of the program, in its own page. Processes that it forks have that page too, so each
//! takes a stream of its own from it when it first asks. A fork is noticed by the number of the process:
//! what the page of the process says of its stream is then still what its parent had written.

use core::sync::atomic::{AtomicU64, Ordering};

use random::{Random, seed_for};
use vtime::image::PROCESS;

use crate::arch::{self, nr};
use crate::memory;
use crate::pages;

/// Numbers that are made before they are copied: the stack may be short.
const PIECE: usize = 16;
const OCTETS: usize = size_of::<u64>();

pub(crate) fn getrandom(args: [usize; 6]) -> isize {
    // The kernel looks at the arguments and may cut the length; what it puts there is overwritten.
    // SAFETY: the program's own call, which the kernel checks.
    let given = unsafe { arch::syscall(nr::GETRANDOM, args) };
    if let (Some(seed), Ok(length @ 1..)) = (pages::own().random_seed(), usize::try_from(given)) {
        fill(args[0], length, seed);
    }
    given
}

fn fill(address: usize, length: usize, seed: u64) {
    let count = length.div_ceil(OCTETS) as u64;
    let stream = seed_for(seed, stream());
    let mut random = Random::after(stream, taken().fetch_add(count, Ordering::Relaxed));
    let mut numbers = [0; PIECE];
    for from in (0..length).step_by(PIECE * OCTETS) {
        numbers.fill_with(|| random.number());
        let piece = (length - from).min(PIECE * OCTETS);
        let ours = numbers.as_ptr() as usize;
        // That the program takes the memory away meanwhile changes nothing in the result, as with the kernel.
        // SAFETY: no more octets than the numbers have.
        let _ = unsafe { memory::write_from(ours, address + from, piece) };
    }
}

/// The number of this process among those that share the seed.
fn stream() -> u64 {
    // SAFETY: takes nothing.
    let process = unsafe { arch::syscall(nr::GETPID, [0; 6]) } as u64;
    let word = word(core::mem::offset_of!(vtime::image::Process, random_stream));
    let known = word.load(Ordering::Relaxed);
    if known >> 32 == process {
        return known & u64::from(u32::MAX);
    }
    let number = pages::own().new_random_stream() & u64::from(u32::MAX);
    let own = process << 32 | number;
    match word.compare_exchange(known, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => number,
        // Another thread was faster.
        Err(now) => now & u64::from(u32::MAX),
    }
}

fn taken() -> &'static AtomicU64 {
    word(core::mem::offset_of!(vtime::image::Process, random_taken))
}

fn word(offset: usize) -> &'static AtomicU64 {
    // SAFETY: in the page that the launcher has mapped; nothing else uses these words.
    unsafe { AtomicU64::from_ptr((PROCESS + offset) as *mut u64) }
}
