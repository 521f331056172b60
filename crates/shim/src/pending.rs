//! A SIGSYS that somebody sends while the program blocks it.
//!
//! The kernel delivers it, as the image never blocks it. So it is queued once more as the signal that
//! stands for it in the kernel's masks ([`vtime::masks`]), with a mark and all that the kernel reported of
//! it: that one stays pending for as long as the program blocks SIGSYS, and comes to whom the kernel
//! chooses. Only then does the image take that signal from the program too.

use vtime::masks::{SIGSYS, STAND_IN, STAND_IN_BIT};

use crate::arch::{self, SignalFrame, nr};
use crate::delivery::{self, Cause};
use crate::further::{self, Further};
use crate::signal::{
    SA_NODEFER, SIG_BLOCK, SIG_IGN, SIG_UNBLOCK, SignalInfo, action_of, change_mask,
    program_action, set_action,
};

/// In the upper half of `si_errno`, with the true `si_code` in the lower half.
const MARK: i32 = 0x5143 << 16;
const SI_QUEUE: i32 = -1;
const SI_TKILL: i32 = -6;

/// Whether this thread blocks SIGSYS now, as its program sees it.
pub(crate) fn is_blocked() -> bool {
    change_mask(SIG_BLOCK, 0) & STAND_IN_BIT != 0
}

/// Keeps a SIGSYS pending.
///
/// # Safety
/// `info` must be what the kernel reported of the signal.
#[inline(never)]
pub(crate) unsafe fn keep(info: *mut SignalInfo) {
    take_stand_in();
    further::stop(Further::Signals);
    // SAFETY: as the caller vouches; the rest takes numbers only.
    unsafe {
        let code = (*info).code;
        // Others are not for a thread to send.
        (*info).code = SI_QUEUE;
        (*info).data = MARK | code & 0xffff;
        let process = arch::syscall(nr::GETPID, [0; 6]) as usize;
        if code == SI_TKILL {
            let thread = arch::syscall(nr::GETTID, [0; 6]) as usize;
            let args = [process, thread, STAND_IN, info as usize, 0, 0];
            arch::syscall(nr::RT_TGSIGQUEUEINFO, args);
        } else {
            arch::syscall(nr::RT_SIGQUEUEINFO, [process, STAND_IN, info as usize, 0, 0, 0]);
        }
    }
}

/// Makes the `siginfo_t` of the stand-in that of the SIGSYS that was kept. Returns which of
/// the two it is.
pub(crate) fn restore(info: &mut SignalInfo) -> usize {
    if info.data & !0xffff != MARK {
        return STAND_IN;
    }
    info.signal = SIGSYS as i32;
    info.code = i32::from(info.data as i16);
    info.data = 0;
    SIGSYS
}

/// The stand-in is delivered.
///
/// # Safety
/// `info` and `frame` must be those of the kernel for this signal.
pub(crate) unsafe fn come(info: *mut SignalInfo, frame: &mut SignalFrame) {
    // SAFETY: as the caller vouches.
    unsafe {
        let signal = restore(&mut *info);
        if program_action(signal).read()[1] & SA_NODEFER != 0 {
            change_mask(SIG_UNBLOCK, STAND_IN_BIT);
        }
        delivery::deliver(signal, Cause::Sent, info, frame);
    }
}

/// Whether the image has taken the stand-in from the program.
#[inline(never)]
pub(crate) fn has_stand_in() -> bool {
    action_of(STAND_IN)[0] == action_of(SIGSYS)[0]
}

/// Forgets a SIGSYS that is pending in any thread, as the kernel does when it is to be ignored.
pub(crate) fn forget() {
    if has_stand_in() {
        let ours = action_of(STAND_IN);
        set_action(STAND_IN, &[SIG_IGN, 0, 0, 0]);
        set_action(STAND_IN, &ours);
    }
}

fn take_stand_in() {
    // One that comes while another is being handled waits for its end, unlike calls that are stopped.
    let mut ours = action_of(SIGSYS);
    ours[1] &= !SA_NODEFER;
    let before = set_action(STAND_IN, &ours);
    if before[0] != ours[0] {
        // SAFETY: the page of the program is mapped; others may change the action meanwhile, as
        // they may change that of any signal.
        unsafe { program_action(STAND_IN).write(before) };
    }
}
