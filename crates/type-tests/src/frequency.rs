//! Frequency (81; PTUF, PTOF), after IEC 60255-181.

use protection::{Complex, Degrees};

use crate::relay::{Seen, UnderTest};
use crate::report::{Bar, Plan, Row, Section};
use crate::wave::{NOMINAL_V, Phasors, after, balanced, injected, ramp, settings};

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    nominal_hz: f64,
    /// Of the limit from nominal; below zero for under-frequency.
    limit_hz: f64,
    voltage: f64,
    delay_s: f64,
}

impl Case {
    fn pick_up_hz(&self) -> f64 {
        self.nominal_hz + self.limit_hz
    }

    /// What the element does when frequency and phasors of the voltage follow these courses.
    fn run(&self, seconds: f64, hz: impl Fn(f64) -> f64, voltage: impl Fn(f64) -> Complex) -> Seen {
        let rate = (80.0 * self.nominal_hz) as u32;
        let side = if self.limit_hz < 0.0 { "under" } else { "over" };
        let elements = format!(
            "  F: {{function: frequency, stream: s, side: {side}, pick_up: {} Hz, voltage_min: 5 kV, \
             delay: {} s}}\n",
            self.pick_up_hz(),
            self.delay_s
        );
        let samples = injected(rate, seconds, hz, |time_s| Phasors {
            voltages: balanced(voltage(time_s) * (self.voltage * NOMINAL_V)),
            ..Phasors::default()
        });
        UnderTest::new(&settings(self.nominal_hz, rate, &elements), rate).run(&samples)[0]
    }
}

fn cases(delays_s: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for nominal_hz in [50.0, 60.0] {
        for limit_hz in [-3.0, -2.0, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 2.0, 3.0] {
            for voltage in [0.2, 0.5, 0.8, 1.0, 1.2] {
                for delay_s in delays_s.iter().copied() {
                    cases.push(Case { nominal_hz, limit_hz, voltage, delay_s });
                }
            }
        }
    }
    cases
}

const STEADY: fn(f64) -> Complex = |_| Complex::new(1.0, 0.0);

/// Values, drop-off, times, and what is no frequency.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let mut value = Row::new("value at which it starts: error", Bar::AtMost(10.0, "mHz"));
    let mut drop_off = Row::new("drop-off, 20 mHz back: error", Bar::AtMost(10.0, "mHz"));
    for case in plan.pick(cases(&[0.0])) {
        let (out, back) = ([1.0, 3.0], [3.2, 5.2]);
        let far = 0.1 * case.limit_hz.signum();
        let hz = |time_s: f64| {
            let beyond = if time_s < back[0] {
                ramp(time_s, out, [-far, far])
            } else {
                ramp(time_s, back, [far, -far])
            };
            case.pick_up_hz() + beyond
        };
        let seen = case.run(5.4, hz, STEADY);
        let error = |at_s: Option<f64>, expected_hz: f64| {
            at_s.map_or(f64::INFINITY, |at_s| (hz(at_s) - expected_hz).abs() * 1e3)
        };
        let text = || format!("{case:?}: {seen:?}");
        value.measure(error(seen.started_s, case.pick_up_hz()), text);
        let expected_hz = case.pick_up_hz() - 0.02 * case.limit_hz.signum();
        drop_off.measure(error(seen.released_s, expected_hz), text);
    }
    let seconds = |what, most| Row::new(what, Bar::AtMost(most, "ms"));
    let mut step =
        seconds("step from 0.1 Hz before the limit to 0.1 to 0.35 Hz beyond: start", 100.0);
    let mut large = seconds("step to 0.5 to 3 Hz beyond: start", 500.0);
    for case in plan.pick(cases(&[0.0])) {
        for beyond_hz in [0.1, 0.35, 0.5, 1.0, 3.0] {
            let begin_s = 1.0037;
            let way = case.limit_hz.signum();
            let hz = |time_s: f64| {
                case.pick_up_hz() + if time_s < begin_s { -0.1 * way } else { beyond_hz * way }
            };
            let seen = case.run(2.0, hz, STEADY);
            let taken_ms = after(seen.started_s, begin_s) * 1e3;
            let row = if beyond_hz < 0.4 { &mut step } else { &mut large };
            row.measure(taken_ms, || format!("{case:?} to {beyond_hz}: {seen:?}"));
        }
    }
    let mut slope =
        seconds("ramp of 0.5 to 10 Hz/s: time after the limit was crossed, without delay", 100.0);
    for case in plan.pick(cases(&[0.1, 0.5])) {
        for hz_s in [0.5, 1.0, 2.0, 5.0, 10.0] {
            let way = case.limit_hz.signum();
            let crossed_s = 1.0 + 0.25 / hz_s;
            let hz = |time_s: f64| {
                let beyond = ((time_s - crossed_s) * hz_s).clamp(-0.25, 1.0);
                case.pick_up_hz() + beyond * way
            };
            let seen = case.run(crossed_s + case.delay_s + 0.4, hz, STEADY);
            let taken_s = after(seen.operated_s, crossed_s);
            slope.measure(((taken_s - case.delay_s) * 1e3).abs(), || {
                format!("{case:?}, {hz_s} Hz/s: {seen:?}")
            });
        }
    }
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let mut jump =
        judged("voltage that jumps by 5 to 60 degrees, limit 0.2 Hz away and more: restrains");
    let mut dip = judged("voltage that dips to 10 to 90 % and comes back: restrains");
    let mut island =
        judged("voltage that comes back after 1 s at another frequency: operates within 1 s");
    let mut dead = judged("voltage below `voltage_min`: restrains");
    for case in plan.pick(cases(&[0.0, 0.1])) {
        let nominal = |_: f64| case.nominal_hz;
        for degrees in [-60.0, -20.0, -5.0, 5.0, 20.0, 60.0] {
            let seen = case.run(1.6, nominal, |time_s| {
                Complex::polar_deg(1.0, if time_s < 1.0037 { 0.0 } else { degrees })
            });
            jump.judge(seen.operated_s.is_none(), || format!("{case:?}, {degrees}: {seen:?}"));
        }
        for left in [0.1, 0.5, 0.9] {
            let seen = case.run(1.6, nominal, |time_s| {
                let is_low = (1.0037..1.1513).contains(&time_s);
                Complex::new(if is_low { left } else { 1.0 }, 0.0)
            });
            dip.judge(seen.operated_s.is_none(), || format!("{case:?}, {left}: {seen:?}"));
        }
        let back_hz = case.pick_up_hz() + 0.3 * case.limit_hz.signum();
        let hz = |time_s: f64| if time_s < 1.5 { case.nominal_hz } else { back_hz };
        let seen = case.run(3.1, hz, |time_s| {
            Complex::new(if (1.0..2.0).contains(&time_s) { 0.0 } else { 1.0 }, 0.0)
        });
        island.judge(seen.operated_s.is_some(), || format!("{case:?}: {seen:?}"));
        let beyond_hz = case.pick_up_hz() + 0.5 * case.limit_hz.signum();
        let seen = Case { voltage: 0.07, ..case }.run(1.2, |_| beyond_hz, STEADY);
        dead.judge(seen.operated_s.is_none(), || format!("{case:?}: {seen:?}"));
    }
    Section {
        title: "Frequency",
        what: "After IEC 60255-181. Frequency moves slowly (0.1 Hz/s) through the limit and back, in steps, \
               and in ramps; limits of 0.2 to 3 Hz from nominal, 50 and 60 Hz, voltages of 20 to 120 % of \
               nominal. A grid makes no steps of more than some tenths of a hertz; the tracker takes them \
               for faults, until they last.",
        rows: vec![value, drop_off, step, large, slope, jump, dip, island, dead],
        pictures: Vec::new(),
        notes: String::new(),
    }
}
