//! Talks to a running QEMU: QMP, its protocol of JSON lines.
//!
//! Three things are asked of it: which threads are the virtual processors, to begin, and whether the
//! guest has opened its port, which tells that it has booted. Each wait has a limit.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// A QEMU that does not answer within this hangs; starting it may take long on a busy host.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// No message is longer.
const LINE_MAX: u64 = 1 << 20;

/// A connection to QEMU.
#[derive(Debug)]
pub(crate) struct Monitor {
    lines: BufReader<UnixStream>,
    begun: Vec<u8>,
    events: Vec<Value>,
}

impl Monitor {
    /// Over a socket whose other end QEMU has.
    ///
    /// # Errors
    /// When QEMU does not say what it should, or ended.
    pub(crate) fn new(socket: UnixStream) -> Result<Self> {
        let mut monitor =
            Self { lines: BufReader::new(socket), begun: Vec::new(), events: Vec::new() };
        let greeting = monitor.next(Instant::now() + ANSWER_MAX)?;
        ensure!(greeting.get("QMP").is_some(), "unexpected greeting of QEMU's monitor: {greeting}");
        monitor.ask("qmp_capabilities")?;
        Ok(monitor)
    }

    /// The threads of the virtual processors, in the order of their numbers.
    pub(crate) fn processors(&mut self) -> Result<Vec<i32>> {
        threads(&self.ask("query-cpus-fast")?)
    }

    /// Lets the guest begin.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.ask("cont").map(drop)
    }

    /// Waits until the guest has opened its port.
    pub(crate) fn wait_for_port(&mut self, limit: Duration) -> Result<()> {
        let until = Instant::now() + limit;
        loop {
            if let Some(at) = self.events.iter().position(is_port_open) {
                self.events.remove(at);
                return Ok(());
            }
            let message = self.next(until)?;
            self.events.push(message);
        }
    }

    fn ask(&mut self, command: &str) -> Result<Value> {
        let until = Instant::now() + ANSWER_MAX;
        let line = format!("{}\n", json!({ "execute": command }));
        self.lines.get_mut().write_all(line.as_bytes()).context(GONE)?;
        loop {
            let mut message = self.next(until)?;
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = message.get("error") {
                bail!("QEMU rejects `{command}`: {error}");
            }
            self.events.push(message);
        }
    }

    fn next(&mut self, until: Instant) -> Result<Value> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "QEMU does not answer");
            self.lines.get_ref().set_read_timeout(Some(left)).context("cannot set a timeout")?;
            let room = LINE_MAX.saturating_sub(self.begun.len() as u64);
            match self.lines.by_ref().take(room).read_until(b'\n', &mut self.begun) {
                Ok(_) if self.begun.last() == Some(&b'\n') => {
                    let line = std::mem::take(&mut self.begun);
                    return serde_json::from_slice(&line)
                        .context("QEMU's monitor did not send JSON");
                }
                Ok(_) => bail!(GONE),
                // What came of a line is kept.
                Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {}
                Err(error) => return Err(error).context(GONE),
            }
        }
    }
}

const GONE: &str = "QEMU has ended";

fn is_port_open(event: &Value) -> bool {
    event["event"] == "VSERPORT_CHANGE" && event["data"]["open"] == true
}

fn threads(answer: &Value) -> Result<Vec<i32>> {
    let of = |processor: &Value| {
        let index = processor["cpu-index"].as_u64()?;
        let thread = i32::try_from(processor["thread-id"].as_i64()?).ok()?;
        Some((index, thread))
    };
    let processors = answer.as_array().context("QEMU reports no processors")?;
    let threads: Option<Vec<_>> = processors.iter().map(of).collect();
    let mut threads = threads.context("QEMU reports processors without threads")?;
    threads.sort_unstable();
    Ok(threads.into_iter().map(|(_, thread)| thread).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A QEMU that says these lines, one for each that it hears after the first.
    fn qemu(lines: Vec<String>) -> (Monitor, std::thread::JoinHandle<Vec<String>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let mut heard = Vec::new();
            let mut reader = BufReader::new(theirs.try_clone().unwrap());
            for (number, said) in lines.iter().enumerate() {
                if number > 0 {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    heard.push(line);
                }
                (&theirs).write_all(said.as_bytes()).unwrap();
            }
            heard
        });
        (Monitor::new(ours).unwrap(), thread)
    }

    const GREETING: &str = "{\"QMP\": {}}\n";
    const DONE: &str = "{\"return\": {}}\n";
    const OPEN: &str = r#"{"event": "VSERPORT_CHANGE", "data": {"open": true, "id": "port"}}"#;

    #[test]
    fn processors_come_in_order_and_events_between_answers_are_kept() {
        let processors =
            r#"{"return": [{"cpu-index": 1, "thread-id": 78}, {"cpu-index": 0, "thread-id": 77}]}"#;
        let answer = format!("{{\"event\": \"RESUME\"}}\n{OPEN}\n{processors}\n");
        let (mut monitor, thread) = qemu(vec![GREETING.into(), DONE.into(), answer]);
        assert_eq!(monitor.processors().unwrap(), [77, 78]);
        monitor.wait_for_port(Duration::ZERO).unwrap();
        assert!(thread.join().unwrap()[1].contains("query-cpus-fast"));
    }

    #[test]
    fn an_end_and_a_refusal_are_reported() {
        let (mut monitor, _thread) =
            qemu([GREETING, DONE, "{\"error\": {\"desc\": \"no\"}}\n"].map(str::to_owned).into());
        let error = monitor.begin().unwrap_err().to_string();
        assert!(error.contains("cont") && error.contains("no"), "{error}");
        let error = monitor.wait_for_port(Duration::from_secs(9)).unwrap_err().to_string();
        assert_eq!(error, GONE);
    }

    #[test]
    fn only_an_opened_port_counts() {
        assert!(is_port_open(&serde_json::from_str(OPEN).unwrap()));
        assert!(!is_port_open(&json!({"event": "VSERPORT_CHANGE", "data": {"open": false}})));
        assert!(!is_port_open(&json!({"event": "RESUME"})));
    }
}
