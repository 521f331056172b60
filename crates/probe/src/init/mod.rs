//! The first and only program of a guest: it makes the guest ready, hands an order to
//! `qcprobe attend`, carries what that says out of the guest, and turns the guest off.
//!
//! A guest has no disk and no network. Its first file system holds this program, the loads, the
//! modules of the kernel that a virtual serial port and the probe need ([`MODULES`]), and the order
//! ([`ORDER`]). The stream leaves through that port ([`PORT`]), which costs the guest one notification
//! for a block; a serial line would cost one for each octet, and be measured as well. What the host
//! says through the port reaches `attend` as its input, so that a guest can be asked to stop, and ends
//! when the host closes its end.

mod port;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::event::{PollFd, PollFlags};
use rustix::mount::MountFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};

use self::port::{ENDED, Port, wait};

/// The program in the guest.
pub const PROGRAM: &str = "/qcprobe";
/// The order of `attend`, one line of JSON, in the guest.
pub const ORDER: &str = "/order.json";
/// The folder of the modules to load.
pub const MODULES: &str = "/modules";
/// The name of the virtual serial port.
pub const PORT: &str = "qcprobe";
/// Where the loads are.
pub const PROGRAMS: &str = "/bin";

/// File systems that programs expect: type and place.
const FILE_SYSTEMS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];
/// The file system by which simulated devices are ordered, where the modules for them are in the guest.
const CONFIGURATION: (&str, &str) = ("configfs", "/sys/kernel/config");
/// A port is there this long after its modules at the latest.
const PORT_MAX: Duration = Duration::from_secs(30);
/// What the host has not taken by then, it does not want.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// Of finit_module(2): the file is compressed.
const MODULE_INIT_COMPRESSED_FILE: libc::c_int = 4;

/// Does all of it, as process 1 of a guest, and turns the guest off.
///
/// # Errors
/// This is not process 1, and nothing has happened; or the guest cannot be turned off.
pub fn run() -> Result<()> {
    ensure!(
        std::process::id() == 1,
        "`qcprobe init` is the first process of a guest, and this is not a guest"
    );
    if let Err(error) = attend() {
        // On the console, which the host shows when a guest says nothing through its port.
        terminal::err!("qcprobe: init: {error:#}");
    }
    // All other processes at once, which is what kill(2) takes -1 for: nothing of theirs is wanted any more.
    let _ = kill_process_group(Pid::INIT, Signal::KILL);
    // The last words on the console shall be those above, and not the kernel's farewell.
    let _ = fs::write("/proc/sys/kernel/printk", "0");
    // There is nothing on a disk.
    Ok(reboot(RebootCommand::PowerOff)?)
}

fn attend() -> Result<()> {
    for (kind, place) in FILE_SYSTEMS {
        fs::create_dir_all(place).context(place)?;
        mount(kind, place)?;
    }
    sethostname(b"guest").context("the name of the host")?;
    load_modules()?;
    let (kind, place) = CONFIGURATION;
    if Path::new(place).exists() {
        mount(kind, place)?;
    }
    let mut port = open_port()?;
    let order = fs::read(ORDER).context(ORDER)?;
    let mut child = Command::new(PROGRAM)
        .arg("attend")
        .env_clear()
        .env("PATH", PROGRAMS)
        .env("HOME", "/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context(PROGRAM)?;
    if let Some(input) = &mut child.stdin {
        input.write_all(&order)?;
        input.write_all(b"\n")?;
    }
    // What goes to the host must not wait for the loads. The first process of a guest may do this.
    os::realtime::fifo(1).context("SCHED_FIFO")?;
    carry(&mut child, &mut port)?;
    let status = child.wait()?;
    port.drain(DRAIN_MAX)?;
    ensure!(status.success(), "attend has ended with {status}");
    Ok(())
}

/// Mounts a file system that has no device.
fn mount(kind: &str, place: &'static str) -> Result<()> {
    rustix::mount::mount(kind, place, kind, MountFlags::empty(), None).context(place)
}

/// Loads all modules, those that others need first: one whose needs are not there yet is refused,
/// and is tried again after the others.
fn load_modules() -> Result<()> {
    let mut left: Vec<PathBuf> = fs::read_dir(MODULES)
        .context(MODULES)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    left.sort();
    while !left.is_empty() {
        let before = left.len();
        let mut refused = None;
        left.retain(|path| match load_module(path) {
            Ok(()) => false,
            Err(error) => {
                refused.get_or_insert_with(|| Err(error).context(path.display().to_string()));
                true
            }
        });
        if let Some(refused) = refused.filter(|_| left.len() == before) {
            return refused;
        }
    }
    Ok(())
}

fn load_module(path: &Path) -> io::Result<()> {
    // One that is compressed is unpacked by the kernel, which has to know.
    let is_packed = path.extension().is_none_or(|extension| extension != "ko");
    let flags = if is_packed { MODULE_INIT_COMPRESSED_FILE } else { 0 };
    Ok(finit_module(File::open(path)?, c"", flags)?)
}

/// Opens the port once it is there: drivers find their devices some time after they are loaded.
fn open_port() -> Result<Port> {
    let until = Instant::now() + PORT_MAX;
    loop {
        if let Some(path) = port_named(PORT) {
            let mut options = File::options();
            // A blocking write would wait for the host with interrupts disabled.
            options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
            match options.open(&path) {
                Ok(file) => return Ok(Port::new(file)),
                // Its file follows its name.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).context(PORT),
            }
        }
        ensure!(Instant::now() < until, "there is no virtual serial port named {PORT}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn port_named(name: &str) -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.filter_map(Result::ok);
    let is_ours = |path: &PathBuf| {
        fs::read_to_string(path.join("name")).is_ok_and(|found| found.trim() == name)
    };
    let path = ports.map(|entry| entry.path()).find(is_ours)?;
    Some(Path::new("/dev").join(path.file_name()?))
}

/// A read does not block; it may say that there is no more.
const READABLE: PollFlags = PollFlags::IN.union(PollFlags::HUP);

/// Carries the output of `attend` to the host, and what the host says to `attend`, until there is
/// no more output.
fn carry(child: &mut Child, port: &mut Port) -> io::Result<()> {
    let Some(mut output) = child.stdout.take() else { return Ok(()) };
    let mut input = child.stdin.take();
    let mut block = vec![0; 64 << 10];
    loop {
        // No more than the host takes: the pipe holds the rest.
        let wanted = |is: bool, flag| if is { flag } else { PollFlags::empty() };
        let of_output = PollFd::new(&output, wanted(!port.is_pending(), PollFlags::IN));
        let of_port =
            wanted(input.is_some(), PollFlags::IN) | wanted(port.is_pending(), PollFlags::OUT);
        let mut fds = [of_output, PollFd::new(&port.file, of_port)];
        let waited_for = if port.is_closed { 1 } else { 2 };
        wait(&mut fds[..waited_for], None)?;
        let [of_output, of_port] = fds.map(|fd| fd.revents());
        if of_output.intersects(READABLE) && !port.is_pending() {
            match output.read(&mut block)? {
                0 => return Ok(()),
                count => port.take(&block[..count]),
            }
        }
        if of_port.intersects(ENDED) {
            port.close();
            input = None;
        }
        if port.is_pending() {
            port.write()?;
        }
        if of_port.intersects(READABLE)
            && !port.is_closed
            && let Some(count) = port.read(&mut block)?
        {
            let said = &block[..count];
            let forwarded = input.as_mut().map_or(Ok(()), |input| input.write_all(said));
            // An `attend` that listens no more is about to end.
            if said.is_empty() || forwarded.is_err() {
                input = None;
            }
        }
    }
}
