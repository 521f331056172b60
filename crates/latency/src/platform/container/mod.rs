//! Containers on this machine: the probe alone in a root file system, with two capabilities.
//!
//! Neither an image nor a registry is needed: the root file system holds the static probe and empty
//! folders, and where loads belong to the profile, the programs of this host, read-only. The rights
//! are listed ([`CAPABILITIES`]), and no others are given: a platform that needs more for
//! SCHED_FIFO is refused by the probe, with the reason.

mod bundle;
mod engine;
mod root;

use std::fs;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use probe::attend::Order;
use probe::{Cores, Host, cores};

use super::scratch::{STATE, Scratch};
use super::{Attended, Binary, Platform, Refusal, Role};
use crate::matrix::{ContainerSpec, Engine};

/// For SCHED_FIFO, and for mlockall.
pub const CAPABILITIES: [&str; 2] = ["CAP_SYS_NICE", "CAP_IPC_LOCK"];

/// Containers of one engine.
#[derive(Debug)]
pub struct Container {
    spec: ContainerSpec,
    binary: Binary,
    /// Cores of this host, and those of the container.
    cores: Option<(Cores, Cores)>,
    scratch: Option<Scratch>,
}

/// What one container may use.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Share {
    cores: Cores,
    /// Of each second, ns, for real-time threads; none: nobody divides it.
    real_time_ns: Option<u64>,
    /// Whether the programs of this host are in it.
    programs: bool,
}

impl Container {
    /// As a matrix describes it, with the probe that is run there.
    pub fn new(spec: &ContainerSpec, binary: &Binary) -> Self {
        Self { spec: spec.clone(), binary: binary.clone(), cores: None, scratch: None }
    }

    fn share(&self, order: &Order, role: Role) -> Result<Share, Refusal> {
        let (_, own) = self.cores.as_ref().context("a platform is prepared first")?;
        let (cores, real_time_ns) = match role {
            Role::Measured => (own.clone(), Some(self.spec.real_time_ns)),
            Role::Neighbour(_) => (self.neighbour_cores().unwrap_or_default(), None),
        };
        if cores.is_empty() {
            let reason = format!("the container uses all cores ({own})");
            return Err(Refusal::missing(reason, "leave some for the neighbours with `cores`"));
        }
        let real_time_ns = real_time_ns.filter(|_| real_time_is_divided(&Host::this()));
        Ok(Share { cores, real_time_ns, programs: !order.loads.is_empty() })
    }

    /// The engine's own word that it is there and works.
    fn check_engine(&self) -> Result<(), Refusal> {
        let name = self.spec.engine.name();
        let question: &[&str] = match self.spec.engine {
            Engine::Runc => &["--version"],
            Engine::Docker | Engine::Podman => &["info"],
        };
        let mut command = Command::new(name);
        command.args(question).stdin(Stdio::null());
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let fix = format!("apt-get install {}", engine::package(self.spec.engine));
                Err(Refusal::missing(format!("{name} is not installed"), fix))
            }
            Err(error) => Err(anyhow::Error::from(error).context(name).into()),
            Ok(answer) if answer.status.success() => Ok(()),
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.stderr);
                let reason = said.lines().last().unwrap_or("it gave no reason").to_owned();
                Err(Refusal::missing(format!("{name}: {reason}"), "start its engine"))
            }
        }
    }
}

impl Platform for Container {
    fn prepare(&mut self) -> Result<Cores, Refusal> {
        self.binary.static_path()?;
        self.check_engine()?;
        let host = cores::chosen(&Host::this(), None)?;
        let own = self.spec.cores.of(&host, &Cores::default())?;
        self.cores = Some((host, own.clone()));
        self.scratch = Some(Scratch::make()?);
        // Many hosts have an engine and may not use it: one container that does nothing tells.
        let mut trial = self.attend(&Order::default(), Role::Measured)?;
        trial.stop();
        let ending = trial.finish();
        if !ending.status.is_some_and(|status| status.success()) {
            let name = self.spec.engine.name();
            let reason = format!("{name} cannot start containers here: {}", ending.last_words());
            return Err(Refusal::missing(reason, "run as root, or on a host that allows it"));
        }
        Ok(own)
    }

    fn neighbour_cores(&self) -> Option<Cores> {
        let (host, own) = self.cores.as_ref()?;
        Some(if self.spec.exclusive { host.without(own) } else { host.clone() })
    }

    fn attend(&mut self, order: &Order, role: Role) -> Result<Attended, Refusal> {
        let share = self.share(order, role)?;
        let scratch = self.scratch.as_ref().context("a platform is prepared first")?;
        let role = match role {
            Role::Measured => "measured".to_owned(),
            Role::Neighbour(number) => format!("neighbour-{number}"),
        };
        // Names of containers are names of control groups, which all of a host share.
        let folder = scratch.folder.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("quartercycle-{folder}-{role}");
        let bundle = scratch.folder.join(role);
        if bundle.exists() {
            fs::remove_dir_all(&bundle)
                .with_context(|| format!("cannot remove {}", bundle.display()))?;
        }
        let root = bundle.join(bundle::ROOT);
        let binds = root::make(&root, self.binary.static_path()?, share.programs)?;
        let command = match self.spec.engine {
            Engine::Runc => {
                bundle::write(&bundle, &share, &binds)?;
                bundle::command(&bundle, &scratch.folder.join(STATE), &name)
            }
            engine => engine::command(engine, scratch, &root, &share, &binds, &name)?,
        };
        Ok(Attended::start(command, order)?)
    }
}

/// Whether control groups have a share of real time each, so that a new one has none at first.
fn real_time_is_divided(host: &Host) -> bool {
    let group = host.control_group("cpu");
    group.is_some_and(|folder| host.exists(&format!("{folder}/cpu.rt_runtime_us")))
}
