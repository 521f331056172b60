//! Whether each frame between two hosts arrives exactly when the links say, with `pace: events`: datagrams carry when
//! they were sent, in bunches and at moments that do not repeat, and who receives them looks at its clock.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::measured::Row;
use crate::run::{Place, printed};
use crate::scenario::Scenario;

pub(crate) const PART: &str = "frames";
const DELAY_MS: u32 = 2;
/// Of the guest: ten in a bunch, one in a millisecond, in the mean.
const A_SECOND: u64 = 10_000;

pub(crate) fn rows(place: &Place, frames: &Path, count: u64) -> Result<Vec<Row>> {
    let program = frames.display();
    let commands = [
        format!("{program} receive {}", 2 * DELAY_MS * 1_000_000),
        format!("{program} send 10.0.0.1 {count}"),
    ];
    // Idle time costs nothing, and the receiver waits for a second.
    let duration = Duration::from_secs(5 + count * 5 / 4 / A_SECOND);
    let scenario = Scenario {
        hosts: 2,
        pace: "events",
        duration,
        commands: &commands,
        delay_ms: DELAY_MS,
        links: "",
    };
    let (run, _) = place.start_new(&scenario)?.finish()?;
    let line = printed(&run, "n1")?;
    let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [exact, early, late, lost, off_ns] = numbers[..] else {
        anyhow::bail!("the receiver printed {line:?}")
    };
    ensure!(exact + early + late + lost == count, "{line:?} is not {count} frames");
    let wall = run.record()?.wall.context("a run without time")?;
    let ratio = wall.ratio().context("a run without time")?;
    let row = |what: &str, unit: &str, value: u64| {
        Row::of(PART, format!("{what}, of {count}"), unit, value as f64).sized(2, 2)
    };
    Ok(vec![
        row("frames that came early", "", early).exactly_none(),
        row("frames that came late", "", late).exactly_none(),
        row("frames that were lost", "", lost).exactly_none(),
        row("most by which one was off", "ns", off_ns).exactly_none(),
        Row::of(PART, "frames a second of the host", "", count as f64 / wall.total_s).sized(2, 2),
        Row::of(PART, "host seconds for a virtual one", "", ratio).sized(2, 2),
    ])
}
