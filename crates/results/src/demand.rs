//! Requirements as `run.json` keeps them, so that a run can be judged again from its folder
//! alone: after a kill, or by someone who has the results and not the scenario.

use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use plant::name::PointName;
use scenario::model::{Disturbed, End, Measure, Requirement, Window};
use scenario::told::Statistic;

/// A bound on something measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Demand {
    /// A sentence for the verdict table.
    pub name: String,
    /// What is measured, and in which window.
    pub measure: MeasureRecord,
    /// Smallest value that meets it.
    pub at_least: Option<f64>,
    /// Largest value that meets it.
    pub at_most: Option<f64>,
    /// What disturbs its verdict.
    #[serde(default)]
    pub disturbed: Disturbed,
}

/// What is measured; see [`Measure`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MeasureRecord {
    Minimum {
        point: PointName,
        window: WindowRecord,
    },
    Maximum {
        point: PointName,
        window: WindowRecord,
    },
    FirstBelow {
        point: PointName,
        value: f64,
        window: WindowRecord,
    },
    LastBelow {
        point: PointName,
        value: f64,
        window: WindowRecord,
    },
    Changes {
        point: PointName,
        window: WindowRecord,
    },
    Received {
        from: String,
        to: String,
        window: WindowRecord,
    },
    LongestGap {
        from: String,
        to: String,
        port: u16,
        /// Absent in records of versions that looked at the sender only.
        #[serde(default)]
        at: End,
        window: WindowRecord,
    },
    Told {
        member: String,
        program: String,
        statistic: Statistic,
        above: Option<f64>,
        window: WindowRecord,
    },
}

/// A window of scenario time; open where `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WindowRecord {
    /// Begin in scenario time; none: that of the run.
    pub from_ns: Option<i64>,
    /// End in scenario time, not included; none: that of the run.
    pub to_ns: Option<i64>,
}

impl Demand {
    /// The requirement as it is judged.
    pub fn requirement(&self) -> Requirement {
        Requirement {
            name: self.name.clone(),
            measure: self.measure.measure(),
            at_least: self.at_least,
            at_most: self.at_most,
            disturbed: self.disturbed.clone(),
        }
    }
}

impl From<&Requirement> for Demand {
    fn from(requirement: &Requirement) -> Self {
        Self {
            name: requirement.name.clone(),
            measure: MeasureRecord::from(&requirement.measure),
            at_least: requirement.at_least,
            at_most: requirement.at_most,
            disturbed: requirement.disturbed.clone(),
        }
    }
}

impl MeasureRecord {
    /// The point that is measured, with what a chart of it should show.
    pub fn point(&self) -> Option<(&PointName, WindowRecord)> {
        match self {
            Self::Minimum { point, window }
            | Self::Maximum { point, window }
            | Self::FirstBelow { point, window, .. }
            | Self::LastBelow { point, window, .. }
            | Self::Changes { point, window } => Some((point, *window)),
            Self::Received { .. } | Self::LongestGap { .. } | Self::Told { .. } => None,
        }
    }

    fn measure(&self) -> Measure {
        match self.clone() {
            Self::Minimum { point, window } => Measure::Minimum(point, window.window()),
            Self::Maximum { point, window } => Measure::Maximum(point, window.window()),
            Self::FirstBelow { point, value, window } => {
                Measure::FirstBelow(point, value, window.window())
            }
            Self::LastBelow { point, value, window } => {
                Measure::LastBelow(point, value, window.window())
            }
            Self::Changes { point, window } => Measure::Changes(point, window.window()),
            Self::Received { from, to, window } => {
                Measure::Received { from, to, window: window.window() }
            }
            Self::LongestGap { from, to, port, at, window } => {
                Measure::LongestGap { from, to, port, at, window: window.window() }
            }
            Self::Told { member, program, statistic, above, window } => {
                let window = window.window();
                Measure::Told { member, program, statistic, above, window }
            }
        }
    }
}

impl From<&Measure> for MeasureRecord {
    fn from(measure: &Measure) -> Self {
        match measure.clone() {
            Measure::Minimum(point, window) => Self::Minimum { point, window: window.into() },
            Measure::Maximum(point, window) => Self::Maximum { point, window: window.into() },
            Measure::FirstBelow(point, value, window) => {
                Self::FirstBelow { point, value, window: window.into() }
            }
            Measure::LastBelow(point, value, window) => {
                Self::LastBelow { point, value, window: window.into() }
            }
            Measure::Changes(point, window) => Self::Changes { point, window: window.into() },
            Measure::Received { from, to, window } => {
                Self::Received { from, to, window: window.into() }
            }
            Measure::LongestGap { from, to, port, at, window } => {
                Self::LongestGap { from, to, port, at, window: window.into() }
            }
            Measure::Told { member, program, statistic, above, window } => {
                let window = window.into();
                Self::Told { member, program, statistic, above, window }
            }
        }
    }
}

impl WindowRecord {
    fn window(self) -> Window {
        let span = |ns: Option<i64>| ns.map(VirtualSpan::from_ns);
        Window { from: span(self.from_ns), to: span(self.to_ns) }
    }
}

impl From<Window> for WindowRecord {
    fn from(window: Window) -> Self {
        let ns = |span: Option<VirtualSpan>| span.map(VirtualSpan::as_ns);
        Self { from_ns: ns(window.from), to_ns: ns(window.to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_an_old_record_was_measured_at_the_sender() {
        let old = r#"{"kind": "longest-gap", "from": "a", "to": "b", "port": 1,
            "window": {"from_ns": null, "to_ns": null}}"#;
        let read: MeasureRecord = serde_json::from_str(old).unwrap();
        assert!(matches!(read, MeasureRecord::LongestGap { at: End::Sender, .. }), "{read:?}");
    }

    #[test]
    fn every_measure_survives_the_way_through_json() {
        let point = PointName("bus.680.v1".into());
        let window = Window { from: Some(VirtualSpan::from_ms(22_500)), to: None };
        let (from, to) = (String::from("controller"), String::from("sensor"));
        let measures = [
            Measure::Minimum(point.clone(), window),
            Measure::Maximum(point.clone(), window),
            Measure::FirstBelow(point.clone(), 2325.0, window),
            Measure::LastBelow(point.clone(), 2325.0, window),
            Measure::Changes(point, Window::default()),
            Measure::Received { from: from.clone(), to: to.clone(), window },
            Measure::LongestGap { from, to, port: 502, at: End::Receiver, window },
            Measure::Told {
                member: "latency_us".into(),
                program: "drive".into(),
                statistic: Statistic::Percentile(0.999),
                above: Some(4.167),
                window,
            },
        ];
        for measure in measures {
            let disturbed = Disturbed {
                above: Some(VirtualSpan::from_ms(5)),
                nodes: Some(vec!["sensor".into()]),
            };
            let (name, at_least, at_most) = ("r".into(), Some(1.0), None);
            let requirement = Requirement { name, measure, at_least, at_most, disturbed };
            let text = serde_json::to_string(&Demand::from(&requirement)).unwrap();
            let back: Demand = serde_json::from_str(&text).unwrap();
            assert_eq!(format!("{:?}", back.requirement()), format!("{requirement:?}"));
        }
    }
}
