//! The parts of `qcycle latency` that look at what was measured: report, compare, import.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;

use super::compare::Compared;
use super::digest::Demands;
use super::import::{self, Hints, Unit};
use super::matrix;
use super::record::{self, LatencyRun};
use super::report::{PAGE, Report, Run};
use super::verdict;
use settings::{names, units};
use terminal::exit::{BadUsage, Exit};

/// The page on two runs, in the folder of the second one.
const COMPARE_PAGE: &str = "compare.html";

/// What is done with measurements that are there.
#[derive(Subcommand, Debug)]
pub(crate) enum ResultsCommand {
    /// Judge the results of a run, and write its report and tables again.
    #[command(after_help = "Examples:\n  \
        qcycle latency report runs/latency-1\n  \
        qcycle latency report runs/latency-1 --limit 'breaker=2 ms' --share 99.99\n\n\
        Exit codes: 0 every limit is kept, 10 one is missed, 11 one cannot be judged.\n\
        Additional limits decide if there are any, otherwise those of the grid.")]
    Report {
        /// Folder of the run.
        folder: PathBuf,
        /// Limits for the verdicts.
        #[command(flatten)]
        judged: Judged,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Compare the cells of two runs: what changed, by how much, and with what significance.
    Compare {
        /// Folder of the first run.
        first: PathBuf,
        /// Folder of the second run.
        second: PathBuf,
        /// Limits for the verdicts.
        #[command(flatten)]
        judged: Judged,
        /// Output file [default: compare.html in the second folder].
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Import results of other tools as cells of a run, and report on them.
    ///
    /// Known formats: cyclictest (histograms, --verbose, JSON), oslat, jitterdebugger, Xenomai's
    /// latency, lists with one sample per line, and histograms with a latency and its count per
    /// line.
    #[command(after_help = "Examples:\n  \
        qcycle latency import tp1.json tp3.json --platform lab --output runs/lab\n  \
        qcycle latency import samples.txt --unit ns --period '1 ms'")]
    Import {
        /// The files; each becomes the cell PLATFORM.NAME-OF-THE-FILE.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Name of the platform, as in a matrix.
        #[arg(long, default_value = "imported", value_parser = names::in_paths,
            allow_hyphen_values = true)]
        platform: String,
        /// Folder of the run; the cells are added to existing ones.
        #[arg(long, short, default_value = "runs/imported")]
        output: PathBuf,
        /// Unit of plain numbers.
        #[arg(long, value_enum, default_value_t)]
        unit: Unit,
        /// Time between the samples of a list; needed for charts over time.
        #[arg(long, value_parser = units::time_positive, allow_hyphen_values = true)]
        period: Option<vtime::VirtualSpan>,
        /// Limits for the verdicts.
        #[command(flatten)]
        judged: Judged,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Limits for the verdicts.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Judged {
    /// Additional latency limit, such as 'breaker=2 ms'; may be repeated.
    #[arg(long = "limit", value_name = "NAME=TIME", value_parser = limit)]
    pub limits: Vec<(String, u64)>,
    /// Percent of all activations that must be in time.
    #[arg(long, value_name = "PERCENT", default_value_t = 99.9, value_parser = share,
        allow_hyphen_values = true)]
    pub share: f64,
}

impl Judged {
    /// The demands, those of the field with one's own.
    ///
    /// # Errors
    /// If two limits have one name.
    pub(crate) fn demands(&self) -> Result<Demands> {
        let mut demands = Demands { share: self.share / 100.0, ..Demands::default() };
        for (index, (name, budget_ns)) in self.limits.iter().enumerate() {
            if self.limits[..index].iter().any(|(other, _)| other == name) {
                let what = format!("two limits have the name `{name}`; give each --limit its own");
                return Err(BadUsage(what).into());
            }
            demands.limits.push(verdict::own(name, *budget_ns));
        }
        Ok(demands)
    }
}

fn limit(text: &str) -> Result<(String, u64)> {
    let Some((name, time)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty())
    else {
        anyhow::bail!("give a name and a time, such as 'breaker=2 ms'");
    };
    let budget = units::time_positive(time.trim())?;
    Ok((name.trim().to_owned(), budget.as_ns().unsigned_abs()))
}

fn share(text: &str) -> Result<f64, &'static str> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share < 100.0);
    share.ok_or("give more than 0 and less than 100 percent; no measurement can guarantee all")
}

impl ResultsCommand {
    /// Does it, and tells what was found.
    ///
    /// # Errors
    /// If there is nothing to read, or the page cannot be written.
    pub(crate) fn execute(self) -> Result<Exit> {
        match self {
            Self::Report { folder, judged, json } => {
                let mut demands = judged.demands()?;
                let run = known(&folder, &mut demands)?;
                tell(&Report::read(&folder, &run, &demands)?, json)
            }
            Self::Compare { first, second, judged, output, json } => {
                let compared = Compared::read(&first, &second, &judged.demands()?)?;
                let page = output.unwrap_or_else(|| second.join(COMPARE_PAGE));
                compared.write_page(&page)?;
                if json {
                    terminal::print_json(&serde_json::to_string_pretty(&compared)?);
                } else {
                    terminal::print(format_args!("{}", compared.text()));
                    terminal::out!("report: {}", page.display());
                }
                Ok(Exit::Done)
            }
            Self::Import { files, platform, output, unit, period, judged, json } => {
                let demands = judged.demands()?;
                let hints = Hints { unit, period_ns: period.map(vtime::VirtualSpan::as_ns) };
                let names = import::import(&files, &platform, hints, &output)?;
                terminal::err!("qcycle: imported {} into {}", names.join(", "), output.display());
                tell(&Report::read(&output, &Run::default(), &demands)?, json)
            }
        }
    }
}

/// What the run of a matrix knows besides its cells, and the limits of the matrix. Imports have neither.
fn known(folder: &Path, demands: &mut Demands) -> Result<Run> {
    if !folder.join(record::RECORD).exists() {
        return Ok(Run::default());
    }
    let run = LatencyRun::read(folder)?;
    let matrix = matrix::read(&folder.join(record::MATRIX))?;
    demands.limits.extend(matrix.own_limits());
    Ok(run.for_report())
}

/// Writes page and tables, and tells it in the terminal.
pub(super) fn tell(report: &Report, json: bool) -> Result<Exit> {
    report.write()?;
    if json {
        terminal::print_json(&serde_json::to_string_pretty(report)?);
    } else {
        terminal::print(format_args!("{}", report.text()));
        terminal::out!("report: {}", report.folder.join(PAGE).display());
    }
    Ok(report.exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limits: &[&str], percent: &str) -> Result<Demands> {
        let limits = limits.iter().map(|text| limit(text)).collect::<Result<_>>()?;
        Judged { limits, share: share(percent).map_err(anyhow::Error::msg)? }.demands()
    }

    #[test]
    fn own_limits_are_a_name_and_a_time() {
        let demands = judged(&["breaker=2 ms", "task = 250 us"], "99.99").unwrap();
        let own = &demands.limits[demands.limits.len() - 2..];
        assert_eq!((own[0].name.as_str(), own[0].budget_ns), ("breaker", 2_000_000));
        assert_eq!((own[1].name.as_str(), own[1].budget_ns), ("task", 250_000));
        assert!((demands.share - 0.9999).abs() < 1e-12);
        for (limits, share, said) in [
            (&["2 ms"][..], "99.9", "a name and a time"),
            (&["=2 ms"], "99.9", "a name and a time"),
            (&["a=fast"], "99.9", "`fast`"),
            (&["a=0 s"], "99.9", "`0 s` is not a positive time"),
            (&["a=1 s"], "100", "less than 100 percent"),
            (&["a=1 s"], "x", "less than 100 percent"),
            (&["a=1 s", "a=2 s"], "99.9", "two limits have the name `a`"),
        ] {
            let refused = judged(limits, share).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
