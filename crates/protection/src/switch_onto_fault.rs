//! Switch onto fault (SOTF, PSOF): a line that is faulty when it is switched on, because its earthing
//! was forgotten or the fault is still there, is tripped at once, wherever on the line the fault is.
//!
//! ```text
//! alive --no current, breaker open or line dead--> dead --for `dead_time`--> armed
//! armed --current or voltage--> armed for `armed` more --> alive
//! ```
//!
//! Distance is no help where voltage transformers are on the line: there was no voltage before that
//! could be compared with, so current in any direction counts. A line that is switched on healthy
//! draws its charging current and the inrush of transformers: `pick_up` is above the first, and the
//! second has a second harmonic, which blocks.
//!
//! That a line is dead is told by the position of the breaker; by currents and voltages only where no
//! position is known and voltage transformers are on the line. Without a voltage of the line, one
//! that merely carries nothing looks the same, and a fault elsewhere like one that was switched on.
//! Current always says that the line is alive, whatever a contact says.
//!
//! Practice is that of relays on the market: 200 ms until it is armed (`tDLD` of ABB's ZCVPSOF, the
//! dead time of MiCOM's trip on close), 500 ms for which it stays so (MiCOM), and dead-line detection
//! with voltage transformers on the line only (application manual of ABB's RED650, 7.3).

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::overcurrent::{self, Current, Overcurrent, Timing};

/// Limits and times of a switch-onto-fault element (PSOF).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Current of a phase above which the line is alive, in A.
    pub current_a_min: f64,
    /// Voltage below which a phase of the line is dead, in V; `None` where the transformers are on
    /// the busbar.
    pub dead_below_v: Option<f64>,
    /// How long the line must be dead before it is armed.
    pub dead_time: Duration,
    /// How long it is armed once the line is alive.
    pub armed: Duration,
    /// Current of a phase above which it operates, in A; `None` to follow other elements only.
    pub pick_up_a: Option<f64>,
    /// Share of the second harmonic above which it does not.
    pub second_harmonic_max: f64,
}

/// What it looks at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// The largest of the phases.
    pub current: Current,
    /// The largest voltage of a phase to earth, in V, where voltages can be trusted.
    pub voltage_v: Option<f64>,
    /// Position of the breaker, where it is known.
    pub is_closed: Option<bool>,
    /// An element that it follows has started.
    pub is_started: bool,
}

/// A switch-onto-fault element (PSOF).
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchOntoFault {
    settings: Settings,
    overcurrent: Option<Overcurrent>,
    dead_since: Option<SampleTime>,
    /// When the line was last dead for long enough.
    dead: Option<SampleTime>,
    operates: bool,
}

impl SwitchOntoFault {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let overcurrent = |pick_up_a| {
            Overcurrent::new(overcurrent::Settings {
                pick_up_a,
                timing: Timing::Definite(Duration::ZERO),
                second_harmonic_max: Some(settings.second_harmonic_max),
            })
        };
        Self {
            settings,
            overcurrent: settings.pick_up_a.map(overcurrent),
            dead_since: None,
            dead: None,
            operates: false,
        }
    }

    /// Looks at the line. What it began to trip while it was armed it trips until it is gone.
    pub fn update(&mut self, now: SampleTime, seen: Option<&Seen>) -> Decision {
        let Some(seen) = seen else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let settings = &self.settings;
        if self.is_dead(seen) {
            let since = *self.dead_since.get_or_insert(now);
            if now.since(since) >= settings.dead_time {
                self.dead = Some(now);
            }
        } else {
            self.dead_since = None;
        }
        let is_armed = self.dead.is_some_and(|dead| now.since(dead) < settings.armed);
        let follows = seen.is_started && !seen.current.is_inrush(settings.second_harmonic_max);
        let exceeds = self
            .overcurrent
            .as_mut()
            .is_some_and(|element| element.update(now, Some(seen.current)).start);
        self.operates = (is_armed || self.operates) && (follows || exceeds);
        Decision::new(self.operates, self.operates)
    }

    fn is_dead(&self, seen: &Seen) -> bool {
        let has_no_voltage = || {
            let limit_v = self.settings.dead_below_v;
            limit_v.zip(seen.voltage_v).is_some_and(|(limit_v, voltage_v)| voltage_v < limit_v)
        };
        seen.current.fundamental_a < self.settings.current_a_min
            && seen.is_closed.map_or_else(has_no_voltage, |is_closed| !is_closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEALTHY_V: f64 = 63_500.0;
    const LINE_SIDE: Settings = Settings {
        current_a_min: 30.0,
        dead_below_v: Some(10_000.0),
        dead_time: Duration::from_millis(200),
        armed: Duration::from_millis(500),
        pick_up_a: Some(600.0),
        second_harmonic_max: 0.15,
    };
    const BUSBAR_SIDE: Settings = Settings { dead_below_v: None, ..LINE_SIDE };

    fn seen(current_a: f64, voltage_v: f64, is_closed: Option<bool>) -> Seen {
        Seen {
            current: Current { fundamental_a: current_a, second_harmonic_a: 0.0 },
            voltage_v: Some(voltage_v),
            is_closed,
            is_started: false,
        }
    }

    /// Runs it through spans of so many ms each; answers when it first operates.
    fn operates(settings: Settings, spans: &[(u64, Seen)]) -> Option<u64> {
        let mut element = SwitchOntoFault::new(settings);
        let each = spans.iter().flat_map(|(ms, seen)| (0..*ms).map(move |_| seen));
        each.enumerate().find_map(|(ms, seen)| {
            let now = SampleTime::from_ns(ms as u64 * 1_000_000);
            element.update(now, Some(seen)).operate.then_some(ms as u64)
        })
    }

    #[test]
    fn a_fault_that_is_switched_on_operates_at_once_with_transformers_on_either_side() {
        let dead = seen(0.0, 0.0, None);
        let no_voltage = seen(3000.0, 0.0, None);
        assert_eq!(operates(LINE_SIDE, &[(300, dead), (10, no_voltage)]), Some(300));
        // The busbar has its voltage all the time; the contact tells before or after the current.
        let open = seen(0.0, HEALTHY_V, Some(false));
        for is_closed in [Some(true), Some(false), None] {
            let fault = seen(3000.0, 20_000.0, is_closed);
            assert_eq!(operates(BUSBAR_SIDE, &[(300, open), (10, fault)]), Some(300));
            assert_eq!(operates(LINE_SIDE, &[(300, open), (10, fault)]), Some(300));
        }
    }

    #[test]
    fn a_healthy_line_inrush_and_load_operate_nothing() {
        let dead = seen(0.0, 0.0, Some(false));
        let charging = seen(20.0, HEALTHY_V, Some(true));
        let inrush = Seen {
            current: Current { fundamental_a: 2000.0, second_harmonic_a: 600.0 },
            is_started: true,
            ..seen(0.0, HEALTHY_V, Some(true))
        };
        let load = seen(500.0, HEALTHY_V, Some(true));
        for after in [charging, inrush, load] {
            assert_eq!(operates(LINE_SIDE, &[(300, dead), (1000, after)]), None, "{after:?}");
        }
    }

    #[test]
    fn it_is_armed_neither_before_its_time_nor_after_it() {
        let open = seen(0.0, HEALTHY_V, Some(false));
        let fault = seen(3000.0, 20_000.0, Some(true));
        let charging = seen(20.0, HEALTHY_V, Some(true));
        assert_eq!(operates(BUSBAR_SIDE, &[(200, open), (100, fault)]), None);
        assert_eq!(operates(BUSBAR_SIDE, &[(201, open), (100, fault)]), Some(201));
        let switched = |healthy_ms| [(300, open), (healthy_ms, charging), (100, fault)];
        assert_eq!(operates(BUSBAR_SIDE, &switched(498)), Some(798));
        assert_eq!(operates(BUSBAR_SIDE, &switched(499)), None);
    }

    #[test]
    fn what_it_trips_it_trips_until_it_is_gone() {
        let open = seen(0.0, HEALTHY_V, Some(false));
        let fault = seen(3000.0, 20_000.0, Some(true));
        let mut element = SwitchOntoFault::new(BUSBAR_SIDE);
        let mut at = |ms: u64, seen| {
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen)).operate
        };
        (0..300).for_each(|ms| assert!(!at(ms, open)));
        assert!((300..2000).all(|ms| at(ms, fault)));
        assert!(!at(2000, seen(20.0, HEALTHY_V, Some(true))));
        assert!(!at(2001, fault), "that is another fault");
    }

    #[test]
    fn a_line_that_only_carries_nothing_is_not_armed() {
        // A fault beyond the line begins while it carries no load.
        let idle = |voltage_v, is_closed| (1000, seen(5.0, voltage_v, is_closed));
        let fault = |is_closed| (500, seen(3000.0, 40_000.0, is_closed));
        assert_eq!(operates(BUSBAR_SIDE, &[idle(HEALTHY_V, None), fault(None)]), None);
        let closed = Some(true);
        assert_eq!(operates(BUSBAR_SIDE, &[idle(HEALTHY_V, closed), fault(closed)]), None);
        assert_eq!(operates(LINE_SIDE, &[idle(HEALTHY_V, None), fault(None)]), None);
        // The other end was open and recloses: this breaker was closed all the time.
        assert_eq!(operates(LINE_SIDE, &[idle(0.0, closed), fault(closed)]), None);
    }

    #[test]
    fn a_contact_that_sticks_at_open_arms_nothing_while_current_flows() {
        let load = seen(200.0, HEALTHY_V, Some(false));
        let fault = seen(3000.0, 40_000.0, Some(false));
        assert_eq!(operates(LINE_SIDE, &[(1000, load), (500, fault)]), None);
    }

    #[test]
    fn the_other_end_that_closes_first_does_not_keep_it_armed() {
        let dead = seen(0.0, 0.0, None);
        let alive = seen(0.0, HEALTHY_V, None);
        let fault = seen(3000.0, 40_000.0, None);
        assert_eq!(operates(LINE_SIDE, &[(300, dead), (600, alive), (500, fault)]), None);
    }

    #[test]
    fn elements_that_it_follows_need_no_current_above_its_own_limit() {
        let settings = Settings { pick_up_a: None, ..BUSBAR_SIDE };
        let open = seen(0.0, HEALTHY_V, Some(false));
        let started = Seen { is_started: true, ..seen(300.0, 50_000.0, Some(true)) };
        assert_eq!(operates(settings, &[(300, open), (10, started)]), Some(300));
        let large = seen(9000.0, 50_000.0, Some(true));
        assert_eq!(operates(settings, &[(300, open), (10, large)]), None);
    }

    #[test]
    fn an_untrusted_stream_disarms() {
        let open = seen(0.0, HEALTHY_V, Some(false));
        let fault = seen(3000.0, 20_000.0, Some(true));
        let mut element = SwitchOntoFault::new(BUSBAR_SIDE);
        for ms in 0..300 {
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&open));
        }
        element.update(SampleTime::from_ns(300_000_000), None);
        let after = element.update(SampleTime::from_ns(301_000_000), Some(&fault));
        assert_eq!(after, Decision::NONE);
    }
}
