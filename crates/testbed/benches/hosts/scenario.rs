//! Scenarios of the bench: a node on each host, and one switch between all of them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::common::lab::Lab;

/// Of each link to the switch.
pub(crate) const DELAY_MS: u32 = 2;

/// One node on each host with one program each, which are called `n1`, `n2` and so on; none where the command is empty.
pub(crate) fn of_nodes(lab: &Lab, pace: &str, duration: Duration, commands: &[String]) -> String {
    with_links(lab, pace, duration, commands, "")
}

/// The same, with links that have more than a delay.
pub(crate) fn with_links(
    lab: &Lab,
    pace: &str,
    duration: Duration,
    commands: &[String],
    also: &str,
) -> String {
    let hosts: String = (1..=commands.len()).map(|host| lab.yaml(host)).collect();
    let (mut nodes, mut links) = (String::new(), String::new());
    for (host, command) in (1..).zip(commands) {
        let _ = writeln!(nodes, "  n{host}:\n    host: h{host}\n    address: 10.0.0.{host}/24");
        if !command.is_empty() {
            let program = format!("{{name: n{host}, run: {command:?}, on_exit: ignore}}");
            let _ = writeln!(nodes, "    programs: [{program}]");
        }
        let _ = writeln!(links, "  - {{from: n{host}, to: s, delay: {DELAY_MS} ms{also}}}");
    }
    let ms = duration.as_millis();
    format!(
        "scenario: hosts\nduration: {ms} ms\npace: {pace}\nstart: 2026-01-01T00:00:00Z\ncapture: none\n\
         hosts:\n{hosts}nodes:\n{nodes}switches: [s]\nlinks:\n{links}"
    )
}
