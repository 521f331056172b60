//! Programs whose use of signals the image must survive, natively and in virtual time alike.

use std::process::Command;

use crate::common::guests::{
    BOTH, In, Link, c, command, copy_program, go, is_there, run, same_in_each_mode, set_mode,
};

#[test]
fn what_programs_do_with_signals_has_the_same_outcome() {
    let modes =
        ["blocked", "masked", "sigsys", "jumps", "cancel", "alternate", "nested", "wrong", "spawn"];
    same_in_each_mode("guards", &modes);
}

/// The signal of the image is the program's too: masks tell of it, it stays pending while it is blocked,
/// can be waited for, and its handlers have their flags.
#[test]
fn sigsys_is_a_signal_as_any_other() {
    let modes = [
        "masks", "kept", "handlers", "taken", "one-call", "threads", "leaves", "restarts",
        "stand-in", "filtered", "started",
    ];
    same_in_each_mode("sigsys", &modes);
}

/// docs/limitations.md: the image reads what a pointer points to as the program itself would.
#[test]
fn a_pointer_to_nowhere_is_an_error_of_the_call() {
    for place in BOTH {
        let printed = run(&mut command(place, c("guards", Link::Dynamic), &["pointer"]));
        assert_eq!((printed.out, printed.end), (format!("{}\n", libc::EFAULT), 0), "{place:?}");
    }
}

#[test]
fn goroutines_sleep_as_long_as_they_asked_while_the_runtime_preempts_them() {
    let Some(sleepers) = go("sleepers") else { return };
    for place in [In::Native, In::Virtual("1"), In::Virtual("0.5")] {
        let printed = run(&mut command(place, &sleepers, &[]));
        assert_eq!((printed.out.as_str(), printed.end), ("ok false\n", 0), "{place:?}");
    }
}

#[test]
fn a_file_that_gives_another_user_is_refused_by_name() {
    use std::os::unix::fs::chown;
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("gifted");
    copy_program("/bin/true", &program);
    if chown(&program, Some(NOBODY), Some(NOBODY)).is_err() {
        println!("not measured: only root gives files to others");
        return;
    }
    for (bits, what) in [(0o4755, "as user 65534"), (0o2755, "as group 65534")] {
        set_mode(&program, bits);
        let printed = run(&mut command(In::Virtual("1"), &program, &[]));
        assert_eq!(printed.end, -libc::SIGKILL);
        let line = format!("refused {}: it must run {what}", program.display());
        assert!(printed.err.contains(&line), "{}", printed.err);
    }
    set_mode(&program, 0o755);
    assert_eq!(run(&mut command(In::Virtual("1"), &program, &[])).end, 0);
    // One's own: it gives nothing.
    chown(&program, Some(0), Some(0)).unwrap();
    set_mode(&program, 0o6755);
    assert_eq!(run(&mut command(In::Virtual("1"), &program, &[])).end, 0);
}

/// Memory, descriptors and files as they seldom are. Each prints the same natively.
#[test]
fn programs_in_odd_circumstances_run() {
    let shell = |script: &'static str| ("/bin/sh", vec!["-c", script]);
    let python = |script: &'static str| ("python3", vec!["-c", script]);
    let cases = [
        shell("LD_BIND_NOW=1 sleep 0.01 && echo slept"),
        shell("setarch -R sleep 0.01 && echo slept"),
        shell("setarch -L sleep 0.01 && echo slept"),
        shell("ulimit -v 200000; sleep 0.01 && echo slept"),
        python(
            "import os, time; os.closerange(3, 4096); time.sleep(0.01); os.system('echo closed')",
        ),
        python(
            "import os\n\
             file = os.memfd_create('program', 0)\n\
             os.write(file, open('/bin/echo', 'rb').read())\n\
             os.execve(file, ['echo', 'memory'], {})",
        ),
        python(
            "import ctypes, signal\n\
             PR_SET_DUMPABLE = 4\n\
             assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0) == 0\n\
             signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\n\
             signal.setitimer(signal.ITIMER_REAL, 0.01)\n\
             print(signal.sigwait({signal.SIGALRM}))",
        ),
        python(
            "import os\n\
             child = os.posix_spawn('/bin/echo', ['echo', 'spawned'], {})\n\
             os.waitpid(child, 0)",
        ),
    ];
    for (program, arguments) in cases {
        let [native, virtually] = BOTH.map(|place| run(&mut command(place, program, &arguments)));
        assert_eq!(native, virtually, "{arguments:?}");
        assert_eq!(native.end, 0, "{arguments:?}: {}", native.err);
        assert!(!native.out.is_empty(), "{arguments:?}");
    }
}

/// A program where the image must lie is refused by its own name, not that of who started it.
#[test]
fn a_program_at_the_address_of_the_image_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["low.c", "low"].map(|name| folder.path().join(name));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let segment = format!("-Wl,-Ttext-segment={:#x}", vtime::image::IMAGE);
    let mut gcc = Command::new("gcc");
    gcc.args(["-static", "-no-pie", &segment, "-o"]).arg(&program).arg(&source);
    if !gcc.status().is_ok_and(|status| status.success()) {
        println!("not measured: no compiler links programs to {:#x}", vtime::image::IMAGE);
        return;
    }
    assert_eq!(run(&mut command(In::Native, &program, &[])).end, 0);
    let printed = run(&mut command(In::Virtual("1"), &program, &[]));
    assert_eq!(printed.end, -libc::SIGKILL);
    let line = format!("refused {}: it uses the addresses needed for the image", program.display());
    assert!(printed.err.contains(&line), "{}", printed.err);
}

/// Tracers may come and go while a program waits: it is followed at its execs only, and until its
/// exec is over it has a tracer already, which makes the kernel refuse another (ptrace(2)).
#[test]
fn tracers_attach_to_a_program_that_runs() {
    let waits = "read -r name < /proc/$!/comm && [ \"$name\" = sleep ] && \
                 grep -q '^TracerPid:.0$' /proc/$!/status";
    let tracers = [
        ("strace", "strace -qq -o /dev/null -p $!"),
        ("gdb", "gdb -batch -nx -p $! -ex detach </dev/null >/dev/null 2>&1"),
    ];
    for (tracer, attach) in tracers {
        if !is_there(tracer) {
            continue;
        }
        let script = format!(
            "sleep 4 & until {waits}; do :; done; {attach} || echo refused; wait $!; echo ended $?"
        );
        for place in BOTH {
            let printed = run(&mut command(place, "sh", &["-c", &script]));
            assert_eq!(printed.out, "ended 0\n", "{tracer}, {place:?}: {}", printed.err);
        }
    }
}

#[test]
fn filters_of_a_program_s_own_go_together_with_ours() {
    for place in BOTH {
        let printed = run(&mut command(place, c("guards", Link::Dynamic), &["filter"]));
        assert_eq!((printed.out.as_str(), printed.end), ("waits 6\n", -libc::SIGSYS), "{place:?}");
        let printed = run(&mut command(place, c("guards", Link::Dynamic), &["strict"]));
        assert_eq!(printed.out, "strict\n", "{place:?}");
    }
}
