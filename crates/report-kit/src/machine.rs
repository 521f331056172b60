//! The machine and the versions, as found: a figure of timing means nothing without them. What
//! cannot be found is empty, never guessed.

use std::fmt::Write as _;
use std::fs;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A machine, as far as it matters for timing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: usize,
    pub memory_bytes: u64,
    /// Clock source of the kernel, such as `tsc`.
    pub clock_source: String,
    pub kernel: String,
    /// Version of the kernel: build, preemption model.
    pub kernel_version: String,
}

/// What a program was built from; only its own build script knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Build {
    pub version: &'static str,
    /// Commit, if known; `, changed` follows where the tree was.
    pub commit: Option<&'static str>,
}

/// Versions of what took part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Versions {
    pub qcycle: String,
    pub git_commit: Option<String>,
    /// The plant's engine, in its own words.
    pub plant_engine: Option<String>,
}

impl Machine {
    /// The machine this runs on.
    pub fn here() -> Self {
        let kernel = |name: &str| first_line(&format!("/proc/sys/kernel/{name}"));
        Self {
            cpu_model: cpu_model(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            clock_source: first_line(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            kernel: kernel("osrelease"),
            kernel_version: kernel("version"),
        }
    }
}

impl Versions {
    /// Versions of a program, with the plant's engine in its own words.
    pub fn of(program: Build, plant_engine: Option<String>) -> Self {
        let Build { version, commit } = program;
        Self { qcycle: version.to_owned(), git_commit: commit.map(str::to_owned), plant_engine }
    }
}

/// SHA-256 in hexadecimal, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Two digits for each octet, in lower case.
pub fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The host's time of day, UTC, RFC 3339.
pub fn utc_now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Nanoseconds since 1970 as UTC, RFC 3339, to the millisecond.
pub fn utc(ns: i64) -> String {
    format!("{:.3}", Timestamp::UNIX_EPOCH + SignedDuration::from_nanos(ns))
}

/// x86 calls it `model name`; Arm boards say `Model` or `Hardware`, if anything.
fn cpu_model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    ["model name", "Model", "Hardware"].into_iter().find_map(value).unwrap_or_default()
}

fn memory_bytes(meminfo: &str) -> u64 {
    let total = os::process::field(meminfo, "MemTotal");
    let kib = total.and_then(|total| total.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn first_line(path: &str) -> String {
    read(path).lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(utc(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123Z");
        assert_eq!(utc(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn the_hash_is_the_one_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
    }

    #[test]
    fn machines_are_read_from_proc() {
        assert_eq!(cpu_model("processor : 0\nmodel name\t: Neat CPU\n"), "Neat CPU");
        assert_eq!(cpu_model("Model : Raspberry Pi 4\n"), "Raspberry Pi 4");
        assert_eq!(cpu_model(""), "");
        assert_eq!(memory_bytes("MemTotal:  2048 kB\n"), 2 << 20);
        assert!(Machine::here().cores > 0);
    }
}
