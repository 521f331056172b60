//! What verdicts are drawn from: the files of a run, read. Measures ask it, and so do charts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use vtime::VirtualSpan;

use super::capture::Capture;
use super::disturbance::Watched;
use super::doubt::{Loss, PlantRecord};
use super::series::Series;
use super::told::ReportedValues;

/// What verdicts are drawn from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunData {
    /// Name of the file that the series came from.
    pub series_file: String,
    pub series: Option<Series>,
    pub captures: BTreeMap<String, Capture>,
    pub addresses: BTreeMap<String, Option<Ipv4Addr>>,
    /// What programs reported of members that requirements name, by program and member.
    pub reported: BTreeMap<(String, String), ReportedValues>,
    /// What kept programs from acting in time; `None` if nobody watched.
    pub watched: Option<Watched>,
    pub plant: Option<PlantRecord>,
    pub losses: Vec<Loss>,
    /// What `CLOCK_REALTIME` showed at scenario time zero.
    pub realtime_zero_ns: i64,
    /// Planned end of the run: the end of windows that are open.
    pub planned_to: VirtualSpan,
    /// Scenario time that the run reached.
    pub covered_to: VirtualSpan,
    /// Whether it ended there because a part of it failed: the silence before may have come of that.
    pub failed: bool,
}
