//! A run of a few cells, as page, tables and text: whatever shows a figure shows its marks.

use serde_json::json;

use super::*;
use crate::cell::{Cause, Counts, Detector, Mark, MarkKind, Method, Part, Samples, Stall, Thread};
use crate::run_folder::CELLS;
use crate::verdict;
use report_kit::statistics::Distribution;

const MS: i64 = 1_000_000;

/// Two threads at 1 ms, one of which is 5 ms late once, because another program ran.
fn cell(platform: &str, profile: &str) -> Cell {
    let thread = |number: i32| {
        let mut latency_ns: Vec<u32> =
            (0..4_000).map(|index| 2_000 + (index * 7919) % 5_000).collect();
        if number == 1 {
            latency_ns[1_500] = 5_100_000;
        }
        let samples = Samples::periodic(MS, latency_ns);
        let counts = Counts { taken: 4_000, cpu_ns: 9_000_000, ..Counts::default() };
        Thread { number, core: Some(number), samples, counts }
    };
    let stall = Stall {
        core: 1,
        at_ns: 1_501 * MS,
        length_ns: 5_100_000,
        seen_by: Detector::Wakeup,
        cause: Cause::Load,
        who: "spinner <b> (FIFO 99)".into(),
        evidence: "{}".into(),
    };
    Cell {
        platform: platform.into(),
        profile: profile.into(),
        began: "2026-01-02T03:04:05.000Z".into(),
        method: Method {
            probe: "timer".into(),
            priority: Some(80),
            period_ns: Some(MS),
            duration_ns: Some(4_000 * MS),
            pinned: true,
        },
        facts: json!({ "processor": "Test <i> CPU", "realtime": null, "smt": true }),
        threads: vec![thread(0), thread(1)],
        stalls: vec![stall],
        ..Cell::default()
    }
}

fn part(name: &str) -> Part {
    Part {
        name: name.into(),
        count: 12_345,
        minimum: 100.0,
        median: 1_230.0,
        p99: 2_000.0,
        p99_9: 3_000.0,
        maximum: 4_560.0,
    }
}

fn run(folder: &Path) -> Report {
    let mut emulated = cell("vm", "tp3");
    emulated.parts = vec![part("pass <x>"), part("whole")];
    emulated.mark(Mark::new(MarkKind::Emulated, "TCG"));
    let samples = Samples::Counted(Distribution::of_counts([(3_000, 900_000), (90_000, 3)]));
    let counted = Cell {
        platform: "elsewhere".into(),
        profile: "cyclictest".into(),
        threads: vec![samples.into()],
        ..Cell::default()
    };
    for cell in [cell("native", "tp1"), emulated, counted] {
        cell.write(&folder.join(CELLS).join(cell.name())).unwrap();
    }
    let absent = Absent { name: "vm-rt.tp5".into(), reason: "no KVM here: load kvm_intel".into() };
    let run = Run { order: vec!["vm.tp3".into(), "native.tp1".into()], absent: vec![absent] };
    Report::read(folder, &run, &Demands::default()).unwrap()
}

#[test]
fn cells_come_in_the_order_of_the_matrix_and_others_behind() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = run(folder.path()).cells.into_iter().map(|cell| cell.name).collect();
    assert_eq!(names, ["vm.tp3", "native.tp1", "elsewhere.cyclictest"]);
    let empty = tempfile::tempdir().unwrap();
    let refused = Report::read(empty.path(), &Run::default(), &Demands::default()).unwrap_err();
    assert!(refused.to_string().contains("has no cells"), "{refused}");
}

#[test]
fn text_page_and_tables_have_the_marks_and_the_causes() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(folder.path());
    report.write().unwrap();
    let text = report.text();
    let page = std::fs::read_to_string(folder.path().join(PAGE)).unwrap();
    let csv = std::fs::read_to_string(folder.path().join(CELLS_CSV)).unwrap();
    let json = serde_json::to_string(&report).unwrap();
    for (where_to, what) in [("text", &text), ("page", &page), ("csv", &csv), ("json", &json)] {
        assert!(what.contains("emulated"), "{where_to}: {what:.2000}");
    }
    for said in [
        "vm-rt.tp5: not measured: no KVM here",
        "vm.tp3, protection task, 1 ms: not measured",
        "native.tp1, protection task, 1 ms: met",
        "native.tp1, the latest: 5.1 ms at 1.501 s; load: spinner <b> (FIFO 99)",
    ] {
        assert!(text.contains(said), "`{said}` is not in\n{text}");
    }
    // The limit that decides explains why nothing was measured.
    let mut demands = Demands::default();
    demands.limits.push(verdict::own("breaker", 2_000_000));
    let own = Report::read(folder.path(), &Run::default(), &demands).unwrap().text();
    assert!(own.contains("vm.tp3, breaker: not measured"), "{own}");
    // Parts are shown where they are known, under the marks of their cell.
    let parts: Vec<&str> = text.lines().filter(|line| line.contains(", pass <x>")).collect();
    assert_eq!(parts.len(), 1, "{text}");
    assert!(parts[0].starts_with("vm.tp3, ") && parts[0].ends_with("emulated"), "{}", parts[0]);
    assert!(parts[0].contains("0.0012") && parts[0].contains("0.0046"), "{}", parts[0]);
    assert_eq!(page.matches("Parts of the latency").count(), 1);
    assert!(page.contains("pass &lt;x&gt;") && json.contains("\"p99_9\":3000.0"));
    // Once in each picture of the cell, in the box plots and the distributions.
    assert!(page.matches("⚠ emulated").count() >= 4, "{}", page.matches("⚠ emulated").count());
    for said in [
        "Cannot say",
        "spinner &lt;b&gt; (FIFO 99)",
        "Baseline, ordinary kernel",
        "Lower whisker",
        "quarter cycle at 60 Hz",
        "<td colspan=\"11\">not measured: no KVM here",
        "data-shows=\"2\"",
    ] {
        assert!(page.contains(said), "the page does not say `{said}`");
    }
    assert!(!page.contains("<b> (FIFO") && !page.contains("<i> CPU"), "texts are escaped");
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(csv.lines().count(), 1 + 3 + 3 + 2);
    assert!(folder.path().join(CELLS_PARQUET).exists());
}

#[test]
fn own_limits_decide_if_there_are_any() {
    let folder = tempfile::tempdir().unwrap();
    let judged = |budget_ns| {
        run(folder.path());
        std::fs::remove_dir_all(folder.path().join(CELLS).join("vm.tp3")).unwrap();
        let mut demands = Demands::default();
        demands.limits.push(verdict::own("mine", budget_ns));
        Report::read(folder.path(), &Run::default(), &demands).unwrap()
    };
    assert_eq!(judged(1_000_000).exit(), Exit::Done);
    assert_eq!(judged(1_000).exit(), Exit::Missed);
    assert!(
        sections::body(&judged(1_000))
            .into_string()
            .contains("No: 2 of 2 cells miss a requested limit")
    );
}
