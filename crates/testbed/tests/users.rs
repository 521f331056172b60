//! Two ordinary users and root on one host: what one of them does, names or leaves behind must not
//! reach what belongs to another. `SECURITY.md` promises it.
//!
//! Only root can be three users. The users have no accounts: they are numbers that nobody else has.

use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::guests::{QCYCLE, copy_program, set_mode};
use crate::common::machine::beside_others;

const ROOT: u32 = 0;

/// A stage for two users: a folder that all may enter, with `qcycle` in it.
struct Stage {
    folder: tempfile::TempDir,
    users: [User; 2],
}

#[derive(Clone)]
struct User {
    number: u32,
    /// Where the sockets of this user lie, who has no other place.
    sockets: PathBuf,
    home: PathBuf,
    qcycle: PathBuf,
}

impl Stage {
    /// `None`, and a word about it, for who is not root.
    fn set() -> Option<Self> {
        if !os::namespaces::is_root() {
            println!("not measured: only root can be two other users");
            return None;
        }
        beside_others();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o755);
        let qcycle = folder.path().join("qcycle");
        copy_program(QCYCLE, &qcycle);
        let users = [(); 2].map(|()| {
            // Two test runs at once, and two tests of one run, have others.
            let turn = NEXT.fetch_add(1, Ordering::Relaxed);
            let number = 1_000_000_000 + std::process::id() % 4_000_000 * 100 + turn;
            let home = folder.path().join(number.to_string());
            DirBuilder::new().mode(0o700).create(&home).unwrap();
            chown(&home, Some(number), Some(number)).unwrap();
            let sockets = PathBuf::from(format!("/tmp/quartercycle-{number}"));
            User { number, sockets, home, qcycle: qcycle.clone() }
        });
        Some(Self { folder, users })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for user in &self.users {
            let _ = fs::remove_file(&user.sockets);
            let _ = fs::remove_dir_all(&user.sockets);
        }
    }
}

impl User {
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.uid(self.number).gid(self.number).current_dir("/").stdin(Stdio::null());
        command.env_remove("XDG_RUNTIME_DIR").env_remove("QCYCLE_SOCKETS").env("HOME", &self.home);
        command
    }

    fn qcycle(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.qcycle);
        command.args(arguments);
        command
    }

    /// The `qcycle` of this user, run by root.
    fn root(&self, call: &str) -> Command {
        let mut command = Command::new(&self.qcycle);
        command.arg(call).env_remove("XDG_RUNTIME_DIR").env_remove("QCYCLE_SOCKETS");
        command
    }

    /// Does something as this user, on a thread of its own: users are a property of threads, and
    /// only the C library makes them one of processes. setresuid(2)
    fn does<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let number = self.number;
        let become_user = move || {
            // SAFETY: take numbers, and an empty list; they concern this thread alone.
            unsafe {
                assert_eq!(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()), 0);
                assert_eq!(libc::syscall(libc::SYS_setresgid, number, number, number), 0);
                assert_eq!(libc::syscall(libc::SYS_setresuid, number, number, number), 0);
            }
        };
        std::thread::scope(|scope| {
            let done = scope.spawn(move || {
                become_user();
                what()
            });
            done.join().unwrap()
        })
    }

    /// A domain with a program that sleeps.
    fn domain(&self, name: &str) -> Domain {
        let mut command = self.qcycle(&["exec", "--name", name, "--", "sleep", "1000"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let socket = self.sockets.join(format!("{name}.sock"));
        let begun = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} is not there", socket.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        Domain { child, socket }
    }
}

/// A domain that lives until this is dropped.
struct Domain {
    child: Child,
    socket: PathBuf,
}

impl Drop for Domain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that must be refused, and for what reason.
fn refused(command: &mut Command, reason: &str) {
    let output = command.output().unwrap();
    let told = errors(&output);
    assert_eq!(output.status.code(), Some(69), "{command:?}: {told}");
    assert!(told.contains(reason), "{command:?}: {told}");
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What `qcycle clean` would remove, and how: a program that somebody names in place of an engine.
fn lay_trap(folder: &Path, evil: &Path) {
    let left = folder.join("latency-1-0");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    fs::write(left.join("containers"), format!("{} quartercycle-x\n", evil.display())).unwrap();
}

/// A program that leaves a mark, and the mark.
fn evil(stage: &Stage) -> (PathBuf, PathBuf) {
    let [program, mark] = ["evil", "mark"].map(|name| stage.folder.path().join(name));
    fs::write(&program, format!("#!/bin/sh\nid -u > {}\n", mark.display())).unwrap();
    set_mode(&program, 0o755);
    set_mode(stage.folder.path(), 0o777);
    (program, mark)
}

/// Everything that looks for a domain.
const COMMANDS: [&[&str]; 8] = [
    &["ps"],
    &["clean"],
    &["query", "lab"],
    &["hold", "lab"],
    &["detach", "lab"],
    &["dilate", "--tdf", "2", "lab"],
    &["query", "1"],
    &["exec", "--name", "lab", "--", "true"],
];

#[test]
fn a_folder_of_sockets_that_somebody_else_made_first_is_refused() {
    let Some(stage) = Stage::set() else { return };
    let [one, other] = &stage.users;
    let (evil, mark) = evil(&stage);
    other.does(|| {
        fs::create_dir(&one.sockets).unwrap();
        set_mode(&one.sockets, 0o777);
        lay_trap(&one.sockets, &evil);
    });
    // The server there would be asked.
    let listener = other.does(|| UnixListener::bind(one.sockets.join("lab.sock")).unwrap());
    for command in COMMANDS {
        refused(&mut one.qcycle(command), &format!("belongs to user {}", other.number));
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody has asked");
    // With what only its owner may enter, and with links to that and to a folder of one's own.
    set_mode(&one.sockets, 0o700);
    refused(&mut one.qcycle(&["ps"]), "belongs to user");
    let moved = stage.folder.path().join("moved");
    fs::rename(&one.sockets, &moved).unwrap();
    for target in [&moved, &one.home] {
        other.does(|| symlink(target, &one.sockets).unwrap());
        for command in COMMANDS {
            refused(&mut one.qcycle(command), "it is a link");
        }
        fs::remove_file(&one.sockets).unwrap();
    }
    assert!(!mark.exists() && moved.join("latency-1-0/lock").exists());
}

#[test]
fn root_with_a_users_runtime_folder_does_nothing_that_the_user_names() {
    let Some(stage) = Stage::set() else { return };
    let [one, _] = &stage.users;
    let (evil, mark) = evil(&stage);
    let runtime = one.home.join("runtime");
    one.does(|| {
        DirBuilder::new().mode(0o700).create(&runtime).unwrap();
        DirBuilder::new().mode(0o700).create(runtime.join("quartercycle")).unwrap();
        lay_trap(&runtime.join("quartercycle"), &evil);
    });
    for command in ["clean", "ps"] {
        let output = one.root(command).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    }
    let named = runtime.join("quartercycle");
    refused(one.root("clean").env("QCYCLE_SOCKETS", &named), "belongs to user");
    assert!(!mark.exists() && named.join("latency-1-0/lock").exists());
    // The user's own `clean` removes it, and starts no such program either.
    let output = one.qcycle(&["clean"]).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(!mark.exists() && !named.join("latency-1-0").exists());
}

#[test]
fn nobody_answers_for_the_domain_of_somebody_else() {
    let Some(stage) = Stage::set() else { return };
    let [one, other] = &stage.users;
    one.does(|| DirBuilder::new().mode(0o700).create(&one.sockets).unwrap());
    // However it came to lie there.
    let socket = stage.folder.path().join("foreign");
    set_mode(stage.folder.path(), 0o777);
    let _listener = other.does(|| UnixListener::bind(&socket).unwrap());
    set_mode(&socket, 0o777);
    fs::rename(&socket, one.sockets.join("lab.sock")).unwrap();
    one.does(|| fs::write(one.sockets.join("lab.lock"), "").unwrap());
    // A lock that is held, so that it is not taken for what was left behind.
    let lock = fs::File::open(one.sockets.join("lab.lock")).unwrap();
    lock.lock().unwrap();
    for command in [&["hold", "lab"][..], &["query", "lab"], &["detach", "lab"]] {
        refused(&mut one.qcycle(command), &format!("it is served by user {}", other.number));
    }
    let table = one.qcycle(&["ps"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("silent") && table.contains("not by you"), "{table}");
}

#[test]
fn nobody_gives_orders_to_the_domain_of_somebody_else() {
    let Some(stage) = Stage::set() else { return };
    let [one, other] = &stage.users;
    let mut domain = one.domain("lab");
    let program = domain.child.id();
    let found = fs::metadata(&one.sockets).unwrap();
    assert_eq!((found.mode() & 0o777, found.uid()), (0o700, one.number));
    // By its name, there is none; by its folder, it is not one's own.
    let nobody = one.sockets.parent().unwrap().join("quartercycle-none");
    for command in [&["hold", "lab"][..], &["detach", "lab"], &["dilate", "--tdf", "2", "lab"]] {
        refused(&mut other.qcycle(command), "there is no domain named `lab`");
        let mut with_folder = other.qcycle(command);
        refused(with_folder.env("QCYCLE_SOCKETS", &one.sockets), "belongs to user");
    }
    refused(&mut other.qcycle(&["attach", &program.to_string()]), "");
    for command in ["ps", "clean"] {
        let output = other.qcycle(&[command]).env("QCYCLE_SOCKETS", &nobody).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    }
    // Root tidies up, and leaves alone what lives.
    assert!(one.root("clean").output().unwrap().status.success());
    other.does(|| {
        assert!(UnixStream::connect(&domain.socket).is_err());
        // SAFETY: takes numbers.
        assert_eq!(unsafe { libc::kill(program.cast_signed(), 0) }, -1);
    });
    // Even with both doors open, the agent looks who calls.
    for path in [&one.sockets, &domain.socket] {
        set_mode(path, 0o777);
    }
    let ask = |call: &str| -> String {
        let stream = UnixStream::connect(&domain.socket).unwrap();
        let request = format!("{{\"version\":2,\"id\":1,\"call\":\"{call}\"}}\n");
        // Closed before it is read, perhaps.
        let _ = (&stream).write_all(request.as_bytes());
        let mut answer = String::new();
        let _ = BufReader::new(stream).read_line(&mut answer);
        answer
    };
    for call in ["hold", "status", "detach"] {
        let answer = other.does(|| ask(call));
        assert!(answer.contains("belongs to another user"), "{answer}");
    }
    assert!(one.does(|| ask("status")).contains("\"holds\":0"));
    assert!(ask("status").contains("\"holds\":0"), "root may");
    assert!(domain.child.try_wait().unwrap().is_none(), "it still runs");
    // And the owner is told that the folder has become anybody's.
    refused(&mut one.qcycle(&["ps"]), "other users can write to it");
}

#[test]
fn nobody_reads_what_somebody_else_records() {
    let Some(stage) = Stage::set() else { return };
    let [one, other] = &stage.users;
    let scenario = one.home.join("scenario.yaml");
    let text = "scenario: alone\nduration: 50 ms\nsettle: 0 s\nnodes:\n  one:\n    programs:\n      \
                - {name: look, run: [echo, secret]}\n";
    one.does(|| fs::write(&scenario, text).unwrap());
    set_mode(&one.home, 0o755);
    let runs = one.home.join("runs");
    // Root records into a folder that others may look into.
    let mut run = one.root("run");
    run.arg(&scenario).arg("--runs").arg(&runs);
    run.env("XDG_RUNTIME_DIR", stage.folder.path().join("root"));
    let output = run.output().unwrap();
    let folder = runs.join("alone-1");
    assert!(folder.join("run.json").exists(), "{}", errors(&output));
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    for user in [one, other] {
        user.does(|| {
            assert!(fs::read_dir(&folder).is_err());
            assert!(fs::read_to_string(folder.join("programs/look.log")).is_err());
        });
    }
}

/// A page that one is to write where somebody else can put things first.
#[test]
fn a_report_goes_where_it_was_sent_and_nowhere_else() {
    let Some(stage) = Stage::set() else { return };
    let [one, other] = &stage.users;
    let shared = stage.folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    set_mode(&shared, 0o1777);
    let victim = one.home.join("victim");
    one.does(|| fs::write(&victim, "precious").unwrap());
    // Where a page that is not complete yet could be looked for.
    other.does(|| symlink(&victim, shared.join("page.html.tmp")).unwrap());
    let page = shared.join("page.html");
    one.does(|| os::files::replace(&page, |to| to.write_all(b"<html>")).unwrap());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(fs::read_to_string(&page).unwrap(), "<html>");
    assert_eq!(fs::metadata(&page).unwrap().uid(), one.number);
    // Somebody else's file in a folder like /tmp is not taken away.
    let foreign = shared.join("foreign.html");
    other.does(|| fs::write(&foreign, "foreign").unwrap());
    assert!(one.does(|| os::files::replace(&foreign, |to| to.write_all(b"x")).is_err()));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "foreign");
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 3, "nothing is left beside");
    // Root may do all of that, and writes neither through the link nor to what lies there.
    let pipe = shared.join("pipe.html");
    other.does(|| symlink(&victim, shared.join("link.html")).unwrap());
    assert!(other.command("mkfifo").arg(&pipe).status().unwrap().success());
    set_mode(&pipe, 0o666);
    for laid in ["link.html", "foreign.html", "pipe.html"].map(|name| shared.join(name)) {
        for user in [None, Some(one)] {
            let put = || os::files::replace(&laid, |to| to.write_all(b"x"));
            let told = match user {
                None => put().unwrap_err().to_string(),
                Some(user) => user.does(|| put().unwrap_err().to_string()),
            };
            assert!(told.contains(&format!("belongs to user {}", other.number)), "{told}");
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "foreign");
    // Elsewhere, root's page has root's mode, whatever the file had that it replaces.
    let page = one.home.join("page.html");
    one.does(|| fs::write(&page, "mine").unwrap());
    set_mode(&page, 0o4777);
    os::files::replace(&page, |to| to.write_all(b"x")).unwrap();
    let found = fs::metadata(&page).unwrap();
    assert_eq!((found.uid(), found.mode() & 0o7022), (ROOT, 0));
}
