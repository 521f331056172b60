//! Waits that were in progress when their program was put into virtual time: the call is made once
//! more, and its deadline is known, as its timeout counts from a moment that is over.
//!
//! Only calls with a relative timeout that the kernel does not write back: all others say for
//! themselves when they end.

use super::epoll::{self, Events};
use super::{Mask, events, futex, poll, queues, result, signals, sleep};
use crate::arch::nr;
use crate::wait::Deadline;

/// Returns such a call; `None` for any other.
pub(crate) fn resume(number: i32, args: [usize; 6], deadline: Deadline) -> Option<isize> {
    let [first, second, third, fourth, fifth, sixth] = args;
    let events = Events { epoll: first, events: second, count: third };
    Some(match number {
        nr::NANOSLEEP => result(sleep::sleep_until(deadline, second)),
        nr::CLOCK_NANOSLEEP => result(sleep::sleep_until(deadline, fourth)),
        nr::POLL => poll::poll_until(first, second, deadline, &None),
        nr::EPOLL_WAIT => epoll::wait_until(events, deadline, &None),
        nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => {
            result(Mask::read(fifth, sixth).map(|mask| epoll::wait_until(events, deadline, &mask)))
        }
        nr::FUTEX => futex::futex_until([first, second, third, 0, 0, futex::MATCH_ANY], deadline),
        nr::RT_SIGTIMEDWAIT => signals::sigwait_until(args, deadline),
        nr::SEMTIMEDOP => queues::semop_until(args, deadline),
        nr::IO_GETEVENTS | nr::IO_PGETEVENTS => events::collect_until(number, args, deadline),
        _ => return None,
    })
}
