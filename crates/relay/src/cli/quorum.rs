//! The part of the command line that is about relays that act as one.

use realtime::prepare;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use terminal::exit::Exit;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;
use settings::Fault;
use settings::units::{self, Dimension};
use substation::settings::Rotation;
use substation::settings::quorum::{read_breaker, read_node, read_rejuvenation};

use crate::program::{self, folder_of};
use crate::quorum::keys::KeysRequest;
use crate::quorum::meter;
use crate::quorum::rejuvenate::Rejuvenator;
use crate::quorum::run::{check_breaker, check_node, run_breaker, run_node};

/// Arguments of `qcrelay node` and `qcrelay breaker`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Settings in YAML; paths in them are relative to their folder
    settings: PathBuf,
    /// End after this time, such as `90s`, `500ms` or `24h`
    #[arg(long, value_parser = settings::units::duration_positive)]
    duration: Option<Duration>,
    /// Print the summary, which is JSON, on one line
    #[arg(long)]
    json: bool,
    /// Only check the settings and the files that they name
    #[arg(long)]
    check: bool,
    /// End when the program that started this one ends
    #[arg(long)]
    end_with_parent: bool,
}

/// Arguments of `qcrelay rejuvenate`.
#[derive(Debug, Args)]
pub(super) struct Rejuvenate {
    /// Settings in YAML
    settings: PathBuf,
}

/// Arguments of `qcrelay meter`.
#[derive(Debug, Args)]
pub(super) struct Meter {
    /// Cores to measure
    #[arg(required = true, value_parser = program::core)]
    cores: Vec<usize>,
    /// File that records are appended to
    #[arg(long)]
    records: Option<PathBuf>,
    /// Put a larger file of records aside, and begin a new one
    #[arg(long, default_value = "64 MiB", value_parser = records_size)]
    records_size_max: u64,
    /// Put an older file of records aside, and begin a new one
    #[arg(long, default_value = "24h", value_parser = records_age)]
    records_age_max: Duration,
    /// How many files of records that were put aside are kept
    #[arg(long, default_value_t = 8, value_parser = program::whole::<u64>(1, 999))]
    records_keep: u64,
    /// End after this time, such as `90s`, `500ms` or `24h`
    #[arg(long, value_parser = settings::units::duration_positive)]
    duration: Option<Duration>,
    /// End when the program that started this one ends
    #[arg(long)]
    end_with_parent: bool,
}

/// Reads the size of a file within the limits of `records_size_max` in settings.
fn records_size(text: &str) -> Result<u64, Fault> {
    let octets = units::quantity(text, Dimension::Size, 4_194_304.0, 1_099_511_627_776.0)?;
    Ok(octets as u64)
}

/// As [`records_size`], an age.
fn records_age(text: &str) -> Result<Duration, Fault> {
    units::quantity(text, Dimension::Time, 60.0, 31_536_000.0).map(Duration::from_secs_f64)
}

/// Measures what the host takes of cores, and prints the sums.
pub(super) fn meter(asked: &Meter) -> Result<Exit> {
    if asked.end_with_parent {
        os::realtime::end_with_parent().context("ending with the parent")?;
    }
    prepare::cores(&asked.cores)?;
    let stop = program::stop()?;
    let rotation = Rotation {
        size_octets_max: asked.records_size_max,
        age_max: asked.records_age_max,
        keep: asked.records_keep,
    };
    let records = (asked.records.as_deref(), rotation);
    terminal::out!("{}", meter::run(&asked.cores, records, asked.duration, &stop)?);
    Ok(program::end(None, &stop))
}

/// Runs a relay node.
pub(super) fn node(run: &Run) -> Result<Exit> {
    let settings = program::settings(&run.settings, read_node)?;
    let check = |folder: &Path| check_node(&settings, folder);
    run.all(&settings.name, check, |folder, stop| run_node(&settings, folder, run.duration, stop))
}

/// Runs the breaker node.
pub(super) fn breaker(run: &Run) -> Result<Exit> {
    let settings = program::settings(&run.settings, read_breaker)?;
    let check = |folder: &Path| check_breaker(&settings, folder);
    run.all(&settings.name, check, |folder, stop| {
        run_breaker(&settings, folder, run.duration, stop)
    })
}

/// Makes keys.
pub(super) fn keys(keys: &KeysRequest) -> Result<Exit> {
    let (epoch, paths) = keys.make()?;
    terminal::out!("station {}, breaker {}, key epoch {}:", keys.station, keys.breaker, epoch.0);
    for path in paths {
        terminal::out!("  {}", path.display());
    }
    terminal::out!("copy each secret to its party, and delete it here");
    Ok(Exit::Done)
}

/// Replaces nodes by new instances.
pub(super) fn rejuvenate(arguments: &Rejuvenate) -> Result<Exit> {
    let path = &arguments.settings;
    let settings = program::settings(path, read_rejuvenation)?;
    let stop = program::stop()?;
    terminal::out!("{}", Rejuvenator::start(&settings, folder_of(path))?.run(&stop));
    Ok(Exit::Interrupted)
}

impl Run {
    fn all(
        &self,
        name: &str,
        check: impl FnOnce(&Path) -> Result<()>,
        run: impl FnOnce(&Path, &AtomicBool) -> Result<(Value, Option<String>)>,
    ) -> Result<Exit> {
        if self.check {
            check(folder_of(&self.settings))?;
            terminal::out!("{}: no errors: {name}", self.settings.display());
            return Ok(Exit::Done);
        }
        if self.end_with_parent {
            os::realtime::end_with_parent().context("ending with the parent")?;
        }
        let stop = program::stop()?;
        let (summary, failure) = run(folder_of(&self.settings), &stop)?;
        for warning in summary["warnings"].as_array().into_iter().flatten() {
            terminal::err!("qcrelay: warning: {}", warning.as_str().unwrap_or_default());
        }
        if self.json {
            terminal::print_json(&summary.to_string());
        } else {
            terminal::print_json(&format!("{summary:#}"));
        }
        Ok(program::end(failure, &stop))
    }
}
