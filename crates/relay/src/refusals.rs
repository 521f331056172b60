//! Which refusals of samples and frames are worth a record: the first of each run, by what was refused
//! and the field, so that a flood of them fills no disk. It looks at counters, from the thread that may
//! block.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::totals::Totals;

/// Without a refusal for this long, the next one begins a new run.
const RUN_GAP: Duration = Duration::from_secs(10);

/// What was counted at the last look, and when it last grew.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    known: BTreeMap<(String, &'static str), (u64, Instant)>,
}

impl Refusals {
    /// Adds a record for each run that has begun since the last look.
    pub(crate) fn look(&mut self, now: Instant, totals: &Totals, mut add: impl FnMut(Value)) {
        for (name, (_, counters)) in &totals.streams {
            for (field, count) in counters.misfits.counts() {
                if self.begins(now, name, field, count) {
                    let last = counters.misfits.last().filter(|last| last.field == field);
                    add(json!({
                        "stream": name,
                        "refused": field,
                        "expected": last.map(|last| last.expected),
                        "got": last.map(|last| last.got),
                    }));
                }
            }
        }
        let malformed = &totals.receive.malformed_fields;
        for (field, count) in malformed.counts() {
            // No stream has an empty name.
            if self.begins(now, "", field, count) {
                let last = malformed.last().filter(|last| last.field == field);
                add(json!({
                    "malformed": field,
                    "octet": last.map(|last| last.octet),
                    "fault": last.map(|last| last.fault.to_string()),
                }));
            }
        }
    }

    fn begins(&mut self, now: Instant, of: &str, field: &'static str, count: u64) -> bool {
        if count == 0 {
            return false;
        }
        match self.known.insert((of.to_owned(), field), (count, now)) {
            None => true,
            Some((before, grew)) if before == count => {
                self.known.insert((of.to_owned(), field), (count, grew));
                false
            }
            Some((_, grew)) => now.duration_since(grew) > RUN_GAP,
        }
    }
}

#[cfg(test)]
mod tests {
    use substation::settings;

    use super::*;

    const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams: {s: {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
elements: {I>: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}}
";

    #[test]
    fn a_run_of_malformed_frames_is_one_record_with_field_and_fault() {
        let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
        let (mut totals, mut refusals) = (Totals::new(&relay), Refusals::default());
        let begin = Instant::now();
        let mut records = Vec::new();
        for seconds in [0, 1, 5, 14, 30, 31] {
            if seconds != 31 {
                totals.receive.samples(&[], iec61850::SampleTime::ZERO, &[0; 9], |_| {});
            }
            let now = begin + Duration::from_secs(seconds);
            refusals.look(now, &totals, |record| records.push((seconds, record)));
        }
        let at: Vec<u64> = records.iter().map(|(seconds, _)| *seconds).collect();
        assert_eq!(at, [0, 30], "{records:?}");
        let record = &records[0].1;
        assert!(record["malformed"].is_string() && record["fault"].is_string(), "{record}");
    }
}
