//! Voltage (27, 59; PTUV, PTOV), after IEC 60255-127.

use protection::Complex;

use crate::relay::{Seen, UnderTest};
use crate::report::{Bar, Plan, Row, Section};
use crate::wave::{NOMINAL_V, Phasors, after, balanced, injected, ramp, settings};

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    is_under: bool,
    pick_up_v: f64,
    nominal_hz: f64,
    hz: f64,
    /// The phase that changes; the other two rest at a voltage that starts nothing.
    phase: usize,
    delay_s: f64,
}

impl Case {
    /// What the element does when the phase follows a course of multiples of the pick-up.
    fn run(&self, seconds: f64, multiple: impl Fn(f64) -> f64) -> Seen {
        let rate = (80.0 * self.nominal_hz) as u32;
        let side = if self.is_under { "under" } else { "over" };
        let elements = format!(
            "  U: {{function: voltage, stream: s, side: {side}, pick_up: {} V, delay: {} s}}\n",
            self.pick_up_v, self.delay_s
        );
        let rest = if self.is_under { 1.2 } else { 0.8 };
        let samples = injected(
            rate,
            seconds,
            |_| self.hz,
            |time_s| {
                let mut voltages = balanced(Complex::new(rest * self.pick_up_v, 0.0));
                voltages[self.phase] *= multiple(time_s) / rest;
                Phasors { voltages, ..Phasors::default() }
            },
        );
        UnderTest::new(&settings(self.nominal_hz, rate, &elements), rate).run(&samples)[0]
    }

    /// Multiples from which and to which it goes when it operates.
    fn across(&self, share: f64) -> [f64; 2] {
        if self.is_under { [1.0 + share, 1.0 - share] } else { [1.0 - share, 1.0 + share] }
    }
}

fn cases(delays_s: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (is_under, shares) in [(true, [0.1, 0.5, 0.7, 0.9]), (false, [1.05, 1.1, 1.3, 1.5])] {
        for share in shares {
            for nominal_hz in [50.0, 60.0] {
                for off_hz in [-3.0, -1.0, 0.0, 1.0, 3.0] {
                    for phase in 0..3 {
                        for delay_s in delays_s.iter().copied() {
                            let (pick_up_v, hz) = (share * NOMINAL_V, nominal_hz + off_hz);
                            cases.push(Case {
                                is_under,
                                pick_up_v,
                                nominal_hz,
                                hz,
                                phase,
                                delay_s,
                            });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Values, drop-off and times.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let percent = |what, most| Row::new(what, Bar::AtMost(most, "%"));
    let periods = |what, most| Row::new(what, Bar::AtMost(most, "periods"));
    let mut value = percent("value at which it starts: error of the setting", 0.5);
    let mut drop_off = percent("drop-off (95 and 105 % of the setting): error", 0.5);
    for case in plan.pick(cases(&[0.0])) {
        let (out, back) = ([0.6, 3.1], [3.2, 5.2]);
        let ([from, _], [_, to]) = (case.across(0.08), case.across(0.03));
        let returned = if case.is_under { 1.09 } else { 0.91 };
        let multiple = |time_s: f64| {
            if time_s < back[0] {
                ramp(time_s, out, [from, to])
            } else {
                ramp(time_s, back, [to, returned])
            }
        };
        let seen = case.run(5.3, multiple);
        let error = |at_s: Option<f64>, expected: f64| {
            at_s.map_or(f64::INFINITY, |at_s| (multiple(at_s) / expected - 1.0).abs() * 100.0)
        };
        let text = || format!("{case:?}: {seen:?}");
        value.measure(error(seen.started_s, 1.0), text);
        drop_off.measure(error(seen.released_s, if case.is_under { 1.05 } else { 0.95 }), text);
    }
    let mut start = periods("start after a step by 20 % and more", 1.5);
    let mut release = periods("drop-off after a step back", 1.5);
    let mut operate = Row::new("operation: error of the delay", Bar::AtMost(30.0, "ms"));
    for case in plan.pick(cases(&[0.1, 1.0])) {
        for depth in if case.is_under { [0.8, 0.5, 0.0] } else { [1.2, 1.5, 2.0] } {
            // A moment of any phase.
            let begin_s = 0.6 + 0.0037 * case.phase as f64;
            let end_s = begin_s + case.delay_s + 0.2;
            let before = case.across(0.1)[0];
            let seen = case.run(end_s + 0.1, |time_s| {
                if (begin_s..end_s).contains(&time_s) { depth } else { before }
            });
            let text = || format!("{case:?} to {depth}: {seen:?}");
            start.measure(after(seen.started_s, begin_s) * case.nominal_hz, text);
            release.measure(after(seen.released_s, end_s) * case.nominal_hz, text);
            operate.measure((after(seen.operated_s, begin_s) - case.delay_s).abs() * 1e3, text);
        }
    }
    Section {
        title: "Voltage",
        what: "After IEC 60255-127. One phase moves slowly through the setting and back, and in steps by \
               20 % of the setting and more, down to zero and up to twice; undervoltage of 10 to 90 % and \
               overvoltage of 105 to 150 % of nominal, 50 and 60 Hz and up to 3 Hz off, delays of 0.1 \
               and 1 s.",
        rows: vec![value, drop_off, start, release, operate],
        pictures: Vec::new(),
        notes: String::new(),
    }
}
