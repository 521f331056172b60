//! From the notification of an exec to a program in virtual time.
//!
//! One thread does all tracing, because ptrace(2) binds a tracee to its tracer's thread. It
//! receives the listener of each program tree through a socket, the [`Gate`], and then every
//! exec in it: it attaches, lets the exec go on, and if it succeeds finds the program stopped
//! before its first instruction. There it maps the image and the pages, tells the program by the
//! auxiliary vector that the image is its vDSO, installs the handler of SIGSYS, and detaches.
//! About a quarter of a millisecond later the program runs, and nobody traces it.
//!
//! A program that cannot be put into virtual time is not let into the domain: it would be
//! silently wrong. It is killed, or its exec fails, and a [`Refusal`] says why.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, mpsc};
use std::thread;

use vtime::image::{CLOCK, COUNTERS, IMAGE, PAGE_SIZE, PROCESS, Process};

use super::image::{self, Addresses, IMAGE_LENGTH};
use super::program::Gate;
use super::seccomp::{self, Notification};
use super::tracee::{Stop, Tracee};
use crate::domain::{self, Domain};

/// A program that was not let into the domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The program, by its file or its number.
    pub program: String,
    /// Why, and the way out.
    pub reason: String,
}

/// The thread that puts programs into a domain.
#[derive(Debug)]
pub struct Follower {
    gate: Gate,
    refusals: Receiver<Refusal>,
}

impl Follower {
    /// Starts following, for programs of one domain.
    ///
    /// # Errors
    /// When the kernel has no vDSO, no memory or no descriptors left.
    pub fn start(domain: Arc<Domain>) -> io::Result<Self> {
        let (gate, arrivals) = Gate::new()?;
        let (sender, refusals) = mpsc::channel();
        let mut work = Work {
            image: image::memory()?,
            clock: domain.page().read_only()?,
            addresses: image::addresses()?,
            domain,
            listeners: Vec::new(),
            waiting: VecDeque::new(),
            refusals: sender,
        };
        thread::Builder::new().name("follow".into()).spawn(move || work.run(&arrivals))?;
        Ok(Self { gate, refusals })
    }

    /// Through which new programs report to this follower.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The programs refused since the last call.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal> + '_ {
        self.refusals.try_iter()
    }
}

struct Work {
    domain: Arc<Domain>,
    image: OwnedFd,
    clock: OwnedFd,
    addresses: Addresses,
    listeners: Vec<Arc<OwnedFd>>,
    /// Execs that were reported while another one was being worked on.
    waiting: VecDeque<(Arc<OwnedFd>, Notification)>,
    refusals: Sender<Refusal>,
}

/// What became of an exec.
enum Outcome {
    /// The program is in virtual time, or there was none after all.
    Done,
    /// It is not, and must not run.
    Refused(String),
}

impl Work {
    /// Until every gate and every program is gone.
    fn run(&mut self, arrivals: &OwnedFd) {
        let mut open = true;
        while open || !self.listeners.is_empty() {
            if let Some((listener, notification)) = self.waiting.pop_front() {
                self.exec(&listener, notification);
                continue;
            }
            let mut fds = vec![domain::readable(arrivals.as_fd())];
            if !open {
                fds[0].fd = -1;
            }
            fds.extend(self.listeners.iter().map(|listener| domain::readable(listener.as_fd())));
            if domain::poll_until(&mut fds, None).is_err() {
                return;
            }
            let mut index = 0;
            self.listeners.retain(|_| {
                index += 1;
                fds[index].revents & (libc::POLLHUP | libc::POLLIN) != libc::POLLHUP
            });
            if fds[0].revents != 0 {
                match Gate::arrival(arrivals) {
                    Ok(Some(listener)) => self.listeners.push(Arc::new(listener)),
                    Ok(None) => open = false,
                    Err(_) => {}
                }
            }
            let ready: Vec<i32> = fds[1..]
                .iter()
                .filter(|fd| fd.revents & libc::POLLIN != 0)
                .map(|fd| fd.fd)
                .collect();
            for listener in self.listeners.clone() {
                if ready.contains(&std::os::fd::AsRawFd::as_raw_fd(&*listener))
                    && let Ok(notification) = seccomp::receive(listener.as_fd())
                {
                    self.waiting.push_back((listener, notification));
                }
            }
        }
    }

    fn exec(&mut self, listener: &Arc<OwnedFd>, notification: Notification) {
        let thread = notification.thread.cast_signed();
        let program = name_of(thread);
        let outcome = match Tracee::seize(thread) {
            Ok(mut tracee) => self.follow(listener, notification.id, &mut tracee),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Outcome::Done,
            Err(error) => {
                // Its answer fails only if the program is gone.
                let _ = seccomp::fail(listener.as_fd(), notification.id, libc::EPERM);
                Outcome::Refused(format!(
                    "cannot attach to it ({error}); is it traced already, by a debugger or strace?"
                ))
            }
        };
        if let Outcome::Refused(reason) = outcome {
            // Nobody hears it if the owner is gone.
            let _ = self.refusals.send(Refusal { program, reason });
        }
    }

    fn follow(&mut self, listener: &Arc<OwnedFd>, id: u64, tracee: &mut Tracee) -> Outcome {
        if seccomp::go_on(listener.as_fd(), id).is_err() || tracee.interrupt().is_err() {
            return Outcome::Done;
        }
        match run_to_first_instruction(tracee) {
            Ok(true) => {}
            // The exec has failed, or the program is gone.
            Ok(false) | Err(_) => return Outcome::Done,
        }
        match self.equip(listener, tracee) {
            Ok(()) => Outcome::Done,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Done,
            Err(error) => {
                tracee.kill();
                Outcome::Refused(error.to_string())
            }
        }
    }

    /// Puts a program that is stopped before its first instruction into virtual time.
    fn equip(&mut self, listener: &Arc<OwnedFd>, tracee: &mut Tracee) -> io::Result<()> {
        const CODE_SEGMENT_64: u64 = 0x33;
        let registers = tracee.registers()?;
        if registers.cs != CODE_SEGMENT_64 {
            return Err(io::Error::other(
                "32-bit programs cannot run in virtual time; use a 64-bit build of it",
            ));
        }
        let (slot, vdso) = find_vdso(tracee, registers.rsp)?;
        self.map(listener, tracee, vdso)?;
        self.install_handler(tracee)?;
        tracee.write(slot, &[IMAGE as u64])?;
        tracee.set_registers(&registers)
    }

    fn map(&mut self, listener: &Arc<OwnedFd>, tracee: &mut Tracee, vdso: u64) -> io::Result<()> {
        const READ: i32 = libc::PROT_READ;
        let native = self.addresses.vdso;
        let at = vdso + native.syscall;
        let clock = self.clock.try_clone()?;
        let image = self.image.try_clone()?;
        let domain = Arc::clone(&self.domain);
        let own = libc::MAP_PRIVATE;
        self.map_file(
            listener,
            tracee,
            at,
            image.as_fd(),
            (IMAGE, IMAGE_LENGTH),
            READ | libc::PROT_EXEC,
            own,
        )?;
        let write = READ | libc::PROT_WRITE;
        let anonymous = own | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let args = [PROCESS as u64, PAGE_SIZE as u64, write as u64, anonymous as u64, u64::MAX, 0];
        tracee.call(at, libc::SYS_mmap, args).map_err(no_room)?;
        let all = libc::MAP_SHARED;
        self.map_file(listener, tracee, at, clock.as_fd(), (CLOCK, PAGE_SIZE), READ, all)?;
        let counters = domain.counters().as_fd();
        self.map_file(listener, tracee, at, counters, (COUNTERS, PAGE_SIZE), write, all)?;
        let absolute = |offset: Option<u64>| offset.map_or(0, |offset| vdso + offset);
        let process = Process {
            vdso_clock_gettime: absolute(native.clock_gettime),
            vdso_getcpu: absolute(native.getcpu),
            vdso_getrandom: absolute(native.getrandom),
            sigsys_action: [0; 4],
        };
        let words = [process.vdso_clock_gettime, process.vdso_getcpu, process.vdso_getrandom];
        tracee.write(PROCESS as u64, &words)
    }

    /// Maps a file of ours: the program gets it as the result of an exec of nothing, which the
    /// filter reports, maps it and closes it.
    #[expect(clippy::too_many_arguments, reason = "those of mmap, and whom it is done to")]
    fn map_file(
        &mut self,
        listener: &Arc<OwnedFd>,
        tracee: &mut Tracee,
        at: u64,
        file: BorrowedFd<'_>,
        (address, length): (usize, usize),
        access: i32,
        sharing: i32,
    ) -> io::Result<()> {
        tracee.begin_call(at, libc::SYS_execve, [0; 6])?;
        let id = self.notification_of(listener, tracee)?;
        seccomp::give(listener.as_fd(), id, file)?;
        let fd = tracee.finish_call()?;
        let flags = sharing | libc::MAP_FIXED_NOREPLACE;
        let args = [address as u64, length as u64, access as u64, flags as u64, fd, 0];
        tracee.call(at, libc::SYS_mmap, args).map_err(no_room)?;
        tracee.call(at, libc::SYS_close, [fd, 0, 0, 0, 0, 0]).map(drop)
    }

    /// The notification of this tracee; those of others wait.
    fn notification_of(&mut self, listener: &Arc<OwnedFd>, tracee: &mut Tracee) -> io::Result<u64> {
        loop {
            let soon = domain::host_now() + vtime::HostSpan::from_ms(100);
            let mut fds = [domain::readable(listener.as_fd())];
            if domain::poll_until(&mut fds, Some(soon))? == 0 {
                if tracee.poll()? == Some(Stop::Gone) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                continue;
            }
            match seccomp::receive(listener.as_fd()) {
                Ok(found) if found.thread.cast_signed() == tracee.thread() => return Ok(found.id),
                Ok(other) => self.waiting.push_back((Arc::clone(listener), other)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the image handle SIGSYS.
    fn install_handler(&self, tracee: &mut Tracee) -> io::Result<()> {
        const SA_RESTORER: u64 = 0x0400_0000;
        let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        let flags = u64::from(flags.cast_unsigned()) | SA_RESTORER;
        // `struct sigaction` of the kernel, for a moment at the end of the program's page.
        let action = [self.addresses.sigsys, flags, self.addresses.sigreturn, 0];
        let scratch = (PROCESS + PAGE_SIZE - 64) as u64;
        tracee.write(scratch, &action)?;
        let args = [libc::SIGSYS as u64, scratch, 0, 8, 0, 0];
        tracee.call(self.addresses.syscall, libc::SYS_rt_sigaction, args)?;
        tracee.unblock(libc::SIGSYS)
    }
}

/// From an exec that goes on to the first instruction of the new program. `false` if there is
/// none.
fn run_to_first_instruction(tracee: &mut Tracee) -> io::Result<bool> {
    let mut exec = false;
    loop {
        match tracee.wait()? {
            Stop::Gone => return Ok(false),
            Stop::Interrupted => return Ok(exec),
            Stop::Exec => {
                exec = true;
                // Any stop takes back what was asked for before.
                tracee.interrupt()?;
                tracee.cont(0)?;
            }
            Stop::Trap => tracee.cont(0)?,
            Stop::Signal(signal) => tracee.cont(signal)?,
        }
    }
}

/// The address and the value of `AT_SYSINFO_EHDR` on a fresh stack, which is laid out as the
/// System V ABI (figure 3.9) says: argc, argv, null, envp, null, auxiliary vector.
fn find_vdso(tracee: &Tracee, stack: u64) -> io::Result<(u64, u64)> {
    const AT_NULL: u64 = 0;
    const AT_SYSINFO_EHDR: u64 = 33;
    let mut octets = vec![0; 4096];
    loop {
        let count = tracee.read(stack, &mut octets)?;
        let words: Vec<u64> = octets[..count]
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight")))
            .collect();
        let argc = words.first().map_or(0, |argc| usize::try_from(*argc).unwrap_or(usize::MAX));
        let environment = argc.saturating_add(2);
        let auxiliary = words
            .iter()
            .skip(environment)
            .position(|word| *word == 0)
            .map(|length| environment + length + 1);
        for at in auxiliary.into_iter().flat_map(|from| (from..words.len() - 1).step_by(2)) {
            match words[at] {
                AT_SYSINFO_EHDR => return Ok((stack + (at as u64 + 1) * 8, words[at + 1])),
                AT_NULL => return Err(io::Error::other("this kernel gave it no vDSO")),
                _ => {}
            }
        }
        if count < octets.len() {
            return Err(io::Error::other("its stack has no auxiliary vector"));
        }
        octets.resize(octets.len() * 2, 0);
    }
}

fn no_room(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EEXIST) => io::Error::other(format!(
            "it has something of its own at {IMAGE:#x} to {:#x}, where the image must lie; link \
             it to another address",
            COUNTERS + PAGE_SIZE
        )),
        _ => error,
    }
}

fn name_of(thread: libc::pid_t) -> String {
    std::fs::read_link(format!("/proc/{thread}/exe"))
        .map_or_else(|_| thread.to_string(), |path| path.display().to_string())
}
