//! What `/proc` says of the calls that threads are in, as far as freezing needs it: proc(5).

use libc::pid_t;

use os::process::{self, threads_of};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SyscallState {
    pub(super) number: i64,
    pub(super) args: [u64; 6],
    pub(super) address: u64,
}

/// The call that a thread is in; `None` while it runs, or is gone.
pub(super) fn call_of(thread: pid_t) -> Option<SyscallState> {
    parse_call(&process::text_of(thread, thread, "syscall")?)
}

/// How long a thread has had a processor, in nanoseconds; counted on at least at each tick.
pub(super) fn computed_ns(thread: pid_t) -> Option<u64> {
    process::text_of(thread, thread, "schedstat")?.split_whitespace().next()?.parse().ok()
}

impl SyscallState {
    pub(super) fn is_exec(self) -> bool {
        matches!(self.number, libc::SYS_execve | libc::SYS_execveat)
    }
}

/// Whether a process is about to run another program. Attaching to any thread of it would wait
/// until that is read from its file, which may lie on a file system that hangs.
pub(super) fn is_in_exec(process: pid_t) -> bool {
    let mut calls = threads_of(process).into_iter().filter_map(call_of);
    calls.any(SyscallState::is_exec)
}

/// Number, six arguments, stack pointer and address; `running`; or -1 and two addresses for a
/// thread that is in the kernel without having called it.
fn parse_call(text: &str) -> Option<SyscallState> {
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut args = [0; 6];
    for arg in &mut args {
        *arg = hexadecimal(words.next()?)?;
    }
    let address = hexadecimal(words.last()?)?;
    (number >= 0).then_some(SyscallState { number, args, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_number_and_address() {
        let line = "232 0x3 0x7fff 0x1 0xffffffff 0x0 0x7f3d 0x7fff6389e858 0x7f3d87f6bef3\n";
        let args = [0x3, 0x7fff, 0x1, 0xffff_ffff, 0x0, 0x7f3d];
        let address = 0x7f3d_87f6_bef3;
        assert_eq!(parse_call(line), Some(SyscallState { number: 232, args, address }));
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call("-1 0x7fff6389e858 0x7f3d87f6bef3\n"), None);
        assert_eq!(parse_call("232 0x3 0x7fff 0x1\n"), None);
        assert_eq!(parse_call(""), None);
    }
}
