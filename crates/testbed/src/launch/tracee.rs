//! A program that is stopped by ptrace(2): its registers, its memory, and system calls that it
//! makes for us. x86-64.

use std::io;
use std::mem::size_of;

use libc::{c_int, c_void, pid_t, user_regs_struct};

/// Why a traced thread has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// In the middle of a successful exec.
    Exec,
    /// Because we asked for it (`PTRACE_INTERRUPT`), or with its group.
    Interrupted,
    /// By a trap instruction or a single step.
    Trap,
    /// Because this signal is about to be delivered.
    Signal(c_int),
    /// It is gone.
    Gone,
}

/// A thread traced by this thread. Dropping it detaches.
#[derive(Debug)]
pub(super) struct Tracee {
    thread: pid_t,
    gone: bool,
    /// Signals that came at a bad time, sent again on detaching.
    held_back: Vec<c_int>,
}

impl Tracee {
    /// Attaches without stopping; the thread dies if we do.
    ///
    /// # Errors
    /// `PermissionDenied` where somebody else traces it or we may not.
    pub(super) fn seize(thread: pid_t) -> io::Result<Self> {
        let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        ptrace(libc::PTRACE_SEIZE, thread, 0, options as usize)?;
        Ok(Self { thread, gone: false, held_back: Vec::new() })
    }

    /// The thread, which after an exec is the first of its process.
    pub(super) const fn thread(&self) -> pid_t {
        self.thread
    }

    /// Asks it to stop as soon as it is out of the kernel.
    pub(super) fn interrupt(&self) -> io::Result<()> {
        ptrace(libc::PTRACE_INTERRUPT, self.thread, 0, 0).map(drop)
    }

    /// Lets it run, with this signal delivered (0: none).
    pub(super) fn cont(&self, signal: c_int) -> io::Result<()> {
        ptrace(libc::PTRACE_CONT, self.thread, 0, signal as usize).map(drop)
    }

    /// Lets it run for one instruction.
    fn step(&self) -> io::Result<()> {
        ptrace(libc::PTRACE_SINGLESTEP, self.thread, 0, 0).map(drop)
    }

    /// Waits for it to stop.
    pub(super) fn wait(&mut self) -> io::Result<Stop> {
        self.wait_with(0).map(|stop| stop.expect("a blocking wait answers with a stop"))
    }

    /// Whether it has stopped or gone; `None` while it runs.
    pub(super) fn poll(&mut self) -> io::Result<Option<Stop>> {
        self.wait_with(libc::WNOHANG)
    }

    fn wait_with(&mut self, flags: c_int) -> io::Result<Option<Stop>> {
        let mut status = 0;
        loop {
            // Any tracee of this thread, of which there is one: a thread other than the first
            // gets another number in exec. `__WNOTHREAD` keeps the children of others out.
            let flags = flags | libc::__WALL | libc::__WNOTHREAD;
            // SAFETY: `status` is a valid int.
            let thread = unsafe { libc::waitpid(-1, &raw mut status, flags) };
            if thread == 0 {
                return Ok(None);
            }
            if thread < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::ECHILD) => {
                        self.gone = true;
                        return Ok(Some(Stop::Gone));
                    }
                    _ => return Err(error),
                }
            }
            let stop = stop_of(status);
            if stop == Stop::Exec {
                self.thread = thread;
            } else if thread != self.thread {
                continue;
            }
            self.gone |= stop == Stop::Gone;
            return Ok(Some(stop));
        }
    }

    /// Its general registers.
    pub(super) fn registers(&self) -> io::Result<user_regs_struct> {
        // SAFETY: a structure of integers, of which the kernel fills all or none.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        let to = &raw mut registers as usize;
        ptrace(libc::PTRACE_GETREGS, self.thread, 0, to)?;
        Ok(registers)
    }

    /// Sets its general registers.
    pub(super) fn set_registers(&self, registers: &user_regs_struct) -> io::Result<()> {
        let from = std::ptr::from_ref(registers) as usize;
        ptrace(libc::PTRACE_SETREGS, self.thread, 0, from).map(drop)
    }

    /// Takes signals out of its mask of blocked signals.
    pub(super) fn unblock(&self, signal: c_int) -> io::Result<()> {
        let mut mask = 0u64;
        let size = size_of::<u64>();
        ptrace(libc::PTRACE_GETSIGMASK, self.thread, size, &raw mut mask as usize)?;
        mask &= !(1 << (signal - 1));
        ptrace(libc::PTRACE_SETSIGMASK, self.thread, size, &raw const mask as usize).map(drop)
    }

    /// Fills `to` with its memory from `from` on, as far as that is mapped. Answers how much.
    pub(super) fn read(&self, from: u64, to: &mut [u8]) -> io::Result<usize> {
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let remote = libc::iovec { iov_base: from as *mut c_void, iov_len: to.len() };
        // SAFETY: `local` describes a live slice; the kernel checks the other process's range.
        let count = unsafe {
            libc::process_vm_readv(self.thread, &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Writes words of 64 bits to its memory, whatever its protection.
    pub(super) fn write(&self, to: u64, words: &[u64]) -> io::Result<()> {
        for (index, word) in words.iter().enumerate() {
            let at = to as usize + index * size_of::<u64>();
            ptrace(libc::PTRACE_POKEDATA, self.thread, at, *word as usize)?;
        }
        Ok(())
    }

    /// Lets it begin a system call at an address where there is such an instruction. Its
    /// registers are lost. It may block: the answer is fetched with [`Self::finish_call`].
    pub(super) fn begin_call(&self, at: u64, number: i64, args: [u64; 6]) -> io::Result<()> {
        let mut registers = self.registers()?;
        registers.rip = at;
        registers.rax = number as u64;
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            args;
        self.set_registers(&registers)?;
        self.step()
    }

    /// The result of the call that was begun.
    pub(super) fn finish_call(&mut self) -> io::Result<u64> {
        loop {
            match self.wait()? {
                Stop::Trap => break,
                Stop::Gone => return Err(io::ErrorKind::NotFound.into()),
                Stop::Signal(signal) => {
                    self.held_back.push(signal);
                    self.step()?;
                }
                Stop::Exec | Stop::Interrupted => self.step()?,
            }
        }
        let result = self.registers()?.rax as i64;
        if (-4095..0).contains(&result) {
            return Err(io::Error::from_raw_os_error(-result as i32));
        }
        Ok(result as u64)
    }

    /// A system call from beginning to end.
    pub(super) fn call(&mut self, at: u64, number: i64, args: [u64; 6]) -> io::Result<u64> {
        self.begin_call(at, number, args)?;
        self.finish_call()
    }

    /// Ends the program; for one that would otherwise run in the wrong time.
    pub(super) fn kill(&self) {
        // SAFETY: a signal to a process that we trace, which cannot have been reaped by others.
        unsafe { libc::kill(self.thread, libc::SIGKILL) };
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // Fails if it is gone or, after `kill`, about to be; both are as good as detached.
        let _ = ptrace(libc::PTRACE_DETACH, self.thread, 0, 0);
        for signal in &self.held_back {
            // SAFETY: sends a signal that was on its way to this thread.
            unsafe { libc::syscall(libc::SYS_tkill, self.thread, *signal) };
        }
    }
}

fn stop_of(status: c_int) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Gone;
    }
    match (libc::WSTOPSIG(status), status >> 16) {
        (_, libc::PTRACE_EVENT_STOP) => Stop::Interrupted,
        (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => Stop::Exec,
        (libc::SIGTRAP, _) => Stop::Trap,
        (signal, _) => Stop::Signal(signal),
    }
}

fn ptrace(request: libc::c_uint, thread: pid_t, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: each caller passes what the request takes: numbers, or addresses of live values
    // of the size that the kernel writes or reads.
    let result = unsafe { libc::ptrace(request, thread, address, data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
