//! The clock page in C, as the kernel module has it, beside the one in Rust: the same fields at the same
//! places, and the same virtual time to the last fraction.

extern crate std;

use core::mem::{offset_of, size_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::string::{String, ToString as _};
use std::vec::Vec;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;
use crate::VirtualClock;
use crate::rate::tests::any_tdf;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/tests/host/host.c");
const CASES: u32 = 20_000;

/// The module's arithmetic as a program, in a folder that goes with this value.
struct Host(PathBuf);

impl Host {
    fn build(name: &str) -> Self {
        let folder = std::env::temp_dir().join(std::format!("qcbus-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let host = Self(folder);
        let built = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(host.program())
            .arg(Path::new(SOURCE))
            .status();
        assert!(built.unwrap().success(), "{SOURCE} compiles");
        host
    }

    fn program(&self) -> PathBuf {
        self.0.join("host")
    }

    fn say(&self, mode: &str, input: &str) -> String {
        let mut child = Command::new(self.program())
            .arg(mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || to.write_all(input.as_bytes()).unwrap());
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What is left is left to the machine.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Name, offset and size of each field.
macro_rules! fields {
    ($($field:ident: $type:ty),* $(,)?) => {{
        // All fields, and with these types: else this does not compile.
        let ClockPage { $($field),* } = &ClockPage::default();
        $(let _: &$type = $field;)*
        [$((stringify!($field), offset_of!(ClockPage, $field), size_of::<$type>())),*]
    }};
}

#[test]
fn the_header_has_the_same_fields_at_the_same_places() {
    let fields = fields! {
        magic: AtomicU64, version: AtomicU32, size: AtomicU32, sequence: AtomicU32, holds: AtomicU32,
        base_host: AtomicI64, base_virtual: AtomicI64, base_fraction: AtomicU64, rate_whole: AtomicU64,
        rate_fraction: AtomicU64, horizon: AtomicI64, epochs: [AtomicI64; Epoch::COUNT],
        resumed: AtomicU32, dilated: AtomicU32, tdf_millionths: AtomicU64, shift_until: AtomicI64,
        shifts: [[AtomicI64; 2]; Epoch::COUNT], limit: AtomicI64, jumped: AtomicI64, jumps: AtomicU32,
        stop_asked: AtomicU32, stops: AtomicU32,
    };
    let mut expected: BTreeMap<String, String> = fields
        .iter()
        .map(|(name, offset, size)| (name.to_string(), std::format!("{offset} {size}")))
        .collect();
    for (name, value) in [
        ("MAGIC", MAGIC),
        ("VERSION", u64::from(VERSION)),
        ("SIZE", size_of::<ClockPage>() as u64),
        ("SETTLE_NS", SETTLE_NS.unsigned_abs()),
    ] {
        expected.insert(name.to_string(), value.to_string());
    }
    let said = Host::build("layout").say("layout", "");
    let found: BTreeMap<_, _> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, rest)| (name.to_string(), rest.to_string()))
        .collect();
    assert_eq!(found, expected);
}

fn any_ns() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MIN),
        Just(i64::MAX),
        -1000..1000i64,
        any::<i64>(),
        0..400_000_000_000_000_000i64,
    ]
}

fn any_word() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
}

/// Clocks as they are, and pages that nobody would write.
fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let rates = prop_oneof![
        any_tdf().prop_map(|tdf| tdf.rate()),
        Just(Rate::STILL),
        (any_word(), any_word()).prop_map(|(whole, fraction)| Rate { whole, fraction }),
    ];
    let ends = (any_ns(), prop_oneof![Just(i64::MAX), any_ns()]);
    (any_ns(), any_ns(), any_word(), rates, ends).prop_map(
        |(base_host, base_virtual, base_fraction, rate, (horizon, limit))| Snapshot {
            line: Line {
                base_host: HostTime::from_ns(base_host),
                base_virtual: VirtualTime::from_ns(base_virtual),
                base_fraction,
                rate,
            },
            horizon: VirtualTime::from_ns(horizon),
            limit: HostTime::from_ns(limit),
            jumped: VirtualSpan::from_ns(0),
            resumed: 0,
            dilated: 0,
        },
    )
}

/// What the program reads about a page and a host time.
fn line_of(snapshot: &Snapshot, host: HostTime) -> String {
    let Snapshot { line, horizon, limit, .. } = snapshot;
    std::format!(
        "{} {} {} {} {} {} {} {}\n",
        line.base_host.as_ns(),
        line.base_virtual.as_ns(),
        line.base_fraction,
        line.rate.whole,
        line.rate.fraction,
        horizon.as_ns(),
        limit.as_ns(),
        host.as_ns()
    )
}

/// Compares what the kernel makes of pages with what it shall make of them.
fn compare(name: &str, cases: &[(Snapshot, HostTime, (VirtualTime, u64))]) {
    let mut input = String::new();
    for (snapshot, host, _) in cases {
        input.write_str(&line_of(snapshot, *host)).unwrap();
    }
    let said = Host::build(name).say("line", &input);
    assert_eq!(said.lines().count(), cases.len());
    for (answer, (snapshot, host, (virtual_time, fraction))) in said.lines().zip(cases) {
        let expected = std::format!("{} {fraction}", virtual_time.as_ns());
        assert_eq!(answer, expected, "{snapshot:?} at {}", host.as_ns());
    }
}

/// Values of a strategy, the same in each run.
fn drawn<S: Strategy>(strategy: S) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..CASES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn the_kernel_computes_the_same_time_from_any_page() {
    let cases: Vec<_> = drawn((any_snapshot(), any_ns().prop_map(HostTime::from_ns)))
        .into_iter()
        .map(|(snapshot, host)| (snapshot, host, snapshot.at_exactly(host)))
        .collect();
    compare("any", &cases);
}

#[test]
fn the_kernel_stops_a_clock_where_its_owner_would() {
    let clocks =
        (0..1_000_000_000_000i64, any_tdf(), any_tdf(), 0..100_000_000_000i64, any::<bool>());
    let cases: Vec<_> = drawn((clocks, 0..100_000_000_000i64))
        .into_iter()
        .map(|((start, tdf, later_tdf, ran, has_horizon), more)| {
            let host = |ns| HostTime::from_ns(start + ns);
            let mut clock = VirtualClock::new(host(0), tdf);
            clock.dilate(host(ran), later_tdf);
            if has_horizon {
                clock.grant(host(ran), clock.at(host(ran)) + VirtualSpan::from_ns(more / 2));
            }
            let page = ClockPage::new([0; Epoch::COUNT]);
            page.begin_change();
            page.end_change(&clock, false, false);
            let before = page.snapshot(|_| ());
            clock.hold(host(ran + more));
            page.begin_change();
            page.end_change(&clock, false, false);
            let stopped = page.snapshot(|_| ());
            assert!(stopped.stands());
            (before, host(ran + more), stopped.at_exactly(host(ran + more)))
        })
        .collect();
    compare("stop", &cases);
}
