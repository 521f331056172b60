//! What TCP gets over a link between two hosts in virtual time, undisturbed and while all are held for one second of
//! each two: iperf3 measures, which knows nothing of it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use runtime::agent::protocol::Call;
use serde_json::Value;

use crate::common::guests::is_there;
use crate::measured::Row;
use crate::published::{THROUGHPUT, published};
use crate::run::{Place, Run, printed};
use crate::scenario::Scenario;

pub(crate) const PART: &str = "throughput";
const HELD: Duration = Duration::from_secs(1);
/// How far the two may be apart, %.
const BAR: f64 = 3.0;

/// What is sent, and over what.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) seconds: u64,
    pub(crate) mbit_s: u32,
}

/// Both nodes on one host, or one on each of two.
pub(crate) fn rows(place: &Place, load: Load, hosts: usize) -> Result<Vec<Row>> {
    anyhow::ensure!(is_there("iperf3"), "there is no iperf3");
    let plain = measured(place, load, hosts, false)?;
    let paused = measured(place, load, hosts, true)?;
    let Load { seconds, mbit_s } = load;
    let row = |how: &str, unit: &str, value: f64| {
        let name = format!("{seconds} virtual seconds over {mbit_s} Mbit/s, {how}");
        Row::of(PART, name, unit, value).sized(hosts, 2)
    };
    let published = published(THROUGHPUT).filter(|_| hosts > 1);
    let apart = row("the difference", "%", 100.0 * (paused / plain - 1.0).abs());
    Ok(vec![
        row("undisturbed", "Mbit/s", plain).beside(published.clone()),
        row("held 1 s in each 2 s", "Mbit/s", paused).beside(published),
        if hosts > 1 { apart.at_most(BAR) } else { apart },
    ])
}

fn measured(place: &Place, load: Load, hosts: usize, is_held: bool) -> Result<f64> {
    let Load { seconds, mbit_s } = load;
    let duration = Duration::from_secs(seconds + 3);
    let scenario = Scenario {
        hosts,
        pace: "real",
        duration,
        commands: &[
            "iperf3 -s".to_owned(),
            format!("sh -c 'sleep 1; exec iperf3 -J -c 10.0.0.1 -t {seconds}'"),
        ],
        delay_ms: 2,
        links: &format!(", rate: {mbit_s} Mbit/s, queue: 100"),
    };
    let mut run = place.start_new(&scenario)?;
    if is_held {
        hold_again_and_again(&mut run, duration)?;
    }
    let (folder, status) = run.finish()?;
    let text = printed(&folder, "n2")?;
    let said: Value = serde_json::from_str(&text)
        .with_context(|| format!("it ended with {status}; iperf3 said {text}"))?;
    let bits = said.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    Ok(bits.with_context(|| format!("iperf3 said {}", said["error"]))? / 1e6)
}

/// Until the virtual time is nearly over, at each host in turn.
fn hold_again_and_again(run: &mut Run<'_>, duration: Duration) -> Result<()> {
    let mut domains = run.domains(2)?;
    let last_ns = i64::try_from((duration - 2 * HELD).as_nanos())?;
    for holder in (0..domains.len()).cycle() {
        let at_ns = domains[holder].ask(Call::Hold)?.clock.virtual_ns;
        sleep(HELD);
        domains[holder].ask(Call::Release)?;
        if at_ns > last_ns {
            break;
        }
        let begun = Instant::now();
        while begun.elapsed() < HELD {
            run.goes_on()?;
            sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}
