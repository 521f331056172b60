//! A matrix: which platforms are measured under which profiles, for how long.
//!
//! It is read and checked as a whole before anything starts ([`read()`]), and written out with all
//! that it did not say ([`text`]), so that a run can be resumed or repeated years later whatever
//! the built-in profiles are by then.

mod cells;
mod keys;
mod platforms;
mod profiles;
mod read;
mod reference;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::fmt;
use std::path::PathBuf;

use probe::Cores;

use super::profile::{CoreChoice, Profile};

pub use cells::Coordinates;
pub use platforms::built_in as built_in_platforms;
pub use profiles::built_in as built_in_profiles;
pub use read::{read, read_text};
pub use reference::{example, reference};

/// What is to be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// What it is called.
    pub name: String,
    /// A paragraph for the report.
    pub description: String,
    /// How long each cell is measured, ns.
    pub duration_ns: u64,
    /// Between the start of loads and the begin of a measurement, ns.
    pub settle_ns: u64,
    /// Where, in the order of the file.
    pub platforms: Vec<PlatformSpec>,
    /// How, in the order of the file.
    pub profiles: Vec<Profile>,
    /// Cells that are left out: names of platform and profile.
    pub skip: Vec<(String, String)>,
    /// Longest latency that is good enough, ns, by name.
    pub limits: Vec<(String, u64)>,
}

/// One place to measure at, as a matrix describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlatformSpec {
    /// What it is called.
    pub name: String,
    /// Kind of the platform, with its options.
    pub kind: PlatformKind,
}

/// What a platform is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlatformKind {
    /// This machine, as it is.
    Native(NativeSpec),
    /// Containers on this machine.
    Container(ContainerSpec),
    /// Virtual machines on this machine.
    Vm(VmSpec),
    /// A machine that ssh reaches.
    Remote(RemoteSpec),
}

/// Options of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeSpec {
    /// Which cores to use: all, or a list.
    pub cores: CoreChoice,
}

/// What runs containers.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    strum::IntoStaticStr,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// The reference of the OCI runtime specification, from a bundle.
    Runc,
    /// Docker, through its command and daemon.
    Docker,
    /// Podman, through its command.
    Podman,
}

/// Options of containers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerSpec {
    pub engine: Engine,
    /// Cores of the container: all, or a list.
    pub cores: CoreChoice,
    /// Whether neighbours are kept off these cores.
    pub exclusive: bool,
    /// Share of each second for real-time threads where control groups divide it, ns.
    pub real_time_ns: u64,
}

/// Which kernel a guest boots.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, strum::Display, strum::EnumString, strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum GuestKernel {
    Stock,
    Rt,
}

/// What carries out the instructions of a guest.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, strum::Display, strum::EnumString, strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Accelerator {
    /// KVM if a guest boots with it, else emulation.
    Auto,
    Kvm,
    /// Emulation (QEMU's Tiny Code Generator).
    Tcg,
    /// Emulation whose clock counts instructions: the same on any host.
    Icount,
}

/// Options of virtual machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VmSpec {
    pub kernel: GuestKernel,
    /// What carries out the instructions.
    pub accelerator: Accelerator,
    pub cores: usize,
    pub memory_mib: u64,
    /// Cores of this machine, one for each virtual processor; none: wherever it likes.
    pub host_cores: Option<Cores>,
    /// Whether neighbours are kept off these cores.
    pub exclusive: bool,
    /// Of SCHED_FIFO, of the threads of virtual processors; none: ordinary threads.
    pub priority: Option<i32>,
    /// Whether the memory consists of huge pages.
    pub huge_pages: bool,
    /// Whether the memory is kept from being paged out.
    pub lock_memory: bool,
}

/// Options of a remote machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteSpec {
    /// As ssh(1) knows it.
    pub host: String,
    /// Of its ssh server.
    pub port: Option<u16>,
    /// File of the private key.
    pub identity: Option<PathBuf>,
    /// Configuration of ssh(1), instead of the user's.
    pub config: Option<PathBuf>,
    /// Where the probe is put while it runs.
    pub folder: String,
    /// Cores to use: all, or a list.
    pub cores: CoreChoice,
}

impl Engine {
    /// As matrices write it, and the name of its command.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What it is, for a list.
impl fmt::Display for PlatformKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native(_) => to.write_str("this machine, as it is"),
            Self::Container(container) => {
                write!(to, "containers on this machine, by {}", container.engine.name())
            }
            Self::Vm(vm) => {
                let kernel = match vm.kernel {
                    GuestKernel::Stock => "ordinary",
                    GuestKernel::Rt => "PREEMPT_RT",
                };
                write!(to, "virtual machines on this machine, with Debian's {kernel} kernel")
            }
            Self::Remote(remote) => write!(to, "{}, by ssh", remote.host),
        }
    }
}
