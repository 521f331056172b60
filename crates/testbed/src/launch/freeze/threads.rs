//! What `/proc` says of threads and processes, as far as freezing needs it: proc(5).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;

use libc::pid_t;

/// The call that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InCall {
    /// Its number.
    pub(super) number: i64,
    /// Its arguments.
    pub(super) args: [u64; 6],
    /// The address that it returns to.
    pub(super) address: u64,
}

/// The call that a thread is in; `None` while it runs, or is gone.
pub(super) fn call_of(thread: pid_t) -> Option<InCall> {
    parse_call(&text_of(thread, "syscall")?)
}

/// How long a thread has had a processor, in nanoseconds; counted on at least at each tick.
pub(super) fn computed_ns(thread: pid_t) -> Option<u64> {
    text_of(thread, "schedstat")?.split_whitespace().next()?.parse().ok()
}

impl InCall {
    /// Whether it is one that runs another program.
    pub(super) fn is_exec(self) -> bool {
        matches!(self.number, libc::SYS_execve | libc::SYS_execveat)
    }
}

/// Whether a process is about to run another program. Attaching to any thread of it would wait
/// until that is read from its file, which may lie on a file system that hangs.
pub(super) fn is_in_exec(process: pid_t) -> bool {
    let mut calls = threads_of(process).into_iter().filter_map(call_of);
    calls.any(InCall::is_exec)
}

/// Number, six arguments, stack pointer and address; `running`; or -1 and two addresses for a
/// thread that is in the kernel without having called it.
fn parse_call(text: &str) -> Option<InCall> {
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut args = [0; 6];
    for arg in &mut args {
        *arg = hexadecimal(words.next()?)?;
    }
    let address = hexadecimal(words.last()?)?;
    (number >= 0).then_some(InCall { number, args, address })
}

/// A process that cannot be mistaken for another one of the same number: by when it began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Known {
    /// Its number.
    pub(super) number: pid_t,
    begun: u64,
}

impl Known {
    /// The process that has this number now.
    pub(super) fn of(number: pid_t) -> Option<Self> {
        begun(number).map(|begun| Self { number, begun })
    }

    /// Whether it is still there.
    pub(super) fn is_there(self) -> bool {
        Self::of(self.number) == Some(self)
    }
}

/// State of a thread in one letter: `R` runs or wants to, `S` and `D` sleep, `T` and `t` are
/// stopped.
pub(super) fn state_of(thread: pid_t) -> Option<char> {
    stat(thread)?.state.chars().next()
}

/// When a process began, in ticks since the host's start.
pub(super) fn begun(process: pid_t) -> Option<u64> {
    Some(stat(process)?.begun)
}

/// The parent of a process.
pub(crate) fn parent_of(process: pid_t) -> Option<pid_t> {
    Some(stat(process)?.parent)
}

/// What a file says of a thread alone. Those of its process add up all of its threads, which for
/// each of thousands takes long. They are shorter than a page.
fn text_of(thread: pid_t, file: &str) -> Option<String> {
    let mut text = [0; 4096];
    let mut file = File::open(format!("/proc/{thread}/task/{thread}/{file}")).ok()?;
    let length = file.read(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text[..length]).into_owned())
}

struct Stat {
    state: String,
    parent: pid_t,
    begun: u64,
}

fn stat(thread: pid_t) -> Option<Stat> {
    let text = text_of(thread, "stat")?;
    // The name in parentheses may contain anything; what follows it is the third field.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    Some(Stat { state, parent, begun: fields.nth(17)?.parse().ok()? })
}

/// All processes that come from one of these, as far as these are there, and without them.
pub(super) fn descendants(of: &BTreeSet<Known>) -> BTreeSet<pid_t> {
    let mut children: BTreeMap<pid_t, Vec<pid_t>> = BTreeMap::new();
    for process in numbers("/proc") {
        if let Some(parent) = parent_of(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut found, mut next) = (BTreeSet::new(), Vec::new());
    next.extend(of.iter().filter(|root| root.is_there()).map(|root| root.number));
    while let Some(process) = next.pop() {
        for child in children.get(&process).into_iter().flatten() {
            if found.insert(*child) {
                next.push(*child);
            }
        }
    }
    found
}

/// The process of a thread, by the number of its first thread.
pub(super) fn process_of(thread: pid_t) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    number.trim().parse().ok()
}

/// Whether a thread's process comes from one of these.
pub(super) fn comes_from(of: &BTreeSet<Known>, thread: pid_t) -> bool {
    let mut next = process_of(thread);
    while let Some(number) = next.filter(|number| *number > 1) {
        if of.iter().any(|root| root.number == number && root.is_there()) {
            return true;
        }
        next = parent_of(number);
    }
    false
}

/// The threads of a process.
pub(super) fn threads_of(process: pid_t) -> Vec<pid_t> {
    numbers(&format!("/proc/{process}/task"))
}

fn numbers(folder: &str) -> Vec<pid_t> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_number_and_address() {
        let line = "232 0x3 0x7fff 0x1 0xffffffff 0x0 0x7f3d 0x7fff6389e858 0x7f3d87f6bef3\n";
        let args = [0x3, 0x7fff, 0x1, 0xffff_ffff, 0x0, 0x7f3d];
        let address = 0x7f3d_87f6_bef3;
        assert_eq!(parse_call(line), Some(InCall { number: 232, args, address }));
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call("-1 0x7fff6389e858 0x7f3d87f6bef3\n"), None);
        assert_eq!(parse_call("232 0x3 0x7fff 0x1\n"), None);
        assert_eq!(parse_call(""), None);
    }

    #[test]
    fn children_of_children_are_found() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        let root = Known::of(shell.id().cast_signed()).unwrap();
        let found = descendants(&BTreeSet::from([root]));
        // One that had the number before is another one, and so are its children.
        let before = BTreeSet::from([Known { begun: root.begun - 1, ..root }]);
        assert_eq!(descendants(&before), BTreeSet::new());
        assert_eq!(found.len(), 1, "{found:?}");
        for process in &found {
            assert_eq!(parent_of(*process), Some(shell.id().cast_signed()));
            assert!(begun(*process) >= begun(shell.id().cast_signed()));
            assert!(comes_from(&BTreeSet::from([root]), *process));
            assert!(!comes_from(&before, *process));
            // SAFETY: a child of the shell, which waits for it.
            unsafe { libc::kill(*process, libc::SIGKILL) };
        }
        shell.wait().unwrap();
    }
}
