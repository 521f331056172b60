//! What the agent of a host may say: of its own programs, of points that its nodes have, at times of the run. An agent
//! on another machine is no part of this one, and what it says must not reach what others do.

use vtime::VirtualSpan;

use crate::nodes::orders::{Exited, Report};
use plant::name::PointName;
use scenario::model::Scenario;

/// Warnings of one host that are recorded.
pub(super) const WARNINGS_MAX: usize = 1000;
/// Most characters of each text of an agent.
const TEXT_MAX: usize = 4096;

/// Why this cannot be said by the agent of a host; `None` if it can.
pub(super) fn wrong(scenario: &Scenario, host: usize, report: &Report) -> Option<String> {
    let nodes = || scenario.nodes_on(host);
    let (program, at_ns) = match report {
        Report::Ask { points, write, at_ns, .. } => {
            let is_served = |point: &PointName| {
                let mut files = nodes().flat_map(|node| &node.files);
                files.any(|file| file.point == *point && (write.is_none() || file.writable))
            };
            if let Some(point) = points.iter().find(|point| !is_served(point)) {
                let point = &point.0;
                return Some(format!("its agent asked for `{point}`, which none of its nodes may"));
            }
            (None, *at_ns)
        }
        Report::Started { program, at_ns } | Report::NotStarted { program, at_ns, .. } => {
            (Some(program), *at_ns)
        }
        Report::Exited(Exited { program, at_ns, .. }) => (Some(program), *at_ns),
        _ => return None,
    };
    let mut programs = nodes().flat_map(|node| &node.programs);
    if let Some(name) = program
        && !programs.any(|program| program.name == *name)
    {
        return Some(format!("its agent reported of `{name}`, which is none of its programs"));
    }
    let end = scenario.settle + scenario.duration;
    let at = VirtualSpan::from_ns(at_ns);
    let is_in_run = (VirtualSpan::ZERO..=end).contains(&at);
    (!is_in_run).then(|| "its agent reported of a time that is not of the run".to_owned())
}

/// A text of an agent on one line, and not longer than anybody reads.
pub(super) fn text_of(text: &str) -> String {
    let line: String = text.chars().take(TEXT_MAX).collect();
    line.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Options;

    #[test]
    fn a_host_speaks_for_its_own_programs_and_points_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scenario.yaml");
        std::fs::write(folder.path().join("grid.dss"), "new circuit.grid\n").unwrap();
        std::fs::write(
            &file,
            "scenario: two\nduration: 2 s\nsettle: 1 s\nplant: {circuit: grid.dss}\nhosts: {a: {}, b: {}}\n\
             nodes:\n  one: {host: a, files: [{point: load.l.kW, access: write}], programs: [{name: p, run: sh}]}\n  \
             two: {host: b, files: [{point: load.l.kW}], programs: [{name: q, run: sh}]}\n",
        )
        .unwrap();
        let scenario = scenario::read(&file, &Options::default()).unwrap();
        let ask = |write, at_ns| Report::Ask {
            ask: 1,
            points: vec![PointName("load.l.kW".into())],
            write,
            at_ns,
        };
        let end_ns = 3_000_000_000;
        for at_ns in [0, end_ns] {
            assert_eq!(wrong(&scenario, 0, &ask(Some(1.0), at_ns)), None);
            assert_eq!(wrong(&scenario, 1, &ask(None, at_ns)), None);
        }
        let started = |name: &str, at_ns| Report::Started { program: name.into(), at_ns };
        assert_eq!(wrong(&scenario, 0, &started("p", 0)), None);
        let other = Report::Ask {
            ask: 1,
            points: vec![PointName("load.m.kW".into())],
            write: None,
            at_ns: 0,
        };
        for (host, report) in [
            (1, ask(Some(1.0), 0)),
            (0, other),
            (0, ask(None, end_ns + 1)),
            (0, ask(None, i64::MAX)),
            (0, ask(None, -1)),
            (1, started("p", 0)),
            (0, started("p", i64::MIN)),
        ] {
            assert!(wrong(&scenario, host, &report).is_some(), "{host} {report:?}");
        }
        assert_eq!(text_of("one\ntwo"), "one\\ntwo");
        assert_eq!(text_of(&"x".repeat(1 << 20)).len(), TEXT_MAX);
    }
}
