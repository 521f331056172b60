//! Filters that a program gives itself, seccomp(2) and prctl(2): see [`crate::filters`].

use crate::arch::{self, nr};
use crate::bpf::{self, SET_MODE_FILTER, STEPS_MAX, Step};
use crate::filters::{self, PREFIX, STRICT_MODE};
use crate::memory;
use crate::wait::EINVAL;

const SET_MODE_STRICT: usize = 0;

const PR_GET_SECCOMP: usize = 21;
const MODE_STRICT: usize = 1;
const MODE_FILTER: usize = 2;
const INT: usize = 0xffff_ffff;

/// seccomp(2) for one of the two modes.
pub(crate) fn seccomp(args: [usize; 6]) -> isize {
    let [operation, flags, program, ..] = args;
    match operation & INT {
        SET_MODE_STRICT if flags != 0 || program != 0 => EINVAL,
        SET_MODE_STRICT => enter_strict_mode(),
        // Unsigned int.
        _ => give_filter(flags & INT, program),
    }
}

/// prctl(2): `PR_SET_SECCOMP` and `PR_GET_SECCOMP`.
pub(crate) fn prctl([option, mode, program, ..]: [usize; 6]) -> isize {
    match (option & INT, mode) {
        (PR_GET_SECCOMP, _) if filters::are_there() => MODE_FILTER as isize,
        (PR_GET_SECCOMP, _) => 0,
        (_, MODE_STRICT) => enter_strict_mode(),
        (_, MODE_FILTER) => give_filter(0, program),
        _ => EINVAL,
    }
}

/// Strict mode is for programs without filters, so a filter stands for it.
fn enter_strict_mode() -> isize {
    if filters::are_there() {
        return EINVAL;
    }
    let result = bpf::install(&STRICT_MODE, 0);
    if result == 0 {
        filters::note();
    }
    result
}

/// Installs the program's filter behind the prefix; whatever is wrong with it, the kernel says.
fn give_filter(flags: usize, program: usize) -> isize {
    // SAFETY: numbers, which may have any value.
    let ours = match unsafe { memory::read::<[usize; 2]>(program) } {
        Ok([length, steps]) => with_prefix(flags, length & 0xffff, steps),
        Err(_) => None,
    };
    let result = ours.unwrap_or_else(|| {
        // SAFETY: the program's own call, which the kernel checks.
        unsafe { arch::syscall(nr::SECCOMP, [SET_MODE_FILTER, flags, program, 0, 0, 0]) }
    });
    if result >= 0 {
        filters::note();
    }
    result
}

/// `None` if the program's filter is empty or too long, cannot be read, or there is no memory.
fn with_prefix(flags: usize, length: usize, steps: usize) -> Option<isize> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const NONE: usize = usize::MAX;
    let count = PREFIX.len() + length;
    if length == 0 || count > STEPS_MAX {
        return None;
    }
    let octets = count * size_of::<Step>();
    let args = [0, octets, READ_AND_WRITE, PRIVATE_ANONYMOUS, NONE, 0];
    // SAFETY: memory of our own, where there is room.
    let room = unsafe { arch::syscall(nr::MMAP, args) };
    if (-4095..0).contains(&room) {
        return None;
    }
    let room = room as *mut Step;
    // SAFETY: it is as long as prefix and filter, and zero until then, as any octets are valid.
    let (all, own) = unsafe {
        room.copy_from_nonoverlapping(PREFIX.as_ptr(), PREFIX.len());
        let own = room.add(PREFIX.len()) as usize;
        (
            core::slice::from_raw_parts(room, count),
            memory::read_to(own, steps, length * size_of::<Step>()),
        )
    };
    let result = own.is_ok().then(|| bpf::install(all, flags));
    // SAFETY: nobody else knows of this memory.
    unsafe { arch::syscall(nr::MUNMAP, [room as usize, octets, 0, 0, 0, 0]) };
    result
}
