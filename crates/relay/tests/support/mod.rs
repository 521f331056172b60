//! A pair of interfaces that only the thread of one test sees.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Puts this thread into a network namespace of its own, in which `east` and `west` are the two
/// ends of one cable; it vanishes with the thread. Says why and returns `false` where that is not
/// allowed.
pub(crate) fn cable(of_what: &str) -> bool {
    // SAFETY: takes a number only; network namespaces belong to threads.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        let error = std::io::Error::last_os_error();
        println!("{of_what}: not measured: a network namespace needs root ({error})");
        return false;
    }
    if !ip("link add name east type veth peer name west") {
        println!("{of_what}: not measured: no veth pair can be made here");
        return false;
    }
    assert!(ip("link set dev east up") && ip("link set dev west up"));
    // Until the kernel's worker has seen both ends up, what is sent is silently thrown away.
    while ["east", "west"].iter().any(|end| !is_up(end)) {
        sleep(Duration::from_millis(2));
    }
    true
}

/// Runs `ip` with these arguments.
pub(crate) fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

fn is_up(end: &str) -> bool {
    let shown = Command::new("ip").args(["-o", "link", "show", "dev", end]).output();
    shown.is_ok_and(|shown| String::from_utf8_lossy(&shown.stdout).contains("state UP"))
}
