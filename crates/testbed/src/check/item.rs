//! One line of the list: what was found, what it means, and the command that mends it.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::Cores;

/// How good it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// In order.
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
    /// Part of the host.
    pub group: &'static str,
    /// What was looked at.
    pub name: String,
    /// How good it is.
    pub grade: Grade,
    /// What was found, and what that does to deadlines.
    pub found: String,
    /// Command or setting that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Item {
    pub(super) fn ok(group: &'static str, name: &str, found: impl Into<String>) -> Self {
        Self { group, name: name.to_owned(), grade: Grade::Ok, found: found.into(), remedy: None }
    }

    pub(super) fn warn(
        group: &'static str,
        name: &str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into());
        Self { grade: Grade::Warn, remedy, ..Self::ok(group, name, found) }
    }

    pub(super) fn fail(
        group: &'static str,
        name: &str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { grade: Grade::Fail, ..Self::warn(group, name, found, remedy) }
    }

    pub(super) fn unknown(group: &'static str, name: &str, why: impl Into<String>) -> Self {
        Self { grade: Grade::NotMeasured, ..Self::ok(group, name, why) }
    }
}

/// All items, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// Cores that were looked at.
    pub cores: Cores,
    /// The list.
    pub items: Vec<Item>,
}

impl Report {
    /// Number of items with this grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.items.iter().filter(|item| item.grade == grade).count()
    }

    /// Whether nothing stands in the way of deadlines for sure.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.count(Grade::Fail) == 0
    }
}

/// The table for people: a line for each item, and one below it for the remedy.
impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut group = "";
        for item in &self.items {
            if item.group != group {
                group = item.group;
                writeln!(text, "{group}")?;
            }
            writeln!(text, "  {:<13}{:<26}{}", item.grade.word(), item.name, item.found)?;
            if let Some(remedy) = &item.remedy {
                writeln!(text, "  {:<39}mend: {remedy}", "")?;
            }
        }
        let [ok, unknown, warn, fail] = [Grade::Ok, Grade::NotMeasured, Grade::Warn, Grade::Fail]
            .map(|grade| self.count(grade));
        let verdict = if fail > 0 {
            "not ready"
        } else if warn > 0 {
            "ready, with risks"
        } else {
            "ready"
        };
        writeln!(text, "cores {}: {verdict}", self.cores)?;
        write!(text, "{ok} ok, {warn} warn, {fail} fail, {unknown} not measured")?;
        to.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_groups_its_items_and_ends_in_a_verdict() {
        let items = vec![
            Item::ok("kernel", "preemption", "PREEMPT_RT"),
            Item::warn("kernel", "isolated cores", "none", "isolcpus=1 on the kernel line"),
            Item::fail("time", "clock source", "hpet", "clocksource=tsc"),
        ];
        let mut report = Report { cores: "1".parse().unwrap(), items };
        let text = report.to_string();
        assert_eq!(text.matches("kernel\n").count(), 1);
        assert!(text.contains("mend: isolcpus=1"), "{text}");
        assert!(text.ends_with("cores 1: not ready\n1 ok, 1 warn, 1 fail, 0 not measured"));
        assert!(!report.is_ready());
        report.items.pop();
        assert!(report.is_ready() && report.to_string().contains("ready, with risks"));
        report.items.pop();
        assert!(report.to_string().contains("cores 1: ready\n"));
    }

    #[test]
    fn as_json_the_grades_have_names() {
        let item = Item::unknown("time", "ptp", "no ptp4l");
        let json = serde_json::to_value(&item).unwrap();
        assert_eq!(json["grade"], "not_measured");
        assert!(json.get("remedy").is_none());
    }
}
