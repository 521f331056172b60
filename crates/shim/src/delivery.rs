//! A SIGSYS that is the program's: somebody sent it, or a filter of the program's own asked for it.
//! What the program wants done with the signal lies in its page (`sigsys_action`), as the image
//! keeps the signal for itself; here it is done as the kernel would, see sigaction(2). Likewise for
//! the signal that stands for it while it is blocked.

use vtime::masks::{self, STAND_IN_BIT};

use crate::arch::{self, SignalFrame, nr};
use crate::signal::{self, Action, SA_NODEFER, SIG_BLOCK, SIG_IGN, SignalInfo};

const SIGKILL: usize = 9;
const SIG_DFL: u64 = 0;
const SA_RESETHAND: u64 = 0x8000_0000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Somebody sent it; it may be ignored.
    Sent,
    /// A filter of the program's own has stopped a call; ignored or blocked, it ends the program.
    Call,
}

/// Does with a signal what the program wants done with it.
///
/// # Safety
/// `info` and `frame` must be those of the kernel for this signal.
pub(crate) unsafe fn deliver(
    signal: usize,
    cause: Cause,
    info: *const SignalInfo,
    frame: &mut SignalFrame,
) {
    let action = signal::program_action(signal);
    // SAFETY: mapped by the launcher; another thread may change it meanwhile, as it may change
    // a signal action at any time.
    let [handler, flags, _, mask] = unsafe { action.read() };
    let kills = cause == Cause::Call && frame.mask & STAND_IN_BIT != 0;
    match handler {
        SIG_IGN if cause == Cause::Sent => {}
        SIG_DFL | SIG_IGN => die_of(signal),
        _ if kills => die_of(signal),
        handler => {
            if flags & SA_RESETHAND != 0 {
                // SAFETY: as above.
                unsafe { (&raw mut (*action)[0]).write(SIG_DFL) };
            }
            let own = if flags & SA_NODEFER == 0 { STAND_IN_BIT } else { 0 };
            // Until the return from the handler of the image, which puts back the mask in its frame.
            signal::change_mask(SIG_BLOCK, masks::kept(mask) | own);
            frame.mask = masks::shown(frame.mask);
            // SAFETY: the program named this function as its handler of the signal, and the
            // arguments are the kernel's own.
            unsafe {
                let handler: unsafe extern "C" fn(usize, *const SignalInfo, *mut SignalFrame) =
                    core::mem::transmute(handler as usize);
                handler(signal, info, frame);
            }
            frame.mask = masks::kept(frame.mask);
        }
    }
}

/// Ends the program as the kernel ends one that leaves strict mode.
pub(crate) fn end_strict_mode() {
    die_of(SIGKILL);
}

fn die_of(signal: usize) {
    // It has no other, if it is SIGKILL.
    signal::set_action(signal, &Action::default());
    // SAFETY: sends the signal to this thread: the program dies of it as it would natively.
    unsafe {
        let thread = arch::syscall(nr::GETTID, [0; 6]);
        arch::syscall(nr::TKILL, [thread as usize, signal, 0, 0, 0, 0]);
    }
}
