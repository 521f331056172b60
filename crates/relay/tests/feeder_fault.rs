//! The scenario `feeder-fault` over a cable: a fault, a relay that trips by GOOSE, a breaker that
//! opens; and how much of the time was the filter's and how much software's.

use std::path::{Path, PathBuf};

use crate::support;
use crate::support::running::{program, publish, run, start, summary};

/// Beyond this the merging unit's own lateness is in what is measured.
const LATENESS_NS_MAX: u64 = 10_000_000;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/feeder-fault").join(name)
}

/// What the filter and the element need by themselves, in ms.
fn expected_ms() -> f64 {
    let (code, out, said) = run(
        env!("CARGO_BIN_EXE_qcmerge"),
        &data(""),
        ["expect", "merging_unit.yaml", "relay.yaml"],
    );
    assert_eq!(code, Some(0), "{said}");
    out.trim().parse().expect("it is a number")
}

#[test]
fn the_fault_is_tripped_and_cleared_and_the_time_is_told_apart() {
    if !support::cable("a fault on a feeder") {
        return;
    }
    let expected_ms = expected_ms();
    assert!((1.0..20.0).contains(&expected_ms), "{expected_ms}");
    let relay = start(
        program(),
        &data(""),
        ["run", "relay.yaml", "--interface", "west", "--duration", "7s", "--json"],
    );
    let unit = publish(&data("merging_unit.yaml"), "3500ms");
    let ((published, _), (decided, _)) = (summary(unit), summary(relay));
    let faults = published["faults"].as_array().expect("there is a list");
    assert_eq!(faults.len(), 2, "{published}");
    let is_late = published["lateness_ns"]["max"].as_u64() > Some(LATENESS_NS_MAX);
    for fault in faults {
        let trip_ms = fault["trip_after_ns"].as_i64().expect("it is tripped") as f64 / 1e6;
        let cleared_ms =
            fault["interrupted_after_ns"].as_i64().expect("it is cleared") as f64 / 1e6;
        let software_ms = trip_ms - expected_ms;
        println!("trip after {trip_ms:.3} ms: filter {expected_ms:.3}, software {software_ms:.3}");
        // Nobody trips on samples that were not sent yet.
        assert!(software_ms > 0.0, "{published}");
        // 40 ms until the contacts part, then the zeros of all three currents; a merging unit that
        // is kept from its work for longer than that sees the trip too late.
        if is_late {
            println!("the breaker: not measured: this host stood still meanwhile");
        } else {
            assert!((39.0..80.0).contains(&(cleared_ms - trip_ms)), "{published}");
        }
    }
    // Each sample came, or is counted.
    let stream = &decided["streams"]["line"];
    let [received, lost] = ["received", "lost"].map(|what| stream[what].as_u64().unwrap_or(0));
    assert!(received > 0 && received + lost <= 16_800, "{stream}");
    assert!(received + lost == 16_800 || is_late, "{stream}");
}
