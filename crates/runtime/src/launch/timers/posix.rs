//! One POSIX timer, timer_create(2), and how often it has expired beyond those that its signal reported.

use libc::c_int;
use vtime::page::Epoch;

use super::signal::{Target, is_gone};

const SIGEV_SIGNAL: u64 = 0;
const SIGEV_NONE: u64 = 1;
const SIGEV_THREAD: u64 = 2;
const SIGEV_THREAD_ID: u64 = 4;

pub(super) struct PosixTimer {
    pub(super) target: Target,
    pub(super) epoch: Epoch,
    /// The signal and its value; `None` for a timer that only counts.
    signal: Option<(c_int, i64)>,
    /// Whether its signal was sent since it was last seen delivered.
    sent: bool,
    /// Expirations beyond those that the signal under way stands for.
    beyond: u64,
    /// The same of the last signal that was delivered.
    overrun: c_int,
}

/// What a `struct sigevent` asks for: the signal with its value, and whether one thread gets it;
/// `None` if the kernel would refuse it.
pub(super) fn sigevent(
    kind: u64,
    signal: c_int,
    value: i64,
) -> Option<(Option<(c_int, i64)>, bool)> {
    let to_thread = kind == SIGEV_THREAD_ID;
    match kind {
        SIGEV_NONE => Some((None, false)),
        SIGEV_SIGNAL | SIGEV_THREAD | SIGEV_THREAD_ID if (1..=64).contains(&signal) => {
            Some((Some((signal, value)), to_thread))
        }
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fired {
    /// Its program was notified, or need not be.
    Delivered,
    /// Its user has too many signals queued.
    NoRoom,
    Gone,
}

impl PosixTimer {
    pub(super) fn new(target: Target, epoch: Epoch, signal: Option<(c_int, i64)>) -> Self {
        Self { target, epoch, signal, sent: false, beyond: 0, overrun: 0 }
    }

    pub(super) fn reset_overrun(&mut self) {
        (self.beyond, self.overrun) = (0, 0);
    }

    /// Lets it expire. A signal that still waits to be delivered stands for further expirations
    /// too.
    pub(super) fn fire(&mut self, number: c_int, times: u64) -> Fired {
        let Some((signal, value)) = self.signal else { return Fired::Delivered };
        // One that waits may be of another timer; only one's own stands for more.
        if self.sent && self.target.is_pending(signal) {
            self.beyond = self.beyond.saturating_add(times);
            return Fired::Delivered;
        }
        self.overrun = if self.sent { limited(self.beyond) } else { self.overrun };
        (self.sent, self.beyond) = (false, times - 1);
        let sent = self.target.send_timer(signal, number, limited(self.beyond), value);
        if sent.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EAGAIN)) {
            return Fired::NoRoom;
        }
        self.sent = true;
        // One of a thread that has ended notifies nobody any more, and goes on.
        let goes_on = self.target.thread.is_some() && self.target.process.is_there();
        if is_gone(sent.as_ref()) && !goes_on { Fired::Gone } else { Fired::Delivered }
    }

    pub(super) fn overrun(&mut self) -> c_int {
        if let Some((signal, _)) = self.signal
            && self.sent
            && !self.target.is_pending(signal)
        {
            self.overrun = limited(self.beyond);
        }
        self.overrun
    }
}

/// `DELAYTIMER_MAX`
fn limited(count: u64) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_notification_are_those_of_the_kernel() {
        assert_eq!(sigevent(0, 10, 7), Some((Some((10, 7)), false)));
        assert_eq!(sigevent(4, 10, 7), Some((Some((10, 7)), true)));
        assert_eq!(sigevent(1, 0, 7), Some((None, false)), "nobody is notified");
        for (kind, signal) in [(0, 0), (0, 65), (2, -1), (3, 10), (5, 10), (8, 10), (1 << 31, 10)] {
            assert_eq!(sigevent(kind, signal, 7), None, "{kind} {signal}");
        }
    }

    #[test]
    fn a_count_stays_within_what_an_int_holds() {
        assert_eq!((limited(5), limited(u64::MAX)), (5, c_int::MAX));
    }
}
