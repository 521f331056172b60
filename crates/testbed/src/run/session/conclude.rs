//! The end of a run: what there is to say of it is written down, judged and printed.

use std::fs;

use anyhow::Context;
use report_kit::outcome::Outcome;
use vtime::VirtualSpan;

use super::{Options, Over, Session, colon, title};
use crate::nodes::orders;
use crate::run::together::together;
use crate::run::{disturbances, last_words};
use domain::Pace;
use plant::PlantStats;
use results::doubt::{Loss, PlantRecord};
use results::record::{EndedHow, RunEnd, WallAccount};
use results::{self, RunFolder};
use terminal::exit::Exit;

impl Session<'_> {
    /// Writes everything down, judges it and reports to the user.
    pub(super) fn conclude(
        mut self,
        over: Over,
        wall_s: f64,
        options: &Options,
    ) -> anyhow::Result<(Exit, bool)> {
        let last = together(self.scenario, &mut self.parts);
        let last_ns = last.as_ref().map_or(0, |ended| ended.status.clock.virtual_ns);
        let reached = match over.how {
            EndedHow::Complete => self.scenario.duration,
            _ => self.scenario_time(self.seen_ns.max(last_ns)).min(self.scenario.duration),
        };
        let mut over = over;
        let plant = self.finish_plant(reached, &mut over);
        self.settle_programs(&mut over);
        self.record.covered_ns = reached.as_ns().max(0);
        self.record.ended = RunEnd { how: over.how, reason: over.reason };
        self.record.wall = last.as_ref().map(|ended| self.account(ended, &plant, wall_s));
        if let Some(ended) = last {
            let mut warnings = ended.status.warnings;
            self.record.freeze = serde_json::to_value(&ended.status.freeze)?;
            if let Some(mut network) = ended.network {
                for lost in std::mem::take(&mut network.losses) {
                    let from_ns = lost.realtime_ns.saturating_sub(self.record.realtime_zero_ns);
                    self.record.losses.push(Loss { file: lost.file, from_ns, reason: lost.reason });
                }
                warnings.append(&mut network.warnings);
                self.record.network = serde_json::to_value(network)?;
            }
            // Some of these were reported when they arose.
            warnings.retain(|warning| !self.record.warnings.contains(warning));
            self.record.warnings.append(&mut warnings);
        }
        self.warn_of_inputs();
        self.warn_of_unseen();
        if let Some(text) = self.disturbances.end(&self.folder) {
            self.warn(None, text);
        }
        self.record.disturbances = Some(self.disturbances.record(self.run_cpu_s()));
        last_words::record(&mut self.record, &self.folder);
        if options.csv
            && let Err(error) = self.write_csv()
        {
            let (file, reason) =
                ("series.csv".to_owned(), format!("series.csv is incomplete: {error:#}"));
            self.lose(Loss { file, from_ns: 0, reason });
        }
        if let Some((at, reason)) = self.log.lost().cloned() {
            let from_ns = at.map_or(0, VirtualSpan::as_ns);
            let reason = format!("log.txt lacks lines: {reason}");
            self.lose(Loss { file: "log.txt".to_owned(), from_ns, reason });
        }
        self.folder.write_record(&self.record)?;
        let data = self.folder.data(&self.record)?;
        self.record.verdicts = RunFolder::judge_all(&self.record, &data);
        self.warn_of_disturbances();
        self.folder.write_record(&self.record)?;
        let exit = match self.record.ended.how {
            EndedHow::Complete => results::exit(&self.record.verdicts),
            EndedHow::Interrupted => Exit::Interrupted,
            _ => Exit::PartFailed,
        };
        // Whatever the others say, which is no reason to keep a run or to do without it.
        let disturbed = !matches!(exit, Exit::Interrupted | Exit::PartFailed)
            && self.record.verdicts.iter().any(|one| one.outcome == Outcome::Disturbed);
        // A reader of JSON wants one object: that of the run that counts.
        if !(options.json && disturbed && options.repeat_disturbed > 0) {
            self.print(options)?;
        }
        Ok((exit, disturbed))
    }

    /// Brings the plant to the end and closes the series.
    fn finish_plant(&mut self, reached: VirtualSpan, over: &mut Over) -> PlantStats {
        let Some(mut grid) = self.grid.take() else { return PlantStats::default() };
        if !grid.is_broken()
            && let Err(error) = grid.advance(reached)
        {
            *over = Over::part_failed(format!("the plant failed before {reached}: {error:#}"));
        }
        let plant = grid.record();
        self.warn_of_plant(&plant);
        self.record.plant = Some(plant);
        grid.finish().unwrap_or_else(|error| {
            self.warn(None, format!("the series could not be finished: {error:#}"));
            PlantStats::default()
        })
    }

    /// Says which files are not what they were when the run was set up.
    fn warn_of_inputs(&mut self) {
        let changed: Vec<String> = self.inputs.changed().map(str::to_owned).collect();
        for file in changed {
            self.warn(None, format!("{file} was changed during the run; its hash is of before"));
        }
    }

    /// Says where less was charged than was computed.
    fn warn_of_unseen(&mut self) {
        let wall = self.record.wall.as_ref();
        let unseen = wall.map(|wall| wall.unseen(&self.record.programs)).unwrap_or_default();
        for (node, share) in unseen {
            let percent = share * 100.0;
            self.warn(
                None,
                format!(
                    "of the processor time of node `{node}` {percent:.0} % took no virtual time: its processes \
                     ended before they were looked at; let fewer of them do the same work, or give this \
                     machine less other work"
                ),
            );
        }
    }

    /// Says how much of the plant is no result.
    fn warn_of_plant(&mut self, plant: &PlantRecord) {
        if plant.unconverged_at_rest > 0 {
            let text = "the plant did not converge before scenario time zero";
            self.warn(None, text.to_owned());
        }
        if let Some((first, _)) = plant.unconverged_ns.first() {
            let at = VirtualSpan::from_ns(*first);
            let (count, steps) = (plant.unconverged, plant.steps);
            let text = format!(
                "{count} of {steps} steps of the plant did not converge, the first at {at}: \
                 values from these steps are left out"
            );
            self.warn(Some(at), text);
        }
    }

    fn account(&self, ended: &orders::FinalReport, plant: &PlantStats, wall_s: f64) -> WallAccount {
        let clock = &ended.status.clock;
        WallAccount {
            total_s: wall_s,
            virtual_s: clock.virtual_ns as f64 / 1e9,
            plant_s: plant.wall_ns as f64 / 1e9,
            holds_s: clock.paused_ns as f64 / 1e9,
            holds: clock.stops,
            stalls: ended.stalls,
            pace: (*ended.status.pace).clone(),
            reads: ended.access,
            agent_cpu_s: ended.agent_cpu_s,
            programs_cpu_s: self.cpu_s.clone(),
        }
    }

    fn warn_of_disturbances(&mut self) {
        let record = self.record.disturbances.as_ref();
        let verdicts = &self.record.verdicts;
        if let Some(text) = record.and_then(|record| disturbances::warning(verdicts, record)) {
            self.warn(None, text);
        }
    }

    /// Processor time of all that took part, as far as it is known.
    pub(super) fn run_cpu_s(&self) -> f64 {
        let wall = self.record.wall.as_ref();
        wall.map_or(0.0, |wall| wall.agent_cpu_s + wall.plant_s) + self.cpu_s.values().sum::<f64>()
    }

    fn write_csv(&self) -> anyhow::Result<()> {
        use std::io::Write;
        let Some(series) = self.folder.series()? else { return Ok(()) };
        let path = self.folder.path().join("series.csv");
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        // Dropping it would write the rest too, but report no failure.
        results::csv::write(&series, &mut file)
            .and_then(|()| file.flush())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            terminal::print_json(&serde_json::to_string_pretty(&self.record)?);
        } else {
            terminal::print(format_args!("{}", self.summary()));
        }
        Ok(())
    }

    fn summary(&self) -> String {
        use std::fmt::Write;
        let record = &self.record;
        let (how, why) = (record.ended.how.words(), colon(&record.ended.reason));
        let mut text = format!("{}: {how}{why}\n", title(self.scenario));
        let mut line = |line: String| {
            writeln!(text, "{line}").expect("writing to a string cannot fail");
        };
        if let Some(wall) = &record.wall {
            let ratio = wall.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            line(format!(
                "{:.1} s virtual in {:.1} s wall (ratio {ratio}); plant {:.2} s, {} holds {:.2} s",
                wall.virtual_s, wall.total_s, wall.plant_s, wall.holds, wall.holds_s
            ));
            if wall.pace.pace != Pace::Real {
                let words = wall.pace.words(|ns| format!("{:.2} s", ns as f64 / 1e9));
                let free = wall
                    .untimed_s()
                    .map(|s| format!("; programs computed {s:.2} s that took no virtual time"));
                line(format!("pace {words}{}", free.unwrap_or_default()));
            }
        }
        record.warnings.iter().for_each(|warning| line(format!("warning: {warning}")));
        text += &last_words::for_user(record, &self.folder);
        let table = results::table(&record.verdicts, record.scenario.pace);
        format!("{text}{table}run folder: {}\n", self.folder.path().display())
    }
}
