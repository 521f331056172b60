//! Where the image and its pages lie in a program: the contract between the launcher, which maps
//! them, and the shim, which runs there.
//!
//! The addresses are the same in every program because a seccomp filter, which all children
//! inherit, exempts the system calls that the image itself makes by their address. On x86-64 they
//! lie between the lowest address that a kernel lets programs map (64 KiB) and the lowest one at
//! which linkers put programs (2 MiB with lld, 4 MiB otherwise), where neither the kernel nor the
//! run-time systems of languages put anything of their own accord. On AArch64 the linker of Go
//! begins at 64 KiB, so there they lie below 4 GiB: above programs at fixed addresses and their
//! heap, and below the quarter of the address space from which on the kernel places what has no
//! fixed address. A heap that grows that far stops there, and the C library takes other memory.

use core::sync::atomic::{AtomicU64, Ordering};

/// Distance between the parts; at least the largest page of any 64-bit Linux.
const SLOT: usize = 0x1_0000;

/// The image: an ELF shared object with the symbols of the kernel's vDSO. Read and execute.
pub const IMAGE: usize = if cfg!(target_arch = "aarch64") { 0xf011_0000 } else { 0x11_0000 };
/// Most octets that the image may have, and the page behind it.
pub const IMAGE_SIZE_MAX: usize = 2 * SLOT;
/// The beginning of the kernel's `clock_gettime` where the vDSO of a running program was pointed
/// at the image: within the slot of the image, so that the filter lets its calls pass.
pub const ORIGINAL: usize = IMAGE + IMAGE_SIZE_MAX - PAGE_SIZE;
/// [`Process`]: of this program alone. Read and write.
pub const PROCESS: usize = IMAGE + IMAGE_SIZE_MAX;
/// [`crate::processor::Meters`]: behind the former, in the same page.
pub const METERS: usize = PROCESS + 1024;
/// [`crate::ClockPage`]: of the time domain. Read only.
pub const CLOCK: usize = PROCESS + SLOT;
/// [`crate::History`]: in the second half of the page of the clock. Read only.
pub const HISTORY: usize = CLOCK + 2048;
/// [`crate::OwnPage`]: of this program and of what it forks. Read and write.
pub const OWN: usize = CLOCK + SLOT;
/// [`crate::waits::Waits`]: behind the former, in the same memory.
pub const WAITS: usize = OWN + PAGE_SIZE;
/// A number that no system call has. A freeze that has cut short a wait of the image lets it make
/// this call in place of its own, so that it learns of the freeze by `ENOSYS`; unless a handler
/// of the program runs, for then the answer is `EINTR`.
pub const FROZEN_CALL: usize = 4095;
/// `si_code` of a SIGSYS by which the agent asks the image to make the process dumpable, prctl(2),
/// so that an exec of it can be followed.
pub const OPEN: i32 = -0x5143;
/// And of one by which it asks that it be so no more.
pub const CLOSE: i32 = -0x5144;
/// And of one by which it ends the native call in which a thread waits, as the clock has jumped to where
/// its wait is over: the call then answers [`FROZEN_CALL`]'s `ENOSYS`.
pub const WAKE: i32 = -0x5145;
/// The sixth argument, which no call of a timer has, of those that the image makes to ask the agent.
/// Without it they go to the kernel.
pub const ASKS: u32 = 0x5143_5449;
/// What the kernel reports with a SIGSYS (`SECCOMP_RET_DATA`) of a call that a filter of ours has
/// stopped; all others were stopped by filters of the program's own.
pub const STOPPED: u16 = 0x5143;
/// Likewise for a call about signals that is stopped since the program has SIGSYS in a mask.
pub const STOPPED_FOR_SIGNALS: u16 = 0x5145;
/// Likewise for a call that strict mode forbids, in a program that has asked for that mode.
pub const STRICT: u16 = 0x5144;
/// The address that a filter sees of calls by which the image asks what the program's own filters
/// say to a call: behind the system call instruction, the first one of the image. Such a call is
/// never made.
pub const VERDICT: usize = IMAGE + 176 + SYSCALL_LENGTH;
/// The error number with which a filter of ours answers those.
pub const NO_OBJECTION: u16 = 4094;
/// Octets of a system call instruction.
const SYSCALL_LENGTH: usize = if cfg!(target_arch = "aarch64") { 4 } else { 2 };
/// Octets to map for the pages of the process and of the clock.
pub const PAGE_SIZE: usize = 4096;
/// Octets to map for the own page and what lies behind it.
pub const OWN_SIZE: usize = SLOT;

/// What the image must know of the program that it is in. Written by the launcher at the stop
/// after exec, in a fresh private page.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// The kernel's own `clock_gettime` in its vDSO, 0 if it has none.
    pub vdso_clock_gettime: u64,
    /// The kernel's own `getcpu`, 0 if it has none.
    pub vdso_getcpu: u64,
    /// The kernel's own `getrandom`, 0 if it has none.
    pub vdso_getrandom: u64,
    /// What the program wants done with SIGSYS, as the kernel's `struct sigaction`: handler,
    /// flags, restorer, mask. The image keeps the signal for itself.
    pub sigsys_action: [u64; 4],
    /// Whether the program has seccomp filters of its own: 0 if that is not known yet, else one of
    /// [`NO_FILTERS`] and [`FILTERS`].
    pub filters: u64,
    /// Where the process has, or may have, a time namespace of its own, in which the kernel's
    /// functions show other times: there `vdso_clock_gettime` is 0, so that no short way is taken.
    pub namespace: Namespace,
    /// What the program wants done with the signal that stands for SIGSYS ([`crate::masks`]), where
    /// the image has taken that from it.
    pub stand_in_action: [u64; 4],
    /// Where the program gets what is random from a seed ([`crate::OwnPage::random_seed`]): which process this
    /// is, in the upper half, and the number of its numbers, in the lower half. A process that was forked
    /// finds those of its parent there.
    pub random_stream: u64,
    /// How many numbers of that were taken.
    pub random_taken: u64,
}

/// Of [`Process::filters`]: it has none.
pub const NO_FILTERS: u64 = 1;
/// Of [`Process::filters`]: it has some, in one thread at least.
pub const FILTERS: u64 = 2;

/// The time namespace of a process, time_namespaces(7).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Whether it has to be looked at; otherwise it is that of the agent.
    pub is_own: u64,
    /// The kernel's `clock_gettime`, 0 if there is none; it shows the times of the namespace.
    pub vdso_clock_gettime: u64,
    /// The process that the shifts are of; children may have been put into another namespace.
    pub process: u64,
    /// How far its `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME` are ahead of the agent's.
    pub shifts_ns: [i64; 2],
}

const _: () = assert!(size_of::<Process>() == 152);

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        /// What a trapped call was about.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(usize)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds, in the order of their counters.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Reading or using a clock by a system call: `sysinfo`, `times`, `getrusage`, `adjtimex`,
    /// `utimensat` and such included.
    Clock "clock",
    /// `nanosleep`, `clock_nanosleep`.
    Sleep "sleep",
    /// `poll`, `ppoll`.
    Poll "poll",
    /// `select`, `pselect6`.
    Select "select",
    /// `epoll_wait`, `epoll_pwait`, `epoll_pwait2`.
    Epoll "epoll",
    /// `futex`, `futex_wait` and `futex_waitv` with a timeout.
    Futex "futex",
    /// `rt_sigtimedwait`.
    Sigtimedwait "sigtimedwait",
    /// `rt_sigaction`, `rt_sigprocmask`: guards of the signal that the image needs; and filters
    /// that the program gives itself, which must let the image do its work.
    Signal "signal",
    /// An attempt to set a clock, refused with EPERM.
    SetClock "set-clock",
    /// A call about a timer (`timerfd_settime`, `timer_settime`, `setitimer`, `alarm` and such).
    Timer "timer",
    /// Something that stays on host time, because a filter of the program's own is in the way.
    HostWait "host-wait",
    /// `semtimedop`, `mq_timedsend`, `mq_timedreceive`, `io_getevents`, `io_pgetevents`.
    Queue "queue",
    /// A socket call whose timeout or whose stamps are the domain's: `recvmmsg`, and those that
    /// are stopped since the program asked for a timeout (`SO_RCVTIMEO`) or for stamps
    /// (`SO_TIMESTAMP`) of sockets.
    Socket "socket",
    /// `getrandom`, answered from the seed of a domain whose clock moves by jumps alone.
    Random "random",
}

/// How many calls of each [`Kind`] a program has made.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; Kind::ALL.len()]);

impl Counters {
    /// Counts one more call of a kind.
    pub fn count(&self, kind: Kind) {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds what others have counted, in memory to which nobody else adds. What programs claim to
    /// have counted may be anything, so this stops at the greatest number.
    pub fn add(&self, others: &Self) {
        for (sum, other) in self.0.iter().zip(&others.0) {
            let total = sum.load(Ordering::Relaxed).saturating_add(other.load(Ordering::Relaxed));
            sum.store(total, Ordering::Relaxed);
        }
    }

    /// Calls counted so far.
    pub fn get(&self, kind: Kind) -> u64 {
        self.0[kind as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_counter_of_its_number() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
