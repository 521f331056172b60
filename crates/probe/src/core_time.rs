//! What the cores did, as the kernel counts it in ticks (`/proc/stat`, proc_stat(5)).

use std::collections::BTreeMap;

use crate::stream::CoreTime;

/// Length of a tick of `/proc/stat` (`USER_HZ`, 100 on all machines that this runs on), ms.
const TICK_MS: u64 = 10;

/// What some cores did since a begin.
#[derive(Debug)]
pub(crate) struct CoreTimes {
    begin: BTreeMap<usize, CoreTime>,
    last: BTreeMap<usize, CoreTime>,
}

impl CoreTimes {
    pub(crate) fn begin(cores: &[usize]) -> Self {
        let mut begin = read();
        begin.retain(|core, _| cores.contains(core));
        Self { last: begin.clone(), begin }
    }

    /// What they did up to now; nothing if the kernel does not report it.
    pub(crate) fn since_begin(&mut self) -> Vec<CoreTime> {
        self.last = read();
        let pairs =
            self.begin.iter().filter_map(|(core, begin)| Some((begin, self.last.get(core)?)));
        pairs.map(|(begin, now)| difference(begin, now)).collect()
    }

    /// What a hypervisor took of each core since the times were last read, ns.
    pub(crate) fn stolen_since_read_ns(&self) -> BTreeMap<usize, i64> {
        let now = read();
        let of = |(core, last): (&usize, &CoreTime)| {
            let stolen_ms = difference(last, now.get(core)?).steal_ms;
            Some((*core, i64::try_from(stolen_ms).ok()?.checked_mul(1_000_000)?))
        };
        self.last.iter().filter_map(of).collect()
    }
}

fn read() -> BTreeMap<usize, CoreTime> {
    parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn difference(begin: &CoreTime, now: &CoreTime) -> CoreTime {
    // Idle time may go back by a tick on some kernels.
    CoreTime {
        core: now.core,
        user_ms: now.user_ms.saturating_sub(begin.user_ms),
        system_ms: now.system_ms.saturating_sub(begin.system_ms),
        idle_ms: now.idle_ms.saturating_sub(begin.idle_ms),
        interrupts_ms: now.interrupts_ms.saturating_sub(begin.interrupts_ms),
        steal_ms: now.steal_ms.saturating_sub(begin.steal_ms),
    }
}

/// Lines such as `cpu0 user nice system idle iowait irq softirq steal …`, in ticks.
fn parse(text: &str) -> BTreeMap<usize, CoreTime> {
    text.lines().filter_map(core).map(|time| (time.core, time)).collect()
}

fn core(line: &str) -> Option<CoreTime> {
    let mut words = line.split_whitespace();
    let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ms: Vec<u64> =
        words.map_while(|word| word.parse::<u64>().ok()?.checked_mul(TICK_MS)).collect();
    let at = |index: usize| ms.get(index).copied().unwrap_or(0);
    Some(CoreTime {
        core,
        user_ms: at(0).saturating_add(at(1)),
        system_ms: at(2),
        idle_ms: at(3).saturating_add(at(4)),
        interrupts_ms: at(5).saturating_add(at(6)),
        steal_ms: at(7),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_has_a_line_in_ticks() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu12 1 2 3 4\nintr 5\ncpux";
        let times = parse(text);
        let first = CoreTime {
            core: 0,
            user_ms: 30,
            system_ms: 30,
            idle_ms: 90,
            interrupts_ms: 130,
            steal_ms: 80,
        };
        assert_eq!(times[&0], first);
        assert_eq!((times.len(), times[&12].steal_ms), (2, 0));
        let none = difference(&first, &first);
        assert_eq!(none, CoreTime { core: 0, ..CoreTime::default() });
    }
}
