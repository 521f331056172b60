//! AArch64: system calls, the frame of a signal, and the entry points in assembly.
//!
//! Numbers from `include/uapi/asm-generic/unistd.h`, the frame from
//! `arch/arm64/include/uapi/asm/{sigcontext,ucontext}.h`.

use core::arch::{asm, global_asm};

pub(crate) mod nr {
    // Calls that this processor does not have get numbers that no call has, so that what handles
    // them is compiled and checked everywhere.
    pub(crate) const POLL: i32 = -1001;
    pub(crate) const SELECT: i32 = -1002;
    pub(crate) const TIME: i32 = -1003;
    pub(crate) const EPOLL_WAIT: i32 = -1004;
    pub(crate) const UTIME: i32 = -1005;
    pub(crate) const UTIMES: i32 = -1006;
    pub(crate) const FUTIMESAT: i32 = -1007;
    pub(crate) const ALARM: i32 = -1008;

    pub(crate) const IO_GETEVENTS: i32 = 4;
    pub(crate) const EPOLL_PWAIT: i32 = 22;
    pub(crate) const FCNTL: i32 = 25;
    pub(crate) const IOCTL: i32 = 29;
    pub(crate) const READ: i32 = 63;
    pub(crate) const WRITE: i32 = 64;
    pub(crate) const READV: i32 = 65;
    pub(crate) const WRITEV: i32 = 66;
    pub(crate) const PSELECT6: i32 = 72;
    pub(crate) const PPOLL: i32 = 73;
    pub(crate) const TIMERFD_SETTIME: i32 = 86;
    pub(crate) const TIMERFD_GETTIME: i32 = 87;
    pub(crate) const UTIMENSAT: i32 = 88;
    pub(crate) const EXIT: i32 = 93;
    pub(crate) const WAITID: i32 = 95;
    pub(crate) const FUTEX: i32 = 98;
    pub(crate) const NANOSLEEP: i32 = 101;
    pub(crate) const GETITIMER: i32 = 102;
    pub(crate) const SETITIMER: i32 = 103;
    pub(crate) const UNSHARE: i32 = 97;
    pub(crate) const SETNS: i32 = 268;
    pub(crate) const TIMER_CREATE: i32 = 107;
    pub(crate) const TIMER_GETTIME: i32 = 108;
    pub(crate) const TIMER_GETOVERRUN: i32 = 109;
    pub(crate) const TIMER_SETTIME: i32 = 110;
    pub(crate) const TIMER_DELETE: i32 = 111;
    pub(crate) const CLOCK_SETTIME: i32 = 112;
    pub(crate) const CLOCK_GETTIME: i32 = 113;
    pub(crate) const CLOCK_GETRES: i32 = 114;
    pub(crate) const CLOCK_NANOSLEEP: i32 = 115;
    pub(crate) const TKILL: i32 = 130;
    pub(crate) const RT_SIGSUSPEND: i32 = 133;
    pub(crate) const RT_SIGACTION: i32 = 134;
    pub(crate) const RT_SIGPROCMASK: i32 = 135;
    pub(crate) const RT_SIGPENDING: i32 = 136;
    pub(crate) const RT_SIGTIMEDWAIT: i32 = 137;
    pub(crate) const RT_SIGQUEUEINFO: i32 = 138;
    pub(crate) const RT_SIGRETURN: i32 = 139;
    pub(crate) const TIMES: i32 = 153;
    pub(crate) const GETRUSAGE: i32 = 165;
    pub(crate) const PRCTL: i32 = 167;
    pub(crate) const GETTIMEOFDAY: i32 = 169;
    pub(crate) const SETTIMEOFDAY: i32 = 170;
    pub(crate) const ADJTIMEX: i32 = 171;
    pub(crate) const GETPID: i32 = 172;
    pub(crate) const GETTID: i32 = 178;
    pub(crate) const SYSINFO: i32 = 179;
    pub(crate) const MQ_TIMEDSEND: i32 = 182;
    pub(crate) const MQ_TIMEDRECEIVE: i32 = 183;
    pub(crate) const MSGCTL: i32 = 187;
    pub(crate) const SEMCTL: i32 = 191;
    pub(crate) const SEMTIMEDOP: i32 = 192;
    pub(crate) const SHMCTL: i32 = 195;
    pub(crate) const ACCEPT: i32 = 202;
    pub(crate) const CONNECT: i32 = 203;
    pub(crate) const SENDTO: i32 = 206;
    pub(crate) const RECVFROM: i32 = 207;
    pub(crate) const SETSOCKOPT: i32 = 208;
    pub(crate) const GETSOCKOPT: i32 = 209;
    pub(crate) const SENDMSG: i32 = 211;
    pub(crate) const RECVMSG: i32 = 212;
    pub(crate) const MUNMAP: i32 = 215;
    pub(crate) const MMAP: i32 = 222;
    pub(crate) const RT_TGSIGQUEUEINFO: i32 = 240;
    pub(crate) const ACCEPT4: i32 = 242;
    pub(crate) const RECVMMSG: i32 = 243;
    pub(crate) const WAIT4: i32 = 260;
    pub(crate) const CLOCK_ADJTIME: i32 = 266;
    pub(crate) const SENDMMSG: i32 = 269;
    pub(crate) const PROCESS_VM_READV: i32 = 270;
    pub(crate) const PROCESS_VM_WRITEV: i32 = 271;
    pub(crate) const SECCOMP: i32 = 277;
    pub(crate) const IO_PGETEVENTS: i32 = 292;
    pub(crate) const EPOLL_PWAIT2: i32 = 441;
    pub(crate) const FUTEX_WAITV: i32 = 449;
    pub(crate) const FUTEX_WAIT: i32 = 455;
}

/// Octets of `struct semid64_ds` at which its times lie.
pub(crate) const SEMAPHORE_TIMES: &[usize] = &[48, 56];

// What the launcher borrows: a system call with a trap behind it, at an address that the filter
// exempts, and the return from a signal handler. Debuggers and unwinders know the latter by its
// two instructions, under either name.
global_asm!(
    ".p2align 2",
    ".globl image_syscall",
    ".type image_syscall, %function",
    "image_syscall:",
    "svc #0",
    "brk #1",
    ".globl image_sigreturn",
    ".type image_sigreturn, %function",
    "image_sigreturn:",
    ".globl __kernel_rt_sigreturn",
    ".type __kernel_rt_sigreturn, %function",
    "__kernel_rt_sigreturn:",
    "mov x8, #139",
    "svc #0",
    "udf #0",
);

/// Makes a system call of the host. Returns what the kernel answers: `-errno` on failure.
///
/// # Safety
/// The arguments must be what the kernel demands for this call.
#[inline]
pub(crate) unsafe fn syscall(number: i32, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: clobbers as the kernel's calling convention says; the caller vouches for the rest.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number as isize,
            inlateout("x0") args[0] as isize => result,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            options(nostack),
        );
    }
    result
}

// At its own place in `image.lds`.
global_asm!(
    ".section .verdict,\"ax\",%progbits",
    ".globl image_verdict",
    ".hidden image_verdict",
    "image_verdict:",
    "svc #0",
    "ret",
    ".text",
);

/// As [`syscall`], at the address by which filters know that the call is not to be made.
///
/// # Safety
/// As of [`syscall`].
pub(crate) unsafe fn verdict(number: i32, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the callee is one instruction and the return from it.
    unsafe {
        asm!(
            "bl image_verdict",
            in("x8") number as isize,
            inlateout("x0") args[0] as isize => result,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            lateout("x30") _,
        );
    }
    result
}

pub(crate) fn abort() -> ! {
    // SAFETY: an undefined instruction ends the program with SIGILL, which is the intention.
    unsafe { asm!("udf #0", options(noreturn)) }
}

/// The general registers in a signal frame, the head of `struct sigcontext`. What follows it
/// (floating point, SVE) is left as it is.
#[repr(C, align(16))]
pub(crate) struct Registers {
    fault_address: u64,
    x: [u64; 31],
    sp: u64,
    pc: u64,
    pstate: u64,
}

impl Registers {
    /// The arguments of the system call at which the program was stopped.
    pub(crate) fn arguments(&self) -> [usize; 6] {
        let [a, b, c, d, e, f, ..] = self.x;
        [a, b, c, d, e, f].map(|value| value as usize)
    }

    /// The whole register that held the number of the system call.
    pub(crate) fn number(&self) -> u64 {
        self.x[8]
    }

    /// Lets the program find `result` as the result of its system call.
    pub(crate) fn answer(&mut self, result: isize) {
        self.x[0] = result as u64;
    }
}

/// `struct ucontext` as the kernel lays it out.
#[repr(C)]
pub(crate) struct SignalFrame {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    /// The signals that are blocked after the return.
    pub(crate) mask: u64,
    /// Room for the 1024 signals of the C library.
    more_signals: [u64; 15],
    /// The registers to return to.
    pub(crate) registers: Registers,
}

const _: () = assert!(core::mem::offset_of!(SignalFrame, mask) == 40);
const _: () = assert!(core::mem::offset_of!(SignalFrame, registers) == 176);
