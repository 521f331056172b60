//! Ctrl-C and SIGTERM: the first ends what is being measured in order, and keeps it; a second one
//! does not wait for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

use os::signals::Signals;

/// How often an end was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    count: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Takes these signals from now on. To be called before other threads are started.
    pub(crate) fn on_signals() -> Result<Self> {
        let interrupt = Self::default();
        let count = Arc::clone(&interrupt.count);
        let signals = Signals::block(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                loop {
                    signals.next();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
            .context("cannot start a thread")?;
        Ok(interrupt)
    }

    /// Whether it shall end.
    pub(crate) fn is_asked(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Whether it shall end without waiting for anybody.
    pub(crate) fn is_urgent(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }
}
