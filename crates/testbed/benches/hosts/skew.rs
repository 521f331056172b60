//! Whether all clocks stand at the same nanosecond in each hold, whoever asks for it, also if all ask at once; and
//! whether they stay there until it is released. Two nodes talk meanwhile.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use runtime::agent::protocol::Call;

use crate::domain::{Domain, ask_all};
use crate::measured::Row;
use crate::published::{ROUNDS, published};
use crate::run::Place;
use crate::scenario::Scenario;

pub(crate) const PART: &str = "skew";
/// So many rounds were published.
const AS_PUBLISHED: usize = 64;

/// What was found over all rounds.
#[derive(Default)]
struct Found {
    differ: usize,
    most_apart_ns: i64,
    most_leaked_ns: i64,
}

pub(crate) fn rows(
    place: &Place,
    frames: &Path,
    asleep: &Path,
    (hosts, all): (usize, &[usize]),
) -> Result<Vec<Row>> {
    let mut commands = vec![format!("{} 1", asleep.display()); hosts];
    commands[0] = format!("{} receive 0", frames.display());
    commands[1] = format!("{} send 10.0.0.1 {}", frames.display(), i64::MAX);
    let scenario = Scenario {
        hosts,
        pace: "real",
        duration: Duration::from_secs(3600),
        commands: &commands,
        delay_ms: 2,
        links: "",
    };
    let mut run = place.start_new(&scenario)?;
    let mut domains = run.domains(hosts)?;
    let mut rows = Vec::new();
    for rounds in all {
        let mut found = Found::default();
        for round in 0..*rounds {
            run.goes_on()?;
            found.add(&mut domains, round)?;
        }
        let beside = if *rounds == AS_PUBLISHED { published(ROUNDS) } else { None };
        let row = |what: &str, unit: &str, value: f64| {
            Row::of(PART, format!("{what}, {rounds} holds"), unit, value)
                .sized(hosts, hosts)
                .exactly_none()
        };
        rows.push(
            row("holds in which hosts are not at the same nanosecond", "", found.differ as f64)
                .beside(beside),
        );
        rows.push(row("most that two hosts are apart", "ns", found.most_apart_ns as f64));
        rows.push(row(
            "most virtual time that passed in a hold",
            "ns",
            found.most_leaked_ns as f64,
        ));
    }
    Ok(rows)
}

impl Found {
    /// One host holds, another one each time; each fourth time all of them do at once.
    fn add(&mut self, domains: &mut [Domain], round: usize) -> Result<()> {
        let (first, last) = match round % 4 {
            3 => (0, domains.len()),
            _ => (round % domains.len(), round % domains.len() + 1),
        };
        ask_all(&mut domains[first..last], &Call::Hold)?;
        let before = times(domains)?;
        let after = times(domains)?;
        ask_all(&mut domains[first..last], &Call::Release)?;
        let apart = |times: &[i64]| {
            times.iter().max().zip(times.iter().min()).map_or(0, |(max, min)| max - min)
        };
        let apart_ns = apart(&before);
        self.differ += usize::from(apart_ns != 0);
        self.most_apart_ns = self.most_apart_ns.max(apart_ns);
        let leaked = before.iter().zip(&after).map(|(before, after)| after - before);
        self.most_leaked_ns = leaked.fold(self.most_leaked_ns, i64::max);
        Ok(())
    }
}

fn times(domains: &mut [Domain]) -> Result<Vec<i64>> {
    Ok(ask_all(domains, &Call::Status)?.iter().map(|one| one.clock.virtual_ns).collect())
}
