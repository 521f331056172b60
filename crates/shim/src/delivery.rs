//! A SIGSYS that is the program's: somebody sent it, or a filter of the program's own asked for it.
//! What the program wants done with the signal lies in its page (`sigsys_action`), as the image
//! keeps the signal for itself; here it is done as the kernel would, see sigaction(2).

use vtime::image::{PROCESS, Process};

use crate::arch::{self, SignalFrame, nr};
use crate::calls::SIGSYS_BIT;
use crate::trap::SignalInfo;

const SIGKILL: usize = 9;
const SIGSYS: usize = 31;
const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;
const SA_RESETHAND: u64 = 0x8000_0000;
const SIG_BLOCK: usize = 0;

/// Why the signal came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Somebody sent it; it may be ignored.
    Sent,
    /// A filter of the program's own has stopped a call; ignored, it ends the program.
    Call,
}

/// Does with a SIGSYS what the program wants done with it.
///
/// # Safety
/// `info` and `frame` must be those of the kernel for this signal.
pub(crate) unsafe fn deliver(cause: Cause, info: *const SignalInfo, frame: &mut SignalFrame) {
    // SAFETY: mapped by the launcher; another thread may change it meanwhile, as it may change
    // a signal action at any time.
    let action = unsafe { &raw mut (*(PROCESS as *mut Process)).sigsys_action };
    // SAFETY: as above.
    let [handler, flags, _, mask] = unsafe { action.read() };
    match handler {
        SIG_IGN if cause == Cause::Sent => {}
        SIG_DFL | SIG_IGN => die_of(SIGSYS),
        handler => {
            if flags & SA_RESETHAND != 0 {
                // SAFETY: as above.
                unsafe { (&raw mut (*action)[0]).write(SIG_DFL) };
            }
            block(mask & !SIGSYS_BIT);
            // SAFETY: the program named this function as its handler of SIGSYS.
            let handler: unsafe extern "C" fn(usize, *const SignalInfo, *mut SignalFrame) =
                unsafe { core::mem::transmute(handler as usize) };
            // SAFETY: the kernel's own arguments.
            unsafe { handler(SIGSYS, info, frame) };
        }
    }
}

/// Blocks further signals until the return from the handler of the image, which puts back the mask
/// in its frame.
fn block(signals: u64) {
    if signals != 0 {
        let args = [SIG_BLOCK, &raw const signals as usize, 0, size_of::<u64>(), 0, 0];
        // SAFETY: the set lies on the stack.
        unsafe { arch::syscall(nr::RT_SIGPROCMASK, args) };
    }
}

/// Ends the program as the kernel ends one that leaves strict mode.
pub(crate) fn end_strict_mode() {
    die_of(SIGKILL);
}

/// Ends the program by a signal with its default action.
fn die_of(signal: usize) {
    let default = [SIG_DFL; 4];
    // SAFETY: resets the action, which fails for SIGKILL as it has no other, and sends the signal
    // to this thread: the program dies of it as it would natively.
    unsafe {
        let set = [signal, default.as_ptr() as usize, 0, size_of::<u64>(), 0, 0];
        arch::syscall(nr::RT_SIGACTION, set);
        let thread = arch::syscall(nr::GETTID, [0; 6]);
        arch::syscall(nr::TKILL, [thread as usize, signal, 0, 0, 0, 0]);
    }
}
