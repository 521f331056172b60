//! A profile: the conditions under which a platform is measured, apart from any platform.
//!
//! Published studies differ in little: the priority of the probe, its period, whether its threads
//! are bound to cores, what runs beside them, and what runs next door. With the cores of a platform
//! a profile becomes a plan for the probe and orders for the loads. Those that come with the
//! program are data, in `profiles.yaml`.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use probe::Cores;

/// In the words of a load: how many cores it may use.
const CORES_WORD: &str = "{cores}";

/// Conditions of a measurement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    pub name: String,
    pub description: String,
    /// Where it is defined.
    pub source: String,
    /// The plan of the probe, but for its cores and its length.
    pub plan: probe::Plan,
    /// Where the probe has a thread each.
    pub cores: CoreChoice,
    pub loads: Vec<Load>,
    pub neighbours: Option<Neighbours>,
    /// How long, ns; none: as long as the matrix says.
    pub duration_ns: Option<u64>,
}

/// Cores of a platform that is not known yet.
#[derive(Clone, PartialEq, Eq, Debug, Default, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum CoreChoice {
    #[default]
    All,
    /// The second half, rounded down: on a host that keeps the first half for itself.
    Half,
    Probe,
    Others,
    #[strum(to_string = "{0}")]
    These(Cores),
}

/// A program that keeps a platform busy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    pub words: Vec<String>,
    pub cores: CoreChoice,
    pub package: String,
}

/// Other containers or virtual machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbours {
    pub count: usize,
    pub loads: Vec<Load>,
}

impl Load {
    /// This load on a platform with the cores `all`, of which the probe has `probe`.
    fn order(&self, all: &Cores, probe: &Cores) -> Result<probe::attend::Load> {
        let cores = self.cores.of(all, probe)?;
        let count = cores.len().to_string();
        let words = self.words.iter().map(|word| word.replace(CORES_WORD, &count)).collect();
        Ok(probe::attend::Load { words, cores: cores.iter().collect() })
    }
}

impl CoreChoice {
    /// The cores that are meant, of those that there are.
    ///
    /// # Errors
    /// When a core is not there, or none is left.
    pub(super) fn of(&self, all: &Cores, probe: &Cores) -> Result<Cores> {
        let cores = match self {
            Self::All => all.clone(),
            Self::Half => all.iter().skip(all.len() / 2).collect(),
            Self::Probe => probe.clone(),
            Self::Others => all.without(probe),
            Self::These(cores) => {
                let missing = cores.without(all);
                ensure!(missing.is_empty(), "it has no core {missing}, only {all}");
                cores.clone()
            }
        };
        ensure!(!cores.is_empty(), "it has too few cores: {all}, all used by the probe");
        Ok(cores)
    }
}

impl Profile {
    /// What is to be done on a platform with these cores.
    ///
    /// # Errors
    /// When the platform has too few cores for it.
    pub fn order(
        &self,
        cores: &Cores,
        duration_ns: u64,
        settle_ns: u64,
    ) -> Result<probe::attend::Order> {
        let on = self.cores.of(cores, &Cores::default())?;
        let plan = probe::Plan {
            cores: on.iter().collect(),
            duration_ns: self.duration_ns.unwrap_or(duration_ns),
            ..self.plan.clone()
        };
        if let Err(problem) = plan.check() {
            bail!("profile {}: {problem}", self.name);
        }
        let loads: Result<Vec<_>> = self.loads.iter().map(|load| load.order(cores, &on)).collect();
        let loads = loads?;
        let has_others = !loads.is_empty() || self.neighbours.is_some();
        let settle_ns = if has_others { settle_ns } else { 0 };
        Ok(probe::attend::Order { plan: Some(plan), loads, settle_ns })
    }

    /// What each neighbour is to do, with the cores that it has.
    ///
    /// # Errors
    /// When a load is bound to cores that are not there.
    pub fn neighbour(&self, cores: &Cores) -> Result<Option<probe::attend::Order>> {
        let Some(neighbours) = &self.neighbours else { return Ok(None) };
        let none = Cores::default();
        let loads: Result<_> =
            neighbours.loads.iter().map(|load| load.order(cores, &none)).collect();
        Ok(Some(probe::attend::Order { plan: None, loads: loads?, settle_ns: 0 }))
    }

    /// The programs that it needs, here or next door, and what to install for each.
    pub fn programs(&self) -> BTreeSet<(&str, &str)> {
        let next_door = self.neighbours.iter().flat_map(|neighbours| &neighbours.loads);
        let loads = self.loads.iter().chain(next_door);
        loads
            .map(|load| (load.words.first().map_or("", String::as_str), load.package.as_str()))
            .collect()
    }
}
