//! What the user sees while a run goes on: a bar on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use domain::Reading;

const BAR_WIDTH: usize = 24;
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Virtual time between two lines where there is no terminal.
const LINE_EVERY_S: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Progress {
    terminal: bool,
    begun: Instant,
    settle_s: f64,
    duration_s: f64,
    next_line_s: f64,
    drawn: bool,
}

impl Progress {
    pub(super) fn new(settle_s: f64, duration_s: f64) -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            begun: Instant::now(),
            settle_s,
            duration_s,
            next_line_s: 0.0,
            drawn: false,
        }
    }

    /// How often it wants to know how the domain stands.
    pub(super) const fn interval() -> Duration {
        DRAW_EVERY
    }

    pub(super) fn show(&mut self, clock: &Reading) {
        let virtual_s = clock.virtual_ns as f64 / 1e9;
        let at_s = virtual_s - self.settle_s;
        if !self.terminal && at_s < self.next_line_s {
            return;
        }
        let line = self.line(at_s, virtual_s, clock);
        let mut out = std::io::stderr().lock();
        if self.terminal {
            let bar = bar(at_s / self.duration_s);
            // Nothing can be said on a closed stream.
            let _ = write!(out, "\r\x1b[K[{bar}] {line}");
            let _ = out.flush();
            self.drawn = true;
        } else {
            let _ = writeln!(out, "{line}");
            self.next_line_s = ((at_s / LINE_EVERY_S).floor() + 1.0) * LINE_EVERY_S;
        }
    }

    /// Ends the bar, so that what follows begins on a line of its own.
    pub(super) fn finish(&mut self) {
        if self.drawn {
            // Nothing can be said on a closed stream.
            let _ = writeln!(std::io::stderr());
            self.drawn = false;
        }
    }

    fn line(&self, at_s: f64, virtual_s: f64, clock: &Reading) -> String {
        let wall_s = self.begun.elapsed().as_secs_f64();
        let rate = if wall_s > 0.0 { format!("{:.2}", virtual_s / wall_s) } else { "-".to_owned() };
        let held = if clock.holds > 0 { ", held" } else { "" };
        format!(
            "{at_s:6.1} of {:.1} s virtual, {wall_s:6.1} s wall, {rate} virtual s per s, {} holds ({:.2} s){held}",
            self.duration_s,
            clock.stops,
            clock.paused_ns as f64 / 1e9,
        )
    }
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR_WIDTH as f64) as usize;
    format!("{}{}", "#".repeat(full), ".".repeat(BAR_WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_end_and_never_longer() {
        assert_eq!(bar(0.0), ".".repeat(BAR_WIDTH));
        assert_eq!(bar(1.0), "#".repeat(BAR_WIDTH));
        assert_eq!(bar(7.0).len(), BAR_WIDTH);
        assert_eq!(bar(-1.0).len(), BAR_WIDTH);
    }
}
