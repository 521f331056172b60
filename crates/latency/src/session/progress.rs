//! What the user sees while cells are measured: one line that is drawn again and again on a terminal, a line for
//! each cell elsewhere. On standard error: the results are for standard output.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::pump::StreamCounts;
use crate::record::{CellState, State};

/// The progress of one run.
#[derive(Debug)]
pub(super) struct Progress {
    is_terminal: bool,
    is_drawn: bool,
    cells: usize,
    begun: Instant,
    cell: String,
    number: usize,
    duration_s: f64,
}

impl Progress {
    pub(super) fn new(cells: usize) -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            is_drawn: false,
            cells,
            begun: Instant::now(),
            cell: String::new(),
            number: 0,
            duration_s: 0.0,
        }
    }

    pub(super) fn begin(&mut self, number: usize, name: &str, duration: Duration) {
        (self.begun, self.number) = (Instant::now(), number);
        (self.cell, self.duration_s) = (name.to_owned(), duration.as_secs_f64());
        self.draw("starting");
    }

    pub(super) fn show(&mut self, seen: StreamCounts) {
        let elapsed_s = self.begun.elapsed().as_secs_f64();
        let (samples, max_us) = (seen.samples, seen.max_ns as f64 / 1000.0);
        let (now_s, all_s) = (elapsed_s.min(self.duration_s), self.duration_s);
        if samples > 0 {
            self.draw(&format!(
                "{now_s:.0} of {all_s:.0} s, {samples} samples, max {max_us:.1} µs"
            ));
        } else if elapsed_s > 1.0 {
            self.draw(&format!("starting, {elapsed_s:.0} s"));
        }
    }

    pub(super) fn end(&mut self, cell: &CellState) {
        self.clear();
        let mut line =
            format!("[{}/{}] {}: {}", self.number, self.cells, cell.name(), cell.state.words());
        if matches!(cell.state, State::Done | State::Cut) {
            line += &format!(", {} samples", cell.samples);
        }
        for words in [&cell.reason, &cell.fix].into_iter().filter(|words| !words.is_empty()) {
            line += &format!("; {words}");
        }
        terminal::err!("{line}");
    }

    fn draw(&mut self, text: &str) {
        if !self.is_terminal {
            return;
        }
        let mut out = std::io::stderr().lock();
        // Nothing can be said on a closed stream.
        let cell = terminal::shown(&self.cell);
        let _ = write!(out, "\r\x1b[K[{}/{}] {cell}: {text}", self.number, self.cells);
        let _ = out.flush();
        self.is_drawn = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            // Nothing can be said on a closed stream.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
