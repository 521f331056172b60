//! The calls that make a thread a real-time one: a core of its own, SCHED_FIFO, memory that stays,
//! processors that do not sleep deeply, and sleeping until an absolute time.
//!
//! sched(7), sched_setaffinity(2), mlockall(2), clock_nanosleep(2), and
//! `Documentation/power/pm_qos_interface.rst` of the kernel for `/dev/cpu_dma_latency`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{
    ClockId, CpuSet, Timespec, clock_nanosleep_absolute, sched_getaffinity, sched_setaffinity,
    set_current_timer_slack,
};

/// What the kernel takes for the calling thread.
const CALLER: i32 = 0;

/// Binds the calling thread to one core.
///
/// # Errors
/// Those of sched_setaffinity(2); a core beyond what the kernel may have is `EINVAL`.
pub fn pin(core: usize) -> io::Result<()> {
    pin_thread(CALLER, [core])
}

/// Binds a thread of any process to some cores.
///
/// # Errors
/// As for [`pin`]; `ESRCH` for a thread that is no more, `EPERM` for one of somebody else.
pub fn pin_thread(thread: i32, cores: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        if core >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(core);
    }
    Ok(sched_setaffinity(Pid::from_raw(thread), &set)?)
}

/// The cores on which the calling thread may run, rising.
///
/// # Errors
/// Those of sched_getaffinity(2): `EINVAL` where the kernel has more cores than a set holds.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Gives the calling thread this priority of SCHED_FIFO, 1 to 99.
///
/// # Errors
/// Those of sched_setscheduler(2): `EPERM` without the right, or in a control group without
/// real-time share.
pub fn fifo(priority: i32) -> io::Result<()> {
    fifo_thread(CALLER, priority)
}

/// Gives a thread of any process this priority of SCHED_FIFO, 1 to 99.
///
/// # Errors
/// As for [`fifo`]; `ESRCH` for a thread that is no more.
pub fn fifo_thread(thread: i32, priority: i32) -> io::Result<()> {
    // SAFETY: a plain structure of numbers.
    let parameters = unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        parameters
    };
    // The function of the same name refuses everything in musl, and static programs use that.
    // SAFETY: the structure is read.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, thread, libc::SCHED_FIFO, &raw const parameters)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Wakes the calling thread at the moment that a timeout names, not up to 50 us later as the kernel
/// does to save wake-ups.
pub fn exact_timeouts() {
    // At worst the slack stays as it was, and wake-ups are late.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Keeps all memory of this process, now and later, from being paged out.
pub fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Keeps processors out of idle states that take time to leave, for as long as it is open.
#[derive(Debug)]
pub struct AwakeProcessors {
    _open: File,
}

impl AwakeProcessors {
    /// Requests it of the kernel.
    ///
    /// # Errors
    /// If `/dev/cpu_dma_latency` is not there or may not be written.
    pub fn request() -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _open: file })
    }
}

/// `CLOCK_MONOTONIC`, ns.
pub fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME`, ns since 1970.
pub fn realtime_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Processor time of the calling thread, ns.
pub fn thread_cpu_ns() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Any clock that the kernel always has, ns.
pub fn clock_ns(clock: libc::clockid_t) -> i64 {
    // SAFETY: a plain structure of numbers.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the clock exists and the structure is written.
    let result = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(result, 0, "clock {clock} is always there");
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Has the kernel end this process when the one that started it ends.
///
/// # Errors
/// Those of prctl(2), and `ESRCH` if that one ends meanwhile.
pub fn end_with_parent() -> io::Result<()> {
    // In a container the parent may well be process 1.
    let before = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == before { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

/// Sleeps until `CLOCK_MONOTONIC` is there; signals do not end it.
pub fn sleep_until(at_ns: i64) {
    let at = Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_never_early() {
        for ns in [0, 1_000, 3_000_000] {
            let until = now_ns() + ns;
            sleep_until(until);
            assert!(now_ns() >= until);
        }
    }

    #[test]
    fn a_core_that_cannot_be_is_refused() {
        assert!(pin(100_000).is_err());
        assert!(pin(1023).is_err());
        assert!(fifo(1000).is_err());
    }
}
