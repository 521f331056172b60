//! Programs that give themselves seccomp filters, natively and in virtual time alike: the image's
//! own calls pass them, and what they say to the program's calls holds.

use crate::common::guests::{In, Link, Running, c, command, qcycle, run, same_in_each_mode};

#[test]
fn sandboxes_hold_in_virtual_time_as_they_do_natively() {
    let modes = ["kills", "traps", "default", "errors", "wrong", "threads", "older", "strict"];
    same_in_each_mode("sandbox", &modes);
}

/// docs/limitations.md: the kernel has one listener for each program, and that is ours.
#[test]
fn a_listener_of_the_program_s_own_is_refused_in_one_clear_line() {
    let guest = c("sandbox", Link::Dynamic);
    let native = run(&mut command(In::Native, &guest, &["listener"]));
    assert_eq!((native.out.as_str(), native.err.as_str()), ("asked -1 EFAULT\nlistens\n", ""));
    let printed = run(&mut command(In::Virtual("1"), &guest, &["listener"]));
    assert_eq!((printed.out.as_str(), printed.end), ("asked -1 EFAULT\nEBUSY\n", 0));
    let lines: Vec<&str> = printed.err.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let by_name = format!("qcycle: refused {}: it requests notifications of", guest.display());
    assert!(lines[0].starts_with(&by_name), "{lines:?}");
}

/// docs/limitations.md: the kernel would make signals of what the image calls.
#[test]
fn signals_in_the_place_of_calls_are_refused_in_one_clear_line() {
    const WHY: &str = "signals instead of its system calls (PR_SET_SYSCALL_USER_DISPATCH), which \
                       would affect each call of the image as well";
    let guest = c("sandbox", Link::Dynamic);
    let printed = run(&mut command(In::Virtual("1"), &guest, &["dispatch"]));
    assert_eq!((printed.out.as_str(), printed.end), ("EINVAL\n", 0));
    let fix = "; run it outside the domain, or without that";
    let told = format!("qcycle: refused {}: it requests {WHY}{fix}\n", guest.display());
    assert_eq!(printed.err, told);

    let mut native = Running::start(In::Native, "dispatch", &guest, &["dispatch"]);
    // Not on all processors, and older kernels do not tell of it.
    if native.line() == "dispatches" && cfg!(target_arch = "x86_64") {
        let attached = run(&mut qcycle(&["attach", &native.child.id().to_string()]));
        assert!(attached.err.contains(&format!("it has {WHY}")), "{attached:?}");
        assert_eq!(attached.end, 69, "{attached:?}");
    }
    assert_eq!(native.finish().end, 0);
}
