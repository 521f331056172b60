//! Signals of the processes that stand between a terminal and a program: they hand them on.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A set of signals that are blocked in this process, to be fetched one by one.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    wanted: libc::sigset_t,
    /// What was blocked before; a program that is started gets that.
    before: libc::sigset_t,
}

/// A signal that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    pub number: i32,
    /// Whether a process sent it. The terminal's own signals come from the kernel, and reach
    /// the whole group in the foreground, the program included.
    pub by_process: bool,
    pub sender: i32,
}

/// Signals that a supervisor forwards to its child.
pub const FOR_THE_PROGRAM: [i32; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

impl Signals {
    /// Blocks signals in this thread and those that it starts.
    pub fn block(numbers: &[i32]) -> Self {
        // SAFETY: sets of signals that live on the stack; the numbers are valid signals.
        unsafe {
            let (wanted, mut before) = (set_of(numbers), std::mem::zeroed());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, &raw mut before);
            Self { wanted, before }
        }
    }

    /// Blocks what was blocked before, in a process that is about to become another program.
    pub fn restore(&self) {
        // SAFETY: a set of signals that lives as long as this.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }

    /// Waits for the next of them.
    pub fn next(&self) -> Arrived {
        loop {
            // SAFETY: `info` is filled by the kernel when it answers a signal.
            unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                let number = libc::sigwaitinfo(&raw const self.wanted, &raw mut info);
                if number > 0 {
                    // For signals of children and of the kernel the number means nothing.
                    let (by_process, sender) = (info.si_code <= 0, info.si_pid());
                    return Arrived { number, by_process, sender };
                }
            }
        }
    }
}

/// Whether this process was started with a signal ignored, as `nohup` does with SIGHUP.
pub fn is_ignored(number: i32) -> bool {
    // SAFETY: asks for the action of a signal alone; `action` is filled by the kernel.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let result = libc::sigaction(number, std::ptr::null(), &raw mut action);
        result == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

fn set_of(numbers: &[i32]) -> libc::sigset_t {
    // SAFETY: a set that lives on the stack; the numbers are valid signals.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for number in numbers {
            libc::sigaddset(&raw mut set, *number);
        }
        set
    }
}

/// Blocks signals and returns a descriptor that is readable while one of them waits.
/// signalfd(2)
pub fn descriptor(numbers: &[i32]) -> io::Result<OwnedFd> {
    let set = Signals::block(numbers).wanted;
    // SAFETY: a live set of signals; the result is checked and owned by nobody else.
    unsafe {
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Takes a signal that waits off such a descriptor, with the number of who sent it: 0 where that
/// has none in the namespace of this process.
pub fn take(signals: &OwnedFd) -> Option<(i32, u32)> {
    // `struct signalfd_siginfo`: the signal, two numbers, and the sender.
    let mut info = [0; size_of::<libc::signalfd_siginfo>()];
    let count = rustix::io::read(signals, &mut info).ok()?;
    let [number, sender] = [0, 3].map(|place| u32::from_ne_bytes(info.as_chunks().0[place]));
    (count == info.len()).then_some((number.cast_signed(), sender))
}

/// Takes all signals that wait off such a descriptor.
pub fn drain(signals: &OwnedFd) {
    while take(signals).is_some() {}
}

/// Sends a signal; that the process may be gone is no concern of the sender.
pub fn send(process: u32, signal: i32) {
    // SAFETY: a signal to a child of this process that was not waited for yet.
    unsafe { libc::kill(process.cast_signed(), signal) };
}

/// Lets this process die when its parent does.
pub fn die_with_parent() -> io::Result<()> {
    signal_when_parent_dies(libc::SIGKILL)
}

/// Lets this process get a signal when its parent dies.
pub fn signal_when_parent_dies(signal: i32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes this process the first of a session of its own: signals of a terminal do not reach it.
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// The parent of this process, which the kernel notifies of its end.
pub fn parent() -> i32 {
    std::os::unix::process::parent_id().cast_signed()
}

/// Ends this process as its child has ended: with the same code, or by the same signal.
pub fn end_as(status: std::process::ExitStatus) -> ! {
    use std::os::unix::process::ExitStatusExt;
    if let Some(signal) = status.signal() {
        // SAFETY: restores the default action and raises the signal; no core of this process.
        unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            let set = set_of(&[signal]);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::raise(signal);
        }
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}

/// Ends this process without running anything more of it.
pub fn leave_at_once(code: i32) -> ! {
    // SAFETY: takes a number, and does not come back.
    unsafe { libc::_exit(code) }
}
