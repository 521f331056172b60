//! A program with all its threads and children, stopped.
//!
//! A running thread may start threads and children meanwhile, so the tree is looked at again until
//! all that it has are stopped: then nobody is left to start more.
//!
//! A parent that waits in `vfork` cannot stop before its child has run another program or ended.
//! So such a child goes on until then, and is found again as a program of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use libc::pid_t;
use vtime::HostTime;

use super::facts;
use super::reaper::Reaper;
use super::sched::{self, Asleep};
use crate::launch::follow::DISPATCH;
use crate::launch::tracee::{Stop, Tracee};
use domain::host_now;
use os::process::{field, name_of, share_memory, threads_of};

/// How long a tree may take to stop.
const LONGEST: Duration = Duration::from_secs(5);
/// How long a thread that does not stop is waited for before it is asked whether it waits in
/// `vfork`.
const VFORK_AFTER: Duration = Duration::from_millis(3);
const LOOK: Duration = Duration::from_micros(100);
const SEIZE_TRIES: u32 = 20;

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tracee: Tracee,
    pub(super) asleep: Option<Asleep>,
    pub(super) stopped: HostTime,
    /// Whether it is the first of its process, which has the same number.
    is_first: bool,
}

pub(super) type Threads = BTreeMap<pid_t, Thread>;

/// A stopped tree. Dropping it detaches from all.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) processes: BTreeMap<pid_t, Threads>,
    root: pid_t,
    keep_out: Vec<pid_t>,
    reaper: Reaper,
}

impl Tree {
    /// Stops a process and all that comes from it, but for those kept out and what comes from
    /// them.
    ///
    /// # Errors
    /// When one of them cannot be attached, or does not stop; says which and why.
    pub(super) fn stop(root: pid_t, keep_out: &[pid_t]) -> io::Result<Self> {
        let (processes, keep_out) = (BTreeMap::new(), keep_out.to_vec());
        let mut tree = Self { processes, root, keep_out, reaper: Reaper::start()? };
        let until = Instant::now() + LONGEST;
        while tree.seize_all()? || !tree.all_stand() {
            tree.wait(until)?;
            if Instant::now() > until {
                return Err(refusal(
                    root,
                    "it starts threads or children faster than they can be stopped",
                ));
            }
        }
        tree.processes.retain(|_, threads| !threads.is_empty());
        if tree.processes.contains_key(&root) {
            Ok(tree)
        } else {
            Err(refusal(root, "it has ended"))
        }
    }

    pub(super) const fn root(&self) -> pid_t {
        self.root
    }

    pub(super) fn name(&self) -> String {
        name_of(self.root)
    }

    /// Asks all to stop that were not asked yet. Returns whether there were any.
    fn seize_all(&mut self) -> io::Result<bool> {
        let mut any = false;
        let mut processes = vec![self.root];
        while let Some(process) = processes.pop() {
            for thread in threads_of(process) {
                let threads = self.processes.entry(process).or_default();
                if !threads.contains_key(&thread)
                    && let Some(new) = seize(process, thread)?
                {
                    self.reaper.traced(process, thread);
                    // Fails if it has ended, as the next look finds, or has run another
                    // program meanwhile: then it is the first of its process.
                    if new.tracee.interrupt().is_err()
                        && let Some(first) = threads.get_mut(&process)
                        && !first.tracee.stands()
                    {
                        first.interrupt_successor(process);
                    }
                    threads.insert(thread, new);
                    any = true;
                }
                processes.extend(self.children(process, thread)?);
            }
        }
        Ok(any)
    }

    fn children(&self, process: pid_t, thread: pid_t) -> io::Result<Vec<pid_t>> {
        let path = format!("/proc/{process}/task/{thread}/children");
        let numbers = match fs::read_to_string(path) {
            Ok(numbers) => numbers,
            Err(_) if fs::metadata("/proc/thread-self/children").is_ok() => return Ok(Vec::new()),
            Err(_) => {
                return Err(io::Error::other(
                    "this kernel does not list the children of processes (CONFIG_PROC_CHILDREN)",
                ));
            }
        };
        let numbers = numbers.split_whitespace().filter_map(|number| number.parse().ok());
        Ok(numbers.filter(|number| !self.keep_out.contains(number)).collect())
    }

    /// Whether all stand still that were found stopped. If not, one was killed, or another thread has taken
    /// its number over for an exec, and has perhaps never been seen under any other.
    fn all_stand(&self) -> bool {
        self.processes.values().flat_map(Threads::values).all(|thread| thread.tracee.stands())
    }

    /// Waits until all that were asked have stopped or ended.
    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let mut running = Vec::new();
            for (process, threads) in &mut self.processes {
                let mut gone = Vec::new();
                for (number, thread) in &mut *threads {
                    match thread.look(*process, *number)? {
                        Found::Stopped => {}
                        Found::Running => running.push((*process, *number)),
                        Found::Gone => gone.push(*number),
                    }
                }
                threads.retain(|number, _| !gone.contains(number));
            }
            let Some((process, thread)) = running.first() else { return Ok(()) };
            if Instant::now() > until {
                return Err(refusal(
                    *process,
                    &format!(
                        "its thread {thread} does not stop; it is waiting for a device in the \
                         kernel"
                    ),
                ));
            }
            if begun.elapsed() > VFORK_AFTER {
                for (process, thread) in running {
                    self.release_vfork_children(process, thread)?;
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    fn release_vfork_children(&mut self, process: pid_t, thread: pid_t) -> io::Result<()> {
        for child in self.children(process, thread)? {
            if share_memory(process, child) {
                self.processes.remove(&child);
            }
        }
        Ok(())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let threads =
            std::mem::take(&mut self.processes).into_values().flat_map(Threads::into_values);
        let (mut stopped, running): (Vec<Thread>, Vec<Thread>) =
            threads.partition(|thread| thread.tracee.is_stopped());
        // If a process was killed, the kernel reports the end of its first thread last.
        stopped.sort_by_key(|thread| thread.is_first);
        drop(stopped);
        // Detaching from one that does not stop would wait for it. The kernel does it when this
        // process ends, which it does when it has reported why it failed.
        running.into_iter().for_each(std::mem::forget);
    }
}

enum Found {
    Stopped,
    Running,
    Gone,
}

impl Thread {
    /// Asks anyone who has the number now to stop.
    fn interrupt_successor(&mut self, number: pid_t) {
        // There is nobody to detach from: what had the number has ended.
        std::mem::forget(std::mem::replace(&mut self.tracee, Tracee::traced_already(number)));
        self.asleep = None;
        // Fails if it has ended, or is not traced; the next look finds that.
        let _ = self.tracee.interrupt();
    }

    fn look(&mut self, process: pid_t, number: pid_t) -> io::Result<Found> {
        if self.tracee.stands() {
            return Ok(Found::Stopped);
        }
        if self.tracee.is_stopped() {
            self.interrupt_successor(number);
        }
        let signal = match self.tracee.poll()? {
            None => return Ok(Found::Running),
            Some(Stop::Gone) => return Ok(Found::Gone),
            Some(Stop::Interrupted) => {
                self.stopped = host_now();
                self.asleep = self.asleep.filter(|asleep| asleep.until_stopped(process, number));
                if self.tracee.has_signals_for_calls() {
                    return Err(refusal(process, &format!("it has {DISPATCH}")));
                }
                return Ok(Found::Stopped);
            }
            Some(Stop::Exec) => 0,
            Some(Stop::Signal(signal)) => signal,
        };
        // A signal is about to be delivered: that comes first. Its stop has taken back what was
        // asked for. Both fail only if the thread is gone, as the next look finds.
        let _ = self.tracee.interrupt();
        let _ = self.tracee.cont(signal);
        Ok(Found::Running)
    }
}

/// Attaches to a thread; `None` if it has ended.
fn seize(process: pid_t, thread: pid_t) -> io::Result<Option<Thread>> {
    let own = rustix::thread::gettid().to_string();
    let status = || {
        let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status"));
        status.ok().filter(|status| !facts::has_ended(status))
    };
    let Some(text) = status() else { return Ok(None) };
    if let Some(reason) = facts::obstacle(&text, |tracer| tracer == own) {
        return Err(refusal(process, &reason));
    }
    let asleep = sched::look(process, thread);
    let mut tries = 0;
    let tracee = loop {
        let error = match Tracee::seize_among_others(thread) {
            Ok(tracee) => break tracee,
            Err(error) => error,
        };
        tries += 1;
        match status() {
            None => return Ok(None),
            Some(status) if field(&status, "TracerPid") == Some(&own) => {
                break Tracee::traced_already(thread);
            }
            // Another thread may be taking its number over at this moment, for an exec.
            Some(_) if tries < SEIZE_TRIES => std::thread::sleep(LOOK * tries),
            Some(_) => {
                return Err(refusal(
                    process,
                    &format!(
                        "cannot attach to it ({error}): it belongs to another user, or a security \
                         module forbids it (kernel.yama.ptrace_scope); run as root"
                    ),
                ));
            }
        }
    };
    Ok(Some(Thread { tracee, asleep, stopped: HostTime::ZERO, is_first: process == thread }))
}

pub(super) fn refusal(process: pid_t, reason: &str) -> io::Error {
    let name = name_of(process);
    let of = if name.is_empty() { String::new() } else { format!(" ({name})") };
    io::Error::other(format!("process {process}{of}: {reason}"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    pub(in super::super) fn threads() -> Child {
        let program = "import threading\n\
                       for _ in range(3): threading.Thread(target=threading.Event().wait).start()\n\
                       print('ready', flush=True)";
        let mut python = Command::new("python3");
        let mut child = python.args(["-c", program]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child
    }

    #[test]
    fn a_program_that_is_killed_while_it_stands_is_reaped() {
        let mut child = threads();
        let process = child.id().cast_signed();
        let mut tree = Tree::stop(process, &[]).unwrap();
        assert_eq!(tree.processes[&process].len(), 4);
        child.kill().unwrap();
        let first = tree.processes.get_mut(&process).unwrap().get_mut(&process).unwrap();
        // It has stopped, so its end is the next that is to be heard of it; and the last. Nobody
        // can wait for it as long as nobody has heard of the others' ends, and if the reaper has
        // heard of them all, it is gone.
        match first.tracee.wait() {
            Ok(stop) => assert_eq!(stop, Stop::Gone),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        }
        drop(tree);
        // The tracer and the reaper are of the process that is its parent, and any of its threads
        // may be the one to hear of its end. It must only be heard of.
        match child.wait() {
            Ok(status) => assert_eq!(status.signal(), Some(libc::SIGKILL)),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ECHILD)),
        }
    }

    #[test]
    fn a_killed_program_is_reaped_also_if_its_first_thread_was_given_up_on() {
        let mut child = threads();
        let process = child.id().cast_signed();
        let mut tree = Tree::stop(process, &[]).unwrap();
        child.kill().unwrap();
        let threads = tree.processes.get_mut(&process).unwrap();
        // Its end is reported after those of the others, of which nobody has heard yet.
        drop(threads.remove(&process));
        drop(tree);
        let begun = Instant::now();
        while std::path::Path::new(&format!("/proc/{process}")).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is never reaped");
            std::thread::sleep(LOOK);
        }
        assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }
}
