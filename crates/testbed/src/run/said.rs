//! What a session of ssh and whatever runs at its end say on their standard error: the last lines of it, for whoever
//! has to tell why it ended. What was said until the session was there, as the banner of a server, is no reason why
//! it ended later.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// A banner may come first, and what was wrong behind it.
const LINES_MAX: usize = 3;
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

    /// The session is there.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }

    /// The last of it, on one line; nothing if nothing was said.
    pub(super) fn last(&self) -> String {
        let lines: Vec<String> = self.0.lock().iter().cloned().collect();
        lines.join(" / ")
    }
}

/// How a session ended, as far as that is known, and what was said last, in words behind what it means.
pub(super) fn end_in_words(status: Option<&str>, last: &str) -> String {
    let said = if last.is_empty() { String::new() } else { format!("it said: {last}") };
    let parts: Vec<&str> =
        status.into_iter().chain([&*said]).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!(" (ssh: {})", parts.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    #[test]
    fn a_banner_never_stands_for_how_the_session_ended() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let said = Said::hear(reader).unwrap();
        let begun = Instant::now();
        let mut says = |text: &str, last: &str| {
            writer.write_all(text.as_bytes()).unwrap();
            while said.last() != last {
                assert!(begun.elapsed() < Duration::from_secs(20), "{}", said.last());
                thread::sleep(Duration::from_millis(1));
            }
            end_in_words(Some("exit status: 3"), &said.last())
        };
        assert_eq!(says("", ""), " (ssh: exit status: 3)");
        assert_eq!(
            says("Members only.\n\nGo away.\n", "Members only. / Go away."),
            " (ssh: exit status: 3; it said: Members only. / Go away.)"
        );
        says("Really.\nPermission denied\n", "Go away. / Really. / Permission denied");
        assert_eq!(end_in_words(None, &said.last()), format!(" (ssh: it said: {})", said.last()));
        said.forget();
        assert_eq!(end_in_words(None, &said.last()), "");
    }
}
