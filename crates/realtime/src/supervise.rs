//! The thread that may block, round those that must be in time: it starts them with what the host
//! allows them, looks round until somebody says stop or something fails, and ends them.
//!
//! `qcrelay run`, `node`, `breaker` and `meter` differ in their threads and in what a look is.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::prepare::{self, Scheduling};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Works until the flag is set.
type Work<'w> = Box<dyn FnOnce(&AtomicBool) -> io::Result<()> + Send + 'w>;

/// A thread that must be in time: its name, its scheduling, its work.
pub struct TimedThread<'w> {
    name: &'static str,
    scheduling: Scheduling,
    work: Work<'w>,
}

impl<'w> TimedThread<'w> {
    /// A thread that is not started yet; `work` returns soon after its flag is set.
    pub fn new(
        name: &'static str,
        scheduling: Scheduling,
        work: impl FnOnce(&AtomicBool) -> io::Result<()> + Send + 'w,
    ) -> Self {
        Self { name, scheduling, work: Box::new(work) }
    }
}

/// What the thread that may block does.
pub trait Watch {
    /// All threads run, with these warnings of what the host refuses.
    fn begun(&mut self, warnings: Vec<String>);

    /// Takes in and writes what has come; `is_last` when all threads have ended.
    ///
    /// # Errors
    ///
    /// Any error ends all threads.
    fn look(&mut self, is_last: bool) -> Result<()>;
}

/// Until when, and on which conditions, threads run.
#[derive(Clone, Copy, Debug)]
pub struct Supervisor<'s> {
    /// Ends all threads once it is set.
    pub stop: &'s AtomicBool,
    /// Without, only `stop` ends it.
    pub duration: Option<Duration>,
    /// The share of the cache that threads join.
    pub cache_group: Option<&'s str>,
    /// Whether warnings are errors.
    pub require_realtime: bool,
}

impl Supervisor<'_> {
    /// Runs the threads to their end; returns why that came before its time, if it did.
    ///
    /// # Errors
    ///
    /// A thread cannot be started, or there are warnings where these are errors.
    pub fn run(
        &self,
        threads: Vec<TimedThread<'_>>,
        mut warnings: Vec<String>,
        watch: &mut impl Watch,
    ) -> Result<Option<String>> {
        let ending = AtomicBool::new(false);
        scope(|scope| {
            let ends_threads = SetWhenDropped(&ending);
            let (prepared, refused) = mpsc::channel();
            let mut running = Vec::new();
            for TimedThread { name, scheduling, work } in threads {
                let (prepared, ending, group) = (prepared.clone(), &ending, self.cache_group);
                let run = move || {
                    // Nobody hears it where another thread could not be started.
                    let _unheard = prepared.send(prepare::thread(name, scheduling, group));
                    work(ending)
                };
                running.push((name, Builder::new().name(name.into()).spawn_scoped(scope, run)?));
            }
            warnings.extend(running.iter().filter_map(|_| refused.recv().ok()).flatten());
            if self.require_realtime && !warnings.is_empty() {
                bail!(warnings.join("\n"));
            }
            watch.begun(warnings);
            let begin = Instant::now();
            let mut failure = None;
            while failure.is_none()
                && !self.is_over(begin)
                && !running.iter().any(|(_, thread)| thread.is_finished())
            {
                sleep(LOOK);
                failure = watch.look(false).err();
            }
            drop(ends_threads);
            for (name, thread) in running {
                let ended = thread.join().map_err(|_| anyhow!("it panicked"));
                let ended = ended.and_then(|result| Ok(result?)).context(format!("thread {name}"));
                failure = failure.or(ended.err());
            }
            failure = failure.or(watch.look(true).err());
            Ok(failure.map(|error| format!("{error:#}")))
        })
    }

    fn is_over(&self, begin: Instant) -> bool {
        self.stop.load(Ordering::Relaxed) || self.duration.is_some_and(|d| begin.elapsed() >= d)
    }
}

/// Ends the threads on each path that leaves their scope, which waits for them.
struct SetWhenDropped<'f>(&'f AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Listens for those whom a look answers, at an address that stands at this key of the settings.
///
/// # Errors
///
/// The address cannot be listened at; the error names the key and the fix.
pub fn listen(address: SocketAddr, key: &str) -> Result<TcpListener> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|error: io::Error| {
        let fix = match error.kind() {
            io::ErrorKind::PermissionDenied => format!(
                "give the program CAP_NET_BIND_SERVICE (`setcap cap_net_bind_service,cap_net_raw=+ep`), \
                 or `{key}` a port from 1024 on"
            ),
            _ => format!("give `{key}` an address of this host and a port that is free"),
        };
        anyhow!("{address} cannot be served ({error}): {fix}")
    })
}
