//! The calls that make a thread a real-time one: a core of its own, SCHED_FIFO, memory that stays,
//! processors that do not sleep deeply, and sleeping until an absolute time.
//!
//! Shared by the testbed, which measures with them, and the relay, which lives by them.
//!
//! sched(7), sched_setaffinity(2), mlockall(2), clock_nanosleep(2), and
//! `Documentation/power/pm_qos_interface.rst` of the kernel for `/dev/cpu_dma_latency`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

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
    // SAFETY: a set of bits, all zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores {
        if core >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: `core` is within the set.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    // SAFETY: the set is read for the size that is given.
    check(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set) })
}

/// The cores on which the calling thread may run, rising.
///
/// # Errors
/// Those of sched_getaffinity(2): `EINVAL` where the kernel has more cores than a set holds.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    // SAFETY: a set of bits, all zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is written up to the size that is given.
    check(unsafe { libc::sched_getaffinity(CALLER, size_of::<libc::cpu_set_t>(), &raw mut set) })?;
    // SAFETY: each core is within the set.
    let allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(allowed).collect())
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
    check(result as i32)
}

/// Keeps all memory of this process, now and later, from being paged out.
///
/// # Errors
/// Those of mlockall(2).
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) })
}

/// Keeps processors out of idle states that take time to leave, for as long as it is open.
#[derive(Debug)]
pub struct AwakeProcessors {
    _open: File,
}

impl AwakeProcessors {
    /// Asks for it.
    ///
    /// # Errors
    /// If `/dev/cpu_dma_latency` is not there or may not be written.
    pub fn ask() -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _open: file })
    }
}

/// `CLOCK_MONOTONIC`, ns.
#[must_use]
pub fn now_ns() -> i64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME`, ns since 1970.
#[must_use]
pub fn realtime_ns() -> i64 {
    read_ns(libc::CLOCK_REALTIME)
}

/// Processor time of the calling thread, ns.
#[must_use]
pub fn thread_cpu_ns() -> i64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What the kernel knows of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    /// Somebody keeps it, and has told the kernel so lately.
    pub is_synchronised: bool,
    /// Its hardware reports a failure.
    pub has_failed: bool,
    /// How wrong it can be, in microseconds.
    pub error_us_max: u64,
    /// How far atomic time is ahead of universal time, in s; 0 if nobody has said.
    pub tai_offset_s: i32,
}

/// What the kernel knows of its clock (adjtimex(2)).
#[must_use]
pub fn clock_state() -> ClockState {
    // SAFETY: a plain structure of numbers; no mode is set, so nothing is changed.
    let mut told: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is written.
    let state = unsafe { libc::adjtimex(&raw mut told) };
    ClockState {
        is_synchronised: !matches!(state, -1 | libc::TIME_ERROR)
            && told.status & libc::STA_UNSYNC == 0,
        has_failed: told.status & libc::STA_CLOCKERR != 0,
        error_us_max: u64::try_from(told.maxerror).unwrap_or(u64::MAX),
        tai_offset_s: told.tai,
    }
}

fn read_ns(clock: libc::clockid_t) -> i64 {
    // SAFETY: a plain structure of numbers.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the clock exists and the structure is written.
    let result = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(result, 0, "these clocks are always there");
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Has the kernel end this process when the one that started it ends.
///
/// # Errors
/// Those of prctl(2), and `ESRCH` if that one ends meanwhile.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: takes nothing. In a container the parent may well be process 1.
    let parent = || unsafe { libc::getppid() };
    let before = parent();
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    if parent() == before { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

/// Sleeps until `CLOCK_MONOTONIC` is there; signals do not end it.
pub fn sleep_until(at_ns: i64) {
    let at = libc::timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    let sleep = || {
        // SAFETY: the time is read; nothing is written for an absolute sleep.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const at,
                std::ptr::null_mut(),
            )
        }
    };
    while sleep() == libc::EINTR {}
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
