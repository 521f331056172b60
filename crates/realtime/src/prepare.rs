//! What makes a host let a thread act in time, and what is said where it does not.

use std::fs::read_to_string;
use std::path::Path;
use std::thread;

use anyhow::{Result, bail};

use crate::cache;

/// How a thread that shall be in time is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduling {
    /// The core that it is bound to; any without.
    pub core: Option<usize>,
    /// Of SCHED_FIFO, 1 to 99 (sched(7)).
    pub priority: i32,
}

/// Octets of receive buffer below which a pause of a tenth of a second loses frames.
const BUFFER_OCTETS_MIN: usize = 16 << 20;

/// Refuses cores on which no thread of this program may run: what was asked of them would be done
/// elsewhere.
///
/// # Errors
///
/// Names the first such core, and those that the machine has.
pub fn cores(asked: &[usize]) -> Result<()> {
    for &core in asked {
        // Another thread, because nothing brings back what the calling one was bound to.
        let tried = thread::spawn(move || os::realtime::pin(core)).join().expect("it only tries");
        if let Err(error) = tried {
            let online = read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
            bail!(
                "core {core} cannot be used ({error}): this machine has the cores {}; use one of \
                 those that the cpuset of the control group allows",
                online.trim()
            );
        }
    }
    Ok(())
}

/// Binds the calling thread, gives it its priority and its share of the cache; answers what was
/// refused, with the fix.
#[must_use]
pub fn thread(name: &str, scheduling: Scheduling, cache_group: Option<&str>) -> Vec<String> {
    let mut refused: Vec<String> = cache_group
        .and_then(|group| cache::join(Path::new(cache::GROUPS), group))
        .map(|refused| format!("{name}: {refused}"))
        .into_iter()
        .collect();
    if let Some(core) = scheduling.core
        && let Err(error) = os::realtime::pin(core)
    {
        refused.push(format!(
            "{name}: core {core} is not allowed ({error}): use one from the cpuset of the control \
             group"
        ));
    }
    if let Err(error) = os::realtime::fifo(scheduling.priority) {
        let priority = scheduling.priority;
        refused.push(format!(
            "{name}: SCHED_FIFO {priority} is not allowed ({error}): give CAP_SYS_NICE, and in a \
             control group of version 1 a share in cpu.rt_runtime_us"
        ));
    }
    refused
}

/// Locks memory, keeps processors awake, and looks at what else stands in the way.
#[must_use]
pub fn process() -> (Vec<String>, Option<os::realtime::AwakeProcessors>) {
    let mut missing = Vec::new();
    if let Err(error) = os::realtime::lock_memory() {
        missing.push(format!(
            "memory cannot be locked ({error}): give CAP_IPC_LOCK or raise `ulimit -l`"
        ));
    }
    let awake = os::realtime::AwakeProcessors::request();
    if let Err(error) = &awake {
        missing.push(format!(
            "processors may enter deep idle states ({error}): give write access to \
             /dev/cpu_dma_latency"
        ));
    }
    let runtime_us = read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    if runtime_us.trim().parse::<i64>().is_ok_and(|us| us >= 0) {
        missing.push(
            "real-time threads are throttled: set `sysctl kernel.sched_rt_runtime_us=-1`".into(),
        );
    }
    (missing, awake.ok())
}

/// Whether a receive buffer of so many octets is too small for a pause; answers so, with the fix.
#[must_use]
pub fn receive_buffer(octets: usize) -> Option<String> {
    (octets < BUFFER_OCTETS_MIN).then(|| {
        format!(
            "the receive buffer has only {octets} octets: give CAP_NET_ADMIN, or raise \
             `sysctl net.core.rmem_max`"
        )
    })
}
