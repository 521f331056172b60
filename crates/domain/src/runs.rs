//! For how long the clock of a domain ran from one jump to the next.
//!
//! Who is kept from running keeps the clock from jumping. So a wait of some milliseconds stands in a run
//! that is as long, however many short waits there are in others: from these two the watch for
//! disturbances tells one that matters from many that do not.

use vtime::{VirtualSpan, VirtualTime};

#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Where the present one begins.
    began: VirtualTime,
    /// All that were notable, but for the present one.
    long: VirtualSpan,
    /// How long one must be for that.
    notable: VirtualSpan,
}

impl Runs {
    /// The clock has run up to `here`, from where it jumps to `there`.
    pub(super) fn end(&mut self, here: VirtualTime, there: VirtualTime) {
        let length = here - self.began;
        if length >= self.notable {
            self.long += length;
        }
        self.began = there;
    }

    /// The length of all that were at least `notable`, up to now.
    pub(super) fn long(&mut self, now: VirtualTime, notable: VirtualSpan) -> VirtualSpan {
        self.notable = notable;
        let present = now - self.began;
        if present >= notable { self.long + present } else { self.long }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_do_not_add_up() {
        let (at, span) = (VirtualTime::from_ns, VirtualSpan::from_ns);
        let mut runs = Runs::default();
        assert_eq!(runs.long(at(99), span(100)), VirtualSpan::ZERO);
        assert_eq!(runs.long(at(100), span(100)), span(100), "without jumps all is one");
        runs.end(at(150), at(1000));
        (1..50).for_each(|turn| runs.end(at(turn * 1000 + 99), at((turn + 1) * 1000)));
        assert_eq!(runs.long(at(50_099), span(100)), span(150));
        assert_eq!(runs.long(at(50_200), span(100)), span(350));
    }
}
