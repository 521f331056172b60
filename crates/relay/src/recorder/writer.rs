//! The thread that writes records, and what became of them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context as _, Result};
use iec61850::comtrade::{Record, TimeQuality};
use substation::settings::Relay;

use super::folder::{Files, Folder};

/// Disturbances that wait for the disk: each may have as many samples as are kept of all streams.
const WAITING_MAX: usize = 2;

/// What became of records.
#[derive(Debug, Default)]
pub(crate) struct Account {
    written: AtomicU64,
    lost: AtomicU64,
    /// Why one was lost first, until it is told.
    warning: Mutex<Option<String>>,
}

impl Account {
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// A record is lost.
    pub(super) fn lose(&self, why: String) {
        if self.lost.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.warning.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        }
    }

    /// Why the first one was lost; told once.
    pub(crate) fn take_warning(&self) -> Option<String> {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A disturbance to be written: a record with its name for each rate.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) records: Vec<(String, Record)>,
    pub(super) quality: TimeQuality,
}

/// The side of who hands records over.
#[derive(Debug)]
pub(super) struct Writer {
    folder: Option<Folder>,
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    account: Arc<Account>,
}

impl Writer {
    /// Opens the folder, if records are wanted, and starts the thread.
    pub(super) fn start(relay: &Relay, account: Arc<Account>) -> Result<Self> {
        let settings = &relay.recorder;
        let Some(path) = &settings.folder else {
            return Ok(Self { folder: None, jobs: None, thread: None, account });
        };
        let (size, keep) = (settings.size_octets_max, settings.keep);
        let folder = Folder::open(Path::new(path), &relay.name, size, keep).with_context(|| {
            format!("records cannot be kept in {path}: give a folder that this user may write in")
        })?;
        let (jobs, jobs_out) = sync_channel(WAITING_MAX);
        let (of_thread, told) = (folder.clone(), Arc::clone(&account));
        let run = move || write_all(&jobs_out, &of_thread, &told);
        let thread = Builder::new().name("record-writer".into()).spawn(run);
        let thread = Some(thread.context("starting the writer of records")?);
        Ok(Self { folder: Some(folder), jobs: Some(jobs), thread, account })
    }

    /// The name of a record; `None` where none are written.
    pub(super) fn name(&self, trigger_ns: u64, rate: Option<u16>) -> Option<String> {
        self.folder.as_ref().map(|folder| folder.name(trigger_ns, rate))
    }

    /// Hands a record over, without waiting; answers whether it is taken.
    pub(super) fn hand_over(&self, job: Job) -> bool {
        let Some(jobs) = &self.jobs else { return false };
        let is_taken = jobs.try_send(job).is_ok();
        if !is_taken {
            self.account.lose("records come faster than the disk takes them".into());
        }
        is_taken
    }

    /// Waits until all are written.
    pub(super) fn finish(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic ends the program by itself.
            let _ended = thread.join();
        }
    }
}

fn write_all(jobs: &Receiver<Job>, folder: &Folder, account: &Account) {
    for Job { records, quality } in jobs {
        let files = records.into_iter().map(|(name, record)| {
            let (configuration, data) = record.write(quality);
            Files { name, configuration, data }
        });
        match folder.write(&files.collect::<Vec<_>>()) {
            Ok(()) => {
                account.written.fetch_add(1, Ordering::Relaxed);
            }
            Err(why) => account.lose(format!("a disturbance record is lost: {why}")),
        }
    }
}
