//! Programs that run beside a test: a `qcrelay` (`QCRELAY` names another build of it), a `qcmerge`, and what
//! they reported.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What a machine under any load does within.
const PATIENCE: Duration = Duration::from_secs(30);

/// Exit code, output and errors of a program that ends by itself.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: &str,
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> (Option<i32>, String, String) {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(folder).output().expect("it runs");
    let [out, error] = [output.stdout, output.stderr].map(String::from_utf8);
    (output.status.code(), out.expect("a text"), error.expect("a text"))
}

/// Starts a program; what it prints is read at its end.
pub(crate) fn start<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Child {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Starts a merging unit that publishes to `east` for so long.
pub(crate) fn publish(settings: &Path, duration: &str) -> Child {
    let how = ["--interface", "east", "--duration", duration, "--json"].map(OsStr::new);
    let arguments = [OsStr::new("run"), settings.as_os_str()].into_iter().chain(how);
    start(env!("CARGO_BIN_EXE_qcmerge"), Path::new("."), arguments)
}

/// The summary that a program prints at its end, and all that it said besides.
pub(crate) fn summary(child: Child) -> (Value, String) {
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary = serde_json::from_slice(&output.stdout);
    (summary.unwrap_or_else(|error| panic!("{error}: {said}")), said)
}

/// The program that is tested.
pub(crate) fn program() -> OsString {
    let ours = || env!("CARGO_BIN_EXE_qcrelay").into();
    std::env::var_os("QCRELAY").unwrap_or_else(ours)
}

/// A relay that runs, and the folder with what it wrote.
pub(crate) struct Relay {
    child: Child,
    folder: tempfile::TempDir,
    metrics: String,
}

impl Relay {
    /// Starts it with these settings, which get where records go and where metrics are served,
    /// and waits until it runs. It ends after `duration`.
    pub(crate) fn start(text: impl FnOnce(&str, &str) -> String, duration: &str) -> Self {
        Self::start_at(9462, text, duration)
    }

    /// As [`Relay::start`], where more than one runs.
    pub(crate) fn start_at(
        port: u16,
        text: impl FnOnce(&str, &str) -> String,
        duration: &str,
    ) -> Self {
        Self::start_by(Command::new(program()), port, text, duration)
    }

    /// As [`Relay::start_at`], by a command that becomes the relay.
    pub(crate) fn start_by(
        mut command: Command,
        port: u16,
        text: impl FnOnce(&str, &str) -> String,
        duration: &str,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let records = folder.path().join("records.jsonl");
        let path = folder.path().join("relay.yaml");
        let metrics = format!("127.0.0.1:{port}");
        std::fs::write(&path, text(&records.display().to_string(), &metrics)).expect("it writes");
        let child = command
            .arg("run")
            .arg(&path)
            .args(["--json", "--duration", duration])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut relay = Self { child, folder, metrics };
        while !relay.metrics().is_some_and(|text| text.contains("cycles_total{what=\"run\"}")) {
            let ended = relay.child.try_wait().expect("it is a child");
            assert!(ended.is_none(), "it ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        relay
    }

    /// What it serves, while it runs.
    pub(crate) fn metrics(&self) -> Option<String> {
        relay::top::fetch(self.metrics.parse().expect("an address")).ok()
    }

    /// Waits until it serves this line, and returns whether it did.
    pub(crate) fn wait_until(&mut self, line: &str) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if self.metrics().is_some_and(|text| text.lines().any(|each| each == line)) {
                return true;
            }
            let ended = self.child.try_wait().expect("it is a child");
            assert!(ended.is_none(), "it ended without `{line}`: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Ends it as nothing can prevent, and it cannot notice.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it is a child");
        self.child.wait().expect("it ends");
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.signal(libc::SIGINT);
    }

    pub(crate) fn signal(&self, number: i32) {
        // SAFETY: takes numbers only; the child has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, number) }, 0);
    }

    /// Whether it ignores a signal (`SigIgn` of proc(5)).
    pub(crate) fn ignores(&self, number: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
        u64::from_str_radix(mask.trim(), 16).expect("a mask") & 1 << (number - 1) != 0
    }

    /// What it printed and its records, at its end; none where its settings name another file.
    pub(crate) fn end(self) -> (Output, Vec<Value>) {
        let output = self.child.wait_with_output().expect("it ends");
        let records = std::fs::read_to_string(self.folder.path().join("records.jsonl"));
        let records = records.unwrap_or_default();
        (output, records.lines().map(parse).collect())
    }

    /// Its summary and its records, at its end, which must be a good one.
    pub(crate) fn finish(self) -> (Value, Vec<Value>) {
        let (output, records) = self.end();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 130)), "{}: {said}", output.status);
        (parse(&String::from_utf8_lossy(&output.stdout)), records)
    }
}

/// What a line of JSON says.
pub(crate) fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// A number of a summary.
pub(crate) fn count(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}
