//! One line of the list: what was found, what it means, and the command that improves it.

use std::fmt;

use serde::Serialize;

use super::Cores;
use terminal::exit::Exit;

/// How good it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Ok,
    /// Nothing can be said on this host; the item says why.
    NotMeasured,
    /// A risk for deadlines.
    Warn,
    /// Deadlines of protection cannot be kept like this.
    Fail,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotMeasured => "not measured",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Item {
    pub group: &'static str,
    pub name: &'static str,
    #[serde(flatten)]
    pub finding: Finding,
}

/// What is said of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    pub grade: Grade,
    /// What was found, and what that does to deadlines.
    pub found: String,
    /// Command or setting that corrects it.
    #[serde(rename = "remedy", skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Item {
    /// Findings of one part of the host, by their names.
    pub(super) fn of_group(
        group: &'static str,
        findings: impl IntoIterator<Item = (&'static str, Finding)>,
    ) -> Vec<Self> {
        findings.into_iter().map(|(name, finding)| Self { group, name, finding }).collect()
    }
}

impl Finding {
    pub(super) fn ok(found: impl Into<String>) -> Self {
        Self { grade: Grade::Ok, found: found.into(), fix: None }
    }

    pub(super) fn warn(found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { grade: Grade::Warn, found: found.into(), fix: Some(fix.into()) }
    }

    pub(super) fn fail(found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { grade: Grade::Fail, ..Self::warn(found, fix) }
    }

    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self { grade: Grade::NotMeasured, ..Self::ok(why) }
    }
}

/// The finding of this name.
#[cfg(test)]
pub(super) fn named<'i>(items: &'i [Item], name: &str) -> &'i Finding {
    &items.iter().find(|item| item.name == name).expect(name).finding
}

/// All items, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    pub cores: Cores,
    /// What was looked at, in order.
    pub items: Vec<Item>,
    /// Whether a bad figure was measured beside so much load that it says nothing about the host.
    pub under_load: bool,
}

impl Report {
    /// Number of items with this grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.items.iter().filter(|item| item.finding.grade == grade).count()
    }

    /// How `qcycle` ends with it.
    pub fn exit(&self) -> Exit {
        match (self.count(Grade::Fail), self.under_load) {
            (0, false) => Exit::Done,
            (0, true) => Exit::NotMeasured,
            _ => Exit::Missed,
        }
    }
}

/// The table for people: a line for each item, and one below it for the fix.
impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = "";
        let width = self.items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
        let indent = " ".repeat(2 + 13 + width + 2);
        for item in &self.items {
            if item.group != group {
                group = item.group;
                writeln!(to, "{group}")?;
            }
            let Item { name, finding: Finding { grade, found, fix }, .. } = item;
            writeln!(to, "  {:<12} {name:<width$}  {found}", grade.word())?;
            if let Some(fix) = fix {
                writeln!(to, "{indent}fix: {fix}")?;
            }
        }
        let [ok, unknown, warn, fail] = [Grade::Ok, Grade::NotMeasured, Grade::Warn, Grade::Fail]
            .map(|grade| self.count(grade));
        let verdict = if fail > 0 {
            "not ready"
        } else if self.under_load {
            "not known, measured under load"
        } else if warn > 0 {
            "ready, with risks"
        } else {
            "ready"
        };
        writeln!(to, "cores {}: {verdict}", self.cores)?;
        write!(to, "{ok} ok, {warn} warn, {fail} fail, {unknown} not measured")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_groups_its_items_and_ends_in_a_verdict() {
        let isolated = Finding::warn("none", "isolcpus=1 on the kernel command line");
        let kernel = [("preemption", Finding::ok("PREEMPT_RT")), ("isolated cores", isolated)];
        let mut items = Item::of_group("kernel", kernel);
        let source = Finding::fail("hpet", "clocksource=tsc");
        items.extend(Item::of_group("time", [("clock source", source)]));
        let mut report = Report { cores: "1".parse().unwrap(), items, under_load: false };
        let text = report.to_string();
        assert_eq!(text.matches("kernel\n").count(), 1);
        assert!(text.contains("fix: isolcpus=1"), "{text}");
        assert!(text.ends_with("cores 1: not ready\n1 ok, 1 warn, 1 fail, 0 not measured"));
        assert_eq!(report.exit(), Exit::Missed);
        report.items.pop();
        assert_eq!(report.exit(), Exit::Done);
        assert!(report.to_string().contains("ready, with risks"));
        report.under_load = true;
        assert_eq!(report.exit(), Exit::NotMeasured);
        assert!(report.to_string().contains("not known, measured under load"));
        report.under_load = false;
        report.items.pop();
        assert!(report.to_string().contains("cores 1: ready\n"));
    }

    #[test]
    fn a_name_of_any_length_stands_apart_from_what_was_found() {
        let long = "a name that is longer than any other one";
        let findings = [(long, Finding::unknown("nothing")), ("x", Finding::warn("y", "z"))];
        let items = Item::of_group("kernel", findings);
        let text = Report { cores: "1".parse().unwrap(), items, under_load: false }.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with(&format!("{long}  nothing")), "{text}");
        assert_eq!(lines[1].find("nothing"), lines[3].find("fix:"), "{text}");
    }

    #[test]
    fn as_json_the_grades_have_names() {
        let item = Item::of_group("time", [("ptp", Finding::unknown("no ptp4l"))]).remove(0);
        let json = serde_json::to_value(&item).unwrap();
        assert_eq!(json["grade"], "not_measured");
        assert!(json.get("remedy").is_none());
    }
}
