//! Whether others of the same user may attach to this process, and so take its descriptors: prctl(2)
//! `PR_SET_DUMPABLE`. What is not dumpable is opened to the agent, and closed again.

use crate::arch::{self, nr};

const PR_GET_DUMPABLE: usize = 3;
const PR_SET_DUMPABLE: usize = 4;

pub(crate) fn get() -> bool {
    // SAFETY: takes numbers only.
    unsafe { arch::syscall(nr::PRCTL, [PR_GET_DUMPABLE, 0, 0, 0, 0, 0]) == 1 }
}

/// Lets the agent attach to this process, or no more.
pub(crate) fn set(dumpable: bool) {
    // SAFETY: takes numbers only.
    unsafe { arch::syscall(nr::PRCTL, [PR_SET_DUMPABLE, usize::from(dumpable), 0, 0, 0, 0]) };
}
