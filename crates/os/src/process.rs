//! Processes and threads of programs, as others see them: who is meant by a number, and whether
//! it is still the same one.
//!
//! A number is given again once its process has ended. So what is remembered is a number together
//! with the moment at which its process began, and before a signal is sent a handle
//! (pidfd) is opened, and kept only if it is of the one that was meant. So nobody else is ever
//! signalled, and no descriptor is held for a process that only might be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_int, c_uint, pid_t};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The text of `/proc/PID/status`, empty if the process or thread is gone.
pub fn status_of(thread: pid_t) -> String {
    fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default()
}

/// The value of a line of `/proc/PID/status`.
pub fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim())
}

/// A set of signals in `/proc/PID/status`, a bit for each; empty if there is no such line.
pub fn signal_set(status: &str, name: &str) -> u64 {
    field(status, name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

/// A thread as its process numbers it, which may be in a namespace of its own. pid_namespaces(7)
pub fn own_number(thread: pid_t) -> u32 {
    let status = status_of(thread);
    let numbers = field(&status, "NSpid").and_then(|numbers| numbers.split_whitespace().last());
    numbers.and_then(|number| number.parse().ok()).unwrap_or(thread.cast_unsigned())
}

/// The name of a process as the kernel has it; empty if it is gone.
pub fn name_of(process: pid_t) -> String {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

/// Processor time that all threads of a process have used, those too that have ended, in nanoseconds; `None` if
/// it is gone. Of those that run at the moment the kernel has only what they had used at its last tick, unless they
/// are named here. clock_getcpuclockid(3)
pub fn processor_time_ns(process: pid_t, threads: &[pid_t]) -> Option<u64> {
    // As the C library makes it: the bits of the number turned over, and which clock it is (`CPUCLOCK_SCHED`,
    // `CPUCLOCK_PERTHREAD_MASK`).
    const SCHED: libc::clockid_t = 2;
    const OF_THREAD: libc::clockid_t = 4;
    for thread in threads {
        // It takes in what the thread has used by now (`task_sched_runtime`).
        clock_ns(!thread << 3 | SCHED | OF_THREAD);
    }
    clock_ns(!process << 3 | SCHED)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one structure.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Whether two processes have one and the same memory, as before the exec of a `vfork` child. kcmp(2)
pub fn share_memory(one: pid_t, two: pid_t) -> bool {
    const KCMP_VM: c_int = 1;
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_kcmp, one, two, KCMP_VM, 0, 0) == 0 }
}

/// Lets the kernel lay out all programs that this process starts, and those that they start, at the same
/// addresses each time (`ADDR_NO_RANDOMIZE`). personality(2)
///
/// # Errors
/// When a sandbox around this process forbids it.
pub fn fix_addresses_of_programs() -> io::Result<()> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: takes a number; what runs already stays where it is.
    let now = unsafe { libc::personality(ASK) };
    let wanted = now.cast_unsigned() | libc::ADDR_NO_RANDOMIZE.cast_unsigned();
    // SAFETY: as above.
    if now < 0 || unsafe { libc::personality(wanted.into()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The process of a thread, by the number of its first thread.
pub fn process_of(thread: pid_t) -> Option<pid_t> {
    field(&status_of(thread), "Tgid")?.parse().ok()
}

/// The parent of a process.
pub fn parent_of(process: pid_t) -> Option<pid_t> {
    Some(stat(process, process)?.parent)
}

/// State of a thread in one letter: `R` runs or wants to, `S` and `D` sleep, `T` and `t` are
/// stopped, `Z` and `X` have ended.
pub fn state_of(thread: pid_t) -> Option<char> {
    Some(stat(thread, thread)?.state)
}

/// A thread of a process that has not ended: the first, or another one if the first has ended before the
/// others (pthread_exit(3)). Of one that has ended the kernel tells neither memory nor files nor namespaces,
/// though the others have them still.
pub fn live_thread_of(process: pid_t) -> pid_t {
    if lives(process, process) {
        return process;
    }
    threads_of(process).into_iter().find(|thread| lives(process, *thread)).unwrap_or(process)
}

fn lives(process: pid_t, thread: pid_t) -> bool {
    stat(process, thread).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// The threads of a process.
pub fn threads_of(process: pid_t) -> Vec<pid_t> {
    numbers(&format!("/proc/{process}/task"))
}

/// All processes that come from one of these, as far as these are there, and without them.
pub fn descendants(of: &BTreeSet<Identity>) -> BTreeSet<Identity> {
    let mut children: BTreeMap<pid_t, Vec<Identity>> = BTreeMap::new();
    for process in numbers("/proc") {
        if let Some(stat) = stat(process, process) {
            let child = Identity { number: process, began: stat.began };
            children.entry(stat.parent).or_default().push(child);
        }
    }
    let (mut found, mut next) = (BTreeSet::new(), Vec::from_iter(of.iter().copied()));
    while let Some(parent) = next.pop() {
        let below = children.get(&parent.number).into_iter().flatten();
        let below: Vec<_> = below.filter(|child| !found.contains(*child)).copied().collect();
        // After who has it as a parent was read: those are of this one, and of nobody before it.
        if !below.is_empty() && parent.is_there() {
            found.extend(below.iter().copied());
            next.extend(below);
        }
    }
    found
}

/// Whether a thread's process comes from one of these.
pub fn comes_from(of: &BTreeSet<Identity>, thread: pid_t) -> bool {
    let mut next = process_of(thread);
    while let Some(number) = next.filter(|number| *number > 1) {
        if of.iter().any(|root| root.number == number && root.is_there()) {
            return true;
        }
        next = parent_of(number);
    }
    false
}

/// The thread of a process that it knows by this number, in our numbers.
pub fn thread_known_as(process: pid_t, number: pid_t) -> Option<pid_t> {
    threads_of(process).into_iter().find(|thread| {
        let status = status_of(*thread);
        let innermost =
            field(&status, "NSpid").and_then(|numbers| numbers.split_whitespace().last());
        innermost.and_then(|innermost| innermost.parse().ok()) == Some(number)
    })
}

/// A process, or one thread of it, that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Identity {
    /// Process number, or that of a thread.
    pub number: pid_t,
    /// In ticks of the kernel since the machine began.
    pub began: u64,
}

impl Identity {
    /// Who has the number of a process now.
    ///
    /// # Errors
    /// ESRCH if nobody has it.
    pub fn of_process(process: pid_t) -> io::Result<Self> {
        Self::of_thread(process, process)
    }

    /// Who has the number of a thread in a process now.
    pub fn of_thread(process: pid_t, thread: pid_t) -> io::Result<Self> {
        let began = stat(process, thread).ok_or_else(gone)?.began;
        Ok(Self { number: thread, began })
    }

    /// Whether this process has not been waited for.
    pub fn is_there(self) -> bool {
        Self::of_process(self.number).is_ok_and(|now| now == self)
    }

    /// Whether it runs, or stands; what has ended does not, waited for or not.
    pub fn runs(self) -> bool {
        self.is_there() && lives(self.number, live_thread_of(self.number))
    }

    /// A handle of this process.
    ///
    /// # Errors
    /// ESRCH if it is gone, even if another one has its number now.
    pub fn open(self) -> io::Result<Process> {
        let process = Process::open(self.number)?;
        // Opened first, so that it is of this one or else of nobody who is still there.
        if self.is_there() { Ok(process) } else { Err(gone()) }
    }
}

struct Stat {
    state: char,
    parent: pid_t,
    began: u64,
}

/// What the kernel says of a thread alone: the file of its process adds up all of its threads, which
/// for each of thousands takes long.
fn stat(process: pid_t, thread: pid_t) -> Option<Stat> {
    let text = text_of(process, thread, "stat")?;
    // The name in parentheses may contain anything; what follows it is the third field.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let (state, parent) = (fields.next()?.chars().next()?, fields.next()?.parse().ok()?);
    Some(Stat { state, parent, began: fields.nth(17)?.parse().ok()? })
}

/// A short file of a thread: no longer than a page.
pub fn text_of(process: pid_t, thread: pid_t, file: &str) -> Option<String> {
    let mut text = [0; 4096];
    let mut file = File::open(format!("/proc/{process}/task/{thread}/{file}")).ok()?;
    let length = file.read(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text[..length]).into_owned())
}

fn numbers(folder: &str) -> Vec<pid_t> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process, ended or not, by what `/proc` says of all processes.
pub fn children_of(parent: pid_t) -> Vec<pid_t> {
    all().into_iter().filter(|process| parent_of(*process) == Some(parent)).collect()
}

/// The numbers of all processes that `/proc` shows.
pub fn all() -> Vec<pid_t> {
    numbers("/proc")
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// A process that cannot be mistaken for another one of the same number.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Process {
    /// Opens a process by its number (pidfd_open(2)).
    pub fn open(number: pid_t) -> io::Result<Self> {
        Self::open_as(number, 0)
    }

    /// A thread alone (Linux 6.9).
    ///
    /// # Errors
    /// EINVAL where the kernel knows no such handles.
    pub fn open_thread(number: pid_t) -> io::Result<Self> {
        const PIDFD_THREAD: c_uint = libc::O_EXCL.unsigned_abs();
        Self::open_as(number, PIDFD_THREAD)
    }

    /// Opens a process whose descriptors are wanted.
    ///
    /// # Errors
    /// EINVAL if its first thread has ended before the others, and the kernel knows no handles of threads
    /// (before Linux 6.9).
    pub fn open_with_files(number: pid_t) -> io::Result<Self> {
        match live_thread_of(number) {
            first if first == number => Self::open(number),
            other => Self::open_thread(other),
        }
    }

    fn open_as(number: pid_t, flags: c_uint) -> io::Result<Self> {
        let number = Some(number).filter(|number| *number > 0);
        let number = number.and_then(Pid::from_raw).ok_or_else(gone)?;
        Ok(Self { handle: pidfd_open(number, PidfdFlags::from_bits_retain(flags))? })
    }

    /// Sends a signal, with the `siginfo_t` that its handler gets.
    pub fn signal(&self, signal: c_int, info: Option<&libc::siginfo_t>) -> io::Result<()> {
        let info = info.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the descriptor is open; `info` is null or a live structure.
        let result = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.handle.as_raw_fd(), signal, info, 0)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Ends it, unless it has ended.
    pub fn kill(&self) {
        let _ = self.signal(libc::SIGKILL, None);
    }

    /// A copy of a descriptor of the process, whose number may be what a program has named.
    pub fn descriptor(&self, fd: c_int) -> io::Result<OwnedFd> {
        if fd < 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        Ok(pidfd_getfd(&self.handle, fd, PidfdGetfdFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_found() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        let root = Identity::of_process(shell.id().cast_signed()).unwrap();
        let found = descendants(&BTreeSet::from([root]));
        // One that had the number before is another one, and so are its children.
        let before = BTreeSet::from([Identity { began: root.began - 1, ..root }]);
        assert_eq!(descendants(&before), BTreeSet::new());
        assert_eq!(found.len(), 1, "{found:?}");
        for process in &found {
            assert_eq!(parent_of(process.number), Some(root.number));
            assert!(process.began >= root.began);
            assert!(comes_from(&BTreeSet::from([root]), process.number));
            assert!(!comes_from(&before, process.number));
            process.open().unwrap().kill();
        }
        shell.wait().unwrap();
        assert_eq!(parent_of(root.number), None);
    }

    #[test]
    fn numbers_that_programs_name_may_be_anything() {
        let own = Process::open(std::process::id().cast_signed()).unwrap();
        for fd in [-1, i32::MIN, i32::MAX] {
            assert_eq!(own.descriptor(fd).unwrap_err().raw_os_error(), Some(libc::EBADF), "{fd}");
        }
        assert!(own.descriptor(0).is_ok());
        for process in [0, -1, i32::MIN] {
            assert!(Process::open(process).is_err(), "{process}");
        }
    }
}
