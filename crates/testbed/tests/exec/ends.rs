//! A program is given what it would be given natively, and ends as it ends.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::common::guests::{
    BOTH, In, Link, QCYCLE, c, command, end, qcycle, run, runtime, sleep_ms, terminal,
};
use crate::common::patience::{LONGEST, within};
use crate::common::processes::signal;

fn shell(place: In, script: &str) -> Command {
    command(place, "/bin/sh", &["-c", script])
}

#[test]
fn exit_codes_and_signals_are_those_of_the_program() {
    for place in BOTH {
        assert_eq!(run(&mut command(place, "/bin/true", &[])).end, 0);
        assert_eq!(run(&mut shell(place, "exit 7")).end, 7);
        for signal in [libc::SIGKILL, libc::SIGSEGV, libc::SIGTERM, libc::SIGABRT, libc::SIGSYS] {
            let script = format!("ulimit -c 0; kill -{signal} $$");
            assert_eq!(run(&mut shell(place, &script)).end, -signal, "{place:?}");
        }
    }
}

#[test]
fn a_program_that_cannot_start_ends_as_in_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-executable");
    std::fs::write(&file, "no program").unwrap();
    for (program, code, reason) in [
        ("/nowhere/at/all", 127, "No such file or directory"),
        ("no-such-program-in-the-path", 127, "No such file or directory"),
        (file.to_str().unwrap(), 126, "Permission denied"),
        ("/", 126, "Permission denied"),
    ] {
        let printed = run(qcycle(&["exec", "--"]).arg(program));
        assert_eq!(printed.end, code);
        assert_eq!(printed.err.lines().count(), 1, "{}", printed.err);
        assert!(printed.err.starts_with(&format!("qcycle: cannot start {program}: {reason}")));
        assert_eq!(run(&mut shell(In::Native, &format!("exec '{program}'"))).end, code);
    }
}

#[test]
fn input_output_and_environment_are_handed_through() {
    for place in BOTH {
        let mut child = shell(place, "cat; echo \"$WORD\" >&2; pwd; echo $#")
            .env("WORD", "said so")
            .current_dir("/usr")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"octets \xff\x00\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"octets \xff\x00\n/usr\n0\n");
        assert_eq!(output.stderr, b"said so\n");
    }
}

/// All but the handler of SIGSYS, which is the image's.
#[test]
fn environment_limits_signals_and_descriptors_are_the_same_as_natively() {
    let looks = [
        vec!["env"],
        vec!["sh", "-c", "ulimit -a; umask; nice; cat /proc/self/oom_score_adj"],
        vec!["grep", "-E", "^(SigBlk|SigIgn|Uid|Gid|Groups|CapEff)", "/proc/self/status"],
    ];
    let seen = |place: In, look: &[&str]| {
        let mut command = command(place, look[0], &look[1..]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("WORD", "a b");
        command.env("XDG_RUNTIME_DIR", runtime());
        // One signal is ignored and two are blocked by its parent.
        // SAFETY: async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, libc::SIGUSR2);
                libc::sigaddset(&raw mut set, libc::SIGALRM);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
                Ok(())
            })
        };
        run(&mut command)
    };
    for look in &looks {
        let native = seen(In::Native, look);
        assert_eq!((native.end, native.err.as_str()), (0, ""));
        assert_eq!(native, seen(In::Virtual("1"), look));
    }
    let [native, virtually] =
        BOTH.map(|place| run(&mut command(place, c("programs", Link::Dynamic), &["files"])));
    assert!(native.out.starts_with("0 1 2 "));
    assert_eq!(native, virtually);
}

#[test]
fn signals_sent_to_qcycle_reach_the_program() {
    let script = "trap 'echo hup' HUP; trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; \
                  echo ready; while :; do sleep 0.01; done";
    for place in BOTH {
        let mut child = shell(place, script).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines =
            std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        let mut next = || lines.next().unwrap().unwrap();
        assert_eq!(next(), "ready");
        for (number, word) in
            [(libc::SIGHUP, "hup"), (libc::SIGUSR1, "usr1"), (libc::SIGTERM, "term")]
        {
            signal(child.id(), number);
            assert_eq!(next(), word, "{place:?}");
        }
        assert_eq!(end(child.wait().unwrap()), 5);
    }
    for (number, place) in [libc::SIGTERM, libc::SIGINT].into_iter().zip(BOTH) {
        let mut child = command(place, "/bin/sleep", &["1000"]).spawn().unwrap();
        sleep_ms(200);
        signal(child.id(), number);
        assert_eq!(end(child.wait().unwrap()), -number, "{place:?}");
    }
}

/// A terminal of its own, with the program in the foreground of it.
struct Terminal {
    controller: std::fs::File,
    child: std::process::Child,
    /// All that came out so far.
    seen: String,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let (controller, user) = terminal(33, 77);
        let copy = || Stdio::from(user.try_clone().unwrap());
        command.stdin(copy()).stdout(copy()).stderr(copy());
        // SAFETY: async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            })
        };
        let child = command.spawn().unwrap();
        drop(user);
        Self { controller, child, seen: String::new() }
    }

    fn type_in(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until this comes out.
    fn expect(&mut self, what: &str) {
        use std::io::Read;
        let mut octets = [0; 256];
        while !self.seen.contains(what) {
            let count =
                if self.is_readable() { self.controller.read(&mut octets).unwrap_or(0) } else { 0 };
            assert!(count > 0, "{what:?} does not come after {:?}", self.seen);
            self.seen += &String::from_utf8_lossy(&octets[..count]);
        }
        let at = self.seen.find(what).unwrap() + what.len();
        self.seen.drain(..at);
    }

    /// Whether something comes out before the patience of a tester ends.
    fn is_readable(&self) -> bool {
        use std::os::fd::AsRawFd;
        let fd = self.controller.as_raw_fd();
        let mut fds = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
        // SAFETY: one live descriptor.
        unsafe { libc::poll(fds.as_mut_ptr(), 1, 60_000) == 1 }
    }

    /// Waits until all that the shell has started on this terminal is stopped.
    fn wait_until_all_stopped(&self) {
        let session = self.child.id().to_string();
        // After the name, which may have anything in it: state, parent, group, session (proc(5)).
        let is_running = |process: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let fields: Vec<_> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
            process != session
                && fields.get(3) == Some(&session.as_str())
                // Or has ended, and its parent is stopped.
                && !["T", "Z"].contains(&fields[0])
        };
        let processes = || std::fs::read_dir("/proc").unwrap().flatten();
        let any_running =
            || processes().any(|entry| entry.file_name().to_str().is_some_and(is_running));
        within(LONGEST, "something goes on", || !any_running());
    }

    fn end(mut self) -> i32 {
        end(self.child.wait().unwrap())
    }
}

#[test]
fn the_terminal_is_the_programs_own() {
    for place in BOTH {
        let script = "trap 'echo stopped by ctrl-c; exit 3' INT; stty size; tty >/dev/null && echo a tty; \
                      read word; echo \"word $word\"; echo ready; while :; do sleep 0.01; done";
        let mut terminal = Terminal::start(shell(place, script));
        terminal.expect("33 77");
        terminal.expect("a tty");
        terminal.type_in("hello\n");
        terminal.expect("word hello");
        terminal.expect("ready");
        terminal.type_in("\x03");
        terminal.expect("stopped by ctrl-c");
        assert_eq!(terminal.end(), 3, "{place:?}");
        let mut terminal = Terminal::start(shell(place, "echo ready; exec sleep 1000"));
        terminal.expect("ready");
        sleep_ms(50);
        terminal.type_in("\x03");
        assert_eq!(terminal.end(), -libc::SIGINT, "{place:?}");
    }
}

#[test]
fn a_job_is_stopped_and_continued_by_the_shell() {
    let run = format!("XDG_RUNTIME_DIR={} {QCYCLE} exec --", runtime().display());
    for prefix in ["", &run] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "--noprofile", "-i"]).env("PS1", "").env("TERM", "dumb");
        let mut terminal = Terminal::start(bash);
        let script = "echo begun; read word; echo \"got $word\"";
        // What is typed is echoed until this has run, so it must not look like its output.
        terminal.type_in("stty -echo; echo s''et\n");
        terminal.expect("set\r\n");
        // It starts nothing: a shell that waits in vfork for a child that Ctrl-Z stops before its
        // exec does not stop, also natively.
        terminal.type_in(&format!("{prefix} bash -c '{script}'; echo ended $?\n"));
        terminal.expect("begun");
        terminal.type_in("\x1a");
        terminal.expect("Stopped");
        terminal.expect("ended 148");
        // A job of several processes stops one by one, and the shell goes on with the first. Who has
        // not stopped yet takes what is typed (job-control is asked when a read begins).
        terminal.wait_until_all_stopped();
        terminal.type_in("fg; echo foreground $?\n");
        terminal.expect("read word");
        terminal.type_in("hello\n");
        terminal.expect("got hello");
        terminal.expect("foreground 0");
        terminal.type_in("exit 4\n");
        assert_eq!(terminal.end(), 4, "{prefix}");
    }
}
