//! What a type test says: rows of a table, each with a bar (the accuracy that is claimed), what was
//! measured at the worst, and which cases miss it; and pictures.

use random::Random;

/// Which cases are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Of a matrix one of so many, drawn; all of them if it is one.
    pub one_of: u64,
    /// How many are drawn where cases are no matrix.
    pub cases: u64,
}

/// Of a small matrix some so many are run at the least.
const FEW: u64 = 12;

impl Plan {
    /// The cases of a matrix that are run: the same ones each time.
    pub fn pick<T>(self, cases: Vec<T>) -> impl Iterator<Item = T> {
        let count = cases.len() as u64;
        let one_of = self.one_of.min(count / FEW).max(1);
        let mut random = Random::new(count);
        cases.into_iter().filter(move |_| random.below(one_of) == 0)
    }
}

/// What a row claims of each of its cases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bar {
    /// What is measured is at most that, in this unit.
    AtMost(f64, &'static str),
    /// Each case is decided as it has to be.
    AllRight,
}

/// One claim, and what became of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub what: String,
    pub bar: Bar,
    pub cases: usize,
    /// Whether another row of the section counts the same cases.
    pub is_beside: bool,
    /// The largest that was measured; the number of wrong decisions with [`Bar::AllRight`].
    pub worst: f64,
    /// What was measured, of each case; nothing with [`Bar::AllRight`].
    pub measured: Vec<f64>,
    /// Cases that miss the bar.
    pub missed: Vec<String>,
}

impl Row {
    /// A claim of which nothing was measured yet.
    #[must_use]
    pub fn new(what: &str, bar: Bar) -> Self {
        let what = what.to_owned();
        Self {
            what,
            bar,
            cases: 0,
            is_beside: false,
            worst: 0.0,
            measured: Vec::new(),
            missed: Vec::new(),
        }
    }

    /// The same, of cases that another row of the section counts.
    #[must_use]
    pub fn beside(self) -> Self {
        Self { is_beside: true, ..self }
    }

    /// A case has this measured value: an error or a time, infinite if there is none. A time below
    /// zero, of what came before its cause, is as wrong as none.
    pub fn measure(&mut self, value: f64, case: impl FnOnce() -> String) {
        let value = if value >= 0.0 { value } else { f64::INFINITY };
        self.cases += 1;
        self.worst = self.worst.max(value);
        self.measured.push(value);
        if let Bar::AtMost(bar, _) = self.bar
            && value > bar
        {
            self.missed.push(case());
        }
    }

    /// A case is decided as it has to be, or not.
    pub fn judge(&mut self, is_right: bool, case: impl FnOnce() -> String) {
        self.cases += 1;
        if !is_right {
            self.worst += 1.0;
            self.missed.push(case());
        }
    }

    /// So many of some cases are wrong: their share is measured, in percent, and each case counts.
    pub fn share(&mut self, wrong: usize, of: usize, cases: impl FnOnce() -> String) {
        self.measure(100.0 * wrong as f64 / of as f64, cases);
        self.cases += of.saturating_sub(1);
    }

    /// The value in the middle of what was measured.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        median(&self.measured)
    }
}

/// The value in the middle of these; nothing of none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// A picture of a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// Of its file, without the ending.
    pub name: &'static str,
    /// What it shows, as a text below it.
    pub caption: &'static str,
    pub svg: String,
}

/// The type test of one function.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    pub title: &'static str,
    /// What is tested, and how.
    pub what: &'static str,
    pub rows: Vec<Row>,
    pub pictures: Vec<Picture>,
    /// What else is to be said, as Markdown; may be empty.
    pub notes: String,
}

impl Section {
    /// How many cases were run; each counts once, however many claims are about it.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_beside).map(|row| row.cases).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_its_worst_and_what_misses_its_bar() {
        let mut row = Row::new("error", Bar::AtMost(2.0, "%"));
        for value in [1.0, 3.0, 2.0, 0.0, 1.5] {
            row.measure(value, || format!("{value}"));
        }
        assert_eq!((row.cases, row.worst, row.median()), (5, 3.0, Some(1.5)));
        for value in [f64::INFINITY, -0.1, f64::NAN] {
            row.measure(value, || format!("{value}"));
        }
        assert_eq!((row.cases, row.worst, row.median()), (8, f64::INFINITY, Some(3.0)));
        assert_eq!(row.missed, ["3", "inf", "-0.1", "NaN"]);
        let mut row = Row::new("share", Bar::AtMost(2.0, "%"));
        row.share(1, 50, || unreachable!("it is met"));
        row.share(3, 50, || "others".to_owned());
        assert_eq!((row.cases, row.worst, row.missed.len()), (100, 6.0, 1));
        row.share(0, 0, || "none".to_owned());
        assert_eq!(row.missed, ["others", "none"], "of no case nothing is shown");
        let mut row = Row::new("decision", Bar::AllRight);
        row.judge(true, || unreachable!("it is right"));
        row.judge(false, || "second".to_owned());
        assert_eq!((row.cases, row.worst, row.missed.len()), (2, 1.0, 1));
    }

    #[test]
    fn a_plan_runs_all_cases_or_some_that_stay_the_same() {
        let picked = |one_of, count: u64| {
            Plan { one_of, cases: 0 }.pick((0..count).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(picked(1, 1000).len(), 1000);
        assert!((50..200).contains(&picked(10, 1000).len()));
        assert_eq!(picked(10, 1000), picked(10, 1000));
        for count in 1..200 {
            let least = count.min(4) as usize;
            assert!(picked(1000, count).len() >= least, "of {count}: {:?}", picked(1000, count));
        }
        assert_eq!(picked(1000, 20).len(), 20);
    }
}
