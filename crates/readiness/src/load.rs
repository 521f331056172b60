//! How busy the host was while it was measured, and with what.
//!
//! Wake-ups that are late beside a compiler say what the compiler does, not what the host can do. So
//! what others took of the chosen cores is measured over the same time as the wake-ups, and a bad
//! figure from a busy host is called not measured. A good one stands: it holds under load too.

use std::collections::BTreeMap;

use super::host::{Host, Process, processes, ticks};
use super::{Cores, Finding, Grade};

/// Share of the cores that others may take on a host that counts as idle: what a desktop, a few
/// daemons and the terminal need.
const SHARE_MAX: f64 = 0.2;
/// Programs that are named, the busiest first.
const NAMED_MAX: usize = 3;
/// Share of one core from which a program is worth its name.
const NAMED_SHARE: f64 = 0.05;

/// Processor time so far, in ticks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Account {
    /// Of the chosen cores: busy, and all.
    busy: u64,
    total: u64,
    /// Of each process, and its name.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Account {
    pub(super) fn read(host: &Host, cores: &Cores) -> Self {
        let [user, nice, system, idle, waiting, irq, softirq, _] = ticks(host, cores);
        let busy = user + nice + system + irq + softirq;
        let process = |process: Process| {
            let ticks = process.field::<u64>(14)? + process.field::<u64>(15)?;
            Some((process.number, (process.name, ticks)))
        };
        let processes = processes(host).filter_map(process);
        Self { busy, total: busy + idle + waiting, processes: processes.collect() }
    }
}

/// What others did between two accounts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Load {
    /// Share of the chosen cores that others took.
    share: f64,
    /// Who, with shares of one core, the busiest first.
    who: Vec<(String, f64)>,
}

impl Load {
    /// Between two accounts of `cores` cores; `own` is the number of this process.
    pub(super) fn between(before: &Account, after: &Account, cores: usize, own: u32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "ticks of a measurement")]
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let total = after.total.saturating_sub(before.total);
        let ticks = |pid: &u32| -> u64 {
            let of = |account: &Account| account.processes.get(pid).map_or(0, |(_, ticks)| *ticks);
            of(after).saturating_sub(of(before))
        };
        let busy = after.busy.saturating_sub(before.busy).saturating_sub(ticks(&own));
        let of_one = total / u64::try_from(cores.max(1)).unwrap_or(1);
        let others = after.processes.iter().filter(|(pid, _)| **pid != own);
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, (name, _)) in others {
            *by_name.entry(name).or_default() += ticks(pid);
        }
        let shares = by_name.into_iter().map(|(name, all)| (name.to_owned(), ratio(all, of_one)));
        let mut who: Vec<(String, f64)> = shares.filter(|(_, s)| *s >= NAMED_SHARE).collect();
        who.sort_by(|a, b| b.1.total_cmp(&a.1));
        who.truncate(NAMED_MAX);
        Self { share: ratio(busy, total).min(1.0), who }
    }

    pub(super) fn is_heavy(&self) -> bool {
        self.share > SHARE_MAX
    }

    /// What is said of the load itself.
    pub(super) fn finding(&self, host: &Host) -> Finding {
        let found = format!("others took {}{}", self.words(), averages(host));
        if self.is_heavy() {
            Finding::warn(found, "stop them, or check again when the host is idle")
        } else {
            Finding::ok(found)
        }
    }

    /// What was measured as it stands beside this load.
    pub(super) fn beside(&self, measured: Finding) -> Finding {
        if !self.is_heavy() || measured.grade <= Grade::NotMeasured {
            return measured;
        }
        let found = measured.found;
        Finding::unknown(format!("{found}; measured under load, not the host's readiness"))
    }

    fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let who: Vec<String> =
            self.who.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
        format!("{} of the cores{who}", percent(self.share))
    }
}

/// What the kernel says of the load: its average over a minute, and the share of ten seconds in which
/// somebody waited for a processor.
fn averages(host: &Host) -> String {
    let mut text = String::new();
    if let Some(load) = host.text("/proc/loadavg").as_deref().and_then(|t| t.split(' ').next()) {
        text += &format!("; load average {load}");
    }
    let pressure = host.text("/proc/pressure/cpu").unwrap_or_default();
    let some = pressure.lines().find_map(|line| line.strip_prefix("some avg10="));
    if let Some(share) = some.and_then(|rest| rest.split(' ').next()) {
        text += &format!("; tasks waited for a processor {share} % of 10 s");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::host;
    use super::*;

    fn account(busy: u64, idle: u64, own: u64, other: u64) -> Account {
        let stat = format!("cpu 0 0 0 0\ncpu0 {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu1 9 0 0 9 0 0 0 0");
        let of = |name: &str, ticks: u64| {
            format!("7 ({name}) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0")
        };
        let (_root, host) = host::with(&[
            ("/proc/stat", &stat),
            ("/proc/7/stat", &of("qcycle", own)),
            ("/proc/8/stat", &of("stress) x", other)),
        ]);
        Account::read(&host, &"0".parse().unwrap())
    }

    fn load(before: &Account, after: &Account) -> Load {
        Load::between(before, after, 1, 7)
    }

    #[test]
    fn what_others_took_of_the_chosen_cores_counts_and_own_work_does_not() {
        let before = account(100, 1000, 10, 50);
        let busy = load(&before, &account(200, 1000, 20, 140));
        assert!(busy.is_heavy() && (busy.share - 0.9).abs() < 1e-9, "{busy:?}");
        assert_eq!(busy.who, [("stress) x".to_owned(), 0.9)]);
        let own = load(&before, &account(200, 1000, 110, 50));
        assert!(!own.is_heavy(), "{own:?}");
        // Nothing passed, or a counter went back.
        assert!(!load(&before, &before).is_heavy());
        assert!(!load(&before, &account(0, 0, 0, 0)).is_heavy());
    }

    #[test]
    fn a_bad_figure_of_a_busy_host_is_no_figure_and_a_good_one_stands() {
        let (before, idle) = (account(0, 0, 0, 0), account(1, 99, 0, 0));
        let (busy, quiet) = (load(&before, &account(90, 10, 0, 90)), load(&before, &idle));
        let late = || Finding::fail("max 9000 µs", "correct it");
        assert_eq!(quiet.beside(late()).grade, Grade::Fail);
        let blamed = busy.beside(late());
        assert_eq!((blamed.grade, blamed.fix.clone()), (Grade::NotMeasured, None));
        assert!(
            blamed.found.contains("measured under load, not the host's readiness"),
            "{blamed:?}"
        );
        let good = Finding::ok("max 12 µs");
        assert_eq!(busy.beside(good.clone()), good);
    }

    #[test]
    fn the_item_names_who_was_busy_and_what_the_kernel_says() {
        let (_root, host) = host::with(&[
            ("/proc/loadavg", "20.91 8.00 3.00 21/400 1234\n"),
            ("/proc/pressure/cpu", "some avg10=87.50 avg60=1.00 avg300=0.00 total=5\nfull x"),
        ]);
        let item = load(&account(0, 0, 0, 0), &account(90, 10, 0, 90)).finding(&host);
        assert_eq!(item.grade, Grade::Warn);
        for words in
            ["90 % of the cores", "stress) x 90 %", "load average 20.91", "87.50 % of 10 s"]
        {
            assert!(item.found.contains(words), "{item:?}");
        }
    }
}
