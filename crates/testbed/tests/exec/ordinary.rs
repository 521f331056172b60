//! `qcycle exec` needs no privileges: everything here runs as an ordinary user, also when the
//! tests run as root.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::guests::{Link, QCYCLE, c, copy_program, run, set_mode};

const NOBODY: u32 = 65534;
const IN_2001: [&str; 2] = ["--start", "2001-01-01T00:00:00Z"];

/// A folder that an ordinary user may read and write, with copies of the programs in it.
struct Ordinary {
    folder: tempfile::TempDir,
    is_root: bool,
    qcycle: PathBuf,
}

impl Ordinary {
    fn new() -> Self {
        let is_root = os::namespaces::is_root();
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o777);
        let qcycle = folder.path().join("qcycle");
        copy_program(QCYCLE, &qcycle);
        Self { folder, is_root, qcycle }
    }

    /// `None`, and a word about it, where these tests do not run as root.
    fn with_root(why: &str) -> Option<Self> {
        let user = Self::new();
        if !user.is_root {
            println!("not measured: {why} takes root");
        }
        user.is_root.then_some(user)
    }

    /// A guest that this user may read.
    fn guest(&self, name: &'static str) -> PathBuf {
        self.copy(&c(name, Link::Static), 0o755)
    }

    fn copy(&self, program: &Path, mode: u32) -> PathBuf {
        let copy = self.folder.path().join(program.file_name().unwrap());
        copy_program(program, &copy);
        set_mode(&copy, mode);
        copy
    }

    /// `qcycle exec` with these options and this program.
    fn exec(&self, options: &[&str], program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command(&self.qcycle);
        command.arg("exec").args(options).arg("--").arg(program);
        command
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("XDG_RUNTIME_DIR", self.folder.path()).current_dir("/");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

#[test]
fn an_ordinary_user_runs_programs_in_virtual_time() {
    let user = Ordinary::new();
    let programs = user.guest("programs");
    let script = format!(
        "id -u; {0} vfork; {0} thread; (setsid {0} fork-exec); {1} hold own; {1} release own; {1} ps",
        programs.display(),
        user.qcycle.display()
    );
    let options = [&IN_2001[..], &["--name", "own"]].concat();
    let printed = run(user.exec(&options, "sh").args(["-c", &script]));
    assert_eq!(printed.end, 0, "{} {}", printed.out, printed.err);
    let lines: Vec<&str> = printed.out.lines().collect();
    assert_ne!(lines[0], "0");
    assert_eq!(lines[1..4], ["virtual"; 3]);
    assert!(lines[4].contains("own is held") && lines[5].contains("own runs"), "{lines:?}");
}

/// Of threads of the kernel, and of programs that hide, it may not see in which call they are.
#[test]
fn an_ordinary_user_skips_idle_time() {
    let user = Ordinary::new();
    let (skip, hostile) = (user.guest("skip"), user.guest("hostile"));
    let printed = run(user.exec(&["--pace", "skip"], skip).arg("all"));
    assert_eq!((printed.out.as_str(), printed.end), ("done\n", 0), "{}", printed.err);
    let printed = run(user.exec(&["--pace", "skip"], hostile).args(["closed", "/bin/sleep", "1d"]));
    assert_eq!(
        (printed.out.as_str(), printed.end),
        ("dumpable 0\ndumpable 0\n", 0),
        "{}",
        printed.err
    );
}

/// A program that lost its parent is still a descendant of the agent, so that it may be attached
/// to also where the kernel restricts that (`kernel.yama.ptrace_scope` = 1).
#[test]
fn what_has_lost_its_parent_is_followed_as_well() {
    let user = Ordinary::new();
    let programs = user.guest("programs");
    let script =
        format!("(sh -c 'sleep 0.05; exec {} say' &) | cat; echo parent", programs.display());
    let printed = run(user.exec(&IN_2001, "sh").args(["-c", &script]));
    assert_eq!(printed.out, "virtual\nparent\n");
}

/// A program that nobody may attach to (it said so itself, or has other credentials now) is
/// followed as any other, and is closed again where its exec has failed.
#[test]
fn a_program_that_is_closed_to_its_user_runs_others() {
    let user = Ordinary::new();
    let programs = user.guest("programs");
    let hostile = user.guest("hostile");
    let mut native = user.command(&hostile);
    let expected = |year: &str| format!("dumpable 0\n{year}\ndumpable 0\n{year}\n");
    let native = run(native.arg("closed").arg(&programs).arg("say"));
    assert_eq!((native.out, native.end), (expected("host"), 0));
    let printed = run(user.exec(&IN_2001, &hostile).arg("closed").arg(&programs).arg("say"));
    assert_eq!((printed.out, printed.end), (expected("virtual"), 0), "{}", printed.err);
    let natively = run(user.command(Path::new("unshare")).arg("-U").arg(&programs).arg("say"));
    if natively.end != 0 {
        println!("not measured: ordinary users have no user namespaces here");
        return;
    }
    let printed = run(user.exec(&IN_2001, "unshare").arg("-U").arg(&programs).arg("say"));
    assert_eq!((printed.out.as_str(), printed.end), ("virtual\n", 0), "{}", printed.err);
}

/// Its timerfds are out of its agent's reach, unless it opens itself for as long as that takes.
#[test]
fn a_program_that_is_closed_to_its_user_has_timers() {
    let user = Ordinary::new();
    let timers = user.guest("timers");
    let native = run(user.command(&timers).arg("closed"));
    let virtually = run(user.exec(&[], &timers).arg("closed"));
    assert_eq!((virtually.out, virtually.end), (native.out, 0), "{}", virtually.err);
}

/// Its owner can still ask, hold and release, one after the other.
#[test]
fn a_program_that_has_all_threads_of_its_user_takes_the_domain_from_nobody() {
    const NOBODY_ELSE: u32 = 64_871;
    let Some(user) = Ordinary::with_root("to be a user whom nobody else is") else { return };
    let hostile = user.guest("hostile");
    let folder = user.folder.path().join("own");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(NOBODY_ELSE), Some(NOBODY_ELSE)).unwrap();
    let command = || {
        let mut command = Command::new(&user.qcycle);
        command.env("XDG_RUNTIME_DIR", &folder).current_dir("/");
        command.uid(NOBODY_ELSE).gid(NOBODY_ELSE);
        command
    };
    let mut exec = command();
    exec.args(["exec", "--name", "full", "--freeze", "off", "--"]).arg(&hostile).arg("threads");
    exec.stdout(std::process::Stdio::piped());
    let limit = libc::rlimit { rlim_cur: 100, rlim_max: 100 };
    // SAFETY: one system call between fork and exec, on a structure that lives on.
    unsafe {
        exec.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut exec = exec.spawn().unwrap();
    let mut said = String::new();
    let mut out = std::io::BufReader::new(exec.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    assert_eq!(said, "threads\n");
    for call in [["hold", "full"], ["query", "full"], ["release", "full"]] {
        let printed = run(command().args(call));
        assert_eq!(printed.end, 0, "{call:?}: {}", printed.err);
    }
    exec.kill().unwrap();
    exec.wait().unwrap();
}

#[test]
fn a_program_whose_file_cannot_be_read_is_refused_and_says_why() {
    let Some(user) = Ordinary::with_root("to own a file that others cannot read") else { return };
    let programs = user.copy(&c("programs", Link::Dynamic), 0o711);
    let natively = run(user.command(&programs).arg("say"));
    assert_eq!(natively.out, "host\n");
    let printed = run(user.exec(&[], &programs).arg("say"));
    assert_eq!(printed.end, -libc::SIGKILL);
    assert!(printed.err.contains("executable but not readable"), "{}", printed.err);
}

#[test]
fn set_user_id_programs_of_root_are_refused_to_an_ordinary_user() {
    let Some(user) = Ordinary::with_root("to make a set-user-id program of root") else { return };
    let id = user.copy(Path::new("/usr/bin/id"), 0o4755);
    assert_eq!(run(user.command(&id).arg("-u")).out, "0\n");
    let printed = run(user.exec(&[], &id).arg("-u"));
    assert_eq!((printed.out.as_str(), printed.end), ("", -libc::SIGKILL));
    let line = format!("refused {}: it must run as user 0", id.display());
    assert!(printed.err.contains(&line), "{}", printed.err);
}
