//! What signals do to a measurement: those that ask for an end end it, SIGCONT reports a stop, and a
//! real-time signal may be what is measured (signal(7)).

use std::io;
use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use libc::{SIGCONT, SIGHUP, SIGINT, SIGTERM};

use crate::control::Control;

/// Has this process end its measurement when it is asked to, and notice when it was stopped.
pub(crate) fn obey(control: &Arc<Control>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let control = Arc::clone(control);
        // SAFETY: the action stores to an atomic and does nothing else.
        unsafe { signal_hook::low_level::register(signal, move || control.stop()) }?;
    }
    let control = Arc::clone(control);
    // SAFETY: the action reads a clock (clock_gettime(2) is safe in handlers) and stores to an
    // atomic.
    unsafe { signal_hook::low_level::register(SIGCONT, move || control.continued()) }?;
    Ok(())
}

/// A real-time signal to the one thread that waits for it; all threads block it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    waiter: AtomicI32,
}

impl Signal {
    /// Sends it, once somebody waits.
    pub(crate) fn send_to_waiter(&self) -> io::Result<()> {
        let mut waiter = self.waiter.load(Ordering::Acquire);
        while waiter == 0 {
            std::thread::sleep(Duration::from_micros(100));
            waiter = self.waiter.load(Ordering::Acquire);
        }
        // SAFETY: takes numbers only; the thread is one of this process.
        let result =
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), waiter, libc::SIGRTMIN()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) fn wait(&self) -> io::Result<()> {
        self.waiter.store(super::thread::id(), Ordering::Release);
        // SAFETY: a set of bits.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is written, and then read; nothing is asked about the signal.
        let result = unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGRTMIN());
            libc::sigwaitinfo(&raw const set, std::ptr::null_mut())
        };
        if result > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
