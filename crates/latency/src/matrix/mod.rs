//! A matrix: which platforms are measured under which profiles, for how long.
//!
//! It is read and checked as a whole before anything starts ([`read()`]), and written out with all
//! that it did not say ([`text`]), so that a run can be resumed or repeated years later whatever
//! the built-in profiles are by then.

mod keys;
mod platforms;
mod profiles;
mod read;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::fmt;

use probe::Cores;
use remote::Target;
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

use super::profile::{CoreChoice, Profile};
use super::verdict::{self, Limit};

pub use platforms::built_in as built_in_platforms;
pub use profiles::built_in as built_in_profiles;
pub use read::{read, read_text};

/// What is to be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    pub name: String,
    pub description: String,
    pub duration_ns: u64,
    /// Between the start of loads and the beginning of a measurement, ns.
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

/// The platform and profile of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    pub platform: &'a PlatformSpec,
    pub profile: &'a Profile,
}

/// One place to measure at, as a matrix describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlatformSpec {
    pub name: String,
    pub kind: PlatformKind,
}

/// What a platform is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlatformKind {
    /// This machine: which of its cores to use.
    Native(CoreChoice),
    Container(ContainerSpec),
    Vm(VmSpec),
    Remote(RemoteSpec),
}

/// The program that runs containers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, IntoStaticStr, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// The reference of the OCI runtime specification, from a bundle.
    Runc,
    Docker,
    Podman,
}

/// What a matrix says of containers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerSpec {
    pub engine: Engine,
    pub cores: CoreChoice,
    /// Whether neighbours are kept off these cores.
    pub exclusive: bool,
    /// Share of each second for real-time threads where control groups divide it, ns.
    pub real_time_ns: u64,
}

/// Which kernel a guest boots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum GuestKernel {
    Stock,
    Rt,
}

/// What carries out the instructions of a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Display, EnumString, VariantNames)]
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
    pub accelerator: Accelerator,
    pub cores: usize,
    pub memory_mib: u64,
    /// Cores of this machine, one for each virtual processor; none: wherever it likes.
    pub host_cores: Option<Cores>,
    /// Whether neighbours are kept off these cores.
    pub exclusive: bool,
    /// Of SCHED_FIFO, of the threads of virtual processors; none: ordinary threads.
    pub priority: Option<i32>,
    pub huge_pages: bool,
    pub lock_memory: bool,
}

/// Options of a remote machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteSpec {
    pub target: Target,
    pub cores: CoreChoice,
}

impl Coordinates<'_> {
    /// Its name, and that of its folder: `native.tp1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.platform.name, self.profile.name)
    }
}

impl Matrix {
    /// Its cells: platform by platform, since changing the platform is what takes time.
    pub fn cells(&self) -> impl Iterator<Item = Coordinates<'_>> {
        let is_left_out = |cell: &Coordinates<'_>| {
            let names = (&cell.platform.name, &cell.profile.name);
            self.skip.iter().any(|(platform, profile)| (platform, profile) == names)
        };
        let pairs = self.platforms.iter().flat_map(|platform| {
            self.profiles.iter().map(move |profile| Coordinates { platform, profile })
        });
        pairs.filter(move |cell| !is_left_out(cell))
    }

    /// Its limits, as verdicts hold them.
    pub fn own_limits(&self) -> impl Iterator<Item = Limit> {
        self.limits.iter().map(|(name, limit_ns)| verdict::own(name, *limit_ns))
    }

    /// How long all of it takes at least, ns.
    pub fn length_ns(&self) -> u64 {
        let lengths = self.cells().map(|cell| self.duration_ns(cell) + self.settle_ns);
        lengths.fold(0, u64::saturating_add)
    }

    /// How long a cell is measured, ns.
    pub fn duration_ns(&self, cell: Coordinates<'_>) -> u64 {
        cell.profile.duration_ns.unwrap_or(self.duration_ns)
    }
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
            Self::Remote(remote) => write!(to, "{}, by ssh", remote.target.destination),
        }
    }
}
