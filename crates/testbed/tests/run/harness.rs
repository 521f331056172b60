//! Runs `qcycle` as a user does, in a folder of its own, and looks at what is left afterwards.
//!
//! Every process that a run starts has the path of that folder in its environment or in its
//! working directory, so whatever survives a run is found by it.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use report_kit::outcome::Outcome;
use results::{RunFolder, RunRecord, Verdict};
use runtime::agent::protocol::Status;
use tempfile::TempDir;
use terminal::exit::Exit;

use crate::common::guests::QCYCLE;
use crate::common::machine::beside_others;
use crate::common::patience::{is_loaded, last_stall, patience, within};
use crate::common::processes::{self, processes};

/// No run of these tests takes longer; a hang is found and not waited for.
const RUN_LONGEST: Duration = Duration::from_secs(120);
/// A death is told within this time on an idle machine, and everything is gone.
pub(crate) const DEATH_LONGEST: Duration = Duration::from_secs(5);

/// Lets `qcycle compare` say that all these runs are the same.
#[track_caller]
pub(crate) fn are_the_same(folders: &[PathBuf]) {
    are_alike(folders, &[]);
}

/// The same, with options of that command.
#[track_caller]
pub(crate) fn are_alike(folders: &[PathBuf], options: &[&str]) {
    let mut compare = Command::new(QCYCLE);
    let compared = compare.arg("compare").args(options).args(folders).output().unwrap();
    let told = String::from_utf8_lossy(&compared.stdout).into_owned();
    let pace =
        |folder: &PathBuf| RunFolder::open(folder).unwrap().record().unwrap().wall.unwrap().pace;
    let paces: Vec<_> = folders.iter().map(pace).collect();
    assert_eq!(compared.status.code(), Some(0), "{told}{paces:?}");
    assert_eq!(told.matches("the same").count(), folders.len() - 1, "{told}");
}

/// How many frames each kernel has sent again because the host needed too long for an instant.
pub(crate) fn repeats(record: &RunRecord) -> Vec<u64> {
    let nodes = record.network["nodes"].as_object().unwrap();
    nodes.values().map(|node| node["withheld_repeats"].as_u64().unwrap()).collect()
}

/// The scenarios of the project.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder with a scenario, run folders and sockets, all of which vanish with it. Dropping it makes
/// sure that runs have left nothing else.
pub(crate) struct Place {
    folder: TempDir,
    host: Host,
}

impl Place {
    /// A scenario with the grid and the programs of `scenarios/small` beside it.
    pub(crate) fn new(scenario: &str) -> Self {
        let place = Self::empty();
        let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/small");
        copy(&small, &place.scenario());
        place.file("scenario.yaml", scenario);
        place
    }

    /// The same, with nodes that only root can make: `None`, and a word about it, for others.
    pub(crate) fn for_root(scenario: &str) -> Option<Self> {
        is_root().then(|| Self::new(scenario))
    }

    /// A copy of a scenario of the project, as [`Self::for_root`].
    pub(crate) fn of_case(case: &str) -> Option<Self> {
        is_root().then(|| {
            let place = Self::empty();
            copy(&project().join("scenarios").join(case), &place.scenario());
            place
        })
    }

    fn empty() -> Self {
        beside_others();
        last_stall();
        let folder = tempfile::Builder::new().prefix("qcycle-run-").tempdir().unwrap();
        for part in ["scenario", "sockets"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        Self { folder, host: Host::now() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn scenario(&self) -> PathBuf {
        self.path().join("scenario")
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.scenario().join(name), text).unwrap();
    }

    /// `qcycle` with the environment of this place.
    pub(crate) fn qcycle(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(QCYCLE);
        self.set_up(&mut command);
        command.args(arguments);
        command
    }

    pub(crate) fn set_up(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        let tools = project().join(".venv/bin");
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("HOME", self.path())
            .env("XDG_RUNTIME_DIR", self.path().join("sockets"))
            .env("SECRET", "not for programs")
            .current_dir(self.path())
            .stdin(std::process::Stdio::null());
    }

    /// Starts `qcycle run` of the scenario, in a process group of its own.
    pub(crate) fn start(&self, options: &[&str]) -> Running<'_> {
        let mut command = self.qcycle(&["run", "scenario", "--runs", "runs"]);
        command.args(options);
        self.start_command(command)
    }

    /// Starts a command whose output goes to files.
    pub(crate) fn start_command(&self, mut command: Command) -> Running<'_> {
        let number = fs::read_dir(self.path()).unwrap().count();
        let file = |name: &str| self.path().join(format!("{name}-{number}"));
        let (out, err) = (file("out"), file("err"));
        command.stdout(fs::File::create(&out).unwrap());
        command.stderr(fs::File::create(&err).unwrap());
        let child = command.process_group(0).spawn().unwrap();
        Running { place: self, child, begun: Instant::now(), out, err }
    }

    pub(crate) fn run(&self, options: &[&str]) -> Finished {
        self.start(options).finish()
    }

    pub(crate) fn domains(&self) -> Vec<Status> {
        serde_json::from_str(&self.says(&["ps", "--json"])).unwrap()
    }

    /// What a command prints, which must succeed.
    #[track_caller]
    pub(crate) fn says(&self, arguments: &[&str]) -> String {
        let output = self.qcycle(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a program of the first run has written so far, with times.
    pub(crate) fn log_so_far(&self, program: &str) -> String {
        let log = self.runs().first().map(|run| run.join(format!("programs/{program}.log")));
        log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default()
    }

    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path().join("runs")).into_iter().flatten();
        let mut runs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        let mark = self.path().as_os_str().as_encoded_bytes();
        let has_mark = |text: &[u8]| text.windows(mark.len()).any(|part| part == mark);
        let is_one = |(process, text): (u32, Vec<u8>)| {
            let directory = fs::read_link(format!("/proc/{process}/cwd")).unwrap_or_default();
            let is_here = has_mark(directory.as_os_str().as_encoded_bytes());
            (is_here || has_mark(&text)).then_some(process)
        };
        processes(&["environ", "cmdline"]).into_iter().filter_map(is_one).collect()
    }
}

/// Makes sure that nothing of the runs in this place is left but their folders.
impl Drop for Place {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        self.says(&["clean"]);
        let sockets = self.path().join("sockets/quartercycle");
        let sockets: Vec<_> = fs::read_dir(sockets).into_iter().flatten().flatten().collect();
        assert!(sockets.is_empty(), "{sockets:?}");
        eventually("processes of the run are still there", || self.processes().is_empty());
        eventually("the host's mounts or interfaces are not as before", || {
            self.host == Host::now()
        });
    }
}

/// What a run must leave as it is.
#[derive(PartialEq, Eq, Debug)]
struct Host {
    mounts: String,
    interfaces: Vec<String>,
}

impl Host {
    fn now() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let interfaces = fs::read_to_string("/proc/self/net/dev").unwrap();
        let interfaces = interfaces.lines().filter_map(|line| line.split_once(':'));
        let interfaces = interfaces.map(|(name, _)| name.trim().to_owned()).collect();
        Self { mounts, interfaces }
    }
}

/// A run that goes on. Dropping it kills it.
pub(crate) struct Running<'p> {
    place: &'p Place,
    child: Child,
    begun: Instant,
    out: PathBuf,
    err: PathBuf,
}

impl Running<'_> {
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits until programs run, and answers how the domain stands.
    pub(crate) fn begun(&mut self) -> Status {
        loop {
            let domains = self.place.domains();
            if let [domain] = &domains[..]
                && domain.clock.virtual_ns > 0
            {
                return domain.clone();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", fs::read_to_string(&self.err).unwrap());
            assert!(self.begun.elapsed() < patience(RUN_LONGEST), "it does not begin");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets virtual time pass, while programs run.
    pub(crate) fn let_pass(&mut self, span: Duration) -> Status {
        let span_ns = i64::try_from(span.as_nanos()).unwrap();
        loop {
            let status = self.begun();
            if status.clock.virtual_ns >= span_ns {
                return status;
            }
            assert!(
                self.begun.elapsed() < patience(RUN_LONGEST),
                "its time stands still: {status:?}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal to the whole group, as a terminal does.
    pub(crate) fn signal_group(&self, signal: i32) {
        processes::signal(-self.process().cast_signed(), signal);
    }

    pub(crate) fn finish(self) -> Finished {
        self.finish_within(RUN_LONGEST)
    }

    /// Waits for its end, which must come soon; as soon on an idle machine.
    pub(crate) fn finish_within(mut self, longest: Duration) -> Finished {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > patience(longest) {
                let said = fs::read_to_string(&self.err).unwrap();
                panic!("it did not end within {longest:?}: {said}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let (out, err) = (read(&self.out), read(&self.err));
        let folder = folder_in(&err).map(|folder| self.place.path().join(folder));
        Finished { folder, status, wall: self.begun.elapsed(), out, err }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Finished {
    folder: Option<PathBuf>,
    pub(crate) status: ExitStatus,
    pub(crate) wall: Duration,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Finished {
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by {:?}", self.status.signal()))
    }

    /// Makes sure of its exit code. On a loaded machine the run may have been disturbed instead of
    /// met, missed or not measured.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        self.expect_one_of(&[code])
    }

    /// Makes sure that its exit code is one of these; otherwise as [`Self::expect`].
    #[track_caller]
    pub(crate) fn expect_one_of(self, codes: &[i32]) -> Self {
        let judged = codes.iter().any(|code| [0, 10, 11].contains(code));
        let disturbed = judged && self.code() == Exit::Disturbed as i32 && is_loaded();
        let is_one = disturbed || codes.contains(&self.code());
        assert!(is_one, "{}, not {codes:?}: {}\n{}", self.code(), self.out, self.err);
        self
    }

    pub(crate) fn folder(&self) -> RunFolder {
        RunFolder::open(self.folder.as_ref().expect("it said where its folder is")).unwrap()
    }

    pub(crate) fn record(&self) -> RunRecord {
        self.folder().record().unwrap()
    }

    /// What a program wrote, with times.
    pub(crate) fn log(&self, program: &str) -> String {
        fs::read_to_string(self.folder().program_log(program)).unwrap()
    }

    /// What a program wrote, without times.
    pub(crate) fn lines(&self, program: &str) -> Vec<String> {
        let log = self.log(program);
        log.lines().map(|line| line.split_once("| ").unwrap().1.to_owned()).collect()
    }
}

/// Makes sure that a requirement is met, or, on a loaded machine, disturbed.
#[track_caller]
pub(crate) fn assert_met(verdict: &Verdict) {
    let disturbed = verdict.outcome == Outcome::Disturbed && is_loaded();
    assert!(verdict.outcome == Outcome::Met || disturbed, "{verdict:?}");
}

/// The run folder that a run has named on standard error; the last one if it was repeated.
fn folder_in(err: &str) -> Option<PathBuf> {
    let line = err.lines().rev().find_map(|line| line.strip_prefix("run folder "))?;
    Some(line.split_once(", time domain").expect("both are named").0.into())
}

/// Waits a few seconds until something holds, longer on a loaded machine.
#[track_caller]
pub(crate) fn eventually(otherwise: &str, holds: impl FnMut() -> bool) {
    within(patience(DEATH_LONGEST), otherwise, holds);
}

/// Whether these tests may make nodes here: as root they do so without user namespaces.
pub(crate) fn is_root() -> bool {
    let root = os::namespaces::is_root();
    if !root {
        eprintln!("not run: only root may do what this test does");
    }
    root
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
