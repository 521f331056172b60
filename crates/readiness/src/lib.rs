//! `qcycle check`: is this host ready for protection software?
//!
//! Real-time behaviour is lost in a dozen settings, each harmless alone. The check goes through
//! the list that vendors' guides agree on (kernel, scheduler, processor, memory, container,
//! virtual machine, network, time) and then measures what reading cannot know: how late threads
//! wake up on the chosen cores. Each item is judged by a pure function of a tree of files, so that
//! any host can be described by a folder; only [`measured`] runs anything.
//!
//! It changes nothing. Every item that is not in order names the command that improves it.

mod container;
mod ethtool;
mod host;
mod item;
mod kernel;
mod load;
mod loopback;
mod measured;
mod memory;
mod network;
mod processor;
mod scheduler;
mod streams;
mod time;

use std::time::Duration;

pub use item::{Finding, Grade, Item, Report};
pub use kernel::is_read_in_user_space;
pub use probe::Cores;

use host::Host;
use probe::cores;

/// What to look at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cores that the protection tasks are to run on; none: all cores of this process.
    pub cores: Option<Cores>,
    pub interface: Option<String>,
    pub duration: Duration,
}

/// Looks at this host.
///
/// # Errors
/// If the options name a core or an interface that the host does not have.
pub fn check(options: &Options) -> anyhow::Result<Report> {
    let host = Host::this();
    let cores = cores::chosen(&host, options.cores.as_ref())?;
    if let Some(interface) = &options.interface {
        network::must_exist(&host, interface)?;
    }
    let mut items = Vec::new();
    items.extend(kernel::items(&host, &cores));
    items.extend(scheduler::items(&host));
    items.extend(processor::items(&host, &cores));
    items.extend(memory::items(&host));
    items.extend(container::items(&host, &cores));
    items.extend(network::items(&host, &cores, options.interface.as_deref()));
    items.extend(time::items(&host));
    items.extend(streams::items(options.interface.as_deref()));
    terminal::err!("qcycle: measuring wake-ups for {} s", options.duration.as_secs_f64());
    let before = load::Account::read(&host, &cores);
    let [wakeups, stolen] = measured::findings(&host, &cores, options.duration);
    let looped = loopback::finding(&cores, options.duration);
    let after = load::Account::read(&host, &cores);
    let load = load::Load::between(&before, &after, cores.len(), std::process::id());
    let is_bad = |finding: &Finding| finding.grade > Grade::NotMeasured;
    let under_load = load.is_heavy() && [&wakeups, &looped].into_iter().any(is_bad);
    let measured = [
        ("load meanwhile", load.finding(&host)),
        ("steal time", stolen),
        ("wake-up latency", load.beside(wakeups)),
        ("sampled-value loop", load.beside(looped)),
    ];
    items.extend(Item::of_group("measured", measured));
    Ok(Report { cores, items, under_load })
}

/// Settings of power, frequency, SMT and throttling, which cost latency wherever programs run on this
/// machine.
///
/// # Errors
/// If `/proc` does not tell which cores this process may use.
pub fn power_and_throttling() -> anyhow::Result<Vec<Item>> {
    let host = Host::this();
    let cores = cores::chosen(&host, None)?;
    let mut items = Item::of_group(processor::GROUP, processor::power(&host, &cores));
    items.extend(Item::of_group(scheduler::GROUP, scheduler::time_taken(&host)));
    Ok(items)
}
