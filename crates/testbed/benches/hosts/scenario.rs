//! Scenarios of the bench: nodes with a program each, spread over hosts, and one switch between all of them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::common::lab::Lab;

pub(crate) struct Scenario<'s> {
    pub(crate) hosts: usize,
    pub(crate) pace: &'s str,
    pub(crate) duration: Duration,
    /// Of the programs, which are called `n1`, `n2` and so on as their nodes; none where it is empty.
    pub(crate) commands: &'s [String],
    /// Of each link to the switch.
    pub(crate) delay_ms: u32,
    /// What links have besides.
    pub(crate) links: &'s str,
}

impl Scenario<'_> {
    /// The nodes are on the hosts in their order, and those that are left on the last one.
    pub(crate) fn yaml(&self, lab: &Lab) -> String {
        let hosts: String = (1..=self.hosts).map(|host| lab.yaml(host)).collect();
        let (mut nodes, mut links) = (String::new(), String::new());
        for (number, command) in (1..).zip(self.commands) {
            let host = self.hosts.min(number);
            let _ =
                writeln!(nodes, "  n{number}:\n    host: h{host}\n    address: 10.0.0.{number}/24");
            if !command.is_empty() {
                let program = format!("{{name: n{number}, run: {command:?}, on_exit: ignore}}");
                let _ = writeln!(nodes, "    programs: [{program}]");
            }
            let (delay_ms, also) = (self.delay_ms, self.links);
            let _ = writeln!(links, "  - {{from: n{number}, to: s, delay: {delay_ms} ms{also}}}");
        }
        let (ms, pace) = (self.duration.as_millis(), self.pace);
        format!(
            "scenario: hosts\nduration: {ms} ms\npace: {pace}\nstart: 2026-01-01T00:00:00Z\n\
             capture: none\nhosts:\n{hosts}nodes:\n{nodes}switches: [s]\nlinks:\n{links}"
        )
    }
}
