//! Runs of an ordinary user, who needs user namespaces and, for files and networks, access to
//! two devices. These tests are root and become user 65534 for the run; what that user may open
//! is made so in a mount namespace of the run's own.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
};

use crate::common::guests::{QCYCLE, copy_program, set_mode};
use crate::run::harness::{self, Finished, Place, project};

const NOBODY: u32 = 65534;
const TUN: (&str, u32) = ("/dev/net/tun", 200);
const FUSE: (&str, u32) = ("/dev/fuse", 229);

const PROGRAMS_ONLY: &str = "scenario: alone
duration: 1 s
settle: 0 s
start: 2019-06-03T12:00:00Z
nodes:
  one:
    programs:
      - {name: look, run: [sh, -c, date -u +%T; id -u; hostname; ls /proc/1/comm; exec sleep 60]}
";

/// What the user may do with the two devices.
#[derive(Clone, Copy)]
enum Devices {
    Open,
    Closed,
}

/// `qcycle run` as an ordinary user, in a place that belongs to that user.
fn run_as_nobody(place: &Place, devices: Devices, options: &[&str]) -> Finished {
    let binary = place.path().join("qcycle");
    copy_program(QCYCLE, &binary);
    give_to_nobody(place.path());
    let mut command = Command::new(binary);
    place.set_up(&mut command);
    command.args(["run", "scenario", "--runs", "runs"]).args(options);
    let mode = match devices {
        Devices::Open => 0o666,
        Devices::Closed => 0o600,
    };
    let stage = place.path().join("devices");
    fs::create_dir_all(&stage).unwrap();
    let hidden = hidden_python();
    let become_nobody = move || {
        replace_devices(&stage, mode)?;
        hidden.iter().try_for_each(|(closed, wanted)| show_through(&stage, closed, wanted))?;
        drop_privileges()
    };
    // SAFETY: system calls, and allocations, which the C library makes safe after a fork.
    unsafe { command.pre_exec(become_nobody) };
    place.start_command(command).finish()
}

fn give_to_nobody(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        set_mode(path, 0o755);
        for entry in fs::read_dir(path).unwrap().flatten() {
            give_to_nobody(&entry.path());
        }
    }
}

/// Puts copies with other permissions over the devices, for this process and its children.
fn replace_devices(stage: &Path, mode: u32) -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    mount_memory(stage)?;
    for (device, minor) in [TUN, FUSE] {
        let copy = stage.join(device.rsplit('/').next().unwrap());
        let kind = FileType::CharacterDevice;
        mknodat(CWD, &copy, kind, Mode::from_raw_mode(mode), makedev(10, minor))?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode))?;
        mount_bind(&copy, device)?;
    }
    Ok(())
}

/// A folder that other users may not enter on the way to the interpreter of the project's Python
/// packages, and the one below it that they must reach.
fn hidden_python() -> Option<(PathBuf, PathBuf)> {
    let python = project().join(".venv/bin/python3").canonicalize().ok()?;
    let mut ways: Vec<&Path> = python.ancestors().collect();
    ways.reverse();
    let may_enter =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o1 != 0);
    let closed = ways.iter().position(|path| path.is_dir() && !may_enter(path))?;
    Some((ways[closed].to_owned(), ways[closed + 1].to_owned()))
}

/// Makes a folder reachable through one that is closed, for this process and its children.
fn show_through(stage: &Path, closed: &Path, wanted: &Path) -> io::Result<()> {
    let aside = stage.join("aside");
    fs::create_dir(&aside)?;
    mount_bind_recursive(wanted, &aside)?;
    mount_memory(closed)?;
    fs::create_dir(wanted)?;
    Ok(mount_bind_recursive(&aside, wanted)?)
}

fn mount_memory(at: &Path) -> io::Result<()> {
    Ok(mount("none", at, "tmpfs", MountFlags::empty(), c"mode=0755")?)
}

fn unshare(what: i32) -> io::Result<()> {
    // SAFETY: takes a number.
    let unshared = unsafe { libc::unshare(what) };
    if unshared == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn drop_privileges() -> io::Result<()> {
    // SAFETY: take numbers, and an empty list.
    let dropped = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
            && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
    };
    if dropped { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether the tests can be run here; says why not.
fn possible() -> bool {
    if !harness::is_root() {
        return false;
    }
    for (device, _) in [TUN, FUSE] {
        if !Path::new(device).exists() {
            eprintln!("not run: there is no {device}");
            return false;
        }
    }
    let mut probe = Command::new("true");
    let as_nobody = || {
        drop_privileges()?;
        unshare(libc::CLONE_NEWUSER)
    };
    // SAFETY: a few system calls between fork and exec.
    unsafe { probe.pre_exec(as_nobody) };
    match probe.status() {
        Ok(status) if status.success() => true,
        ended => {
            eprintln!("not run: ordinary users have no user namespaces here: {ended:?}");
            false
        }
    }
}

#[test]
fn programs_alone_run_as_an_ordinary_user() {
    if !possible() {
        return;
    }
    let place = Place::new(PROGRAMS_ONLY);
    let run = run_as_nobody(&place, Devices::Closed, &[]).expect(0);
    assert_eq!(run.lines("look"), ["12:00:00", "0", "one", "/proc/1/comm"]);
    let made = fs::metadata(run.folder().path()).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&made), NOBODY);
}

/// Which needs a device; without it the run says what does not follow from the seed.
#[test]
fn what_is_random_follows_from_the_seed_if_the_user_may_open_the_device() {
    if !possible() {
        return;
    }
    const RANDOM: &str = "scenario: random
duration: 1 s
pace: events
nodes:
  one:
    programs:
      - {name: read, run: od -An -N8 -tx1 /dev/urandom, on_exit: ignore}
";
    for (devices, follows) in [(Devices::Open, true), (Devices::Closed, false)] {
        let place = Place::new(RANDOM);
        let runs = [(); 2].map(|()| run_as_nobody(&place, devices, &[]).expect(0));
        let read = runs.each_ref().map(|run| run.lines("read"));
        assert_eq!(read[0] == read[1], follows, "{read:?}");
        for run in &runs {
            assert_eq!(run.out.contains("chmod 0666 /dev/fuse"), !follows, "{}", run.out);
        }
    }
}

#[test]
fn a_device_that_the_user_may_not_open_is_named_with_the_fix() {
    if !possible() {
        return;
    }
    let network = "scenario: net
duration: 1 s
nodes:
  a: {address: 10.0.0.1/24}
  b: {address: 10.0.0.2/24}
links:
  - {from: a, to: b}
";
    let files = "scenario: files
duration: 1 s
plant: {circuit: grid.dss}
nodes:
  a:
    files: [{point: bus.680.v1}]
";
    for (text, (device, _)) in [(network, TUN), (files, FUSE)] {
        let place = Place::new(text);
        let run = run_as_nobody(&place, Devices::Closed, &[]).expect(69);
        let lines: Vec<_> = run.err.lines().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(&format!("chmod 0666 {device}")), "{lines:?}");
        assert!(place.runs().is_empty());
    }
}

#[test]
fn the_case_runs_as_an_ordinary_user() {
    if !possible() {
        return;
    }
    let Some(place) = Place::of_case("voltage-stability") else { return };
    for pace in ["real", "events"] {
        let options = ["--variant", "normal", "--duration", "4 s", "--pace", pace];
        let run = run_as_nobody(&place, Devices::Open, &options);
        let run = run.expect_one_of(&[10, 11]);
        let record = run.record();
        assert_eq!(record.covered_ns, 4_000_000_000, "{:?}", record.ended);
        assert!(run.folder().capture("sensor").unwrap().unwrap().frames.len() > 100);
        assert!(record.wall.unwrap().reads.unwrap().count > 50);
        assert!(run.log("controller").contains("the sensor answers"));
    }
}

/// In a user namespace that grants no further ones.
#[test]
fn a_host_without_user_namespaces_is_told_with_the_fix() {
    if !possible() {
        return;
    }
    let place = Place::new(PROGRAMS_ONLY);
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs"]);
    let forbid = || {
        unshare(libc::CLONE_NEWUSER)?;
        fs::write("/proc/sys/user/max_user_namespaces", "0")
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(forbid) };
    let run = place.start_command(command).finish().expect(69);
    assert!(run.err.contains("user namespaces"), "{}", run.err);
    assert!(run.err.contains("max_user_namespaces"), "{}", run.err);
    assert!(place.runs().is_empty());
}
