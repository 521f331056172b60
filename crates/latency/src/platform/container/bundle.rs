//! A bundle for runc: a root file system and a configuration (OCI runtime specification 1.0).
//!
//! A control group of version 1 with real-time group scheduling has no share of real time for new
//! groups, and SCHED_FIFO is refused in it (`Documentation/scheduler/sched-rt-group.rst`): there a
//! share is asked for. Limits of resources are left as they are: setting them needs a right that
//! root in a container may not have.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::root::{AWAKE, PROBE};
use super::{CAPABILITIES, Share};

/// The root file system in a bundle.
pub(super) const ROOT: &str = "rootfs";
/// The share is of each second.
pub(super) const REAL_TIME_PERIOD_US: u64 = 1_000_000;

/// Writes the configuration of a bundle.
pub(super) fn write(bundle: &Path, share: &Share, binds: &[PathBuf]) -> Result<()> {
    let path = bundle.join("config.json");
    let device = std::fs::metadata(AWAKE).ok().map(|device| device.rdev());
    let text = serde_json::to_string_pretty(&config(share, binds, device))?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn command(bundle: &Path, state: &Path, name: &str) -> Command {
    let mut command = Command::new("runc");
    command.arg("--root").arg(state).arg("run");
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if root_is_initramfs(&mounts) {
        command.arg("--no-pivot");
    }
    command.arg("--bundle").arg(bundle).arg(name);
    command
}

/// Whether the root is the first file system of the kernel, which pivot_root(2) cannot leave.
fn root_is_initramfs(mountinfo: &str) -> bool {
    let mut mounts = mountinfo.lines().rev();
    // The last mount on a place is the one that is seen.
    let root = mounts.find(|line| line.split(' ').nth(4) == Some("/"));
    root.is_some_and(|line| line.contains(" - rootfs "))
}

/// `device`: the number of the device that keeps processors awake, if this host has it.
fn config(share: &Share, binds: &[PathBuf], device: Option<u64>) -> Value {
    let mut cpu = json!({ "cpus": share.cores.to_string() });
    if let Some(real_time_ns) = share.real_time_ns {
        cpu["realtimeRuntime"] = json!(real_time_ns / 1000);
        cpu["realtimePeriod"] = json!(REAL_TIME_PERIOD_US);
    }
    // The network of the host: what is measured between programs stays in its loopback.
    let namespaces = ["pid", "mount", "ipc", "uts"].map(|kind| json!({ "type": kind }));
    let device = device.map(|number| (libc::major(number), libc::minor(number)));
    let node = |(major, minor)| json!({ "path": AWAKE, "type": "c", "major": major, "minor": minor, "fileMode": 0o600 });
    let allowed = |(major, minor)| json!({ "allow": true, "type": "c", "major": major, "minor": minor, "access": "rw" });
    let devices: Vec<Value> = device.map(node).into_iter().collect();
    let allowed: Vec<Value> = device.map(allowed).into_iter().collect();
    json!({
        "ociVersion": "1.0.2",
        "root": { "path": ROOT, "readonly": true },
        "process": {
            "terminal": false,
            "user": { "uid": 0, "gid": 0 },
            "args": [format!("/{PROBE}"), "attend"],
            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
            "cwd": "/tmp",
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": CAPABILITIES,
                "effective": CAPABILITIES,
                "permitted": CAPABILITIES,
            },
        },
        "mounts": mounts(binds),
        "linux": {
            "namespaces": namespaces,
            "devices": devices,
            "resources": { "cpu": cpu, "devices": allowed },
            "maskedPaths": ["/proc/kcore", "/proc/keys"],
            "readonlyPaths": ["/proc/sys", "/proc/irq", "/proc/bus"],
        },
    })
}

fn mounts(binds: &[PathBuf]) -> Vec<Value> {
    let file_system = |place: &str, kind: &str, options: &[&str]| json!({ "destination": place, "type": kind, "source": kind, "options": options });
    let mut mounts = vec![
        file_system("/proc", "proc", &[]),
        file_system("/dev", "tmpfs", &["nosuid"]),
        file_system("/dev/shm", "tmpfs", &["nosuid", "nodev"]),
        file_system("/sys", "sysfs", &["nosuid", "nodev", "noexec", "ro"]),
        file_system("/tmp", "tmpfs", &["nosuid", "nodev"]),
    ];
    mounts.extend(binds.iter().map(|path| {
        json!({ "destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"] })
    }));
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_two_capabilities_and_asks_for_real_time_where_it_is_divided() {
        let share =
            |real_time_ns| Share { cores: "1-2".parse().unwrap(), real_time_ns, programs: true };
        let config = |real_time_ns| {
            config(&share(real_time_ns), &["/usr".into()], Some(libc::makedev(10, 126)))
        };
        let divided = config(Some(500_000_000));
        let cpu = &divided["linux"]["resources"]["cpu"];
        assert_eq!(
            *cpu,
            json!({"cpus": "1-2", "realtimeRuntime": 500_000, "realtimePeriod": 1_000_000})
        );
        for set in ["bounding", "effective", "permitted"] {
            let given = &divided["process"]["capabilities"][set];
            assert_eq!(*given, json!(["CAP_SYS_NICE", "CAP_IPC_LOCK"]));
        }
        assert_eq!(divided["process"]["capabilities"].as_object().unwrap().len(), 3);
        assert!(divided["process"].get("rlimits").is_none());
        let allowed = &divided["linux"]["resources"]["devices"];
        assert_eq!((&allowed[0]["major"], &allowed[0]["minor"]), (&json!(10), &json!(126)));
        let whole = config(None);
        assert_eq!(whole["linux"]["resources"]["cpu"], json!({"cpus": "1-2"}));
        let read_only = |mount: &Value| mount["options"].as_array().unwrap().contains(&json!("ro"));
        let mounts = whole["mounts"].as_array().unwrap();
        assert!(mounts.iter().any(|mount| mount["destination"] == "/usr" && read_only(mount)));
    }

    #[test]
    fn only_the_first_file_system_of_a_kernel_is_not_left_by_pivot_root() {
        assert!(root_is_initramfs("1 1 0:1 / / rw - rootfs rootfs rw\n"));
        assert!(!root_is_initramfs(
            "1 1 0:1 / / rw - rootfs rootfs rw\n6 1 8:1 / / rw - ext4 /dev/vda rw\n"
        ));
        assert!(!root_is_initramfs(""));
    }
}
