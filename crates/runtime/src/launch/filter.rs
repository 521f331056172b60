//! Which system calls of a program are stopped, decided by their arguments.
//!
//! A filter sees numbers and addresses, not what an address points to. So a call whose timeout
//! is null or not positive passes, and one that may wait for a finite time is handed to the
//! image as SIGSYS. Calls that the image itself makes pass by their address. The kernel keeps
//! for each call number whether it is let through whatever its arguments are, so all others cost
//! next to nothing. Argument order as in `syscall(2)`, the same on all processors.

use libc::{c_long, sock_filter};
use vtime::image::{ASKS, IMAGE, IMAGE_SIZE_MAX, NO_OBJECTION, OWN, OWN_SIZE, STOPPED, VERDICT};

use super::arch::{ARCHITECTURE, nr};

/// What happens to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The kernel does it as ever.
    Allow,
    /// The image answers it (SIGSYS).
    Trap,
    /// The agent is notified: it follows an exec, or says why something is refused.
    Notify,
    /// The image asks the agent: as `Trap`, and what the image calls with [`ASKS`] is notified.
    Ask,
    Fail(u16),
}

#[derive(Clone, Copy, Debug)]
enum Test {
    NonNull(u8),
    IsNull(u8),
    /// This argument, an `int`, is greater than zero.
    Positive(u8),
    /// The low half of this argument, under a mask, is one of these values.
    OneOf(u8, u32, &'static [u32]),
    /// The low half of this argument is not this value.
    Not(u8, u32),
    /// The memory at the address in the first of these arguments, as long as the second one says,
    /// overlaps the slots of the image and its pages.
    Overlaps(u8, u8),
    /// This argument, an address, lies before the end of these slots.
    BeforeEnd(u8),
}

/// A call number, the clauses of which one must hold (none: always), and what happens then.
struct Rule(c_long, &'static [&'static [Test]], Verdict);

use Test::{BeforeEnd, IsNull, NonNull, Not, OneOf, Overlaps, Positive};
use Verdict::{Ask, Fail, Notify, Trap};

const ALWAYS: &[&[Test]] = &[&[]];
const ENOSYS: u16 = libc::ENOSYS as u16;
/// As for memory that was sealed, mseal(2).
const EPERM: u16 = libc::EPERM as u16;

/// `MAP_FIXED` without `MAP_FIXED_NOREPLACE`: only that replaces what lies there.
const REPLACES: Test =
    OneOf(3, (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) as u32, &[libc::MAP_FIXED as u32]);
const MREMAP_FIXED: Test = OneOf(3, libc::MREMAP_FIXED as u32, &[libc::MREMAP_FIXED as u32]);
/// How long the segment is, the filter does not see.
const SHM_REMAP: Test = OneOf(2, libc::SHM_REMAP as u32, &[libc::SHM_REMAP as u32]);

/// `SECCOMP_FILTER_FLAG_NEW_LISTENER` among the flags.
const NEW_LISTENER: Test = OneOf(1, 8, &[8]);
/// FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2, without their flags.
const FUTEX_WAITS: Test = OneOf(1, 0x7f, &[0, 6, 9, 11, 13]);
/// IPC_STAT, SHM_STAT and SHM_STAT_ANY; for semaphores and queues likewise.
const SHARED_MEMORY_STAT: Test = OneOf(1, 0xff, &[2, 13, 15]);
const SEMAPHORE_STAT: Test = OneOf(2, 0xff, &[2, 18, 20]);
const QUEUE_STAT: Test = OneOf(1, 0xff, &[2, 11, 13]);
/// SIOCGSTAMP and SIOCGSTAMPNS, with times of either width.
const SOCKET_STAMPS: Test = OneOf(1, u32::MAX, &[0x8906, 0x8907, 0x8010_8906, 0x8010_8907]);
/// SO_RCVTIMEO and SO_SNDTIMEO, SO_TIMESTAMP, SO_TIMESTAMPNS and SO_TIMESTAMPING, with times of
/// either width.
const SOCKET_TIMES: Test = OneOf(2, u32::MAX, &[20, 21, 66, 67, 29, 63, 35, 64, 37, 65]);

/// The rules; what occurs most often comes first, and of those for one call, which follow one
/// another, the first that holds. A negative number is that of a call which this processor does not
/// have.
const RULES: &[Rule] = &[
    Rule(libc::SYS_futex, &[&[NonNull(3), FUTEX_WAITS]], Trap),
    Rule(nr::EPOLL_WAIT, &[&[Positive(3)]], Trap),
    Rule(libc::SYS_epoll_pwait, &[&[Positive(3)], &[NonNull(4)]], Trap),
    Rule(nr::POLL, &[&[Positive(2)]], Trap),
    Rule(libc::SYS_ppoll, &[&[NonNull(2)], &[NonNull(3)]], Trap),
    Rule(nr::SELECT, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_pselect6, &[&[NonNull(4)], &[NonNull(5)]], Trap),
    Rule(libc::SYS_epoll_pwait2, &[&[NonNull(3)], &[NonNull(4)]], Trap),
    Rule(libc::SYS_clock_gettime, ALWAYS, Trap),
    Rule(libc::SYS_gettimeofday, ALWAYS, Trap),
    Rule(nr::TIME, ALWAYS, Trap),
    Rule(libc::SYS_sysinfo, ALWAYS, Trap),
    Rule(libc::SYS_times, ALWAYS, Trap),
    Rule(libc::SYS_nanosleep, ALWAYS, Trap),
    Rule(libc::SYS_clock_nanosleep, ALWAYS, Trap),
    // The kernel must neither block nor handle for a program the signal that the image needs. The
    // numbers of SIG_UNBLOCK and SIGSYS are 1 and 31. In programs with SIGSYS in a mask, a further
    // filter of the image stops the other forms of these calls too.
    Rule(libc::SYS_rt_sigprocmask, &[&[NonNull(1), Not(0, 1)]], Trap),
    Rule(libc::SYS_rt_sigaction, &[&[NonNull(1)], &[OneOf(0, u32::MAX, &[31])]], Trap),
    Rule(libc::SYS_rt_sigsuspend, ALWAYS, Trap),
    // SECCOMP_SET_MODE_FILTER is 1; there can be one listener, and that is the agent. Without a filter
    // it is a question whether the kernel knows the flag, as libseccomp asks it.
    Rule(libc::SYS_seccomp, &[&[OneOf(0, u32::MAX, &[1]), NEW_LISTENER, NonNull(2)]], Notify),
    // Filters of the program's own get a prefix from the image. The two operations that enter a
    // mode; PR_GET_SECCOMP and PR_SET_SECCOMP.
    Rule(libc::SYS_seccomp, &[&[OneOf(0, u32::MAX, &[0, 1])]], Trap),
    Rule(libc::SYS_prctl, &[&[OneOf(0, u32::MAX, &[21, 22])]], Trap),
    // PR_SET_SYSCALL_USER_DISPATCH and PR_SYS_DISPATCH_ON: the kernel would make a signal of each call that
    // the image makes, before any filter sees it.
    Rule(libc::SYS_prctl, &[&[OneOf(0, u32::MAX, &[59]), OneOf(1, u32::MAX, &[1])]], Notify),
    Rule(libc::SYS_rt_sigtimedwait, &[&[NonNull(2)]], Trap),
    Rule(libc::SYS_futex_waitv, &[&[NonNull(3)]], Trap),
    Rule(nr::FUTEX_WAIT, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_semtimedop, &[&[NonNull(3)]], Trap),
    Rule(libc::SYS_mq_timedsend, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_mq_timedreceive, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_io_getevents, &[&[NonNull(4)]], Trap),
    Rule(nr::IO_PGETEVENTS, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_execve, ALWAYS, Notify),
    Rule(libc::SYS_execveat, ALWAYS, Notify),
    // PTRACE_TRACEME is 0; a child of vfork that is traced cannot get on, nor can its parent.
    Rule(libc::SYS_ptrace, &[&[IsNull(0)]], Notify),
    // Nobody sets the clocks of a domain but its owner.
    Rule(libc::SYS_clock_settime, ALWAYS, Trap),
    Rule(libc::SYS_settimeofday, ALWAYS, Trap),
    Rule(libc::SYS_adjtimex, ALWAYS, Trap),
    Rule(libc::SYS_clock_adjtime, ALWAYS, Trap),
    // Other calls that return times of the past or of the processor, or sets those of a file.
    Rule(libc::SYS_getrusage, ALWAYS, Trap),
    Rule(libc::SYS_wait4, &[&[NonNull(3)]], Trap),
    Rule(libc::SYS_waitid, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_utimensat, ALWAYS, Trap),
    Rule(nr::UTIME, &[&[IsNull(1)]], Trap),
    Rule(nr::UTIMES, &[&[IsNull(1)]], Trap),
    Rule(nr::FUTIMESAT, &[&[IsNull(2)]], Trap),
    Rule(libc::SYS_shmctl, &[&[SHARED_MEMORY_STAT]], Trap),
    Rule(libc::SYS_semctl, &[&[SEMAPHORE_STAT]], Trap),
    Rule(libc::SYS_msgctl, &[&[QUEUE_STAT]], Trap),
    // Timers expire when the agent says so. The image asks it with all signals blocked: the kernel
    // cuts a notified call short before the agent has seen it, which no call of a timer ever is.
    Rule(libc::SYS_timerfd_settime, ALWAYS, Ask),
    Rule(libc::SYS_timerfd_gettime, ALWAYS, Ask),
    Rule(libc::SYS_timer_create, ALWAYS, Ask),
    Rule(libc::SYS_timer_settime, ALWAYS, Ask),
    Rule(libc::SYS_timer_gettime, ALWAYS, Ask),
    Rule(libc::SYS_timer_getoverrun, ALWAYS, Ask),
    Rule(libc::SYS_timer_delete, ALWAYS, Ask),
    Rule(libc::SYS_setitimer, ALWAYS, Ask),
    Rule(libc::SYS_getitimer, ALWAYS, Ask),
    Rule(nr::ALARM, ALWAYS, Ask),
    // What puts a process, or its children, into a time namespace (CLONE_NEWTIME); setns(2) without
    // a type may.
    Rule(libc::SYS_unshare, &[&[OneOf(0, 0x80, &[0x80])]], Trap),
    Rule(libc::SYS_setns, &[&[OneOf(1, 0x80, &[0x80])], &[OneOf(1, u32::MAX, &[0])]], Trap),
    // The image has more calls stopped once a program sets one of these options.
    Rule(libc::SYS_recvmmsg, &[&[NonNull(4)]], Trap),
    Rule(libc::SYS_ioctl, &[&[SOCKET_STAMPS]], Trap),
    Rule(libc::SYS_setsockopt, &[&[OneOf(1, u32::MAX, &[1]), SOCKET_TIMES]], Trap),
    // With CLONE_CLEAR_SIGHAND, of which a filter sees nothing, a child begins without the image's
    // handler and its next trapped call kills it; programs have another way.
    Rule(libc::SYS_clone3, ALWAYS, Fail(ENOSYS)),
    // Waits of a ring happen in the kernel, out of reach; programs have another way.
    Rule(libc::SYS_io_uring_setup, ALWAYS, Fail(ENOSYS)),
    // Nobody takes the image away, or puts anything in its place.
    Rule(libc::SYS_mmap, &[&[REPLACES, Overlaps(0, 1)]], Fail(EPERM)),
    Rule(libc::SYS_munmap, &[&[Overlaps(0, 1)]], Fail(EPERM)),
    Rule(libc::SYS_mprotect, &[&[Overlaps(0, 1)]], Fail(EPERM)),
    Rule(libc::SYS_pkey_mprotect, &[&[Overlaps(0, 1)]], Fail(EPERM)),
    Rule(libc::SYS_mremap, &[&[Overlaps(0, 1)], &[MREMAP_FIXED, Overlaps(4, 2)]], Fail(EPERM)),
    Rule(libc::SYS_remap_file_pages, &[&[Overlaps(0, 1)]], Fail(EPERM)),
    Rule(libc::SYS_shmat, &[&[SHM_REMAP, BeforeEnd(1)]], Fail(EPERM)),
];

/// In a domain with a seed the image answers it.
const RANDOM: &[Rule] = &[Rule(libc::SYS_getrandom, ALWAYS, Trap)];

/// Calls of the x32 interface of x86-64 carry this bit; no other call has such a number.
const X32: u32 = 0x4000_0000;

// Offsets in `struct seccomp_data`, little-endian.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ADDRESS_LOW: u32 = 8;
const ADDRESS_HIGH: u32 = 12;

const fn argument_low(index: u8) -> u32 {
    16 + 8 * index as u32
}

const fn argument_high(index: u8) -> u32 {
    argument_low(index) + 4
}

/// The first address of the slots that nobody changes, and the first one behind them.
const SLOTS: u32 = IMAGE as u32;
const SLOTS_END: u32 = (OWN + OWN_SIZE) as u32;
/// The part of the high half of an address that counts: the kernel leaves out the tags of pointers
/// (AArch64, and linear address masking of x86-64).
const UNTAGGED: u32 = 0x00ff_ffff;

const LOAD: u16 = 0x20;
const LOAD_CONSTANT: u16 = 0x00;
const KEEP: u16 = 0x07;
const SUBTRACT_KEPT: u16 = 0x1c;
const JUMP_GREATER_THAN_KEPT: u16 = 0x2d;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER: u16 = 0x25;
const JUMP_GREATER_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;

/// The filter, as `seccomp(2)` takes it, of a domain in which what programs get at random follows from a
/// seed or not.
pub fn program(is_seeded: bool) -> Vec<sock_filter> {
    let mut code = vec![
        step(LOAD, ARCHITECTURE_AT),
        branch(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        verdict(Fail(ENOSYS)),
        step(LOAD, NUMBER),
        branch(JUMP_GREATER_EQUAL, X32, 0, 1),
        verdict(Fail(ENOSYS)),
    ];
    let random = is_seeded.then_some(RANDOM);
    for rules in RULES.chunk_by(|one, next| one.0 == next.0).chain(random) {
        let Ok(number) = u32::try_from(rules[0].0) else { continue };
        let mut body: Vec<_> = rules.iter().flat_map(|rule| body(rule.1, rule.2)).collect();
        body.push(verdict(Verdict::Allow));
        let length = u8::try_from(body.len()).expect("a rule is short");
        code.push(branch(JUMP_EQUAL, number, 0, length));
        code.extend(body);
    }
    code.push(verdict(Verdict::Allow));
    code
}

/// What is done with a call whose number matches, by one rule; falls through if that does not hold.
fn body(clauses: &[&[Test]], result: Verdict) -> Vec<sock_filter> {
    let mut code = match result {
        Trap | Ask => exemption(result),
        Verdict::Allow | Notify | Fail(_) => Vec::new(),
    };
    for clause in clauses {
        let mut tests: Vec<sock_filter> = Vec::new();
        // From the last test to the first, so that each knows how far it is to the next clause.
        for test in clause.iter().rev() {
            let past = u8::try_from(tests.len() + 1).expect("a rule is short");
            let mut longer = condition(*test, past);
            longer.extend(tests);
            tests = longer;
        }
        code.extend(tests);
        code.push(verdict(result));
    }
    code
}

/// The calls that the image itself makes, by their address.
fn exemption(result: Verdict) -> Vec<sock_filter> {
    const END: u32 = (IMAGE + IMAGE_SIZE_MAX) as u32;
    let mut image = vec![branch(JUMP_EQUAL, VERDICT as u32, 0, 1), verdict(Fail(NO_OBJECTION))];
    if result == Ask {
        let asks = branch(JUMP_EQUAL, ASKS, 0, 1);
        image.extend([step(LOAD, argument_low(5)), asks, verdict(Notify)]);
    }
    image.push(verdict(Verdict::Allow));
    let past = u8::try_from(image.len()).expect("a rule is short");
    let mut code = vec![
        step(LOAD, ADDRESS_HIGH),
        branch(JUMP_EQUAL, 0, 0, 3 + past),
        step(LOAD, ADDRESS_LOW),
        // The address is that behind the instruction, so the first one of the image is excluded.
        branch(JUMP_GREATER, SLOTS, 0, 1 + past),
        branch(JUMP_GREATER, END, past, 0),
    ];
    code.extend(image);
    code
}

/// A test that falls through if it holds and skips `past` instructions behind it if not.
fn condition(test: Test, past: u8) -> Vec<sock_filter> {
    match test {
        NonNull(index) => vec![
            step(LOAD, argument_low(index)),
            branch(JUMP_EQUAL, 0, 0, 2),
            step(LOAD, argument_high(index)),
            branch(JUMP_EQUAL, 0, past, 0),
        ],
        IsNull(index) => vec![
            step(LOAD, argument_low(index)),
            branch(JUMP_EQUAL, 0, 0, past + 2),
            step(LOAD, argument_high(index)),
            branch(JUMP_EQUAL, 0, 0, past),
        ],
        Positive(index) => vec![
            step(LOAD, argument_low(index)),
            branch(JUMP_EQUAL, 0, past + 1, 0),
            branch(JUMP_GREATER, i32::MAX.unsigned_abs(), past, 0),
        ],
        Not(index, value) => {
            vec![step(LOAD, argument_low(index)), branch(JUMP_EQUAL, value, past, 0)]
        }
        OneOf(index, mask, values) => {
            let mut code = vec![step(LOAD, argument_low(index)), step(AND, mask)];
            for (place, value) in values.iter().enumerate() {
                // Over the remaining comparisons and the jump behind them.
                let hit = u8::try_from(values.len() - place).expect("a rule is short");
                code.push(branch(JUMP_EQUAL, *value, hit, 0));
            }
            code.push(step(JUMP, u32::from(past)));
            code
        }
        BeforeEnd(index) => vec![
            step(LOAD, argument_high(index)),
            step(AND, UNTAGGED),
            branch(JUMP_EQUAL, 0, 0, past + 2),
            step(LOAD, argument_low(index)),
            branch(JUMP_GREATER_EQUAL, SLOTS_END, past, 0),
        ],
        Overlaps(address, length) => overlap(address, length, past),
    }
}

/// Falls through if memory overlaps the slots, else skips `past`.
fn overlap(address: u8, length: u8, past: u8) -> Vec<sock_filter> {
    let mut code = condition(BeforeEnd(address), past + 9);
    code.extend([
        // It begins in the slots, or before them and reaches into them.
        branch(JUMP_GREATER_EQUAL, SLOTS, 8, 0),
        step(KEEP, 0),
        step(LOAD_CONSTANT, SLOTS),
        step(SUBTRACT_KEPT, 0),
        step(KEEP, 0),
        step(LOAD, argument_high(length)),
        branch(JUMP_EQUAL, 0, 0, 2),
        step(LOAD, argument_low(length)),
        branch(JUMP_GREATER_THAN_KEPT, 0, 0, past),
    ]);
    code
}

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn verdict(verdict: Verdict) -> sock_filter {
    let value = match verdict {
        Verdict::Allow => libc::SECCOMP_RET_ALLOW,
        Trap | Ask => libc::SECCOMP_RET_TRAP | u32::from(STOPPED),
        Notify => libc::SECCOMP_RET_USER_NOTIF,
        Fail(error) => libc::SECCOMP_RET_ERRNO | u32::from(error),
    };
    step(RETURN, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vtime::image::PAGE_SIZE;

    /// A call as the kernel describes it to a filter, `struct seccomp_data`.
    struct Call {
        number: c_long,
        architecture: u32,
        address: u64,
        args: [u64; 6],
    }

    impl Call {
        fn word(&self, at: u32) -> u32 {
            let args = |index: usize| self.args[index];
            match at {
                NUMBER => self.number as u32,
                ARCHITECTURE_AT => self.architecture,
                ADDRESS_LOW => self.address as u32,
                ADDRESS_HIGH => (self.address >> 32) as u32,
                at if at % 8 == 0 => args((at as usize - 16) / 8) as u32,
                at => (args((at as usize - 20) / 8) >> 32) as u32,
            }
        }
    }

    /// The kernel's packet filter, as far as ours uses it.
    fn run(code: &[sock_filter], call: &Call) -> u32 {
        let (mut at, mut a, mut x) = (0usize, 0u32, 0u32);
        loop {
            let op = code[at];
            at += 1;
            let mut jump = |taken: bool| at += usize::from(if taken { op.jt } else { op.jf });
            match op.code {
                LOAD => a = call.word(op.k),
                LOAD_CONSTANT => a = op.k,
                KEEP => x = a,
                SUBTRACT_KEPT => a = a.wrapping_sub(x),
                JUMP_GREATER_THAN_KEPT => jump(a > x),
                AND => a &= op.k,
                JUMP => at += op.k as usize,
                JUMP_EQUAL => jump(a == op.k),
                JUMP_GREATER => jump(a > op.k),
                JUMP_GREATER_EQUAL => jump(a >= op.k),
                RETURN => return op.k,
                other => panic!("an instruction that the filter does not use: {other}"),
            }
        }
    }

    fn decide(number: c_long, args: [u64; 6]) -> u32 {
        let call = Call { number, architecture: ARCHITECTURE, address: 0x40_1000, args };
        run(&program(true), &call)
    }

    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    const TRAP: u32 = libc::SECCOMP_RET_TRAP | STOPPED as u32;

    #[test]
    fn what_does_not_wait_passes() {
        let minus_one = u64::from(u32::MAX);
        assert_eq!(decide(libc::SYS_read, [0; 6]), ALLOW);
        assert_eq!(decide(libc::SYS_epoll_pwait, [3, 1, 1, 0, 0, 8]), ALLOW);
        assert_eq!(decide(libc::SYS_epoll_pwait, [3, 1, 1, minus_one, 0, 8]), ALLOW);
        assert_eq!(decide(libc::SYS_epoll_pwait, [3, 1, 1, u64::MAX, 0, 8]), ALLOW);
        assert_eq!(decide(libc::SYS_futex, [1, 128, 0, 0, 0, 0]), ALLOW);
        assert_eq!(decide(libc::SYS_futex, [1, 129, 1, 77, 0, 0]), ALLOW, "FUTEX_WAKE");
        assert_eq!(decide(libc::SYS_pselect6, [1, 1, 1, 1, 0, 0]), ALLOW);
    }

    #[test]
    fn what_waits_for_a_finite_time_is_stopped() {
        assert_eq!(decide(libc::SYS_epoll_pwait, [3, 1, 1, 5, 0, 8]), TRAP);
        assert_eq!(decide(libc::SYS_futex, [1, 128, 0, 1 << 32, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_futex, [1, 137 | 256, 0, 77, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_ppoll, [0, 0, 77, 0, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_clock_gettime, [0; 6]), TRAP);
        assert_eq!(decide(libc::SYS_shmctl, [3, 2, 77, 0, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_shmctl, [3, 0, 0, 0, 0, 0]), ALLOW, "IPC_RMID");
        assert_eq!(decide(libc::SYS_shmctl, [3, 11, 0, 0, 0, 0]), ALLOW, "SHM_LOCK");
        assert_eq!(decide(libc::SYS_semctl, [3, 2, 2, 77, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_setsockopt, [3, 1, 20, 77, 16, 0]), TRAP);
        assert_eq!(decide(libc::SYS_setsockopt, [3, 6, 20, 77, 16, 0]), ALLOW);
    }

    #[test]
    fn older_calls_are_treated_alike_where_there_are_any() {
        let minus_one = u64::from(u32::MAX);
        let calls = [
            (nr::POLL, [1, 1, 0, 0, 0, 0], ALLOW),
            (nr::POLL, [1, 1, minus_one, 0, 0, 0], ALLOW),
            (nr::POLL, [1, 1, 5, 0, 0, 0], TRAP),
            (nr::EPOLL_WAIT, [3, 1, 1, minus_one, 0, 0], ALLOW),
            (nr::EPOLL_WAIT, [3, 1, 1, 5, 0, 0], TRAP),
            (nr::SELECT, [1, 1, 1, 1, 0, 0], ALLOW),
            (nr::SELECT, [1, 1, 1, 1, 77, 0], TRAP),
            (nr::TIME, [0; 6], TRAP),
            (nr::ALARM, [0; 6], TRAP),
        ];
        for (number, args, verdict) in calls.into_iter().filter(|call| call.0 >= 0) {
            assert_eq!(decide(number, args), verdict, "{number} {args:?}");
        }
    }

    #[test]
    fn the_signal_of_the_image_is_guarded() {
        assert_eq!(decide(libc::SYS_rt_sigprocmask, [0, 77, 0, 8, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_rt_sigprocmask, [1, 77, 0, 8, 0, 0]), ALLOW, "unblocks");
        assert_eq!(decide(libc::SYS_rt_sigprocmask, [0, 0, 77, 8, 0, 0]), ALLOW, "asks");
        assert_eq!(decide(libc::SYS_rt_sigaction, [31, 0, 77, 8, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_rt_sigaction, [17, 0, 77, 8, 0, 0]), ALLOW);
        assert_eq!(decide(libc::SYS_rt_sigaction, [17, 77, 0, 8, 0, 0]), TRAP);
    }

    #[test]
    fn calls_of_timers_are_reported_to_the_agent_by_the_image_alone() {
        let code = program(true);
        let from = |address: usize, sixth| {
            let (number, args) = (libc::SYS_timer_settime, [1, 0, 77, 0, 0, sixth]);
            run(&code, &Call { number, architecture: ARCHITECTURE, address: address as u64, args })
        };
        let asks = u64::from(ASKS);
        assert_eq!(from(IMAGE + 2, asks), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(from(IMAGE + 2, 0), ALLOW, "the launcher borrows the image's call");
        for sixth in [0, asks] {
            assert_eq!(from(0x40_1000, sixth), TRAP);
            assert_eq!(from(IMAGE, sixth), TRAP);
            assert_eq!(from(IMAGE + IMAGE_SIZE_MAX + 1, sixth), TRAP);
            assert_eq!(from(IMAGE + (1 << 32), sixth), TRAP);
        }
    }

    #[test]
    fn a_call_by_which_the_image_asks_for_a_verdict_is_never_made() {
        for Rule(number, ..) in
            RULES.iter().chain(RANDOM).filter(|rule| matches!(rule.2, Trap | Ask))
        {
            let (address, args) = (VERDICT as u64, [0, 0, 0, 0, 0, u64::from(ASKS)]);
            let call = Call { number: *number, architecture: ARCHITECTURE, address, args };
            let expected = match *number {
                // This processor does not have it.
                ..0 => continue,
                _ => libc::SECCOMP_RET_ERRNO | u32::from(NO_OBJECTION),
            };
            assert_eq!(run(&program(true), &call), expected, "{number}");
        }
    }

    #[test]
    fn programs_make_threads_and_children_by_the_older_call() {
        let refused = libc::SECCOMP_RET_ERRNO | u32::from(ENOSYS);
        assert_eq!(decide(libc::SYS_clone3, [77, 88, 0, 0, 0, 0]), refused);
        assert_eq!(decide(libc::SYS_clone, [0; 6]), ALLOW);
    }

    #[test]
    fn what_is_random_is_left_to_the_kernel_without_a_seed() {
        let (number, args) = (libc::SYS_getrandom, [77, 16, 0, 0, 0, 0]);
        let call = Call { number, architecture: ARCHITECTURE, address: 0x40_1000, args };
        assert_eq!([true, false].map(|seeded| run(&program(seeded), &call)), [TRAP, ALLOW]);
    }

    #[test]
    fn other_architectures_are_refused() {
        let call = Call { number: 39, architecture: 0x4000_0003, address: 0, args: [0; 6] };
        assert_eq!(run(&program(true), &call), libc::SECCOMP_RET_ERRNO | u32::from(ENOSYS));
        assert_eq!(decide(i64::from(X32) + 39, [0; 6]), ALLOW ^ ALLOW | 0x0005_0026);
    }

    #[test]
    fn filters_go_to_the_image_and_those_with_a_listener_to_the_agent() {
        let filter = |flags| decide(libc::SYS_seccomp, [1, flags, 77, 0, 0, 0]);
        assert_eq!([filter(0), filter(1)], [TRAP; 2]);
        assert_eq!([filter(8), filter(9)], [libc::SECCOMP_RET_USER_NOTIF; 2]);
        assert_eq!(decide(libc::SYS_seccomp, [1, 8, 0, 0, 0, 0]), TRAP, "asks for the flag");
        assert_eq!(decide(libc::SYS_seccomp, [0, 0, 0, 0, 0, 0]), TRAP, "strict mode");
        assert_eq!(decide(libc::SYS_seccomp, [2, 8, 77, 0, 0, 0]), ALLOW, "asks what there is");
        let dispatch = |mode| decide(libc::SYS_prctl, [59, mode, 0, 0, 0, 0]);
        assert_eq!([dispatch(1), dispatch(0)], [libc::SECCOMP_RET_USER_NOTIF, ALLOW]);
        assert_eq!(decide(libc::SYS_prctl, [22, 2, 77, 0, 0, 0]), TRAP);
        assert_eq!(decide(libc::SYS_prctl, [38, 1, 0, 0, 0, 0]), ALLOW);
        let numbers: Vec<_> = RULES.chunk_by(|one, next| one.0 == next.0).map(|r| r[0].0).collect();
        let distinct: std::collections::BTreeSet<_> = numbers.iter().filter(|n| **n >= 0).collect();
        let known = numbers.iter().filter(|n| **n >= 0).count();
        assert_eq!(distinct.len(), known, "rules of one call follow one another");
    }

    #[test]
    fn the_filter_is_short_enough_for_the_kernel() {
        assert!(program(true).len() <= 4096, "BPF_MAXINSNS");
    }

    /// Memory that calls would change, and whether they may.
    fn may_change(number: c_long, args: [u64; 6]) -> bool {
        let verdicts = [0x40_1000, IMAGE as u64 + 2].map(|address| {
            run(&program(true), &Call { number, architecture: ARCHITECTURE, address, args })
        });
        assert_eq!(verdicts[0], verdicts[1], "wherever it comes from");
        let refused = libc::SECCOMP_RET_ERRNO | u32::from(EPERM);
        assert!([ALLOW, refused].contains(&verdicts[0]));
        verdicts[0] == ALLOW
    }

    #[test]
    fn nobody_takes_the_place_of_the_image() {
        const PAGE: u64 = PAGE_SIZE as u64;
        let (image, end) = (IMAGE as u64, (OWN + OWN_SIZE) as u64);
        let fixed = libc::MAP_FIXED as u64;
        let careful = (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) as u64;
        let map = |at, length, flags| may_change(libc::SYS_mmap, [at, length, 7, flags, 3, 0]);
        assert!(!map(image, PAGE, fixed) && !map(image + 9 * PAGE, PAGE, fixed));
        assert!(map(image, PAGE, 0) && map(image, PAGE, careful), "takes no place");
        assert!(map(end, PAGE, fixed) && map(image - PAGE, PAGE, fixed));
        let all = libc::SYS_munmap;
        assert!(!may_change(all, [image - PAGE, PAGE + 1, 0, 0, 0, 0]), "up to whole pages");
        assert!(
            !may_change(all, [0, 1 << 47, 0, 0, 0, 0])
                && !may_change(all, [0, u64::MAX, 0, 0, 0, 0])
        );
        let tagged = 0xaa << 56 | image;
        assert!(!may_change(all, [tagged, PAGE, 0, 0, 0, 0]), "with the tag of a pointer");
        assert!(may_change(all, [1 << 32 | image, PAGE, 0, 0, 0, 0]));
        for number in [libc::SYS_mprotect, libc::SYS_pkey_mprotect, libc::SYS_remap_file_pages] {
            assert!(!may_change(number, [end - PAGE, PAGE, 7, 0, 0, 0]));
            assert!(may_change(number, [end, PAGE, 7, 0, 0, 0]));
        }
        let remap =
            |from, to, flags| may_change(libc::SYS_mremap, [from, PAGE, PAGE, flags, to, 0]);
        assert!(!remap(image, 1 << 32, 3) && !remap(1 << 32, image, 3) && !remap(image, 0, 1));
        assert!(remap(1 << 32, image, 1), "an address that it does not look at");
        let attach = |at, flags| may_change(libc::SYS_shmat, [7, at, flags, 0, 0, 0]);
        let over = libc::SHM_REMAP as u64;
        assert!(!attach(image - PAGE, over) && attach(image - PAGE, 0) && attach(end, over));
    }

    proptest! {
        /// Calls that change memory fail where it overlaps the slots, and nowhere else.
        #[test]
        fn what_overlaps_is_known(at in 0..2 * (OWN as u64), length in 1..2 * (OWN as u64)) {
            let overlaps = at < (OWN + OWN_SIZE) as u64 && at + length > IMAGE as u64;
            prop_assert_eq!(may_change(libc::SYS_munmap, [at, length, 0, 0, 0, 0]), !overlaps);
        }

        /// What the image calls passes or is asked; what is reported or fails elsewhere is so there
        /// as well, an exec always; the filter always ends.
        #[test]
        fn decides_any_call(number in 0..600i64, args: [u64; 6], offset in 1..IMAGE_SIZE_MAX as u64) {
            let code = program(true);
            let from = |address| run(&code, &Call { number, architecture: ARCHITECTURE, address, args });
            let inside = from(IMAGE as u64 + offset);
            let outside = from((IMAGE + IMAGE_SIZE_MAX) as u64 + offset);
            if number == libc::SYS_execve || number == libc::SYS_execveat {
                prop_assert_eq!(outside, libc::SECCOMP_RET_USER_NOTIF);
            }
            if IMAGE as u64 + offset == VERDICT as u64 {
                // Never made where it would be stopped: a test of its own.
            } else if outside == TRAP {
                let asks = args[5] as u32 == ASKS;
                prop_assert!(inside == ALLOW || asks && inside == libc::SECCOMP_RET_USER_NOTIF);
            } else {
                prop_assert_eq!(inside, outside);
            }
            if !RULES.iter().chain(RANDOM).any(|rule| rule.0 == number) {
                prop_assert_eq!(outside, ALLOW);
            }
        }
    }
}
