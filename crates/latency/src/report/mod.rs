//! What a run says, as one page, as tables for other tools, and in the terminal.
//!
//! Cells are read one after the other and become digests; everything here is made of those, so a
//! matrix of dozens of cells of eight hours needs the memory of one. The page is one file that asks
//! nothing of anybody; its pictures are there without a script.

mod boxes;
mod cells_file;
mod compared;
mod histogram;
mod plots;
mod scale;
mod sections;
mod series;
mod tables;
mod tail;
mod text;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::cell::Cell;
use super::digest::{Demands, Digest};
use super::run_folder::{cell_folders, no_cells};
use super::verdict::{Group, Limit, Quantity, Verdict};
use report_kit::outcome::Outcome;
use report_kit::page::Page;
use terminal::exit::Exit;

/// The page of a run, in its folder.
pub const PAGE: &str = "report.html";
/// A row for each cell and thread, for spreadsheets.
pub const CELLS_CSV: &str = "cells.csv";
/// The same, for analysis tools.
pub const CELLS_PARQUET: &str = "cells.parquet";

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A cell that could not be measured.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Absent {
    /// `vm-rt.tp5`.
    pub name: String,
    pub reason: String,
}

impl Absent {
    fn parts(&self) -> (&str, &str) {
        self.name.split_once('.').unwrap_or((&self.name, ""))
    }
}

/// All that is said of a run.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Report {
    pub folder: PathBuf,
    pub cells: Vec<Digest>,
    pub absent: Vec<Absent>,
}

/// What the one who ran the matrix knows besides its cells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// Names of cells in the order of the matrix; others follow.
    pub order: Vec<String>,
    pub absent: Vec<Absent>,
}

impl Report {
    /// Reads the cells of a run, one after the other.
    pub fn read(folder: &Path, run: &Run, demands: &Demands) -> Result<Self> {
        let mut cells = Vec::new();
        for path in cell_folders(folder, &run.order)? {
            cells.push(Digest::of(&Cell::read(&path)?, demands));
        }
        if cells.is_empty() && run.absent.is_empty() {
            bail!("{}", no_cells(folder));
        }
        Ok(Self { folder: folder.to_owned(), cells, absent: run.absent.clone() })
    }

    /// Writes the page and the tables into the folder of the run.
    pub fn write(&self) -> Result<()> {
        let [csv, parquet] = [CELLS_CSV, CELLS_PARQUET].map(|name| self.folder.join(name));
        cells_file::write(&self.cells, &csv, &parquet)?;
        let page = Page {
            title: sections::title(self),
            body: sections::body(self),
            style: STYLE,
            data: serde_json::Value::Null,
            script: SCRIPT,
        };
        page.write(&self.folder.join(PAGE))
    }

    /// The verdicts that the answer rests on: own limits if there are any, else those of the grid.
    fn deciding(&self) -> impl Iterator<Item = (&Digest, &Verdict)> {
        let group = self.deciding_group();
        let all = self.cells.iter().flat_map(|cell| cell.verdicts.iter().map(move |of| (cell, of)));
        all.filter(move |(_, verdict)| verdict.limit.group == group)
    }

    fn deciding_group(&self) -> Group {
        let mut verdicts = self.cells.iter().flat_map(|cell| &cell.verdicts);
        if verdicts.any(|verdict| verdict.limit.group == Group::Own) {
            Group::Own
        } else {
            Group::Grid
        }
    }

    /// How the command ends: own limits decide if there are any, else those of the grid.
    pub fn exit(&self) -> Exit {
        let has = |outcome| self.deciding().any(|(_, verdict)| verdict.outcome == outcome);
        if has(Outcome::Missed) {
            Exit::Missed
        } else if has(Outcome::NotMeasured) || !self.absent.is_empty() {
            Exit::NotMeasured
        } else {
            Exit::Done
        }
    }
}

/// Limits as pictures show them: short names, with their values in ns.
fn shown_limits(cells: &[Digest]) -> Vec<(String, f64)> {
    let mut shown: Vec<(String, f64)> = Vec::new();
    for verdict in cells.iter().flat_map(|cell| &cell.verdicts) {
        let Limit { name, group, quantity, budget_ns, .. } = &verdict.limit;
        let known = shown.iter().any(|(other, _)| other == name);
        if *quantity == Quantity::Latency && *group != Group::Service && !known {
            shown.push((name.clone(), *budget_ns as f64));
        }
    }
    shown.sort_by(|a, b| a.1.total_cmp(&b.1));
    shown
}

#[cfg(test)]
mod tests;
