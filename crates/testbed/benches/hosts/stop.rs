//! Ctrl-C, SIGTERM and SIGHUP: what was measured is kept, and what runs is ended in order.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use os::signals::Signals;

const NUMBERS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

pub(crate) struct Stop {
    signals: Signals,
    asked: Arc<AtomicBool>,
}

impl Stop {
    /// Takes these signals from now on. To be called before other threads are started.
    pub(crate) fn on_signals() -> Self {
        let signals = Signals::block(&NUMBERS);
        let asked = Arc::new(AtomicBool::new(false));
        let is_asked = Arc::clone(&asked);
        thread::spawn(move || {
            signals.next();
            is_asked.store(true, Ordering::Relaxed);
        });
        Self { signals, asked }
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.is_asked(), "interrupted");
        Ok(())
    }

    /// Starts a program that takes signals as programs do, as it inherits which of them are blocked.
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<Child> {
        self.signals.restore();
        let child = command.spawn();
        Signals::block(&NUMBERS);
        child
    }
}
