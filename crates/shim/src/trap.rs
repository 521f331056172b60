//! The SIGSYS handler: the filter of the launcher stops a call, this decides who answers it.
//!
//! The handler runs on the stack of the program, or its alternate one, and leaves no state
//! behind: a program may jump out of a signal handler that has interrupted it.

use vtime::image::{CLOSE, Kind, OPEN, STOPPED, STOPPED_FOR_SIGNALS, STRICT, VERDICT};
use vtime::masks::SIGSYS;

use crate::agent;
use crate::arch::{self, SignalFrame, nr};
use crate::calls::poll::Events;
use crate::calls::{
    Mask, clocks, files, futex, ipc, poll, processor, queues, randomness, result, seccomp, signals,
    sleep, sockets, timers, transfer,
};
use crate::delivery::{self, Cause};
use crate::filters::{self, Verdict};
use crate::namespace;
use crate::pages;
use crate::pending;
use crate::signal::SignalInfo;
use crate::stamps;
use crate::told;
use crate::wait::Deadline;

/// `si_code` of a SIGSYS by seccomp.
const SYS_SECCOMP: i32 = 1;
const EPERM: isize = -1;

/// The handler that the launcher installs for SIGSYS, and the image for the signal that stands for it.
///
/// # Safety
/// Called by the kernel with a frame that it has made.
#[unsafe(no_mangle)]
unsafe extern "C" fn image_sigsys(signal: i32, info: *mut SignalInfo, frame: *mut SignalFrame) {
    // SAFETY: the kernel gives valid pointers to a handler with SA_SIGINFO, both to this stack.
    let (detail, frame) = unsafe { (*info, &mut *frame) };
    if signal != SIGSYS as i32 {
        // SAFETY: the kernel's arguments, handed through.
        return unsafe { pending::come(info, frame) };
    }
    let data = detail.data as u16;
    match (detail.code, data) {
        _ if told::is_wake(&detail) => told::woken(frame),
        (OPEN | CLOSE, _) => agent::set_dumpable(detail.code == OPEN),
        (SYS_SECCOMP, STOPPED | STOPPED_FOR_SIGNALS) => stopped(&detail, info, frame),
        (SYS_SECCOMP, STRICT) => delivery::end_strict_mode(),
        (SYS_SECCOMP, _) if detail.address == VERDICT as u64 => {
            frame.registers.answer(filters::trapped(data));
        }
        // SAFETY: the kernel's arguments, handed through.
        (SYS_SECCOMP, _) => unsafe { delivery::deliver(SIGSYS, Cause::Call, info, frame) },
        // SAFETY: as above.
        _ if pending::is_blocked() => unsafe { pending::keep(info) },
        // SAFETY: as above.
        _ => unsafe { delivery::deliver(SIGSYS, Cause::Sent, info, frame) },
    }
}

/// A call that a filter of ours has stopped.
fn stopped(detail: &SignalInfo, info: *mut SignalInfo, frame: &mut SignalFrame) {
    let (number, args) = (detail.number, frame.registers.arguments());
    let result = match filters::verdict(number, args) {
        Verdict::Allowed => match number {
            nr::RT_SIGPROCMASK => {
                pages::count(Kind::Signal);
                let is_looked_for = detail.data as u16 == STOPPED_FOR_SIGNALS;
                result(signals::rt_sigprocmask(args, frame, is_looked_for))
            }
            _ => answer(number, args, frame),
        },
        Verdict::Answered(result) => result,
        Verdict::Trapped(data) => {
            // SAFETY: the kernel's, and what it would have reported, had our filter not come first.
            unsafe {
                (*info).data = data.into();
                delivery::deliver(SIGSYS, Cause::Call, info, frame);
            }
            return;
        }
    };
    frame.registers.answer(result);
}

fn answer(number: i32, args: [usize; 6], frame: &mut SignalFrame) -> isize {
    let kind = kind(number);
    match number {
        // The agent counts it.
        _ if kind == Kind::Timer => return timers::request(number, args),
        nr::UNSHARE | nr::SETNS => return namespace::enter(number, args),
        _ => pages::count(kind),
    }
    if let Some(deadline) = vtime::resumed::deadline(frame.registers.number())
        && let Some(result) = resume(number, args, Deadline(deadline))
    {
        return result;
    }
    // SAFETY: the program's own call, which the kernel checks.
    let kernel = || unsafe { arch::syscall(number, args) };
    // What is wrong with arguments, the kernel says: it has an order of its own in which it looks at
    // them, and makes no wait of wrong ones.
    let or_kernel = |outcome: Result<isize, isize>| Ok(outcome.unwrap_or_else(|_| kernel()));
    result(match number {
        nr::CLOCK_GETTIME => clocks::clock_gettime(args),
        nr::GETTIMEOFDAY => clocks::gettimeofday(args),
        nr::TIME => clocks::time(args),
        nr::SYSINFO => clocks::sysinfo(args),
        nr::TIMES => clocks::times(args),
        nr::ADJTIMEX => clocks::adjtimex(args),
        nr::CLOCK_ADJTIME => clocks::clock_adjtime(args),
        nr::GETRUSAGE => Ok(processor::getrusage(args)),
        nr::WAIT4 | nr::WAITID => Ok(processor::wait(number, args)),
        nr::UTIMENSAT => Ok(files::utimensat(args)),
        nr::UTIME | nr::UTIMES | nr::FUTIMESAT => Ok(files::utimes(number, args)),
        nr::SHMCTL | nr::SEMCTL | nr::MSGCTL => ipc::shift_times(number, args),
        nr::NANOSLEEP => sleep::nanosleep(args),
        nr::CLOCK_NANOSLEEP => sleep::clock_nanosleep(args),
        nr::POLL => Ok(poll::poll(args)),
        nr::PPOLL => or_kernel(poll::ppoll(args)),
        nr::SELECT => or_kernel(poll::select(args)),
        nr::PSELECT6 => or_kernel(poll::pselect6(args)),
        nr::EPOLL_WAIT => Ok(poll::epoll_wait(args)),
        nr::EPOLL_PWAIT => or_kernel(poll::epoll_pwait(args)),
        nr::EPOLL_PWAIT2 => or_kernel(poll::epoll_pwait2(args)),
        nr::FUTEX => or_kernel(futex::futex(args)),
        nr::FUTEX_WAITV => or_kernel(futex::futex_waitv(args)),
        nr::FUTEX_WAIT => or_kernel(futex::futex_wait(args)),
        nr::SEMTIMEDOP => or_kernel(queues::semtimedop(args)),
        nr::MQ_TIMEDSEND | nr::MQ_TIMEDRECEIVE => or_kernel(queues::mq_timed(number, args)),
        nr::IO_GETEVENTS | nr::IO_PGETEVENTS => or_kernel(queues::collect(number, args)),
        nr::READ | nr::WRITE => Ok(transfer::octets(number, args)),
        nr::READV | nr::WRITEV => Ok(transfer::vector(number, args)),
        nr::RECVFROM | nr::SENDTO => Ok(transfer::datagram(number, args)),
        nr::RECVMSG | nr::SENDMSG => Ok(transfer::message(number, args)),
        nr::RECVMMSG => transfer::recvmmsg(args),
        nr::SENDMMSG => Ok(transfer::sendmmsg(args)),
        nr::CONNECT => Ok(sockets::connect(args)),
        nr::ACCEPT | nr::ACCEPT4 => Ok(sockets::accept(number, args)),
        nr::SETSOCKOPT => Ok(sockets::setsockopt(args)),
        nr::IOCTL => stamps::ioctl(args),
        nr::SECCOMP => Ok(seccomp::seccomp(args)),
        nr::PRCTL => Ok(seccomp::prctl(args)),
        nr::GETRANDOM => Ok(randomness::getrandom(args)),
        nr::RT_SIGTIMEDWAIT => or_kernel(signals::rt_sigtimedwait(args)),
        nr::RT_SIGACTION => signals::rt_sigaction(args),
        nr::RT_SIGPENDING => Ok(signals::rt_sigpending(args)),
        nr::RT_SIGSUSPEND => or_kernel(signals::rt_sigsuspend(args)),
        _ if kind == Kind::SetClock => Err(EPERM),
        // On host time; the counter makes the run say so.
        _ => Ok(kernel()),
    })
}

/// A wait that was in progress when its program was put into virtual time: the call is made once more,
/// and its deadline is known, as its timeout counts from a moment that is over. Only calls with a
/// relative timeout that the kernel does not write back: all others say for themselves when they end.
fn resume(number: i32, args: [usize; 6], deadline: Deadline) -> Option<isize> {
    let [first, second, third, fourth, fifth, sixth] = args;
    let events = Events { epoll: first, events: second, count: third };
    Some(match number {
        nr::NANOSLEEP => result(sleep::sleep_until(deadline, second)),
        nr::CLOCK_NANOSLEEP => result(sleep::sleep_until(deadline, fourth)),
        nr::POLL => poll::poll_until(first, second, deadline, &None),
        nr::EPOLL_WAIT => poll::epoll_until(events, deadline, &None),
        nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => {
            result(Mask::read(fifth, sixth).map(|mask| poll::epoll_until(events, deadline, &mask)))
        }
        nr::FUTEX => futex::futex_until([first, second, third, 0, 0, futex::MATCH_ANY], deadline),
        nr::RT_SIGTIMEDWAIT => signals::sigwait_until(args, deadline),
        nr::SEMTIMEDOP => queues::semop_until(args, deadline),
        nr::IO_GETEVENTS | nr::IO_PGETEVENTS => queues::collect_until(number, args, deadline),
        _ => return None,
    })
}

fn kind(number: i32) -> Kind {
    match number {
        nr::CLOCK_GETTIME | nr::GETTIMEOFDAY | nr::TIME => Kind::Clock,
        nr::SYSINFO | nr::TIMES | nr::ADJTIMEX | nr::CLOCK_ADJTIME => Kind::Clock,
        nr::GETRUSAGE | nr::WAIT4 | nr::WAITID => Kind::Clock,
        nr::UTIMENSAT | nr::UTIME | nr::UTIMES | nr::FUTIMESAT => Kind::Clock,
        nr::SHMCTL | nr::SEMCTL | nr::MSGCTL => Kind::Clock,
        nr::NANOSLEEP | nr::CLOCK_NANOSLEEP => Kind::Sleep,
        nr::POLL | nr::PPOLL => Kind::Poll,
        nr::SELECT | nr::PSELECT6 => Kind::Select,
        nr::EPOLL_WAIT | nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => Kind::Epoll,
        nr::FUTEX | nr::FUTEX_WAITV | nr::FUTEX_WAIT => Kind::Futex,
        nr::SEMTIMEDOP | nr::MQ_TIMEDSEND | nr::MQ_TIMEDRECEIVE => Kind::Queue,
        nr::IO_GETEVENTS | nr::IO_PGETEVENTS => Kind::Queue,
        nr::RT_SIGTIMEDWAIT => Kind::Sigtimedwait,
        nr::RT_SIGACTION | nr::RT_SIGSUSPEND | nr::RT_SIGPENDING => Kind::Signal,
        nr::SECCOMP | nr::PRCTL => Kind::Signal,
        nr::GETRANDOM => Kind::Random,
        nr::CLOCK_SETTIME | nr::SETTIMEOFDAY => Kind::SetClock,
        nr::TIMERFD_SETTIME | nr::TIMERFD_GETTIME => Kind::Timer,
        nr::TIMER_CREATE | nr::TIMER_SETTIME | nr::TIMER_GETTIME => Kind::Timer,
        nr::TIMER_GETOVERRUN | nr::TIMER_DELETE => Kind::Timer,
        nr::SETITIMER | nr::GETITIMER | nr::ALARM => Kind::Timer,
        nr::RECVMMSG | nr::RECVMSG | nr::RECVFROM | nr::READ | nr::READV => Kind::Socket,
        nr::WRITE | nr::WRITEV | nr::SENDTO | nr::SENDMSG | nr::SENDMMSG => Kind::Socket,
        nr::CONNECT | nr::ACCEPT | nr::ACCEPT4 | nr::SETSOCKOPT | nr::IOCTL => Kind::Socket,
        _ => Kind::HostWait,
    }
}
