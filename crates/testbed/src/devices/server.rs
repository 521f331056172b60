//! Serves one folder of points: reads the kernel's requests, asks the plant, replies in virtual
//! time.
//!
//! A read holds the clock while the plant is asked, and releases it only after the reply was
//! sent, so however long the simulation takes, the reader is woken at the virtual time at which
//! it was heard. With a latency the value is that of the moment of asking, the clock goes on,
//! and the reply waits until the latency has passed on it; other requests are served meanwhile.
//! What the hold cannot take back is the time from the program's call to the hold, a few
//! microseconds of virtual time.

use std::collections::BTreeMap;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use vtime::{VirtualSpan, VirtualTime};

use super::device::{Device, Next};
use super::folder::{Answer, Folder, Sample};
use super::waits::Waits;
use super::wire::{self, Reply};
use super::{PointStore, mount};
use domain::{Domain, Hold, NodeTime, Watch, poll_until, readable};
use network::border::AllHeld;
use scenario::model::PointFile;

/// Clocks that stand while a point is accessed.
enum Held {
    Own(Hold),
    All(AllHeld),
}

impl Held {
    const fn at(&self) -> VirtualTime {
        match self {
            Self::Own(hold) => hold.at(),
            Self::All(hold) => hold.at(),
        }
    }
}

/// A folder of points that is served until this is dropped or the folder is unmounted.
#[derive(Debug)]
pub struct Server {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
    stats: Arc<Mutex<ServerStats>>,
}

/// What a server did so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerStats {
    pub reads: u64,
    pub writes: u64,
    /// Why requests failed, and how often: refusals by the plant, and writes of what is no
    /// number. Look at these before trusting the run.
    pub warnings: BTreeMap<String, u64>,
    /// Whether the folder is no longer served.
    pub ended: bool,
}

/// Name of the thread that serves a folder.
pub const SERVER_NAME: &str = "plant-files";
/// Distinct warnings kept; a program that fails in ever new words must not fill the memory.
const WARNINGS_MAX: usize = 100;

/// Serves `files` on a mounted FUSE device (see [`mount_here`](super::mount_here)) in a thread
/// of its own. `node` says when what it has computed is over, and replies with a latency come. Dropping the
/// answer ends it, after which programs see the folder disconnected.
pub fn serve(
    fd: OwnedFd,
    files: Vec<PointFile>,
    domain: Arc<Domain>,
    points: Arc<dyn PointStore>,
    node: Arc<NodeTime>,
) -> io::Result<Server> {
    let (stopped, stop) = io::pipe()?;
    let stats: Arc<Mutex<ServerStats>> = Arc::default();
    let watch = domain.watch()?;
    let stats_of_work = Arc::clone(&stats);
    let thread = std::thread::Builder::new().name(SERVER_NAME.into()).spawn(move || {
        let mut work = Work {
            device: Device::new(fd),
            folder: Folder::new(files, mount::user()),
            waits: Waits::of_this_thread(Arc::clone(&domain)),
            domain,
            points,
            node,
            watch,
            waiting: Vec::new(),
            stats: stats_of_work,
        };
        let end = work.run(&stopped);
        let mut stats = work.stats.lock();
        stats.ended = true;
        if let Err(error) = end {
            warn(&mut stats, format!("the folder is no longer served: {error}"));
        }
    })?;
    Ok(Server { stop: Some(stop), thread: Some(thread), stats })
}

impl Server {
    /// What was done so far.
    pub fn stats(&self) -> ServerStats {
        self.stats.lock().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic aborts the process, so there is no error to pass on.
            let _ = thread.join();
        }
    }
}

struct Work {
    device: Device,
    folder: Folder,
    domain: Arc<Domain>,
    points: Arc<dyn PointStore>,
    node: Arc<NodeTime>,
    watch: Watch,
    waiting: Vec<Waiting>,
    waits: Waits,
    stats: Arc<Mutex<ServerStats>>,
}

struct Waiting {
    due: VirtualTime,
    unique: u64,
    what: What,
}

enum What {
    Reply(Reply),
    Access(Access),
}

/// An access to points, which happens when its program has computed what comes before.
enum Access {
    Sample(Sample),
    Set { file: usize, value: f64, length: usize },
}

impl Work {
    /// Serves until the folder is unmounted or the other end of `stopped` is closed.
    fn run(&mut self, stopped: &impl AsFd) -> io::Result<()> {
        let mut buffer = vec![0; wire::BUFFER];
        loop {
            self.watch.clear();
            self.send_due()?;
            self.waits.note();
            let due = self.waiting.iter().map(|waiting| waiting.due).min();
            self.watch.is_for(due);
            let until = due.and_then(|due| self.domain.host_time_of(due));
            let mut fds = [
                readable(self.device.as_fd()),
                readable(stopped.as_fd()),
                readable(self.watch.fd()),
            ];
            // Changes of the clock matter only to replies that wait for it.
            let count = if due.is_some() { 3 } else { 2 };
            poll_until(&mut fds[..count], until)?;
            if !fds[1].revents().is_empty() {
                return Ok(());
            }
            if !fds[0].revents().is_empty() && !self.serve_one(&mut buffer)? {
                return Ok(());
            }
        }
    }

    /// Serves one request, if there is one; whether there may be more.
    fn serve_one(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let request = match self.device.next(buffer)? {
            Next::Request(request) => request,
            Next::Nothing => return Ok(true),
            Next::End => return Ok(false),
        };
        let unique = request.unique;
        match self.folder.answer(&request) {
            Answer::Reply(reply) => self.device.send(unique, &reply)?,
            Answer::Silence => {}
            Answer::Sample(sample) => self.begin(unique, Access::Sample(sample))?,
            Answer::Set { file, value, length } => {
                self.begin(unique, Access::Set { file, value, length })?;
            }
            Answer::NotANumber { file, written } => {
                let point = self.folder.name(file);
                let reason = format!("the write of {written:?} to {point} is not one number");
                warn(&mut self.stats.lock(), reason);
                self.device.send(unique, &Reply::error(libc::EINVAL))?;
            }
            Answer::Interrupted(interrupted) => self.interrupt(interrupted)?,
            Answer::End => return Ok(false),
        }
        Ok(true)
    }

    /// Begins an access, unless the node is still busy with what comes before.
    fn begin(&mut self, unique: u64, access: Access) -> io::Result<()> {
        let (wakes, _) = self.domain.look_at(&self.node);
        let now = self.domain.now();
        let due = wakes.leaves(now);
        if due > now {
            self.waiting.push(Waiting { due, unique, what: What::Access(access) });
            return Ok(());
        }
        self.access(unique, access)
    }

    fn access(&mut self, unique: u64, access: Access) -> io::Result<()> {
        match access {
            Access::Sample(sample) => self.sample(unique, sample),
            Access::Set { file, value, length } => self.set(unique, file, value, length),
        }
    }

    fn hold(&mut self) -> Held {
        let all = self.points.hold_all().map(Held::All);
        let hold = all.unwrap_or_else(|| Held::Own(self.domain.hold()));
        self.waits.note();
        hold
    }

    fn release(&mut self, hold: Held) {
        drop(hold);
        self.waits.leave_out();
    }

    fn sample(&mut self, unique: u64, sample: Sample) -> io::Result<()> {
        let hold = self.hold();
        let latency = self.folder.latency(sample.file);
        let reply = match self.points.read(&self.folder.points(sample.file), hold.at()) {
            Ok(values) => {
                self.stats.lock().reads += 1;
                self.folder.sampled(sample, &values)
            }
            Err(reason) => self.refused(sample.file, &reason),
        };
        if latency > VirtualSpan::ZERO {
            let due = self.node.wakes().at(hold.at() + latency);
            self.waiting.push(Waiting { due, unique, what: What::Reply(reply) });
            self.release(hold);
            return Ok(());
        }
        // The clock is stopped until the reader has its reply.
        let sent = self.device.send(unique, &reply);
        self.release(hold);
        sent
    }

    fn set(&mut self, unique: u64, file: usize, value: f64, length: usize) -> io::Result<()> {
        let hold = self.hold();
        let [point] = &self.folder.points(file)[..] else {
            unreachable!("only files of single points can be opened for writing");
        };
        let reply = match self.points.write(point, value, hold.at()) {
            Ok(()) => {
                self.stats.lock().writes += 1;
                Reply::written(length)
            }
            Err(reason) => self.refused(file, &reason),
        };
        let sent = self.device.send(unique, &reply);
        self.release(hold);
        sent
    }

    fn refused(&self, file: usize, reason: &str) -> Reply {
        let point = self.folder.name(file);
        warn(&mut self.stats.lock(), format!("{point}: {reason}"));
        Reply::error(libc::EIO)
    }

    /// A program that waits for a reply got a signal, perhaps a deadly one: it must not wait on for a
    /// clock that may never go on.
    fn interrupt(&mut self, interrupted: u64) -> io::Result<()> {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.unique != interrupted);
        if self.waiting.len() < before {
            self.device.send(interrupted, &Reply::error(libc::EINTR))?;
        }
        Ok(())
    }

    fn send_due(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (now, wakes) = (self.domain.now(), self.node.wakes());
        for waiting in &mut self.waiting {
            if let What::Reply(_) = waiting.what {
                waiting.due = wakes.put_off(waiting.due);
            }
        }
        let mut due: Vec<Waiting> =
            self.waiting.extract_if(.., |waiting| waiting.due <= now).collect();
        due.sort_by_key(|waiting| waiting.due);
        due.into_iter().try_for_each(|waiting| match waiting.what {
            What::Reply(reply) => self.device.send(waiting.unique, &reply),
            What::Access(access) => self.access(waiting.unique, access),
        })
    }
}

fn warn(stats: &mut ServerStats, reason: String) {
    if stats.warnings.len() < WARNINGS_MAX || stats.warnings.contains_key(&reason) {
        *stats.warnings.entry(reason).or_default() += 1;
    }
}
