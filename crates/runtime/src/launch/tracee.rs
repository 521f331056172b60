//! A program that is stopped by ptrace(2): its registers, its memory, and system calls that it
//! makes for us.
//!
//! A tracee may be killed, stopped or continued by anybody at any point, so everything here
//! expects the request to fail because it is gone (`NotFound`) and every wait to answer with a
//! stop that was not asked for. Detaching never leaves one behind attached: a program that is
//! traced and not waited for can neither run nor be reaped by its parent.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::time::Duration;

use libc::{c_int, c_void, pid_t};

use super::arch::{Registers, SYSCALL};
use os::process::state_of;

/// How often one of many is looked at before this thread sleeps in between.
const LOOKS_AT_ONCE: u32 = 100;
const LOOK: Duration = Duration::from_micros(20);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// In the middle of a successful exec.
    Exec,
    /// Because we asked for it (`PTRACE_INTERRUPT`), or with its group.
    Interrupted,
    /// Because this signal is about to be delivered; SIGTRAP also ends a single step.
    Signal(c_int),
    Gone,
}

/// A system call that a tracee makes for us, at an address where there is such an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) at: u64,
    pub(super) number: i64,
    pub(super) args: [u64; 6],
}

/// A thread traced by this thread. Dropping it detaches.
#[derive(Debug)]
pub(super) struct Tracee {
    thread: pid_t,
    /// Whether this thread traces others too.
    among_others: bool,
    /// What it stopped for; `None` while it runs.
    stop: Option<Stop>,
}

impl Tracee {
    /// Attaches without stopping; the thread dies if we do.
    ///
    /// # Errors
    /// `PermissionDenied` where somebody else traces it or we may not, `NotFound` if it is gone.
    pub(super) fn seize(thread: pid_t) -> io::Result<Self> {
        let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        ptrace(libc::PTRACE_SEIZE, thread, 0, options as usize)?;
        Ok(Self { thread, among_others: false, stop: None })
    }

    /// Attaches to one thread of many without stopping it. It goes on if we die, and is lost to
    /// us if it runs another program.
    pub(super) fn seize_among_others(thread: pid_t) -> io::Result<Self> {
        ptrace(libc::PTRACE_SEIZE, thread, 0, 0)?;
        Ok(Self::traced_already(thread))
    }

    /// One of many that this thread traces already: it has taken over the number of another
    /// thread of its process by running another program.
    pub(super) const fn traced_already(thread: pid_t) -> Self {
        Self { thread, among_others: true, stop: None }
    }

    /// The thread, which after an exec is the first of its process.
    pub(super) const fn thread(&self) -> pid_t {
        self.thread
    }

    /// Asks it to stop as soon as it is out of the kernel. Any stop takes that back.
    pub(super) fn interrupt(&self) -> io::Result<()> {
        ptrace(libc::PTRACE_INTERRUPT, self.thread, 0, 0).map(drop)
    }

    /// Whether it still stands where it has stopped: not if it was killed, or if another thread
    /// has its number.
    pub(super) fn stands(&self) -> bool {
        self.is_stopped() && stands(self.thread)
    }

    /// Lets it run, with this signal delivered (0: none).
    pub(super) fn cont(&mut self, signal: c_int) -> io::Result<()> {
        self.stop = None;
        ptrace(libc::PTRACE_CONT, self.thread, 0, signal as usize).map(drop)
    }

    /// Lets it run for one instruction, with this signal delivered (0: none).
    pub(super) fn step(&mut self, signal: c_int) -> io::Result<()> {
        self.stop = None;
        ptrace(libc::PTRACE_SINGLESTEP, self.thread, 0, signal as usize).map(drop)
    }

    /// Waits for it to stop.
    ///
    /// # Errors
    /// `NotFound` for the first thread of a process that ends, as long as this thread has not heard
    /// of the end of the others: the kernel reports it last, so a wait would never end.
    pub(super) fn wait(&mut self) -> io::Result<Stop> {
        if !self.among_others {
            let stop = self.wait_with(0)?;
            return Ok(stop.expect("a blocking wait answers with a stop"));
        }
        for looks in 0u32.. {
            if let Some(stop) = self.poll()? {
                return Ok(stop);
            }
            if looks < LOOKS_AT_ONCE {
                std::thread::yield_now();
            } else if state_of(self.thread) == Some('Z') {
                return Err(io::ErrorKind::NotFound.into());
            } else {
                std::thread::sleep(LOOK);
            }
        }
        unreachable!("it stops or ends")
    }

    /// Whether it has stopped or gone; `None` while it runs.
    pub(super) fn poll(&mut self) -> io::Result<Option<Stop>> {
        self.wait_with(libc::WNOHANG)
    }

    fn wait_with(&mut self, flags: c_int) -> io::Result<Option<Stop>> {
        let mut status = 0;
        loop {
            // Any tracee of this thread, if there is one only: a thread other than the first
            // gets another number in exec. `__WNOTHREAD` keeps the children of others out.
            let flags = flags | libc::__WALL | libc::__WNOTHREAD;
            let which = if self.among_others { self.thread } else { -1 };
            // SAFETY: `status` is a valid int.
            let thread = unsafe { libc::waitpid(which, &raw mut status, flags) };
            if thread == 0 {
                return Ok(None);
            }
            if thread < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    // Killed by the exec of another thread, or under the number that an exec
                    // has given it.
                    Some(libc::ECHILD) => return Ok(Some(self.stopped(Stop::Gone))),
                    _ => return Err(error),
                }
            }
            let stop = stop_of(status);
            if stop == Stop::Exec {
                self.thread = thread;
            } else if thread != self.thread {
                continue;
            }
            return Ok(Some(self.stopped(stop)));
        }
    }

    fn stopped(&mut self, stop: Stop) -> Stop {
        self.stop = Some(stop);
        stop
    }

    /// Its general registers.
    ///
    /// # Errors
    /// For 32-bit programs, which have others.
    pub(super) fn registers(&self) -> io::Result<Registers> {
        registers_of(self.thread)
    }

    pub(super) fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        set_registers_of(self.thread, registers)
    }

    pub(super) fn blocked(&self) -> io::Result<u64> {
        let mut mask = 0u64;
        let size = size_of::<u64>();
        ptrace(libc::PTRACE_GETSIGMASK, self.thread, size, &raw mut mask as usize)?;
        Ok(mask)
    }

    pub(super) fn set_blocked(&self, mask: u64) -> io::Result<()> {
        let size = size_of::<u64>();
        ptrace(libc::PTRACE_SETSIGMASK, self.thread, size, &raw const mask as usize).map(drop)
    }

    /// Whether it gets signals in the place of system calls, prctl(2) `PR_SET_SYSCALL_USER_DISPATCH`.
    /// False where the kernel does not report it, before Linux 6.4.
    pub(super) fn has_signals_for_calls(&self) -> bool {
        /// `PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG`, not in the libc crate.
        const REQUEST: libc::c_uint = 0x4211;
        // `struct ptrace_sud_config`: mode, selector, offset, length. Mode 0 is off.
        let mut config = [0_u64; 4];
        let to = &raw mut config as usize;
        ptrace(REQUEST, self.thread, size_of_val(&config), to).is_ok() && config[0] != 0
    }

    /// Fills `to` with its memory from `from` on, as far as that is mapped. Returns how much.
    pub(super) fn read(&self, from: u64, to: &mut [u8]) -> io::Result<usize> {
        read_memory(self.thread, from, to)
    }

    /// Keeps the signal that it has stopped for from it: one that we have caused.
    pub(super) fn forget_signal(&mut self) {
        self.stop = self.stop.map(|_| Stop::Interrupted);
    }

    pub(super) fn is_stopped(&self) -> bool {
        !matches!(self.stop, None | Some(Stop::Gone))
    }

    /// Writes words of 64 bits to its memory, whatever its protection.
    pub(super) fn write(&self, to: u64, words: &[u64]) -> io::Result<()> {
        for (index, word) in words.iter().enumerate() {
            let at = to as usize + index * size_of::<u64>();
            ptrace(libc::PTRACE_POKEDATA, self.thread, at, *word as usize)?;
        }
        Ok(())
    }

    /// Lets it begin a call. Its registers are lost. The call may block; what the tracee stops
    /// for from now on goes to [`Self::proceed`].
    pub(super) fn begin(&mut self, call: &Call) -> io::Result<()> {
        let mut registers = self.registers()?;
        registers.set_call(call.at, call.number, call.args);
        self.set_registers(&registers)?;
        self.step(0)
    }

    /// Goes on with a call that was begun, after a stop. Returns its result if it has one.
    pub(super) fn proceed(&mut self, call: &Call, stop: Stop) -> io::Result<Option<u64>> {
        match stop {
            Stop::Gone => Err(io::ErrorKind::NotFound.into()),
            Stop::Signal(libc::SIGTRAP) => {
                let registers = self.registers()?;
                if registers.next() != call.at + SYSCALL.len() as u64 {
                    // Somebody sent the signal before the call was made, or it is to be made
                    // again.
                    return self.step(0).map(|()| None);
                }
                // Our step ended in that signal; the program is not to get it.
                self.stop = Some(Stop::Interrupted);
                match registers.result() {
                    result if is_restart(result) => self.begin(call).map(|()| None),
                    result @ -4095..0 => Err(io::Error::from_raw_os_error(-result as i32)),
                    result => Ok(Some(result as u64)),
                }
            }
            // All others are blocked, so this is SIGSTOP: it stops with its group, and will stop
            // again when it is detached, if nobody has continued it by then.
            Stop::Signal(signal) => self.step(signal).map(|()| None),
            Stop::Exec | Stop::Interrupted => self.step(0).map(|()| None),
        }
    }

    pub(super) fn call(&mut self, call: &Call) -> io::Result<u64> {
        self.begin(call)?;
        loop {
            let stop = self.wait()?;
            if let Some(result) = self.proceed(call, stop)? {
                return Ok(result);
            }
        }
    }

    /// Ends the program; for one that would otherwise run in the wrong time.
    pub(super) fn kill(&self) {
        // SAFETY: a signal to a process that we trace, which cannot have been reaped by others.
        unsafe { libc::kill(self.thread, libc::SIGKILL) };
    }

    /// Detaches from a stopped thread, which gets the signal that it has stopped for. Fails if
    /// it runs or is being killed.
    fn detach(&mut self) -> io::Result<()> {
        let signal = match self.stop {
            Some(Stop::Signal(signal)) => signal,
            _ => 0,
        };
        self.stop = None;
        ptrace(libc::PTRACE_DETACH, self.thread, 0, signal as usize).map(drop)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        loop {
            match self.stop {
                Some(Stop::Gone) => return,
                // Nobody has put it into virtual time, and it must not run without.
                Some(Stop::Exec) => {
                    self.kill();
                    self.stop = None;
                }
                Some(_) => {
                    if self.detach().is_ok() {
                        return;
                    }
                }
                // It cannot be asked if it is being killed; either way it stops or goes.
                None => drop(self.interrupt()),
            }
            if self.wait().is_err() {
                return;
            }
        }
    }
}

/// Whether a thread that this one traces is stopped. One that was killed is not any more.
pub(super) fn stands(thread: pid_t) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    ptrace(libc::PTRACE_GETSIGINFO, thread, 0, info.as_mut_ptr() as usize).is_ok()
}

/// Fills `to` with the memory of a thread from `from` on, as far as that is mapped. Returns how much.
pub(super) fn read_memory(thread: pid_t, from: u64, to: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: from as *mut c_void, iov_len: to.len() };
    // SAFETY: `local` describes a live slice; the kernel checks the other process's range.
    let count =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(count).map_err(|_| last_error())
}

/// Whether a call was interrupted such that the kernel would make it again: `ERESTARTSYS`,
/// `ERESTARTNOINTR`, `ERESTARTNOHAND` and `ERESTART_RESTARTBLOCK` of its `linux/errno.h`.
fn is_restart(result: i64) -> bool {
    matches!(-result, 512..=514 | 516)
}

fn stop_of(status: c_int) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Gone;
    }
    match (libc::WSTOPSIG(status), status >> 16) {
        (_, libc::PTRACE_EVENT_STOP) => Stop::Interrupted,
        (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => Stop::Exec,
        (signal, _) => Stop::Signal(signal),
    }
}

pub(super) fn ptrace(
    request: libc::c_uint,
    thread: pid_t,
    address: usize,
    data: usize,
) -> io::Result<i64> {
    // SAFETY: each caller passes what the request takes: numbers, or addresses of live values
    // of the size that the kernel writes or reads.
    let result = unsafe { libc::ptrace(request, thread, address, data) };
    if result == -1 { Err(last_error()) } else { Ok(result) }
}

/// The general registers of a thread that is stopped and traced by this one.
///
/// # Errors
/// For 32-bit programs, which have others.
pub(super) fn registers_of(thread: pid_t) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<Registers>::zeroed();
    let size = size_of::<Registers>();
    let mut range = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size };
    let to = &raw mut range as usize;
    ptrace(libc::PTRACE_GETREGSET, thread, libc::NT_PRSTATUS as usize, to)?;
    // The kernel writes down how much it has filled: all that this kind of program has.
    if range.iov_len != size {
        return Err(io::Error::other(
            "32-bit programs cannot run in virtual time; use a 64-bit build",
        ));
    }
    // SAFETY: a structure of integers, all of them filled.
    Ok(unsafe { registers.assume_init() })
}

pub(super) fn set_registers_of(thread: pid_t, registers: &Registers) -> io::Result<()> {
    let from = std::ptr::from_ref(registers).cast_mut().cast();
    let mut range = libc::iovec { iov_base: from, iov_len: size_of::<Registers>() };
    let from = &raw mut range as usize;
    ptrace(libc::PTRACE_SETREGSET, thread, libc::NT_PRSTATUS as usize, from).map(drop)
}

/// The error of the last call, with "no such process" as `NotFound`.
fn last_error() -> io::Error {
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { io::ErrorKind::NotFound.into() } else { error }
}
