//! Whether virtual machines run on the processor itself here (KVM), found out by booting one.
//!
//! That there is a `/dev/kvm` says little: the host may be a guest itself, whose KVM lacks what a
//! kernel needs, and then guests fail or hang. So a guest with the kernel in question and an empty
//! order is started, and must boot.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use anyhow::{Context as _, Error};
use probe::attend::Order;

use super::guest::{Guest, Placement};
use super::kernel::Kernel;
use super::machine::{Execution, MEMORY_MIB_MIN, Machine};

const DEVICE: &str = "/dev/kvm";
/// Of what a failing QEMU says, this much is reported.
const WORDS_MAX: usize = 300;

/// Boots a guest with this kernel under KVM.
///
/// # Errors
/// Why it does not work here.
pub(crate) fn try_kvm(kernel: &Kernel, probe: &Path) -> Result<(), Error> {
    File::options()
        .read(true)
        .write(true)
        .open(DEVICE)
        .with_context(|| format!("{DEVICE} cannot be opened"))?;
    let machine = Machine {
        execution: Execution::Kvm,
        cores: 1,
        memory_mib: MEMORY_MIB_MIN,
        huge_pages: false,
        lock_memory: false,
    };
    let guest = Guest { kernel: kernel.clone(), machine, placement: Placement::default() };
    let (mut command, launch) = guest.command(probe, &Order::default())?;
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Killed(command.spawn().context("cannot start QEMU")?);
    let errors = child.0.stderr.take();
    launch.begin().map_err(|error| {
        drop(child);
        let said = errors.and_then(last_words);
        said.map_or(error, |said| Error::msg(format!("{DEVICE} cannot boot a guest: {said}")))
    })
}

/// A child that is killed with this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // One that has ended needs no more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line that is no escape sequence of a firmware: QEMU's own complaint.
fn last_words(mut from: ChildStderr) -> Option<String> {
    let mut said = Vec::new();
    from.read_to_end(&mut said).ok()?;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| line.starts_with("qemu"))?;
    Some(line.chars().filter(|letter| !letter.is_control()).take(WORDS_MAX).collect())
}
