//! Virtual machines on this machine: QEMU with a kernel of Debian's and the probe as its first and
//! only program.
//!
//! Each cell has a guest of its own, so that nothing of one is left in the next. Where KVM boots no
//! guest here, the processor is emulated, which is marked: those times are a model's. A neighbour is
//! another guest, on the same cores of this machine or on others.

use std::process::Command;

use anyhow::Context as _;
use os::process;
use probe::attend::Order;
use probe::{Cores, Host, cores};

use super::scratch::quietly;
use super::{Attended, Binary, Platform, Refusal, Role};
use crate::cell::{Mark, MarkKind};
use crate::matrix::{Accelerator, VmSpec};
use crate::vm::accelerator;
use crate::vm::gpio_sim;
use crate::vm::guest::{Guest, Placement, QEMU};
use crate::vm::kernel::Kernel;
use crate::vm::machine::{Execution, Machine};

/// Guests of one kind.
#[derive(Debug)]
pub struct Vm {
    spec: VmSpec,
    binary: Binary,
    ready: Option<Ready>,
}

/// What was found out before the first cell.
#[derive(Debug)]
struct Ready {
    kernel: Kernel,
    execution: Execution,
    /// Why it is emulated.
    why: String,
    /// Where the measured guest and its neighbours may run.
    own: Option<Cores>,
    neighbours: Option<Cores>,
}

impl Vm {
    /// As a matrix describes it, with the probe that is run there.
    pub fn new(spec: &VmSpec, binary: &Binary) -> Self {
        Self { spec: spec.clone(), binary: binary.clone(), ready: None }
    }

    /// How instructions are carried out here, and why so.
    fn execution(&self, kernel: &Kernel) -> Result<(Execution, String), Refusal> {
        let counted = "QEMU counts 8 ns for each instruction".to_owned();
        match self.spec.accelerator {
            Accelerator::Icount => return Ok((Execution::Counted, counted)),
            Accelerator::Tcg => return Ok((Execution::Emulated, "as requested".to_owned())),
            Accelerator::Auto | Accelerator::Kvm => {}
        }
        match accelerator::try_kvm(kernel, self.binary.path()) {
            Ok(()) => Ok((Execution::Kvm, String::new())),
            Err(error) if self.spec.accelerator == Accelerator::Auto => {
                Ok((Execution::Emulated, format!("{error:#}")))
            }
            Err(error) => Err(Refusal::missing(
                format!("{error:#}"),
                "write `accelerator: tcg` to have the processor emulated",
            )),
        }
    }

    /// Cores of this host for the measured guest, and for its neighbours.
    fn places(&self) -> Result<(Option<Cores>, Option<Cores>), Refusal> {
        let Some(own) = &self.spec.host_cores else { return Ok((None, None)) };
        let host = cores::chosen(&Host::this(), None)?;
        let missing = own.without(&host);
        if !missing.is_empty() {
            let fix = "change `host_cores` of the platform";
            return Err(Refusal::missing(format!("core {missing} does not exist here"), fix));
        }
        let others = if self.spec.exclusive { host.without(own) } else { own.clone() };
        Ok((Some(own.clone()), Some(others)))
    }

    /// What one more guest needs of this host beyond its programs.
    fn check_memory(&self) -> Result<(), Refusal> {
        let host = Host::this();
        if !self.spec.huge_pages {
            return Ok(());
        }
        let number = |key: &str| meminfo(&host, key);
        let (free, of_kib) = (number("HugePages_Free"), number("Hugepagesize"));
        let free_mib = free * of_kib / 1024;
        if free_mib < self.spec.memory_mib {
            let reason =
                format!("{free_mib} MiB of huge pages are free, not {}", self.spec.memory_mib);
            // Others, a neighbour among them, may have some.
            let wanted = (self.spec.memory_mib * 1024).div_ceil(of_kib.max(1));
            let pages = number("HugePages_Total").saturating_sub(free) + wanted;
            return Err(Refusal::missing(reason, format!("sysctl vm.nr_hugepages={pages}")));
        }
        Ok(())
    }
}

impl Platform for Vm {
    fn prepare(&mut self) -> Result<Cores, Refusal> {
        if std::env::consts::ARCH != "x86_64" {
            let reason =
                format!("guests are supported on x86-64, not on {}", std::env::consts::ARCH);
            return Err(Refusal::missing(reason, "measure it on an x86-64 machine"));
        }
        check_qemu()?;
        self.check_memory()?;
        let (own, neighbours) = self.places()?;
        let kernel = Kernel::newest(self.spec.kernel).map_err(|error| {
            Refusal::missing(format!("no kernel for a guest: {error:#}"), WAY_TO_KERNEL)
        })?;
        let (execution, why) = self.execution(&kernel)?;
        if execution == Execution::Counted && self.spec.cores > 1 {
            let reason = "a guest that counts instructions has one core";
            return Err(Refusal::missing(reason, "write `cores: 1`"));
        }
        self.ready = Some(Ready { kernel, execution, why, own, neighbours });
        Ok((0..self.spec.cores).collect())
    }

    fn marks(&self) -> Vec<Mark> {
        let emulated = self.ready.iter().filter(|ready| ready.execution != Execution::Kvm);
        emulated.map(|ready| Mark::new(MarkKind::Emulated, &*ready.why)).collect()
    }

    fn neighbour_cores(&self) -> Option<Cores> {
        // The time of one that counts has nothing to do with what runs beside it.
        let ready = self.ready.as_ref()?;
        (ready.execution != Execution::Counted).then(|| (0..self.spec.cores).collect())
    }

    fn attend(&mut self, order: &Order, role: Role) -> Result<Attended, Refusal> {
        let ready = self.ready.as_ref().context("a platform is prepared first")?;
        let placement = match role {
            Role::Measured => Placement { cores: ready.own.clone(), priority: self.spec.priority },
            Role::Neighbour(_) => Placement { cores: ready.neighbours.clone(), priority: None },
        };
        if placement.cores.as_ref().is_some_and(Cores::is_empty) {
            let reason = "the measured guest has all cores of this machine for itself";
            return Err(Refusal::missing(
                reason,
                "leave some for the neighbours with `host_cores`",
            ));
        }
        // A neighbour takes as much as the measured guest, and starts before it.
        self.check_memory()?;
        let machine = Machine {
            execution: ready.execution,
            cores: self.spec.cores,
            memory_mib: self.spec.memory_mib,
            huge_pages: self.spec.huge_pages,
            lock_memory: self.spec.lock_memory,
        };
        let mut kernel = ready.kernel.clone();
        if needs_lines(order) {
            let modules = gpio_sim::modules(&kernel)
                .map_err(|error| Refusal::missing(format!("{error:#}"), gpio_sim::WAY_OUT))?;
            kernel.modules.extend(modules);
        }
        let guest = Guest { kernel, machine, placement };
        let (command, launch) = guest.command(self.binary.path(), order)?;
        Ok(Attended::start_ordered(command, |_, _| launch.begin())?)
    }
}

/// Whether the guest is to simulate GPIO lines.
fn needs_lines(order: &Order) -> bool {
    let plan = order.plan.as_ref();
    plan.is_some_and(|plan| plan.probe == probe::Kind::Gpio && plan.gpio.is_none())
}

const WAY_TO_KERNEL: &str = "run once with a network, on a host with Debian packages";

fn check_qemu() -> Result<(), Refusal> {
    let mut command = Command::new(QEMU);
    command.arg("--version");
    if quietly(command) {
        return Ok(());
    }
    let reason = format!("{QEMU} is not installed, or it does not run");
    Err(Refusal::missing(reason, "apt-get install qemu-system-x86"))
}

/// A line of `/proc/meminfo`; 0 if there is none.
fn meminfo(host: &Host, key: &str) -> u64 {
    let text = host.text("/proc/meminfo").unwrap_or_default();
    let value = process::field(&text, key).and_then(|value| value.split_whitespace().next());
    value.and_then(|number| number.parse().ok()).unwrap_or_default()
}
