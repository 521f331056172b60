//! Guests, and running them natively and in virtual time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value;

use crate::common::machine::beside_others;
use crate::common::patience::{LONGEST, within};
use runtime::agent::protocol::{Call, Detail, Outcome, Reply, Request, Status, VERSION};

pub(crate) const QCYCLE: &str = env!("CARGO_BIN_EXE_qcycle");

/// Where sockets of this test run lie. Short, as the path of a socket must be.
pub(crate) fn runtime() -> &'static Path {
    static RUNTIME: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    RUNTIME.path()
}

/// How a guest in C is linked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Link {
    Dynamic,
    Static,
}

/// A guest of `tests/guests`, built once.
pub(crate) fn c(name: &'static str, link: Link) -> PathBuf {
    beside_others();
    type Built = Mutex<BTreeMap<(&'static str, Link), &'static OnceLock<PathBuf>>>;
    static BUILT: Built = Mutex::new(BTreeMap::new());
    let once =
        *BUILT.lock().unwrap().entry((name, link)).or_insert_with(|| Box::leak(Box::default()));
    once.get_or_init(|| {
        if let Some(program) = prebuilt(&format!("{name}-{link:?}")) {
            return program;
        }
        let program = folder().join(format!("{name}-{link:?}"));
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-Wall", "-Werror", "-pthread"]);
        gcc.args((link == Link::Static).then_some("-static"));
        gcc.arg("-o").arg(&program).args(sources(name));
        compile(&mut gcc);
        program
    })
    .clone()
}

/// The guest in Go; `None`, and a word about it, without a Go compiler.
pub(crate) fn go(name: &str) -> Option<PathBuf> {
    if let Some(program) = prebuilt(name) {
        return Some(program);
    }
    if !is_there("go") {
        return None;
    }
    let program = folder().join(name);
    let mut go = Command::new("go");
    // Only the standard library: nothing is fetched, no C compiler is asked.
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
    go.env("GOCACHE", folder().join("go-cache")).args(["build", "-o"]).arg(&program);
    compile(go.arg(source(&format!("{name}.go"))));
    Some(program)
}

/// A guest that was built elsewhere, for a machine without compilers: it lies in the folder that
/// `QCYCLE_GUESTS` names.
fn prebuilt(name: &str) -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("QCYCLE_GUESTS")?).join(name);
    program.exists().then_some(program)
}

/// Whether there is such a program; says so if not.
pub(crate) fn is_there(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        println!("not measured: there is no `{program}` in PATH");
    }
    found
}

pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The file of a guest in C, or all those in its folder.
fn sources(name: &str) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(source(name)) else {
        return vec![source(&format!("{name}.c"))];
    };
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files
}

/// A copy that can be executed at once: what this process itself writes may still be open in what
/// another test is about to start, and is "text file busy" then.
pub(crate) fn copy_program(from: impl AsRef<Path>, to: &Path) {
    assert!(Command::new("cp").arg(from.as_ref()).arg(to).status().unwrap().success());
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

pub(crate) fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(file)
}

fn compile(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{:?}: {error}; `make setup` installs it", command.get_program())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum In {
    Native,
    /// In a domain of its own with this time dilation factor.
    Virtual(&'static str),
}

/// What every guest must do natively and in virtual time alike.
pub(crate) const BOTH: [In; 2] = [In::Native, In::Virtual("1")];

/// `qcycle` with the runtime folder of this test run.
pub(crate) fn qcycle(arguments: &[&str]) -> Command {
    beside_others();
    let mut command = Command::new(QCYCLE);
    command.env("XDG_RUNTIME_DIR", runtime());
    let (first, rest) = arguments.split_at(arguments.len().min(1));
    let pace = pace().filter(|_| first == ["exec"] && !rest.contains(&"--pace"));
    command.args(first).args(pace.iter().flat_map(|pace| ["--pace", pace])).args(rest);
    command
}

/// How time passes where a test does not say so: `QCYCLE_PACE`. Tests that compare what waits print with
/// what time has passed on the host fail where it jumps.
pub(crate) fn pace() -> Option<String> {
    std::env::var("QCYCLE_PACE").ok()
}

/// A guest that is about to be started there.
pub(crate) fn command(place: In, guest: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = match place {
        In::Native => Command::new(guest.as_ref()),
        In::Virtual(tdf) => {
            let mut command = qcycle(&["exec", "--tdf", tdf, "--"]);
            command.arg(guest.as_ref());
            command
        }
    };
    command.args(arguments);
    command
}

/// What a command prints, and how it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Printed {
    pub(crate) out: String,
    pub(crate) err: String,
    /// The exit code, or the negative number of the signal that ended it.
    pub(crate) end: i32,
}

pub(crate) fn run(command: &mut Command) -> Printed {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Printed {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        end: end(output.status),
    }
}

/// What `qcycle` prints with these arguments, as JSON.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let printed = run(&mut qcycle(arguments));
    serde_json::from_str(&printed.out).unwrap_or_else(|error| panic!("{error}: {printed:?}"))
}

/// What `qcycle ps --json` prints of a domain.
pub(crate) fn listed(domain: &str) -> Value {
    let all = json(&["ps", "--json"]);
    all.as_array().unwrap().iter().find(|one| one["name"] == domain).unwrap().clone()
}

/// Makes sure that a guest prints the same natively and in virtual time in each of its modes.
pub(crate) fn same_in_each_mode(guest: &'static str, modes: &[&'static str]) {
    std::thread::scope(|scope| {
        for link in [Link::Dynamic, Link::Static] {
            for mode in modes {
                scope.spawn(move || {
                    let [native, virtually] =
                        BOTH.map(|place| run(&mut command(place, c(guest, link), &[mode])));
                    assert_eq!(native, virtually, "{mode} {link:?}");
                    assert!(!native.out.is_empty());
                });
            }
        }
    });
}

/// The exit code, or the negative number of the signal that ended it.
pub(crate) fn end(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or_else(|| status.code().unwrap(), |signal| -signal)
}

/// A guest that runs, to be talked to.
pub(crate) struct Running {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    name: Option<String>,
}

impl Running {
    /// Starts a guest; in virtual time under this name. Holds stop its clock and nothing else.
    pub(crate) fn start(place: In, name: &str, guest: &Path, arguments: &[&str]) -> Self {
        Self::frozen(&["--freeze", "off"], place, name, guest, arguments)
    }

    /// As [`Self::start`], with options about freezing.
    pub(crate) fn frozen(
        freeze: &[&str],
        place: In,
        name: &str,
        guest: &Path,
        arguments: &[&str],
    ) -> Self {
        let mut command = match place {
            In::Native => Command::new(guest),
            In::Virtual(tdf) => {
                let mut command = qcycle(&["exec", "--name", name, "--tdf", tdf]);
                command.args(freeze).arg("--").arg(guest);
                command
            }
        };
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        let name = (place != In::Native).then(|| name.to_owned());
        Self { child, stdin, stdout, name }
    }

    pub(crate) fn shell(name: &str, script: &str) -> Self {
        Self::start(In::Virtual("1"), name, Path::new("/bin/sh"), &["-c", script])
    }

    /// `cat` in a domain of this name, when it runs.
    pub(crate) fn cat(name: &str) -> Self {
        let mut cat = Self::start(In::Virtual("1"), name, Path::new("/bin/cat"), &[]);
        cat.say("there");
        assert_eq!(cat.line(), "there");
        cat
    }

    /// Makes sure that it says that it is ready.
    #[track_caller]
    pub(crate) fn ready(mut self) -> Self {
        assert_eq!(self.line(), "ready");
        self
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn say_no_more(&mut self) {
        drop(self.stdin.take());
    }

    /// What it prints from now on, to be read by another thread.
    pub(crate) fn take_lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        self.stdout.take().unwrap().lines()
    }

    /// Asks its domain; nothing happens natively.
    pub(crate) fn ask(&self, call: Call) -> Option<Status> {
        Some(Domain::of(self.name.as_deref()?).ask(call))
    }

    /// What it still prints until its end.
    pub(crate) fn finish(mut self) -> Printed {
        drop(self.stdin.take());
        let mut out = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_string(&mut out).unwrap();
        }
        Printed { out, err: String::new(), end: end(self.child.wait().unwrap()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Domain(BufReader<UnixStream>);

impl Domain {
    /// Waits for the domain to be there.
    #[track_caller]
    pub(crate) fn of(name: &str) -> Self {
        Self::below(runtime(), name)
    }

    /// The same with a runtime folder of the caller's own.
    #[track_caller]
    pub(crate) fn below(runtime: &Path, name: &str) -> Self {
        let path = runtime.join("quartercycle").join(format!("{name}.sock"));
        let mut found = None;
        within(LONGEST, format!("there is no domain `{name}`"), || {
            found = UnixStream::connect(&path).ok();
            found.is_some()
        });
        Self(BufReader::new(found.expect("it was waited for")))
    }

    pub(crate) fn ask(&mut self, call: Call) -> Status {
        match self.outcome(call) {
            Outcome::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn detail(&mut self, call: Call) -> Detail {
        match self.outcome(call) {
            Outcome::Detail(detail) => *detail,
            other => panic!("{other:?}"),
        }
    }

    fn outcome(&mut self, call: Call) -> Outcome {
        let request = Request { version: VERSION, id: 1, call };
        let line = serde_json::to_string(&request).unwrap() + "\n";
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        serde_json::from_str::<Reply>(&answer).unwrap().outcome
    }
}

/// Holds a domain for as long as `during` takes; natively it only takes as long.
pub(crate) fn held(guest: &Running, during: impl FnOnce()) {
    guest.ask(Call::Hold);
    during();
    guest.ask(Call::Release);
}

pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// A pseudo-terminal: our end, and the one for a program. pty(7)
pub(crate) fn terminal(rows: u16, columns: u16) -> (File, OwnedFd) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut theirs, null) = (0, 0, std::ptr::null_mut());
    // SAFETY: the two numbers are filled, and owned by nobody; there is neither a name nor a mode.
    unsafe {
        let size = &raw const size;
        assert_eq!(0, libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), size));
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}
