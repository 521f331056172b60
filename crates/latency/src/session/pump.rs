//! From a probe to a file, octet by octet, while somebody wants to know how it goes.
//!
//! The file is the journal of a cell: it is on disk at most a second after the probe said it, so that
//! a crash of the machine costs no more. What is shown while it runs is read from the same octets on
//! their way, and decides nothing.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use probe::stream::{Item, Reader};

/// Between two times at which the file is brought to disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What is known of a stream that still comes in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamCounts {
    pub(super) octets: u64,
    pub(super) samples: u64,
    /// The greatest latency so far.
    pub(super) max_ns: i64,
    pub(super) is_over: bool,
}

/// Counts that one thread keeps and another one shows.
type Shared = Arc<Mutex<StreamCounts>>;

/// A stream on its way.
#[derive(Debug)]
pub(super) struct Pump {
    seen: Shared,
    thread: JoinHandle<io::Result<()>>,
}

impl Pump {
    /// Writes all that comes into a new file.
    pub(super) fn start(from: impl Read + Send + 'static, path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        let seen = Shared::default();
        let kept = Arc::clone(&seen);
        let thread = std::thread::Builder::new()
            .name("latency-stream".to_owned())
            .spawn(move || {
                let pumped = pump(from, file, &kept);
                change(&kept, |seen| seen.is_over = true);
                pumped
            })
            .context("cannot start a thread")?;
        Ok(Self { seen, thread })
    }

    pub(super) fn seen(&self) -> StreamCounts {
        change(&self.seen, |seen| *seen)
    }

    /// Waits for the end of the stream, which is near: the far side has ended.
    pub(super) fn finish(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
    }
}

fn change<T>(seen: &Mutex<StreamCounts>, by: impl FnOnce(&mut StreamCounts) -> T) -> T {
    by(&mut seen.lock().unwrap_or_else(PoisonError::into_inner))
}

fn pump(from: impl Read, file: File, seen: &Mutex<StreamCounts>) -> io::Result<()> {
    let tee = Tee { from, file, seen, synced: Instant::now(), failed: None };
    let mut tee = BufReader::new(tee);
    if let Ok(reader) = Reader::new(&mut tee) {
        for item in reader {
            let Item::Samples(block) = item else { continue };
            let max_ns = block.samples.iter().map(|sample| sample.latency_ns).max();
            change(seen, |seen| {
                seen.samples += block.samples.len() as u64;
                seen.max_ns = seen.max_ns.max(max_ns.unwrap_or(0));
            });
        }
    }
    // What the reader does not understand is written down all the same.
    io::copy(&mut tee, &mut io::sink())?;
    let tee = tee.into_inner();
    tee.failed.map_or_else(|| tee.file.sync_data(), Err)
}

/// Writes down what it reads.
struct Tee<'a, R> {
    from: R,
    file: File,
    seen: &'a Mutex<StreamCounts>,
    synced: Instant,
    /// Why nothing can be written any more. The far side is still listened to, until it has ended.
    failed: Option<io::Error>,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(to)?;
        change(self.seen, |seen| seen.octets += count as u64);
        if self.failed.is_none() {
            let is_due = self.synced.elapsed() >= SYNC_EVERY;
            let write = |file: &mut File| {
                file.write_all(&to[..count])?;
                if is_due { file.sync_data() } else { Ok(()) }
            };
            self.failed = write(&mut self.file).err();
            if is_due {
                self.synced = Instant::now();
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_octets_are_written_down_also_those_that_are_no_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream");
        let mut whole = Vec::new();
        let plan = probe::Plan {
            priority: None,
            lock_memory: false,
            hold_awake: false,
            duration_ns: 20_000_000,
            ..probe::Plan::default()
        };
        probe::run(&plan, &mut whole, &Arc::default()).unwrap();
        let odd = [b"no stream at all".to_vec(), [whole.clone(), b"and more".to_vec()].concat()];
        for octets in [whole].into_iter().chain(odd) {
            let pump = Pump::start(io::Cursor::new(octets.clone()), &path).unwrap();
            let seen = Arc::clone(&pump.seen);
            pump.finish().unwrap();
            let seen = *seen.lock().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), octets);
            assert!(seen.is_over && seen.octets == octets.len() as u64);
            assert_eq!(seen.samples > 0, octets.starts_with(b"QCS"));
        }
    }
}
