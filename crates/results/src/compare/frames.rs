//! The frames of a capture, the n-th of one run with the n-th of the other. Two are held at a time,
//! however many there are.

use super::difference::{Difference, Part, Tally, Value, What};
use super::{Rules, is_near};
use network::capture::Heading;
use network::pcapng::CapturedFrame;

/// A frame and its scenario time.
struct Timed {
    at_ns: i64,
    frame: CapturedFrame,
}

/// Differences of one capture, of which each kind is counted apart.
#[derive(Default)]
struct Kinds {
    time: Tally,
    direction: Tally,
    length: Tally,
    payload: Tally,
    missing: Tally,
}

/// How many frames were compared, and what differs. Scenario time counts from the `zeros_ns`.
pub(super) fn compare<E>(
    rules: Rules,
    name: &str,
    zeros_ns: [i64; 2],
    mut first: impl Iterator<Item = Result<CapturedFrame, E>>,
    mut second: impl Iterator<Item = Result<CapturedFrame, E>>,
) -> Result<(u64, Vec<Difference>), E> {
    let timed = |frame: CapturedFrame, zero_ns| Timed {
        at_ns: frame.realtime_ns.saturating_sub(zero_ns),
        frame,
    };
    let (mut number, mut compared, mut kinds) = (0, 0, Kinds::default());
    loop {
        number += 1;
        let one = first.next().transpose()?.map(|frame| timed(frame, zeros_ns[0]));
        let other = second.next().transpose()?.map(|frame| timed(frame, zeros_ns[1]));
        match (&one, &other) {
            (None, None) => return Ok((compared, kinds.found())),
            (Some(one), Some(other)) => {
                compared += 1;
                kinds.pair(rules, name, number, [one, other]);
            }
            (Some(alone), None) | (None, Some(alone)) => kinds.missing.add(|| {
                let is_there = [one.is_some(), other.is_some()];
                Difference::missing(Part::Capture, name, is_there).at(number, alone.at_ns)
            }),
        }
    }
}

impl Kinds {
    fn pair(&mut self, rules: Rules, name: &str, number: u64, both: [&Timed; 2]) {
        let [one, other] = both;
        let at_ns = one.at_ns.min(other.at_ns);
        let make =
            |what, values| Difference::new(Part::Capture, name, what, values).at(number, at_ns);
        if !is_near(one.at_ns, other.at_ns, rules.tolerance_ns) {
            self.time.add(|| make(What::Time, both.map(|timed| Value::TimeNs(timed.at_ns))));
        }
        if one.frame.heading != other.frame.heading {
            self.direction.add(|| make(What::Direction, both.map(|timed| direction(&timed.frame))));
        }
        if one.frame.bytes.len() != other.frame.bytes.len() {
            let length = |timed: &Timed| Value::Count(timed.frame.bytes.len() as u64);
            self.length.add(|| make(What::Length, both.map(length)).in_unit("octets"));
        }
        if rules.payload {
            let mut octets = one.frame.bytes.iter().zip(&other.frame.bytes);
            // Where one frame is longer, its length says so.
            if let Some(at) = octets.position(|(one, other)| one != other) {
                let octet = |timed: &Timed| format!("octet {at} is {:#04x}", timed.frame.bytes[at]);
                self.payload.add(|| make(What::Payload, both.map(|one| Value::Text(octet(one)))));
            }
        }
    }

    fn found(self) -> Vec<Difference> {
        let all = [self.time, self.direction, self.length, self.payload, self.missing];
        all.into_iter().filter_map(Tally::found).collect()
    }
}

fn direction(frame: &CapturedFrame) -> Value {
    Value::from(match frame.heading {
        Some(Heading::Inbound) => "inbound",
        Some(Heading::Outbound) => "outbound",
        None => "not recorded",
    })
}
