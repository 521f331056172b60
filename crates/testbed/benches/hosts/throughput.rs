//! What TCP gets over a link between two hosts in virtual time, undisturbed and while all are held for one second of
//! each two: iperf3 measures, which knows nothing of it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use runtime::agent::protocol::Call;
use serde_json::Value;

use crate::common::guests::is_there;
use crate::published::{THROUGHPUT, published};
use crate::measured::Row;
use crate::run::{Place, printed};
use crate::scenario;

pub(crate) const PART: &str = "throughput";
const HELD: Duration = Duration::from_secs(1);
/// How far the two may be apart, %.
const BAR: f64 = 3.0;

pub(crate) fn rows(place: &Place, seconds: u64, mbit_s: u32) -> Result<Vec<Row>> {
    anyhow::ensure!(is_there("iperf3"), "there is no iperf3");
    let plain = measured(place, seconds, mbit_s, false)?;
    let paused = measured(place, seconds, mbit_s, true)?;
    let what = format!("iperf3 for {seconds} virtual seconds over a link of {mbit_s} Mbit/s");
    let row = |how: &str, unit: &str, value: f64| {
        Row::of(PART, format!("{what}, {how}"), unit, value).sized(2, 2)
    };
    let apart = 100.0 * (paused / plain - 1.0).abs();
    Ok(vec![
        row("undisturbed", "Mbit/s", plain).beside(published(THROUGHPUT)),
        row("held 1 s in each 2 s", "Mbit/s", paused).beside(published(THROUGHPUT)),
        row("the difference", "%", apart).at_most(BAR),
    ])
}

fn measured(place: &Place, seconds: u64, mbit_s: u32, is_held: bool) -> Result<f64> {
    let commands = [
        "iperf3 -s".to_owned(),
        format!("sh -c 'sleep 1; exec iperf3 -J -c 10.0.0.1 -t {seconds}'"),
    ];
    let also = format!(", rate: {mbit_s} Mbit/s, queue: 100");
    let duration = Duration::from_secs(seconds + 3);
    let text = scenario::with_links(&place.lab, "real", duration, &commands, &also);
    let mut run = place.start(2, &place.scenario(&text)?, &[])?;
    if is_held {
        let mut domains = run.domains(2)?;
        let all = i64::try_from(duration.as_nanos())?;
        for holder in 0.. {
            let domain = &mut domains[holder % 2];
            let held = domain.ask(Call::Hold)?;
            sleep(HELD);
            domain.ask(Call::Release)?;
            // The rest is its end.
            if held.clock.virtual_ns + 2 * i64::try_from(HELD.as_nanos())? > all {
                break;
            }
            let begun = Instant::now();
            while begun.elapsed() < HELD {
                run.goes_on()?;
                sleep(Duration::from_millis(10));
            }
        }
    }
    let (folder, status) = run.finish()?;
    let text = printed(&folder, "n2")?;
    let said: Value = serde_json::from_str(&text)
        .with_context(|| format!("it ended with {status}; iperf3 said {text}"))?;
    let bits = said.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    Ok(bits.with_context(|| format!("iperf3 said {}", said["error"]))? / 1e6)
}
