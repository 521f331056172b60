//! The signals of timers: SI_TIMER of a POSIX timer, SIGALRM of an interval timer.

use std::io;

use libc::{c_int, pid_t};

use os::process::{Identity, Process, signal_set, status_of};

/// `struct siginfo` with `SI_TIMER`.
#[repr(C)]
struct TimerInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: i64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<TimerInfo>() == size_of::<libc::siginfo_t>());

#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) process: Identity,
    pub(super) thread: Option<Identity>,
}

impl Target {
    /// Sends the signal of a POSIX timer.
    ///
    /// # Errors
    /// ESRCH if who was meant is gone, even if somebody else has the number now.
    pub(super) fn send_timer(
        &self,
        signal: c_int,
        timer: c_int,
        overrun: c_int,
        value: i64,
    ) -> io::Result<()> {
        const SI_TIMER: c_int = -2;
        let (code, rest) = (SI_TIMER, [0; 12]);
        let info = TimerInfo { signal, error: 0, code, padding: 0, timer, overrun, value, rest };
        // SAFETY: both are plain numbers and as long; the kernel reads of it what we have written.
        let info = unsafe { std::mem::transmute::<TimerInfo, libc::siginfo_t>(info) };
        let Some(thread) = self.thread else {
            return self.process.open()?.signal(signal, Some(&info));
        };
        let process = self.process.number;
        let is_same = || Identity::of_thread(process, thread.number).is_ok_and(|now| now == thread);
        match Process::open_thread(thread.number) {
            Ok(handle) if is_same() => handle.signal(signal, Some(&info)),
            Ok(_) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                // The process is held by its handle, and the kernel looks whether the thread is
                // one of it.
                let _process = self.process.open()?;
                if !is_same() {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                queue(process, thread.number, signal, &info)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn send_alarm(&self) -> io::Result<()> {
        self.process.open()?.signal(libc::SIGALRM, None)
    }

    /// Whether a signal waits to be delivered to it.
    pub(super) fn is_pending(&self, signal: c_int) -> bool {
        let (queue, thread) = match self.thread {
            Some(thread) => ("SigPnd", thread.number),
            None => ("ShdPnd", self.process.number),
        };
        signal_set(&status_of(thread), queue) & 1 << (signal - 1) != 0
    }
}

pub(in crate::launch) fn queue(
    process: pid_t,
    thread: pid_t,
    signal: c_int,
    info: &libc::siginfo_t,
) -> io::Result<()> {
    // SAFETY: takes numbers and a live structure.
    let result = unsafe {
        let info = std::ptr::from_ref(info);
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a signal could not be sent because nobody is there any more.
pub(super) fn is_gone(sent: Result<&(), &io::Error>) -> bool {
    sent.is_err_and(|error| {
        matches!(error.raw_os_error(), Some(libc::ESRCH)) || error.kind() == io::ErrorKind::NotFound
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a number meant is gone, and somebody else has it.
    #[test]
    fn who_has_the_number_of_another_one_now_gets_no_signal() {
        let mut stranger = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stranger_is = Identity::of_process(stranger.id().cast_signed()).unwrap();
        let before = Identity { began: stranger_is.began - 1, ..stranger_is };
        for (process, thread) in
            [(before, None), (before, Some(before)), (stranger_is, Some(before))]
        {
            let target = Target { process, thread };
            let sent = target.send_timer(libc::SIGKILL, 0, 0, 0).unwrap_err();
            assert_eq!(sent.raw_os_error(), Some(libc::ESRCH), "{target:?}");
        }
        let sent = Target { process: before, thread: None }.send_alarm().unwrap_err();
        assert_eq!(sent.raw_os_error(), Some(libc::ESRCH));
        assert!(!Target { process: stranger_is, thread: None }.is_pending(libc::SIGKILL));
        assert_eq!(stranger.try_wait().unwrap(), None, "it was killed");
        let meant = Target { process: stranger_is, thread: Some(stranger_is) };
        meant.send_timer(libc::SIGKILL, 0, 0, 0).unwrap();
        stranger.wait().unwrap();
    }
}
