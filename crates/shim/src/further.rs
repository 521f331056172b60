//! Further filters: calls that are stopped only in programs that have asked for it.
//!
//! Whether a `read` can time out, or a `recvmsg` bring a stamp, depends on options of the socket,
//! which a filter does not see. Stopping all of them in all programs would make each cost ten
//! times as much. But these options must be asked for, by setsockopt(2); so the image puts a
//! further filter on the program when it first does so, and programs that never do pay nothing.
//! A filter stays with a program, its threads, children and what they execute. Calls that report
//! signals are such calls too: only a program that has SIGSYS in a mask may look for it.
//!
//! What a filter does to its program is seccomp(2).

use vtime::image::{IMAGE, IMAGE_SIZE_MAX, Kind, NO_OBJECTION, STOPPED_FOR_SIGNALS, VERDICT};

use crate::arch::nr;
use crate::bpf::{
    self, ADDRESS_HIGH, ADDRESS_LOW, ALL_THREADS, ALLOW, FAIL, JUMP_EQUAL, JUMP_GREATER, LOAD,
    NUMBER, PROBE, RETURN, STOP, Step, THERE, TRAP, branch, step,
};
use crate::pages;

#[derive(Clone, Copy)]
pub(crate) enum Further {
    /// Calls that may wait for input of a socket.
    Receive,
    /// Calls that may wait for room or a connection.
    Send,
    /// Calls that may bring the stamp of what was received.
    Stamps,
    /// Calls that may report SIGSYS.
    Signals,
}

const RECEIVE: [i32; 7] =
    [nr::READ, nr::READV, nr::RECVFROM, nr::RECVMSG, nr::RECVMMSG, nr::ACCEPT, nr::ACCEPT4];
const SEND: [i32; 6] = [nr::WRITE, nr::WRITEV, nr::SENDTO, nr::SENDMSG, nr::SENDMMSG, nr::CONNECT];
const STAMPS: [i32; 2] = [nr::RECVMSG, nr::RECVMMSG];
const SIGNALS: [i32; 4] =
    [nr::RT_SIGACTION, nr::RT_SIGPROCMASK, nr::RT_SIGPENDING, nr::RT_SIGTIMEDWAIT];

/// Has these calls stopped from now on, in all threads.
pub(crate) fn stop(further: Further) {
    if bpf::is_there(probe(further)) {
        return;
    }
    static RECEIVE_FILTER: [Step; 20] = filter(Further::Receive, &RECEIVE);
    static SEND_FILTER: [Step; 19] = filter(Further::Send, &SEND);
    static STAMPS_FILTER: [Step; 15] = filter(Further::Stamps, &STAMPS);
    static SIGNALS_FILTER: [Step; 17] = filter(Further::Signals, &SIGNALS);
    let steps: &[Step] = match further {
        Further::Receive => &RECEIVE_FILTER,
        Further::Send => &SEND_FILTER,
        Further::Stamps => &STAMPS_FILTER,
        Further::Signals => &SIGNALS_FILTER,
    };
    if bpf::install(steps, ALL_THREADS) != 0 {
        // A thread has a filter of its own that the others have not, or the program forbids
        // itself filters: at least some calls will see host time.
        if !matches!(further, Further::Signals) {
            pages::count(Kind::HostWait);
        }
        bpf::install(steps, 0);
    }
}

const fn probe(further: Further) -> u32 {
    PROBE + further as u32
}

/// Stops these calls unless the image makes them. Calls of another interface never get here: the
/// filter of the launcher refuses them.
const fn filter<const STEPS: usize>(further: Further, calls: &[i32]) -> [Step; STEPS] {
    let stop = match further {
        Further::Signals => TRAP | STOPPED_FOR_SIGNALS as u32,
        Further::Receive | Further::Send | Further::Stamps => STOP,
    };
    let mut steps = [step(RETURN, ALLOW); STEPS];
    steps[0] = step(LOAD, NUMBER);
    steps[1] = branch(JUMP_EQUAL, probe(further), 0, 1);
    steps[2] = step(RETURN, FAIL | (-THERE) as u32);
    let at = bpf::put_calls(&mut steps, 3, calls);
    // As in the filter of the launcher: the address is that behind the instruction.
    let tail = [
        step(RETURN, ALLOW),
        step(LOAD, ADDRESS_HIGH),
        branch(JUMP_EQUAL, 0, 0, 6),
        step(LOAD, ADDRESS_LOW),
        branch(JUMP_GREATER, IMAGE as u32, 0, 4),
        branch(JUMP_GREATER, (IMAGE + IMAGE_SIZE_MAX) as u32, 3, 0),
        branch(JUMP_EQUAL, VERDICT as u32, 1, 0),
        step(RETURN, ALLOW),
        step(RETURN, FAIL | NO_OBJECTION as u32),
        step(RETURN, stop),
    ];
    assert!(bpf::put(&mut steps, at, &tail) == STEPS, "the filter is as long as its steps");
    steps
}
