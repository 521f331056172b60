//! What a session of ssh and whatever runs at its end say on their standard error: the last lines of it, for whoever
//! has to tell why it ended.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

const LINES_MAX: usize = 20;
/// Longest of them; the rest of a longer one counts as the next.
const LINE_MAX: u64 = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    /// Hears it in a thread of its own. Nobody waits for that: who escaped may keep the pipe open.
    pub(super) fn hear(from: impl Read + Send + 'static) -> std::io::Result<Self> {
        let said = Self::default();
        let lines = Arc::clone(&said.0);
        thread::Builder::new().name("said".into()).spawn(move || {
            let mut reader = BufReader::new(from);
            let mut line = Vec::new();
            while reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                let mut lines = lines.lock();
                if !text.is_empty() {
                    lines.push_back(text);
                }
                if lines.len() > LINES_MAX {
                    lines.pop_front();
                }
                line.clear();
            }
        })?;
        Ok(said)
    }

    pub(super) fn last(&self) -> Option<String> {
        self.0.lock().back().cloned()
    }
}
