//! Programs of the kernel's packet filter, as seccomp(2) takes them. Instructions are those of
//! `include/uapi/linux/bpf_common.h`.

use vtime::image::STOPPED;

use crate::arch::{self, nr};

/// `struct sock_filter`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Step {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

pub(crate) const LOAD: u16 = 0x20;
pub(crate) const LOAD_CONSTANT: u16 = 0x00;
pub(crate) const JUMP_EQUAL: u16 = 0x15;
pub(crate) const JUMP_GREATER: u16 = 0x25;
pub(crate) const RETURN: u16 = 0x06;
pub(crate) const ALLOW: u32 = 0x7fff_0000;
pub(crate) const TRAP: u32 = 0x0003_0000;
pub(crate) const FAIL: u32 = 0x0005_0000;
/// Stops a call for the image to answer it.
pub(crate) const STOP: u32 = TRAP | STOPPED as u32;

// Offsets in `struct seccomp_data`, little-endian.
pub(crate) const NUMBER: u32 = 0;
pub(crate) const ADDRESS_LOW: u32 = 8;
pub(crate) const ADDRESS_HIGH: u32 = 12;

/// Most instructions of a filter (`BPF_MAXINSNS`).
pub(crate) const STEPS_MAX: usize = 4096;

/// Call numbers of no kernel, from this one on, which filters of ours answer with [`THERE`] instead
/// of ENOSYS: so the image finds out whether a program has inherited them.
pub(crate) const PROBE: u32 = 0x3fff_ff00;
pub(crate) const THERE: isize = -114;

pub(crate) const SET_MODE_FILTER: usize = 1;
/// `SECCOMP_FILTER_FLAG_TSYNC`
pub(crate) const ALL_THREADS: usize = 1;

pub(crate) const fn step(code: u16, value: u32) -> Step {
    Step { code, yes: 0, no: 0, value }
}

pub(crate) const fn branch(code: u16, value: u32, yes: u8, no: u8) -> Step {
    Step { code, yes, no, value }
}

/// Puts steps into a filter, from a place on. Returns the place behind them.
pub(crate) const fn put(filter: &mut [Step], mut at: usize, steps: &[Step]) -> usize {
    let mut number = 0;
    while number < steps.len() {
        filter[at] = steps[number];
        (number, at) = (number + 1, at + 1);
    }
    at
}

/// Puts comparisons into a filter, from a place on, that lead each of these calls behind the step which
/// follows them. Returns the place of that.
pub(crate) const fn put_calls(filter: &mut [Step], mut at: usize, calls: &[i32]) -> usize {
    let mut left = calls.len();
    while left > 0 {
        filter[at] = branch(JUMP_EQUAL, calls[calls.len() - left] as u32, left as u8, 0);
        (left, at) = (left - 1, at + 1);
    }
    at
}

/// Whether a filter is there that answers this number.
pub(crate) fn is_there(probe: u32) -> bool {
    // SAFETY: no kernel has this call.
    unsafe { arch::syscall(probe as i32, [0; 6]) == THERE }
}

/// `struct sock_fprog`
#[repr(C)]
struct Program {
    length: u16,
    steps: *const Step,
}

/// Puts a filter on the calling thread. Returns what the kernel answers.
pub(crate) fn install(steps: &[Step], flags: usize) -> isize {
    let program = Program { length: steps.len() as u16, steps: steps.as_ptr() };
    let args = [SET_MODE_FILTER, flags, &raw const program as usize, 0, 0, 0];
    // SAFETY: the program describes a live slice, which the kernel copies.
    unsafe { arch::syscall(nr::SECCOMP, args) }
}
