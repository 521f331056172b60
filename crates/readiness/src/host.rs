//! What the files of the host that is checked say: this one, or in tests a folder with the files that
//! matter.

use std::str::FromStr;

pub(super) use probe::Host;

use super::Cores;

/// A process, as `/proc/PID/stat` describes it (proc_pid_stat(5)).
pub(super) struct Process {
    pub(super) number: u32,
    pub(super) name: String,
    /// From field 3 on.
    fields: Vec<String>,
}

impl Process {
    /// The field with this number of the manual page, from 3 on.
    pub(super) fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        self.fields.get(number - 3)?.parse().ok()
    }
}

pub(super) fn processes(host: &Host) -> impl Iterator<Item = Process> {
    host.names("/proc").into_iter().filter_map(|number| {
        let stat = host.text(&format!("/proc/{number}/stat"))?;
        // The name stands in brackets and may hold anything; field 3 comes after the last one.
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let fields = rest.split_whitespace().map(str::to_owned).collect();
        Some(Process { number: number.parse().ok()?, name, fields })
    })
}

/// What these cores did so far, all together, in ticks of 10 ms: user, nice, system, idle, iowait, irq,
/// softirq, steal; time of guests is part of user (proc_stat(5)).
pub(super) fn ticks(host: &Host, cores: &Cores) -> [u64; 8] {
    let mut sums = [0; 8];
    for line in host.text("/proc/stat").unwrap_or_default().lines() {
        let mut fields = line.split_whitespace();
        let core = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if core.is_some_and(|core| cores.contains(core)) {
            for (sum, ticks) in sums.iter_mut().zip(fields) {
                *sum += ticks.parse().unwrap_or(0);
            }
        }
    }
    sums
}

/// Files of a host for tests.
#[cfg(test)]
pub(super) fn with(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let host = Host::below(root.path());
    (root, host)
}
