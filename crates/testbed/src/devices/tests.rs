//! The folder with a real kernel and ordinary programs, in a mount namespace of its own.

use super::*;
use domain::{Domain, NodeTime, Start};
use rustix::mount::MountPropagationFlags;
use scenario::model::PointFile;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use vtime::{VirtualSpan, VirtualTime};

/// Returns reads with the number of the read, and remembers writes.
#[derive(Default)]
struct Trivial {
    reads: Mutex<Vec<VirtualTime>>,
    writes: Mutex<Vec<(String, f64)>>,
}

impl PointStore for Trivial {
    fn read(&self, points: &[PointName], at: VirtualTime) -> Result<Vec<f64>, String> {
        if points.iter().any(|point| point.0 == "bus.9.v1") {
            return Err("the plant is gone".into());
        }
        let mut reads = self.reads.lock().unwrap();
        reads.push(at);
        Ok(vec![reads.len() as f64 + 0.5; points.len()])
    }

    fn write(&self, point: &PointName, value: f64, _: VirtualTime) -> Result<(), String> {
        self.writes.lock().unwrap().push((point.0.clone(), value));
        Ok(())
    }
}

struct Stage {
    folder: PathBuf,
    domain: Arc<Domain>,
    store: Arc<Trivial>,
    server: Option<Server>,
}

impl Stage {
    fn path(&self, point: &str) -> PathBuf {
        self.folder.join(point)
    }

    fn shell(&self, command: &str) -> (i32, String) {
        let output =
            Command::new("sh").arg("-c").arg(command).current_dir(&self.folder).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.server.take());
        unmount(&self.folder);
    }
}

fn unmount(folder: &Path) {
    // If nothing is mounted there this only fails.
    let _ = rustix::mount::unmount(folder, rustix::mount::UnmountFlags::DETACH);
}

/// Runs `test` in a thread with a mount namespace of its own, which vanishes with it.
fn on_stage(domain: Arc<Domain>, test: impl FnOnce(&mut Stage) + Send + 'static) {
    if mount::user().0 != 0 {
        println!("not run: mounting needs root");
        return;
    }
    let scene = move || {
        // SAFETY: changes the namespace of this thread only.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        rustix::mount::mount_change("/", private).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let fd = mount_here(folder.path()).unwrap();
        let file = |name: &str, writable, ms| PointFile {
            point: PointName(name.into()),
            writable,
            latency: VirtualSpan::from_ms(ms),
        };
        let files = vec![
            file("generator.wind.kW", false, 0),
            file("storage.es.kW", true, 0),
            file("bus.680.v1", false, 10),
            file("bus.9.v1", false, 0),
        ];
        let store = Arc::new(Trivial::default());
        let server =
            serve(fd, files, Arc::clone(&domain), store.clone(), Arc::new(NodeTime::at_once()))
                .unwrap();
        let folder_path = folder.path().to_path_buf();
        test(&mut Stage { folder: folder_path, domain, store, server: Some(server) });
    };
    if let Err(panic) = std::thread::spawn(scene).join() {
        std::panic::resume_unwind(panic);
    }
}

fn wait_while(holds: impl Fn() -> bool) {
    while holds() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn running() -> Arc<Domain> {
    Domain::new(Start::default()).unwrap()
}

#[test]
fn ordinary_programs_list_read_and_write_points() {
    on_stage(running(), |stage| {
        let (_, listed) = stage.shell("ls -l");
        println!("{listed}");
        let (_, names) = stage.shell("ls -a");
        assert_eq!(
            names,
            ".\n..\nbus.680.v1\nbus.9.v1\ngenerator.wind.kW\nstorage.es.kW\nvalues\n"
        );
        let wind = stage.path("generator.wind.kW").metadata().unwrap();
        assert_eq!((wind.len(), wind.permissions().mode()), (0, 0o100_444));
        let storage = stage.path("storage.es.kW").metadata().unwrap();
        assert_eq!(storage.permissions().mode(), 0o100_644);

        assert_eq!(stage.shell("cat generator.wind.kW"), (0, "1.5\n".into()));
        assert_eq!(stage.shell("dd bs=1 if=generator.wind.kW 2>/dev/null"), (0, "2.5\n".into()));
        let python = "python3 -c 'print(float(open(\"generator.wind.kW\").read()))'";
        assert_eq!(stage.shell(python), (0, "3.5\n".into()));

        assert_eq!(stage.shell("echo 5 > storage.es.kW"), (0, String::new()));
        assert_eq!(stage.shell("printf ' -7.25' >> storage.es.kW").0, 0);
        let python = "python3 -c 'open(\"storage.es.kW\", \"w\").write(\"1e3\")'";
        assert_eq!(stage.shell(python), (0, String::new()));
        let written: Vec<f64> =
            stage.store.writes.lock().unwrap().iter().map(|(_, value)| *value).collect();
        assert_eq!(written, [5.0, -7.25, 1000.0]);
        let stats = stage.server.as_ref().unwrap().stats();
        assert_eq!((stats.reads, stats.writes, stats.warnings.len()), (3, 3, 0));
    });
}

#[test]
fn what_is_not_allowed_changes_nothing_and_says_why() {
    on_stage(running(), |stage| {
        for (command, said) in [
            ("echo full | tee storage.es.kW", "Invalid argument"),
            ("printf '5\\n6\\n' | tee storage.es.kW", "Invalid argument"),
            ("echo 5 > generator.wind.kW", "ermission denied"),
            ("echo 5 > other", "ermission denied"),
            ("rm -f storage.es.kW", "ermission denied"),
            ("mv storage.es.kW x", "ermission denied"),
            ("chmod 777 storage.es.kW", "not permitted"),
            ("cat other", "No such file"),
            ("cat bus.9.v1", "Input/output error"),
            ("echo 5 > values", "ermission denied"),
            // One of them has no value.
            ("cat values", "Input/output error"),
        ] {
            let (code, text) = stage.shell(command);
            assert!(code != 0 && text.contains(said), "{command}: {code} {text}");
        }
        assert_eq!(stage.shell("df . >/dev/null; cat storage.es.kW"), (0, "1.5\n".into()));
        assert!(stage.store.writes.lock().unwrap().is_empty());
        let warnings: Vec<String> =
            stage.server.as_ref().unwrap().stats().warnings.into_keys().collect();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings.contains(&"bus.9.v1: the plant is gone".to_owned()), "{warnings:?}");
        let refused = "the write of \"full\\n\" to storage.es.kW is not one number".to_owned();
        assert!(warnings.contains(&refused), "{warnings:?}");
    });
}

#[test]
fn seeking_to_the_start_samples_anew() {
    on_stage(running(), |stage| {
        let file = File::open(stage.path("generator.wind.kW")).unwrap();
        let at = |offset| {
            let mut text = [0; 16];
            let length = file.read_at(&mut text, offset).unwrap();
            String::from_utf8(text[..length].to_vec()).unwrap()
        };
        assert_eq!([at(0), at(2), at(4), at(0)], ["1.5\n", "5\n", "", "2.5\n"]);
    });
}

#[test]
fn the_clock_stands_while_the_plant_is_asked() {
    struct Slow(Arc<Domain>);
    impl PointStore for Slow {
        fn read(&self, _: &[PointName], at: VirtualTime) -> Result<Vec<f64>, String> {
            std::thread::sleep(Duration::from_millis(200));
            if self.0.now() == at { Ok(vec![1.0]) } else { Err("the clock went on".into()) }
        }
        fn write(&self, _: &PointName, _: f64, _: VirtualTime) -> Result<(), String> {
            Ok(())
        }
    }
    on_stage(running(), |stage| {
        let folder = stage.folder.join("..").canonicalize().unwrap();
        let folder = tempfile::tempdir_in(folder).unwrap();
        let fd = mount_here(folder.path()).unwrap();
        let point = PointName("slow".into());
        let files = vec![PointFile { point, writable: false, latency: VirtualSpan::ZERO }];
        let store = Arc::new(Slow(Arc::clone(&stage.domain)));
        let server =
            serve(fd, files, Arc::clone(&stage.domain), store, Arc::new(NodeTime::at_once()))
                .unwrap();
        let paused = stage.domain.reading().paused_ns;
        assert_eq!(std::fs::read_to_string(folder.path().join("slow")).unwrap(), "1\n");
        assert!(stage.domain.reading().paused_ns - paused >= 200_000_000);
        assert!(server.stats().warnings.is_empty());
        drop(server);
        unmount(folder.path());
    });
}

#[test]
fn a_latency_passes_on_the_virtual_clock_and_blocks_nobody() {
    let start = Start { tdf: "5".parse().unwrap(), ..Start::default() };
    on_stage(Domain::new(start).unwrap(), |stage| {
        let host = Instant::now();
        std::fs::read_to_string(stage.path("bus.680.v1")).unwrap();
        assert!(host.elapsed() >= Duration::from_millis(50), "{:?}", host.elapsed());
        let asked = stage.store.reads.lock().unwrap()[0];
        assert!(stage.domain.now() >= asked + VirtualSpan::from_ms(10));

        let hold = stage.domain.hold();
        let slow = stage.path("bus.680.v1");
        let reader = std::thread::spawn(move || std::fs::read_to_string(slow).unwrap());
        wait_while(|| stage.store.reads.lock().unwrap().len() < 2);
        assert_eq!(std::fs::read_to_string(stage.path("generator.wind.kW")).unwrap(), "3.5\n");
        std::thread::sleep(Duration::from_millis(20));
        assert!(!reader.is_finished());
        let at = hold.at();
        drop(hold);
        assert_eq!(reader.join().unwrap(), "2.5\n");
        assert!(stage.domain.now() >= at + VirtualSpan::from_ms(10));
    });
}

#[test]
fn nobody_hangs_when_a_reader_is_killed_or_the_server_ends() {
    on_stage(running(), |stage| {
        let hold = stage.domain.hold();
        let slow = stage.path("bus.680.v1");
        let mut reader = Command::new("cat").arg(&slow).spawn().unwrap();
        wait_while(|| stage.store.reads.lock().unwrap().is_empty());
        reader.kill().unwrap();
        reader.wait().unwrap();

        let stranded = std::thread::spawn(move || std::fs::read_to_string(slow));
        wait_while(|| stage.store.reads.lock().unwrap().len() < 2);
        let mut open = File::options().write(true).open(stage.path("storage.es.kW")).unwrap();
        drop(stage.server.take());
        assert!(stranded.join().unwrap().is_err());
        assert!(open.write(b"5").is_err());
        assert!(std::fs::read_dir(&stage.folder).is_err());
        drop(hold);
    });
}

#[test]
fn unmounting_ends_the_server() {
    on_stage(running(), |stage| {
        assert_eq!(stage.shell("cat generator.wind.kW").0, 0);
        unmount(&stage.folder);
        let server = stage.server.take().unwrap();
        wait_while(|| !server.stats().ended);
        assert!(server.stats().warnings.is_empty(), "{:?}", server.stats());
    });
}

/// Prints what a read costs; it fails only if reads do.
#[test]
fn what_a_read_costs() {
    on_stage(running(), |stage| {
        let open = File::open(stage.path("generator.wind.kW")).unwrap();
        let mut text = [0; 64];
        let read = |_: usize| {
            let (host, before) = (Instant::now(), stage.domain.now());
            open.read_at(&mut text, 0).unwrap();
            let after = stage.domain.now();
            (host.elapsed().as_nanos(), (after - before).as_ns(), before)
        };
        let costs: Vec<_> = (0..1000).map(read).collect();
        let leaks = stage.store.reads.lock().unwrap().clone();
        let leaks = costs.iter().zip(&leaks).map(|(cost, at)| (*at - cost.2).as_ns());
        let line = |name: &str, mut ns: Vec<i64>| {
            ns.sort_unstable();
            println!("{name}: median {} ns, p99 {} ns", ns[ns.len() / 2], ns[ns.len() * 99 / 100]);
        };
        line("wall time of a read", costs.iter().map(|c| i64::try_from(c.0).unwrap()).collect());
        line("virtual time of a read", costs.iter().map(|c| c.1).collect());
        line("virtual time up to the hold", leaks.collect());
        let whole = |_: usize| {
            let (host, before) = (Instant::now(), stage.domain.now());
            let mut text = String::new();
            File::open(stage.path("generator.wind.kW")).unwrap().read_to_string(&mut text).unwrap();
            (
                (stage.domain.now() - before).as_ns(),
                i64::try_from(host.elapsed().as_nanos()).unwrap(),
            )
        };
        let (virtual_ns, wall_ns): (Vec<i64>, Vec<i64>) = (0..1000).map(whole).unzip();
        line("wall time of open, read to the end and close", wall_ns);
        line("virtual time of the same", virtual_ns);
    });
}
