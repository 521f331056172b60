//! Putting a program that is stopped before its first instruction into virtual time: the image
//! and the pages are mapped, the auxiliary vector informs the program that the image is its vDSO,
//! and the image becomes the handler of SIGSYS.
//!
//! The program makes the system calls for that itself, led by ptrace. Meanwhile all its signals
//! are blocked, so that those which arrive wait in the kernel, in its order and with all they
//! carry. What cannot be blocked is expected at each step: SIGKILL, SIGSTOP and SIGCONT.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use vtime::image::{CLOCK, IMAGE, OWN, OWN_SIZE, PAGE_SIZE, PROCESS, Process};
use vtime::masks;

use super::exec_queue::{ExecQueue, Subscription};
use super::image::{self, Addresses, IMAGE_LENGTH};
use super::timens;
use super::tracee::{Call, Stop, Tracee};
use domain::Domain;
use os::seccomp;

#[derive(Debug)]
pub(super) struct Equipment {
    image: OwnedFd,
    clock: OwnedFd,
    pub(super) addresses: Addresses,
}

/// How long a program that should report is left alone before it is looked at; the time grows
/// while nothing happens. Somebody who sends it SIGCONT all the time stops it again as often, so
/// after a stop it must get on before the next one.
const LOOK_MIN: Duration = Duration::from_micros(20);
const LOOK_MAX: Duration = Duration::from_millis(100);

impl Equipment {
    /// # Errors
    /// When the kernel has no vDSO, no memory or no descriptors left.
    pub(super) fn new(domain: &Domain) -> io::Result<Self> {
        Ok(Self {
            image: image::memory()?,
            clock: domain.page().read_only()?,
            addresses: image::addresses()?,
        })
    }

    /// Puts a program that is stopped before its first instruction into virtual time. `own` is
    /// the memory of its own page, `random` what it gets instead of the kernel's random octets.
    ///
    /// # Errors
    /// `NotFound` if the program is gone; all others name the reason and the fix.
    pub(super) fn equip(
        &self,
        queue: &ExecQueue,
        listener: BorrowedFd<'_>,
        tracee: &mut Tracee,
        own: BorrowedFd<'_>,
        random: Option<[u64; 2]>,
    ) -> io::Result<()> {
        let registers = tracee.registers()?;
        let blocked = tracee.blocked()?;
        // The kernel would reset a blocked SIGTRAP to its default action at the first step.
        tracee.set_blocked(!signal_bit(libc::SIGTRAP))?;
        let auxiliary = find_auxiliary(tracee, registers.stack())?;
        if let (Some(random), Some(at)) = (random, auxiliary.random) {
            tracee.write(at, &random)?;
        }
        self.map(queue, listener, tracee, auxiliary.vdso, own)?;
        self.install_handler(tracee, libc::SIGSYS, self.action())?;
        if masks::kept(blocked) & masks::STAND_IN_BIT != 0 {
            // One may be pending.
            let [handler, flags, restorer, mask] = self.action();
            let flags = flags & !u64::from(libc::SA_NODEFER.cast_unsigned());
            let action = [handler, flags, restorer, mask];
            self.install_handler(tracee, masks::STAND_IN as i32, action)?;
        }
        tracee.write(auxiliary.vdso_slot, &[IMAGE as u64])?;
        tracee.set_registers(&registers)?;
        tracee.set_blocked(masks::kept(blocked))
    }

    fn map(
        &self,
        queue: &ExecQueue,
        listener: BorrowedFd<'_>,
        tracee: &mut Tracee,
        vdso: u64,
        own: BorrowedFd<'_>,
    ) -> io::Result<()> {
        const READ: i32 = libc::PROT_READ;
        const WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        let native = self.addresses.vdso;
        let at = vdso + native.syscall;
        let [image, clock, own] = install_files(queue, listener, tracee, at, self.files(own))?;
        let mut mmap = |address: usize, length: usize, access: i32, sharing: i32, fd: u64| {
            let flags = sharing | libc::MAP_FIXED_NOREPLACE;
            let args = [address as u64, length as u64, access as u64, flags as u64, fd, 0];
            let call = Call { at, number: libc::SYS_mmap, args };
            let mapped = tracee.call(&call).map(drop);
            if fd != u64::MAX {
                let args = [fd, 0, 0, 0, 0, 0];
                tracee.call(&Call { at, number: libc::SYS_close, args })?;
            }
            mapped.map_err(no_room)
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // Shared: pages of a private mapping can be written to through /proc/self/mem.
        mmap(IMAGE, IMAGE_LENGTH, READ | libc::PROT_EXEC, libc::MAP_SHARED, image)?;
        mmap(PROCESS, PAGE_SIZE, WRITE, anonymous, u64::MAX)?;
        mmap(CLOCK, PAGE_SIZE, READ, libc::MAP_SHARED, clock)?;
        mmap(OWN, OWN_SIZE, WRITE, libc::MAP_SHARED, own)?;
        put_functions(tracee, self.native_functions(vdso))
    }

    /// What is mapped into programs: image, clock page, and the program's own page.
    pub(super) fn files<'f>(&'f self, own: BorrowedFd<'f>) -> [BorrowedFd<'f>; 3] {
        [self.image.as_fd(), self.clock.as_fd(), own]
    }

    /// The first words of the page of a program whose vDSO lies at this address.
    pub(super) fn native_functions(&self, vdso: u64) -> [u64; 3] {
        self.addresses.vdso.functions.map(|offset| offset.map_or(0, |offset| vdso + offset))
    }

    /// The image as the handler of SIGSYS, `struct sigaction` of the kernel.
    pub(super) fn action(&self) -> [u64; 4] {
        const SA_RESTORER: u64 = 0x0400_0000;
        // Until the program has a handler of its own, a SIGSYS ends no call: it is ignored, or blocked.
        let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        let flags = u64::from(flags.cast_unsigned()) | SA_RESTORER;
        [self.addresses.sigsys, flags, self.addresses.sigreturn, 0]
    }

    fn install_handler(
        &self,
        tracee: &mut Tracee,
        signal: i32,
        action: [u64; 4],
    ) -> io::Result<()> {
        // For a moment at the end of the program's page.
        let scratch = (PROCESS + PAGE_SIZE - 64) as u64;
        tracee.write(scratch, &action)?;
        let args = [signal as u64, scratch, 0, 8, 0, 0];
        let number = libc::SYS_rt_sigaction;
        tracee.call(&Call { at: self.addresses.syscall, number, args }).map(drop)
    }
}

/// Fills the page of a program, which has the kernel's functions at these addresses. In a time
/// namespace of its own it must look its clocks up, so there is no short way for it.
pub(super) fn put_functions(tracee: &mut Tracee, native: [u64; 3]) -> io::Result<()> {
    if !timens::is_own(tracee.thread()) {
        return tracee.write(PROCESS as u64, &native);
    }
    let [clock_gettime, getcpu, getrandom] = native;
    tracee.write(PROCESS as u64, &[0, getcpu, getrandom])?;
    let namespace = (PROCESS + offset_of!(Process, namespace)) as u64;
    tracee.write(namespace, &[1, clock_gettime])
}

/// Puts files of ours into the program, closed on exec: it makes an exec of nothing, which the
/// filter reports, and gets them before the answer. Returns their numbers.
///
/// If it is interrupted before it has the answer, it makes the call, and reports it, once more.
fn install_files<const COUNT: usize>(
    queue: &ExecQueue,
    listener: BorrowedFd<'_>,
    tracee: &mut Tracee,
    at: u64,
    files: [BorrowedFd<'_>; COUNT],
) -> io::Result<[u64; COUNT]> {
    let call = Call { at, number: libc::SYS_execve, args: [0; 6] };
    let mut numbers = [0; COUNT];
    let mut installed = 0;
    let reports = queue.subscribe(tracee.thread());
    tracee.begin(&call)?;
    loop {
        let stop = match next(&reports, tracee)? {
            Event::Stop(stop) => stop,
            Event::Report(id) => {
                while installed < COUNT {
                    match seccomp::add_descriptor(listener, id, files[installed]) {
                        Ok(number) => numbers[installed] = number,
                        Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                        Err(error) => return Err(error),
                    }
                    installed += 1;
                }
                if installed < COUNT || seccomp::return_value(listener, id, 0).is_err() {
                    // The report does not stand any more.
                    continue;
                }
                tracee.wait()?
            }
        };
        if tracee.proceed(&call, stop)?.is_some() {
            if installed < COUNT {
                return Err(io::Error::other("its filter does not report its system calls"));
            }
            return Ok(numbers);
        }
    }
}

/// What a program does that makes a call which is reported.
enum Event {
    /// It reports the call.
    Report(u64),
    /// It stops, or the call has ended.
    Stop(Stop),
}

fn next(reports: &Subscription<'_>, tracee: &mut Tracee) -> io::Result<Event> {
    let mut look = LOOK_MIN;
    loop {
        if let Some(id) = reports.receive_within(look) {
            return Ok(Event::Report(id));
        }
        if let Some(stop) = tracee.poll()? {
            return Ok(Event::Stop(stop));
        }
        look = (look * 2).min(LOOK_MAX);
    }
}

const fn signal_bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// What the auxiliary vector of a program says, getauxval(3).
struct Auxiliary {
    /// Where the address of the vDSO stands in it.
    vdso_slot: u64,
    /// `AT_SYSINFO_EHDR`
    vdso: u64,
    /// `AT_RANDOM`, the address of sixteen octets.
    random: Option<u64>,
}

/// Finds the auxiliary vector on a fresh stack, which is laid out as the System V ABI (figure 3.9)
/// says: argc, argv, null, envp, null, auxiliary vector.
fn find_auxiliary(tracee: &Tracee, stack: u64) -> io::Result<Auxiliary> {
    const AT_NULL: u64 = 0;
    const AT_RANDOM: u64 = 25;
    const AT_SYSINFO_EHDR: u64 = 33;
    let mut octets = vec![0; 4096];
    loop {
        let count = tracee.read(stack, &mut octets).map_err(unreadable)?;
        let (words, _) = octets[..count].as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let argc = words.first().map_or(0, |argc| usize::try_from(*argc).unwrap_or(usize::MAX));
        let environment = argc.saturating_add(2);
        let from = words
            .iter()
            .skip(environment)
            .position(|word| *word == 0)
            .map_or(words.len(), |length| environment + length + 1);
        let (pairs, _) = words.get(from..).unwrap_or_default().as_chunks::<2>();
        if let Some(end) = pairs.iter().position(|pair| pair[0] == AT_NULL) {
            let find = |kind| pairs[..end].iter().position(|pair| pair[0] == kind);
            let vdso = find(AT_SYSINFO_EHDR)
                .ok_or_else(|| io::Error::other("this kernel gave it no vDSO"))?;
            return Ok(Auxiliary {
                vdso_slot: stack + (from + 2 * vdso + 1) as u64 * 8,
                vdso: pairs[vdso][1],
                random: find(AT_RANDOM).map(|pair| pairs[pair][1]),
            });
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
            "it uses the addresses needed for the image ({IMAGE:#x} to {:#x}); link it to a \
             different address",
            OWN + OWN_SIZE
        )),
        _ => error,
    }
}

/// The kernel keeps tracers away from the memory of programs whose file the user may execute
/// but not read.
fn unreadable(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => io::Error::other(
            "this user cannot access its memory, because its file is executable but not readable; \
             make it readable or run as root",
        ),
        _ => error,
    }
}
