//! Two runs, one report: written through the public interface, opened in a browser, and looked
//! at for what must be there and what must not.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture;
use report_kit::outcome::Outcome;
use results::RunFolder;
use results::record::{EndedHow, RunRecord};
use results::report;

/// A report on both runs, in a folder that vanishes.
fn written() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let [normal, attack] = [false, true].map(|attacked| fixture::run(root.path(), attacked));
    let page = root.path().join("report.html");
    let written = report::write(&[normal.path(), attack.path()], &page).unwrap();
    assert_eq!((written.charts, written.traces), (fixture::CHARTS, 2 * fixture::CHARTS));
    (root, page)
}

/// A report on one run.
fn reported(root: &Path, folder: &RunFolder) -> (PathBuf, String) {
    let page = root.join("report.html");
    report::write(&[folder.path()], &page).unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    (page, text)
}

/// The document after its script ran.
fn opened(page: &Path) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--window-size=1200,2400", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "cannot start `chromium` ({error}); the project's set-up installs it: make setup"
            )
        });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let begin = format!(" {name}=\"");
    let rest =
        element.split(&begin).nth(1).unwrap_or_else(|| panic!("no {name} in {element:.200}"));
    rest.split('"').next().unwrap()
}

#[test]
fn each_chart_is_drawn_with_a_line_per_run() {
    let (_root, page) = written();
    let document = opened(&page);
    let drawn = format!("data-charts-drawn=\"{}\"", fixture::CHARTS);
    assert!(document.contains(&drawn), "the script did not draw all charts");
    let figures: Vec<&str> = document.split("<figure").skip(1).collect();
    assert_eq!(figures.len(), fixture::CHARTS);
    for figure in figures {
        assert_eq!(attribute(figure, "data-series"), "2");
        let traces: Vec<&str> = figure.split("<path class=\"trace ").skip(1).collect();
        assert_eq!(traces.len(), 2, "{figure:.300}");
        for (trace, colour) in traces.iter().zip(["run0 dash0", "run1 dash0"]) {
            assert!(trace.starts_with(colour));
            assert!(attribute(trace, "d").matches('L').count() > 100, "{trace:.300}");
        }
        assert!(figure.contains("class=\"event run1\""), "the attack is marked in its colour");
    }
}

/// Drags across the first chart and moves over the second, as a hand would.
const HAND: &str = r#"<script>
const plots = document.querySelectorAll("svg.plot"), box = plots[0].getBoundingClientRect();
function hand(plot, kind, share) {
  const at = plot.getBoundingClientRect(), x = at.left + at.width * share;
  plot.dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: at.top + 50, button: 0 }));
}
try { hand(plots[0], "pointerdown", 0.3); } catch (noSuchPointer) {}
hand(plots[0], "pointermove", 0.5);
hand(plots[0], "pointerup", 0.5);
hand(plots[1], "pointermove", 0.4);
</script>"#;

#[test]
fn dragging_zooms_all_charts_and_moving_reads_values() {
    let (_root, page) = written();
    // The page lets no other script run, so this copy comes without that rule.
    let text = std::fs::read_to_string(&page).unwrap();
    let open = text.replace("Content-Security-Policy", "x-none").replace("</body>", HAND);
    std::fs::write(&page, open).unwrap();

    let document = opened(&page);
    let view: Vec<f64> =
        attribute(&document, "data-view").split(' ').map(|end| end.parse().unwrap()).collect();
    assert!(view[0] > 15.0 && view[0] < view[1] && view[1] < 50.0, "{view:?}");
    let read = document.matches("</output>").count() - document.matches("></output>").count();
    assert_eq!(read, 2 * fixture::CHARTS, "each line of each chart shows its value");
}

#[test]
fn the_page_is_whole_without_its_script() {
    let (_root, page) = written();
    let text = std::fs::read_to_string(&page).unwrap();
    let before_script = text.split("<script").next().unwrap();
    assert_eq!(before_script.matches("<path class=\"trace ").count(), 2 * fixture::CHARTS);
    for said in [
        "Yes: all 2 requirements are met.",
        "No: 2 of 4 requirements missed, 1 not measured.",
        "series.parquet: minimum of bus.680.v1, 0 s ≤ time_ns &lt; 90 s",
        "there is no capture for sensor",
        "attacker poisons the ARP tables",
        "<b>104.32 s</b> of wall time for <b>92 s</b>",
        "2604 reads",
        "1234 jumps over 84.75 s",
        "4.5 s for timers of the kernel, 2.75 s while programs ran",
        "&lt;sensor &amp; co&gt;",
        "DSS C-API",
        "1350",
    ] {
        assert!(before_script.contains(said), "the page does not say `{said}`");
    }
}

#[test]
fn the_page_refers_to_nothing_outside() {
    let (_root, page) = written();
    let text = std::fs::read_to_string(&page).unwrap();
    for reference in ["http:", "https:", "//", "@import", "src=", "<link"] {
        assert!(!text.contains(reference), "the page contains `{reference}`");
    }
    let addresses = text.split("url(").skip(1).chain(text.split("href=\"").skip(1));
    assert!(addresses.into_iter().all(|address| address.starts_with('#')));
    assert!(text.contains("default-src 'none'"));
}

#[test]
fn strangers_cannot_write_markup() {
    let root = tempfile::tempdir().unwrap();
    let folder = fixture::run(root.path(), true);
    let hostile = "</script><script>document.body.dataset.owned='yes'</script><img onerror=x>\"'&";
    let mut record = folder.record().unwrap();
    record.scenario.name = hostile.into();
    record.scenario.variant = Some(hostile.into());
    record.scenario.description = hostile.into();
    record.scenario.events[0].what = hostile.into();
    record.machine.cpu_model = hostile.into();
    record.network = serde_json::json!({ hostile: { hostile: hostile } });
    record.warnings = vec![hostile.into()];
    record.ended.how = EndedHow::PartFailed;
    record.ended.reason = hostile.into();
    for program in &mut record.programs {
        program.command.push(hostile.into());
        program.warnings.push(hostile.into());
    }
    for verdict in &mut record.verdicts {
        verdict.requirement.name = hostile.into();
        verdict.reason = hostile.into();
        verdict.unit = hostile.into();
        verdict.source.query = hostile.into();
    }
    folder.write_record(&record).unwrap();
    std::fs::write(folder.program_log("sensor"), hostile).unwrap();
    let (page, text) = reported(root.path(), &folder);
    assert_eq!(text.matches("<script").count(), 2, "the data and the script of the page");
    assert!(!text.contains("<img"));
    let document = opened(&page);
    assert!(document.contains("data-charts-drawn=\"6\""));
    assert!(!document.contains("data-owned") && !document.contains("<img"));
}

#[test]
fn a_killed_run_is_reported_from_what_it_left() {
    let root = tempfile::tempdir().unwrap();
    let folder = fixture::run(root.path(), true);
    let whole: RunRecord = folder.record().unwrap();
    let killed = RunRecord {
        verdicts: Vec::new(),
        wall: None,
        covered_ns: 0,
        ended: results::record::RunEnd { how: EndedHow::Unfinished, reason: String::new() },
        ..whole
    };
    folder.write_record(&killed).unwrap();
    // The journal of a run that was killed at 40 s, in the middle of a line.
    let mut rows = String::from("time_ns,bus.680.v1\n");
    for second in 0..40 {
        rows.push_str(&format!("{},2390.5\n", second * 1_000_000_000_i64));
    }
    rows.push_str("40000000000,23");
    std::fs::remove_file(folder.path().join("series.parquet")).unwrap();
    std::fs::write(folder.path().join("series.csv.part"), rows).unwrap();

    let (_, text) = reported(root.path(), &folder);
    assert!(text.contains("It reached 40 s of 90 s."));
    assert!(text.contains("the data end at 40 s, the window at 90 s"));
    assert!(folder.path().join("series.parquet").exists(), "the journal became the table");
    let data = folder.data(&killed).unwrap();
    let outcomes = RunFolder::judge_all(&killed, &data);
    assert_eq!(outcomes[0].outcome, Outcome::NotMeasured);
    assert_eq!(outcomes[1].outcome, Outcome::Missed, "the silence was too long before the kill");
}

#[test]
fn what_is_no_run_is_refused_with_the_fix() {
    let root = tempfile::tempdir().unwrap();
    let page = root.path().join("report.html");
    let error = report::write(&[root.path()], &page).unwrap_err().to_string();
    assert!(error.contains("run.json") && error.contains("qcycle run"), "{error}");
    assert!(report::write(&[], &page).is_err());
    assert!(!page.exists());
}
