//! What the kernel counts of threads: those of the agent, and all below the first process of a node.
//!
//! Processes come and go while this looks; what is gone is left out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;

use os::process::threads_of;

use super::delays::{Counts, Reading, State};
use crate::devices::SERVER_NAME;

/// Begin of the names of threads of the agent that serve one program; the rest is that program.
pub(super) const SERVES: &str = "for ";
/// Name of a process that lost its parents before it was first seen.
const UNKNOWN: &str = "a process";

#[derive(Debug)]
pub(super) struct Tree {
    /// The first process of a node, whose own threads are not read; the agent if `None`.
    node: Option<i32>,
    /// Whose the processes of the last look were.
    names: BTreeMap<i32, String>,
    /// What the kernel had counted of the threads at the last look.
    counts: BTreeMap<i32, Counts>,
}

impl Tree {
    pub(super) fn of(node: Option<i32>) -> Self {
        Self { node, names: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Reads all threads. `begun` names programs by the processes that began them; what these fork
    /// have their name. For the agent it names those that threads serve. The state is read of those
    /// threads alone that have not run since the last look.
    pub(super) fn read(&mut self, begun: &BTreeMap<i32, String>) -> Vec<Reading> {
        let readings = match self.node {
            Some(node) => self.read_node(node, begun),
            None => self.read_own(begun),
        };
        self.counts = readings.iter().map(|one| (one.thread, one.counts)).collect();
        readings
    }

    fn read_node(&mut self, node: i32, begun: &BTreeMap<i32, String>) -> Vec<Reading> {
        let mut readings = Vec::new();
        let mut names = BTreeMap::new();
        let mut left = children_of(node, &threads_of(node), UNKNOWN);
        while let Some((process, parent)) = left.pop() {
            let known = begun.get(&process).or_else(|| self.names.get(&process));
            let name = known.cloned().unwrap_or(parent);
            let threads = threads_of(process);
            let read = |thread: &i32| self.reading(process, *thread, name.clone());
            readings.extend(threads.iter().filter_map(read));
            left.extend(children_of(process, &threads, &name));
            names.insert(process, name);
        }
        self.names = names;
        readings
    }

    fn read_own(&mut self, served: &BTreeMap<i32, String>) -> Vec<Reading> {
        let own = std::process::id().cast_signed();
        let mut names = BTreeMap::new();
        for thread in threads_of(own) {
            let known = self.names.remove(&thread);
            let name = known.unwrap_or_else(|| read(&format!("/proc/self/task/{thread}/comm")));
            names.insert(thread, name.trim().to_owned());
        }
        self.names = names;
        let name = |thread, name: &String| match served.get(thread) {
            Some(program) => format!("{SERVES}{program}"),
            None => name.clone(),
        };
        let named = self.names.iter().map(|(thread, own)| (*thread, name(thread, own)));
        named.filter_map(|(thread, who)| self.reading(own, thread, who)).collect()
    }

    fn reading(&self, process: i32, thread: i32, who: String) -> Option<Reading> {
        let folder = format!("/proc/{process}/task/{thread}");
        let counts = parse_counts(&read(&format!("{folder}/schedstat")))?;
        let stands = self.counts.get(&thread) == Some(&counts);
        let state = if stands { state(&read(&format!("{folder}/stat"))) } else { State::Other };
        let notes_waits = self.node.is_none() && who == SERVER_NAME;
        Some(Reading { thread, who, counts, state, notes_waits })
    }
}

/// Whether this kernel counts how long threads wait, and reports which processes there are.
pub(super) fn are_counted() -> bool {
    // It has counted at least the turn in which this runs.
    let counted = read("/proc/thread-self/schedstat");
    let is_counted = counted.split_whitespace().nth(2).is_some_and(|turns| turns != "0");
    is_counted && fs::exists("/proc/thread-self/children").unwrap_or(false)
}

fn parse_counts(schedstat: &str) -> Option<Counts> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    let (ran_ns, waited_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Counts { ran_ns, waited_ns })
}

/// The state stands behind the name, which may hold anything. proc_pid_stat(5)
fn state(stat: &str) -> State {
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('R') => State::Runnable,
        Some('D') => State::Blocked,
        Some('T' | 't') => State::Stopped,
        _ => State::Other,
    }
}

/// The children of a process, each with the name of its parent.
fn children_of(process: i32, threads: &[i32], name: &str) -> Vec<(i32, String)> {
    let list = |thread: &i32| read(&format!("/proc/{process}/task/{thread}/children"));
    let lists: Vec<String> = threads.iter().map(list).collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    children.filter_map(|child| Some((child.parse().ok()?, name.to_owned()))).collect()
}

/// A short file; nothing if it is gone.
fn read(path: &str) -> String {
    let mut text = String::with_capacity(64);
    let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    if read.is_ok() { text } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn what_files_of_proc_say() {
        let counts = Counts { ran_ns: 12, waited_ns: 34 };
        assert_eq!(parse_counts("12 34 5\n"), Some(counts));
        assert_eq!(parse_counts(""), None);
        assert_eq!(parse_counts("12 x 5"), None);
        assert_eq!(state("7 (a) S (x) R 1 7"), State::Runnable);
        assert_eq!(state("7 (a) R (x) S 1 7"), State::Other);
        assert_eq!(state("7 (a) D 1 7"), State::Blocked);
        assert_eq!([state("7 (a) T 1 7"), state("7 (a) t 1 7")], [State::Stopped; 2]);
        assert_eq!(state(""), State::Other);
    }

    #[test]
    fn all_below_a_process_are_read_with_the_names_of_who_began_them() {
        let shell = "sleep 60 & (sleep 60; true) & wait";
        let mut child =
            Command::new("sh").args(["-c", shell]).stdin(Stdio::null()).spawn().unwrap();
        let own = std::process::id().cast_signed();
        let begun = BTreeMap::from([(child.id().cast_signed(), "shell".to_owned())]);
        let mut tree = Tree::of(Some(own));
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let found = loop {
            let readings = tree.read(&begun);
            let of_shell = readings.iter().filter(|reading| reading.who == "shell").count();
            if of_shell >= 4 || std::time::Instant::now() > until {
                break of_shell;
            }
            std::thread::yield_now();
        };
        let descendants = tree.names.iter().filter(|(_, name)| *name == "shell");
        let descendants: Vec<i32> = descendants.map(|(process, _)| *process).collect();
        for process in descendants {
            // SAFETY: signals a child of this test, or a child of that.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        child.wait().unwrap();
        assert_eq!(found, 4);
    }
}
