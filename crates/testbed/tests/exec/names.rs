//! The names of domains, taken and given back by many at once.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::common::guests::{Domain, qcycle, run, runtime, set_mode};

/// The domain that has the name makes a folder, which fails if somebody else has it too.
#[test]
fn a_name_belongs_to_one_domain_whoever_looks_meanwhile() {
    const AT_ONCE: usize = 6;
    const TURNS: usize = 10;
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("mine");
    let script = format!("mkdir {0} || echo twice; sleep 0.01; rmdir {0}", mark.display());
    let (begun, over) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let beginners: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..TURNS {
                        let arguments = ["exec", "--freeze", "off", "--name", "one-of-many", "--"];
                        let printed = run(qcycle(&arguments).args(["sh", "-c", &script]));
                        assert_eq!(printed.out, "", "two have one name");
                        if printed.end == 0 {
                            begun.fetch_add(1, Ordering::Relaxed);
                        } else {
                            assert!(
                                printed.err.contains("named `one-of-many` already"),
                                "{}",
                                printed.err
                            );
                        }
                    }
                })
            })
            .collect();
        for command in ["clean", "ps"] {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let printed = run(&mut qcycle(&[command]));
                    assert_eq!(printed.end, 0, "{}", printed.err);
                }
            });
        }
        beginners.into_iter().for_each(|beginner| beginner.join().unwrap());
        over.store(true, Ordering::Relaxed);
    });
    assert!(begun.load(Ordering::Relaxed) > 0);
    assert_eq!(files(runtime(), "one-of-many"), [""; 0]);
}

/// What a killed agent leaves is removed once, and what lives stays reachable.
#[test]
fn what_a_killed_agent_leaves_is_removed_and_what_lives_is_not() {
    use runtime::agent::protocol::Call;
    // A runtime folder of its own: who cleans up in the common one takes away what is looked for.
    let place = tempfile::tempdir().unwrap();
    let qcycle = |arguments: &[&str]| {
        let mut command = qcycle(arguments);
        command.env("XDG_RUNTIME_DIR", place.path());
        command
    };
    let start = |name: &str| {
        let child = qcycle(&["exec", "--name", name, "--", "sleep", "1000"]).spawn().unwrap();
        let status = Domain::below(place.path(), name).ask(Call::Status);
        assert_eq!(status.agent_pid, child.id());
        child
    };
    let files = |name: &str| files(place.path(), name);
    let (mut killed, mut alive) = (start("was-killed"), start("is-alive"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(files("was-killed"), ["was-killed.lock", "was-killed.sock"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(run(&mut qcycle(&["clean"])).end, 0));
        }
    });
    assert_eq!(files("was-killed"), [""; 0]);
    assert_eq!(files("is-alive"), ["is-alive.lock", "is-alive.sock"]);
    assert_eq!(run(&mut qcycle(&["query", "is-alive"])).end, 0);
    alive.kill().unwrap();
    alive.wait().unwrap();
}

/// Between making a socket and listening on it, an agent looks like one that was killed; whoever
/// looks meanwhile must not take the socket away from it.
#[test]
fn a_socket_that_is_about_to_be_listened_on_stays() {
    use rustix::net;
    let folder = runtime().join("quartercycle");
    std::fs::create_dir_all(&folder).unwrap();
    set_mode(&folder, 0o700);
    let lock = std::fs::File::create(folder.join("about-to.lock")).unwrap();
    lock.lock().unwrap();
    let path = folder.join("about-to.sock");
    let flags = net::SocketFlags::CLOEXEC;
    let socket =
        net::socket_with(net::AddressFamily::UNIX, net::SocketType::STREAM, flags, None).unwrap();
    net::bind(&socket, &net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    for arguments in [&["clean"][..], &["ps"], &["hold", "about-to"]] {
        let printed = run(&mut qcycle(arguments));
        assert!(path.exists(), "{arguments:?} has removed it: {}", printed.err);
    }
    let taken = run(&mut qcycle(&["exec", "--name", "about-to", "--", "true"]));
    assert!(taken.err.contains("named `about-to` already"), "{}", taken.err);
    net::listen(&socket, 1).unwrap();
    assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
    drop(lock);
    drop(socket);
    assert_eq!(run(&mut qcycle(&["clean"])).end, 0);
    assert_eq!(files(runtime(), "about-to"), [""; 0]);
}

/// Files of a name in the folder of the sockets.
fn files(runtime: &Path, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(runtime.join("quartercycle")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|file| file.starts_with(name)).collect();
    names.sort();
    names
}
