//! Installing a filter of system calls, and answering what it notifies: seccomp(2) and seccomp_unotify(2).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{Ioctl, c_int, c_ulong, sock_filter, sock_fprog};

/// A request as `_IOC` of the kernel's headers makes it; C libraries have different types for it.
const fn request(direction: u32, number: u32, size: usize) -> Ioctl {
    (direction << 30 | (size as u32) << 16 | (b'!' as u32) << 8 | number) as Ioctl
}

const RECEIVE: Ioctl = request(3, 0, size_of::<Notification>());
const SEND: Ioctl = request(3, 1, size_of::<Response>());
const ID_VALID: Ioctl = request(1, 2, size_of::<u64>());
const ADD_DESCRIPTOR: Ioctl = request(1, 3, size_of::<AddDescriptor>());

const CONTINUE: u32 = 1;
/// Put the descriptor at the number named.
const AT_NUMBER: u32 = 1;
/// From receiving to answering, only fatal signals interrupt the program (Linux 5.19).
const WAIT_KILLABLE: c_ulong = 1 << 5;

/// `struct seccomp_notif`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Notification {
    /// Names it until it is answered.
    pub id: u64,
    /// Thread that made the call, in the name space of the reader.
    pub thread: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    address: u64,
    /// The arguments of the call.
    pub args: [u64; 6],
}

impl Notification {
    /// The number of the call.
    pub fn call(&self) -> libc::c_long {
        self.number.into()
    }
}

#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct AddDescriptor {
    id: u64,
    flags: u32,
    source: u32,
    new: u32,
    new_flags: u32,
}

const _: () = assert!(size_of::<Notification>() == 80);
const _: () = assert!(size_of::<Response>() == 24);
const _: () = assert!(size_of::<AddDescriptor>() == 24);

/// Puts the filter on the calling thread and answers the listener of its notifications.
/// Allocates nothing: it runs between fork and exec.
///
/// # Errors
/// What seccomp(2) reports; EBUSY where a filter with a listener is there already.
pub fn install(filter: &[sock_filter]) -> io::Result<OwnedFd> {
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: `program` describes a live slice, which the kernel copies.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let with = |flags: c_ulong| {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags,
                &raw const program,
            )
        };
        let mut listener = with(WAIT_KILLABLE);
        if listener < 0 && *libc::__errno_location() == libc::EINVAL {
            listener = with(0);
        }
        if listener < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(listener as RawFd))
    }
}

/// The next notification of a listener. Blocks until there is one.
///
/// # Errors
/// `NotFound` when the program was killed meanwhile.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    let mut notification = Notification::default();
    // SAFETY: the structure has the size that the request names.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut notification) };
    if result == 0 { Ok(notification) } else { Err(io::Error::last_os_error()) }
}

/// Lets the call continue.
///
/// # Errors
/// `NotFound` when the program was killed or interrupted meanwhile.
pub fn let_continue(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    respond(listener, &Response { id, value: 0, error: 0, flags: CONTINUE })
}

/// Lets the call fail with an error without being made.
///
/// # Errors
/// As [`let_continue`].
pub fn fail(listener: BorrowedFd<'_>, id: u64, error: c_int) -> io::Result<()> {
    respond(listener, &Response { id, value: 0, error: -error, flags: 0 })
}

/// Lets the call answer with a value without being made.
///
/// # Errors
/// As [`let_continue`].
pub fn return_value(listener: BorrowedFd<'_>, id: u64, value: i64) -> io::Result<()> {
    respond(listener, &Response { id, value, error: 0, flags: 0 })
}

/// Whether the program still waits for the answer to a notification.
pub fn is_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the request reads one number of 64 bits.
    unsafe { libc::ioctl(listener.as_raw_fd(), ID_VALID, &raw const id) == 0 }
}

/// Flags for a filter that reports, as far as this kernel knows them.
pub fn listener_flags() -> c_ulong {
    let killable = if waits_killably() { WAIT_KILLABLE } else { 0 };
    libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | killable
}

/// Whether this kernel keeps a program in its notified call once that was received, whatever
/// signals it gets, until it is answered.
pub fn waits_killably() -> bool {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE;
    // SAFETY: without a filter the call fails: by EFAULT if the flags are known, else by EINVAL.
    unsafe {
        let no_filter = std::ptr::null::<sock_fprog>();
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, no_filter);
        *libc::__errno_location() == libc::EFAULT
    }
}

/// Returns when the program has seen that its call was received, so that it waits killably.
///
/// It sees that only when it is woken, and before Linux 6.17 it took an answer that came
/// together with a signal for no answer. So it is woken by something to do that must fail: a
/// descriptor for a number that none can have.
pub fn await_killable(listener: BorrowedFd<'_>, id: u64) {
    let source = listener.as_raw_fd().unsigned_abs();
    let new = i32::MAX.unsigned_abs();
    let add = AddDescriptor { id, flags: AT_NUMBER, source, new, new_flags: 0 };
    // SAFETY: the structure has the size that the request names.
    unsafe { libc::ioctl(listener.as_raw_fd(), ADD_DESCRIPTOR, &raw const add) };
}

/// Puts a descriptor into a program that waits for an answer, closed on exec. Returns its number.
///
/// # Errors
/// As [`let_continue`]; `EMFILE` where the program has no descriptor left.
pub fn add_descriptor(listener: BorrowedFd<'_>, id: u64, fd: BorrowedFd<'_>) -> io::Result<u64> {
    let add = AddDescriptor {
        id,
        flags: 0,
        source: fd.as_raw_fd().unsigned_abs(),
        new: 0,
        new_flags: libc::O_CLOEXEC.unsigned_abs(),
    };
    // SAFETY: the structure has the size that the request names.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), ADD_DESCRIPTOR, &raw const add) };
    u64::try_from(result).map_err(|_| {
        let error = io::Error::last_os_error();
        // Killed while the kernel waited for it to take the descriptor.
        let gone = error.raw_os_error() == Some(libc::ESRCH);
        if gone { io::ErrorKind::NotFound.into() } else { error }
    })
}

fn respond(listener: BorrowedFd<'_>, response: &Response) -> io::Result<()> {
    // SAFETY: the structure has the size that the request names.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), SEND, std::ptr::from_ref(response)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
