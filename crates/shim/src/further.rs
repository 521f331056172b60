//! Further filters: calls that are stopped only in programs that have asked for it.
//!
//! Whether a `read` can time out, or a `recvmsg` bring a stamp, depends on options of the socket,
//! which a filter does not see. Stopping all of them in all programs would make each cost ten
//! times as much. But these options must be asked for, by setsockopt(2); so the image puts a
//! further filter on the program when it first does so, and programs that never do pay nothing.
//! A filter stays with a program, its threads, children and what they execute.
//!
//! What a filter does to its program is seccomp(2); the instructions are those of
//! `include/uapi/linux/bpf_common.h`.

use vtime::image::{IMAGE, IMAGE_SIZE_MAX, Kind};

use crate::arch::{self, nr};
use crate::clock;

/// What else is stopped.
#[derive(Clone, Copy)]
pub(crate) enum Further {
    /// Calls that may wait for input of a socket.
    Receive,
    /// Calls that may wait for room or a connection.
    Send,
    /// Calls that may bring the stamp of what was received.
    Stamps,
}

const RECEIVE: [i32; 7] =
    [nr::READ, nr::READV, nr::RECVFROM, nr::RECVMSG, nr::RECVMMSG, nr::ACCEPT, nr::ACCEPT4];
const SEND: [i32; 6] = [nr::WRITE, nr::WRITEV, nr::SENDTO, nr::SENDMSG, nr::SENDMMSG, nr::CONNECT];
const STAMPS: [i32; 2] = [nr::RECVMSG, nr::RECVMMSG];

/// Call numbers of no kernel, which a filter answers with [`THERE`] instead of ENOSYS: so the
/// image finds out whether a program has inherited it.
const PROBE: u32 = 0x3fff_ff00;
const THERE: isize = -114;

/// Has these calls stopped from now on, in all threads.
pub(crate) fn stop(further: Further) {
    // SAFETY: no kernel has this call.
    if unsafe { arch::syscall(probe(further) as i32, [0; 6]) } == THERE {
        return;
    }
    static RECEIVE_FILTER: [Step; 18] = filter(probe(Further::Receive), &RECEIVE);
    static SEND_FILTER: [Step; 17] = filter(probe(Further::Send), &SEND);
    static STAMPS_FILTER: [Step; 13] = filter(probe(Further::Stamps), &STAMPS);
    let steps: &[Step] = match further {
        Further::Receive => &RECEIVE_FILTER,
        Further::Send => &SEND_FILTER,
        Further::Stamps => &STAMPS_FILTER,
    };
    if !install(steps, ALL_THREADS) {
        // A thread has a filter of its own that the others have not, or the program forbids
        // itself filters: at least some calls will see host time.
        clock::count(Kind::HostWait);
        install(steps, 0);
    }
}

const fn probe(further: Further) -> u32 {
    PROBE + further as u32
}

const SET_MODE_FILTER: usize = 1;
/// `SECCOMP_FILTER_FLAG_TSYNC`
const ALL_THREADS: usize = 1;

/// `struct sock_fprog`
#[repr(C)]
struct Program {
    length: u16,
    steps: *const Step,
}

fn install(steps: &[Step], flags: usize) -> bool {
    let program = Program { length: steps.len() as u16, steps: steps.as_ptr() };
    let args = [SET_MODE_FILTER, flags, &raw const program as usize, 0, 0, 0];
    // SAFETY: the program describes a live slice, which the kernel copies.
    unsafe { arch::syscall(nr::SECCOMP, args) == 0 }
}

/// `struct sock_filter`
#[repr(C)]
#[derive(Clone, Copy)]
struct Step {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER: u16 = 0x25;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const TRAP: u32 = 0x0003_0000;
const FAIL: u32 = 0x0005_0000;

// Offsets in `struct seccomp_data`, little-endian.
const NUMBER: u32 = 0;
const ADDRESS_LOW: u32 = 8;
const ADDRESS_HIGH: u32 = 12;

/// Stops these calls unless the image makes them. Calls of another interface never get here: the
/// filter of the launcher refuses them.
const fn filter<const STEPS: usize>(probe: u32, calls: &[i32]) -> [Step; STEPS] {
    let mut steps = [step(RETURN, ALLOW); STEPS];
    steps[0] = step(LOAD, NUMBER);
    steps[1] = branch(JUMP_EQUAL, probe, 0, 1);
    steps[2] = step(RETURN, FAIL | (-THERE) as u32);
    let mut at = 3;
    while at < 3 + calls.len() {
        // Over the remaining comparisons and the verdict behind them.
        let hit = (3 + calls.len() - at) as u8;
        steps[at] = branch(JUMP_EQUAL, calls[at - 3] as u32, hit, 0);
        at += 1;
    }
    // As in the filter of the launcher: the address is that behind the instruction.
    let tail = [
        step(RETURN, ALLOW),
        step(LOAD, ADDRESS_HIGH),
        branch(JUMP_EQUAL, 0, 0, 4),
        step(LOAD, ADDRESS_LOW),
        branch(JUMP_GREATER, IMAGE as u32, 0, 2),
        branch(JUMP_GREATER, (IMAGE + IMAGE_SIZE_MAX) as u32, 1, 0),
        step(RETURN, ALLOW),
        step(RETURN, TRAP),
    ];
    let mut place = 0;
    while place < tail.len() {
        steps[at + place] = tail[place];
        place += 1;
    }
    assert!(at + tail.len() == STEPS, "the filter is as long as its steps");
    steps
}

const fn step(code: u16, value: u32) -> Step {
    Step { code, yes: 0, no: 0, value }
}

const fn branch(code: u16, value: u32, yes: u8, no: u8) -> Step {
    Step { code, yes, no, value }
}
