//! Signal masks of programs, and what the kernel keeps of them.
//!
//! SIGSYS must never be blocked in the kernel: a call that the filter stops would then kill the
//! program. Yet a program may block it, and expects to find that in its masks. So in the kernel's
//! masks another signal stands for it, which no kernel sends and no program uses: SIGSTKFLT. Masks
//! are the kernel's to pass on, to threads, children and programs, and to put back behind handlers;
//! with one bit for another all of that holds for SIGSYS too. The price: the two are blocked
//! together.

/// The signal of the image.
pub const SIGSYS: usize = 31;
/// The signal that stands for it in the kernel's masks: SIGSTKFLT.
pub const STAND_IN: usize = 16;

/// The bit of the one in a mask.
pub const SIGSYS_BIT: u64 = 1 << (SIGSYS - 1);
/// And that of the other.
pub const STAND_IN_BIT: u64 = 1 << (STAND_IN - 1);

/// What run-time systems block for a moment when they make threads and children. No program has
/// all of these in a mask of its own: C libraries keep some to themselves.
const ALL: u64 = u64::MAX;

/// The mask that the kernel gets for one of the program's.
pub const fn kept(mask: u64) -> u64 {
    let stands_in = (mask & SIGSYS_BIT) >> (SIGSYS - STAND_IN);
    mask & !SIGSYS_BIT | stands_in
}

/// The mask that the program sees for one of the kernel's.
pub const fn shown(mask: u64) -> u64 {
    mask | (mask & STAND_IN_BIT) << (SIGSYS - STAND_IN)
}

/// Whether a program that sets this mask may look for SIGSYS in it later, by calls that change
/// nothing.
pub const fn may_be_looked_for(mask: u64) -> bool {
    mask & (SIGSYS_BIT | STAND_IN_BIT) != 0 && mask != ALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_blocks_all_signals_for_a_moment_is_not_looked_for() {
        assert!(!may_be_looked_for(u64::MAX));
        assert!(!may_be_looked_for(0));
        assert!(may_be_looked_for(SIGSYS_BIT));
        // A full set of the C library.
        assert!(may_be_looked_for(!(3 << 31)));
    }

    proptest! {
        /// The kernel never has the bit, the program finds it as it left it, and every other bit too.
        #[test]
        fn a_mask_comes_back_as_it_was(mask: u64) {
            let kernel_mask = kept(mask);
            prop_assert_eq!(kernel_mask & SIGSYS_BIT, 0);
            let back = shown(kernel_mask);
            if mask & SIGSYS_BIT != 0 {
                prop_assert_eq!(back, mask | STAND_IN_BIT);
            } else if mask & STAND_IN_BIT == 0 {
                prop_assert_eq!(back, mask);
            }
            prop_assert_eq!(kept(back), kernel_mask, "what is shown may be set again");
        }
    }
}
