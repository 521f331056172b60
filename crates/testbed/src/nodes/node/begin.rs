//! A program of a node, from its fork to its exec.
//!
//! Whatever runs in a node sees a process there from the first moment on, and one with all rights in
//! the node can take what descriptors that has (pidfd_getfd(2)). So another process, which nobody in
//! the node sees, does all that needs a descriptor of the testbed, closes them, and only then makes
//! the one that becomes the program, as a child not of its own but of the node's (`CLONE_PARENT`).
//! What it inherits is what the program has: no input, and its two outputs.
//!
//! Programs of root may mount what they like over what the process outside sees as well. So it opens
//! nothing by a name once one of them runs; the maker may be kept waiting, and the node is not.

use std::convert::Infallible;
use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU32, Ordering};

use vtime::image::PAGE_SIZE;

use super::messages::Start;
use domain::{Mapped, Shared, Writers};
use os::namespaces;
use runtime::launch::program::{self, Gate};

/// A program that has not come to its exec, or has not failed there.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The process that makes it, a child of this one. It ends when the exec has succeeded or failed.
    pub(super) maker: i32,
    /// The number of the program's process, once it is there; before, minus the error that kept the
    /// maker from making it. Nobody in the node has this memory.
    process: Mapped<AtomicU32>,
    /// Why the exec failed, if it did. In the memory of the process that is about to become the program,
    /// so others in the node may write to it.
    failure: Mapped<AtomicU32>,
}

impl Beginning {
    /// Begins a program, which reads from `input` and writes to `outputs`, where the process `place`
    /// is, in the domain behind `gate`. The caller must have one thread.
    ///
    /// # Errors
    /// When its command line is none, or the kernel lacks what it takes.
    pub(super) fn new(
        start: &Start,
        [input, place]: [BorrowedFd<'_>; 2],
        outputs: Vec<OwnedFd>,
        gate: &Gate,
    ) -> io::Result<Self> {
        let [out, err] = <[OwnedFd; 2]>::try_from(outputs)
            .map_err(|_| io::Error::other("the start order came without pipes"))?;
        let arguments_of = ExecArguments::new(start)?;
        let mut enter_domain = program::entrance(gate, &start.name);
        let word = || Shared::new(c"begin", AtomicU32::new(0), Writers::All);
        let (process, failure) = (word()?.into_parts().1, word()?.into_parts().1);
        // SAFETY: this process has one thread, as the caller says, so its copy is whole.
        let maker = unsafe { namespaces::fork(0, None) }?;
        if maker == 0 {
            let made = leave_parent(start, [input.as_raw_fd(), out.as_raw_fd(), err.as_raw_fd()])
                .and_then(|()| keep_from_children(&process))
                .and_then(|()| namespaces::put_children_where(place))
                .and_then(|()| enter_domain())
                .and_then(|()| fork_program(&arguments_of, &process, &failure));
            if let Err(error) = made {
                let number = error.raw_os_error().unwrap_or(libc::EINVAL);
                process.store(number.wrapping_neg().cast_unsigned(), Ordering::Relaxed);
            }
            exit(0)
        }
        Ok(Self { maker, process, failure })
    }

    /// The process that becomes the program, once it is there.
    pub(super) fn process(&self) -> Option<i32> {
        let number = self.process.load(Ordering::Relaxed).cast_signed();
        (number > 0).then_some(number)
    }

    /// What became of it, when its maker has ended: the process of the program. `gives_up` answers of
    /// that process whether it ends without having become a program.
    ///
    /// # Errors
    /// Why there is no program.
    pub(super) fn end(&self, gives_up: impl Fn(i32) -> bool) -> io::Result<i32> {
        let of_maker = self.process.load(Ordering::Relaxed).cast_signed();
        match (of_maker, self.failure.load(Ordering::Relaxed).cast_signed()) {
            (0, _) => Err(io::Error::other("the process that should create it was killed")),
            (error, _) if error < 0 => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
            (process, error) if error != 0 && gives_up(process) => {
                Err(io::Error::from_raw_os_error(error))
            }
            (process, _) => Ok(process),
        }
    }
}

struct ExecArguments {
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl ExecArguments {
    fn new(start: &Start) -> io::Result<Self> {
        if start.command.is_empty() {
            return Err(io::Error::other("no program is given"));
        }
        let text = |octets: Vec<u8>| CString::new(octets).map_err(io::Error::other);
        let arguments = start.command.iter().map(|one| text(one.as_bytes().to_vec()));
        let pairs =
            start.environment.iter().map(|(name, value)| text(format!("{name}={value}").into()));
        Ok(Self {
            arguments: arguments.collect::<Result<_, _>>()?,
            environment: pairs.collect::<Result<_, _>>()?,
        })
    }
}

/// Strings as C has them: their addresses, and null behind them.
fn addresses(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|one| one.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Parts the calling process from the one that it is a copy of: it gets the streams and the folder of
/// the program and no terminal, and hears the signals that are blocked in the other one.
fn leave_parent(start: &Start, streams: [RawFd; 3]) -> io::Result<()> {
    let directory = CString::new(start.directory.as_os_str().as_bytes())?;
    // SAFETY: these take numbers, a C string, and a set of signals that lives on the stack.
    unsafe {
        check(libc::setsid())?;
        for (number, stream) in (0..).zip(streams) {
            check(libc::dup2(stream, number))?;
        }
        check(libc::chdir(directory.as_ptr()))?;
        // As of most shells, whatever that of the runner is: files of programs are part of a run.
        libc::umask(0o022);
        // Programs in Rust ignore it, and what is ignored stays so over an exec.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Keeps a word from the children of the calling process. madvise(2)
fn keep_from_children(word: &Mapped<AtomicU32>) -> io::Result<()> {
    // SAFETY: the page that the word is mapped in, and nothing else.
    check(unsafe { libc::madvise(word.as_ptr().cast(), PAGE_SIZE, libc::MADV_DONTFORK) })
}

/// Makes the process that becomes the program, and waits until it has, or could not.
fn fork_program(
    arguments_of: &ExecArguments,
    process: &AtomicU32,
    failure: &AtomicU32,
) -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    let (arguments, environment) =
        (addresses(&arguments_of.arguments), addresses(&arguments_of.environment));
    // SAFETY: takes numbers; nothing that was open is used from here on.
    unsafe { check(libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) as i32)? };
    // SAFETY: one thread; only system calls from here on.
    if unsafe { namespaces::fork(libc::CLONE_PARENT | libc::CLONE_VFORK, Some(process)) }? == 0 {
        let Err(error) = exec(&arguments, &environment);
        failure
            .store(error.raw_os_error().unwrap_or(libc::EINVAL).cast_unsigned(), Ordering::Relaxed);
        exit(FAILED);
    }
    Ok(())
}

/// ExecArguments a program, which leads a session of its own, so that signals to its group stay with it.
fn exec(arguments: &[*const c_char], environment: &[*const c_char]) -> io::Result<Infallible> {
    unsafe extern "C" {
        static mut environ: *const *const c_char;
    }
    // SAFETY: both are C strings with null behind them, and the program is looked for with the path
    // of its own environment; nobody else is there who reads that of this process.
    unsafe {
        check(libc::setsid())?;
        environ = environment.as_ptr();
        libc::execvp(arguments[0], arguments.as_ptr());
    }
    Err(io::Error::last_os_error())
}

/// Of a process that did not become a program, as shells have it.
pub(super) const FAILED: i32 = 127;

fn exit(code: i32) -> ! {
    // SAFETY: takes a number, and runs nothing of what the process was a copy of.
    unsafe { libc::_exit(code) }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
