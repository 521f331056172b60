//! A guest from its description to its first words: what it is started with, where its processors
//! run on this host, and the wait until it has booted.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs::File, iter};

use anyhow::{Context as _, Result, ensure};
use probe::attend::Order;

use super::kernel::Kernel;
use super::machine::Machine;
use super::monitor::Monitor;
use super::{initramfs, libraries, process};
use os::fds;
use readiness::Cores;

/// What runs virtual machines here.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// A guest that can be started, any number of times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Guest {
    pub kernel: Kernel,
    pub machine: Machine,
    pub placement: Placement,
}

/// Where on this host a guest runs, and how urgently.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Placement {
    /// Each virtual processor gets one of these cores for itself, in this order, and more than
    /// once round if there are too few. None: wherever the host likes.
    pub cores: Option<Cores>,
    /// The priority of SCHED_FIFO of the threads of virtual processors; none: ordinary threads.
    pub priority: Option<i32>,
}

/// What a QEMU that is about to start shares with this process.
#[derive(Debug)]
pub(crate) struct Launch {
    monitor: UnixStream,
    handed_down: (UnixStream, File),
    placement: Placement,
}

impl Guest {
    /// The command that starts it with an order of `qcprobe attend`, and with the programs of this
    /// host that the order names. Its standard output is the stream, its standard error the
    /// console, and it ends with the thread that starts it. Once started, it waits for
    /// [`Launch::begin`]. Its input must stay open for as long as the stream is wanted: the end of
    /// the input is the guest's.
    pub(crate) fn command(&self, probe: &Path, order: &Order) -> Result<(Command, Launch)> {
        let names: BTreeSet<_> = order.loads.iter().filter_map(|load| load.words.first()).collect();
        let programs = names.into_iter().map(|name| {
            let path = libraries::find(name).with_context(|| format!("{name} is not installed"))?;
            Ok((name.as_str(), path))
        });
        let programs = programs.collect::<Result<Vec<_>>>()?;
        let order = serde_json::to_vec(order).context("cannot write the order")?;
        let files = initramfs::build(&self.kernel, probe, &programs, &order)?;
        let files = process::file_in_memory(c"quartercycle-guest", &files)
            .context("cannot make the file system of a guest")?;
        let (monitor, theirs) = UnixStream::pair().context("cannot make a socket")?;
        let mut command = Command::new(QEMU);
        let (files_fd, monitor_fd) = (files.as_raw_fd(), theirs.as_raw_fd());
        command.args(self.machine.arguments(&self.kernel, files_fd, monitor_fd));
        fds::inherit(&mut command, files.as_fd());
        fds::inherit(&mut command, theirs.as_fd());
        process::end_with_this_thread(&mut command);
        let launch =
            Launch { monitor, handed_down: (theirs, files), placement: self.placement.clone() };
        Ok((command, launch))
    }
}

impl Launch {
    /// Puts the threads of the virtual processors in their places, lets the guest begin, and waits
    /// until its probe is about to start.
    ///
    /// # Errors
    /// When QEMU ends or the guest does not boot: both say why on their standard error.
    pub(crate) fn begin(self) -> Result<()> {
        let Self { monitor, handed_down, placement } = self;
        // Else the end of QEMU would go unnoticed.
        drop(handed_down);
        let mut monitor = Monitor::new(monitor)?;
        placement.apply(&monitor.processors()?)?;
        monitor.begin()?;
        monitor
            .wait_for_port(BOOT_MAX)
            .with_context(|| format!("the guest did not boot within {} s", BOOT_MAX.as_secs()))
    }
}

impl Placement {
    fn apply(&self, threads: &[i32]) -> Result<()> {
        if let Some(cores) = &self.cores {
            ensure!(!cores.is_empty(), "there is no core for the virtual processors");
            let turns = iter::repeat_with(|| cores.iter()).flatten();
            for (thread, core) in threads.iter().zip(turns) {
                os::realtime::pin_thread(*thread, [core])
                    .with_context(|| format!("cannot bind a virtual processor to core {core}"))?;
            }
        }
        if let Some(priority) = self.priority {
            for thread in threads {
                os::realtime::fifo_thread(*thread, priority).with_context(|| {
                    format!("cannot give a virtual processor {priority} of SCHED_FIFO")
                })?;
            }
        }
        Ok(())
    }
}

/// How long a guest may take to boot. Emulated ones take five seconds of processor time, others one,
/// and on a busy host that is a minute: what takes longer hangs.
const BOOT_MAX: Duration = Duration::from_secs(300);
