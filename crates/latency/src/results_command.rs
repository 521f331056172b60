//! The parts of `qcycle latency` that look at what was measured: report, compare, import.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Subcommand;

use super::compare::Compared;
use super::digest::Demands;
use super::import::{self, Hints, Unit};
use super::matrix;
use super::record::{self, LatencyRun};
use super::report::{PAGE, Report, Run};
use super::verdict;
use settings::units;
use terminal::exit::Exit;

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
        /// Name of the platform.
        #[arg(long, default_value = "imported")]
        platform: String,
        /// Folder of the run; the cells are added to existing ones.
        #[arg(long, short, default_value = "runs/imported")]
        output: PathBuf,
        /// Unit of plain numbers.
        #[arg(long, value_enum, default_value_t)]
        unit: Unit,
        /// Time between the samples of a list; needed for charts over time.
        #[arg(long, value_parser = units::time)]
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
    #[arg(long = "limit", value_name = "NAME=TIME")]
    pub limits: Vec<String>,
    /// Percent of all activations that must be in time.
    #[arg(long, value_name = "PERCENT", default_value_t = 99.9)]
    pub share: f64,
}

impl Judged {
    /// The demands, those of the field with one's own.
    ///
    /// # Errors
    /// If a limit is no name with a time, or the share is no share.
    pub(crate) fn demands(&self) -> Result<Demands> {
        anyhow::ensure!(
            self.share > 0.0 && self.share < 100.0,
            "--share {}: give more than 0 and less than 100 percent; no measurement can guarantee \
             all",
            self.share
        );
        let mut demands = Demands { share: self.share / 100.0, ..Demands::default() };
        for limit in &self.limits {
            let (name, time) = limit.split_once('=').with_context(|| {
                format!("--limit {limit}: give a name and a time, such as 'breaker=2 ms'")
            })?;
            let time = units::time(time.trim())
                .map_err(|error| anyhow::anyhow!("--limit {limit}: {error}"))?;
            let budget_ns = u64::try_from(time.as_ns()).ok().filter(|ns| *ns > 0);
            let budget_ns =
                budget_ns.with_context(|| format!("--limit {limit}: give a time above zero"))?;
            demands.limits.push(verdict::own(name.trim(), budget_ns));
        }
        Ok(demands)
    }
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
    let matrix = matrix::read(&folder.join(record::MATRIX));
    let matrix = matrix.map_err(|problems| anyhow::anyhow!("{problems}"))?;
    demands.limits.extend(matrix.own_limits());
    Ok(LatencyRun::read(folder)?.for_report())
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

    fn judged(limits: &[&str], share: f64) -> Result<Demands> {
        Judged { limits: limits.iter().map(|&limit| limit.to_owned()).collect(), share }.demands()
    }

    #[test]
    fn own_limits_are_a_name_and_a_time() {
        let demands = judged(&["breaker=2 ms", "task = 250 us"], 99.99).unwrap();
        let own = &demands.limits[demands.limits.len() - 2..];
        assert_eq!((own[0].name.as_str(), own[0].budget_ns), ("breaker", 2_000_000));
        assert_eq!((own[1].name.as_str(), own[1].budget_ns), ("task", 250_000));
        assert!((demands.share - 0.9999).abs() < 1e-12);
        for (limit, share) in [("2 ms", 99.9), ("a=fast", 99.9), ("a=0 s", 99.9), ("a=1 s", 100.0)]
        {
            let refused = judged(&[limit], share).unwrap_err().to_string();
            assert!(refused.contains("--limit") || refused.contains("--share"), "{refused}");
        }
    }
}
