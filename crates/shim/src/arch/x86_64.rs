//! x86-64: system calls, the frame of a signal, and the two entry points in assembly.
//!
//! Numbers from `arch/x86/entry/syscalls/syscall_64.tbl`, the frame from
//! `arch/x86/include/uapi/asm/{sigcontext,ucontext}.h`.

use core::arch::{asm, global_asm};

pub(crate) mod nr {
    pub(crate) const READ: i32 = 0;
    pub(crate) const WRITE: i32 = 1;
    pub(crate) const POLL: i32 = 7;
    pub(crate) const MMAP: i32 = 9;
    pub(crate) const MUNMAP: i32 = 11;
    pub(crate) const RT_SIGACTION: i32 = 13;
    pub(crate) const RT_SIGPROCMASK: i32 = 14;
    pub(crate) const RT_SIGRETURN: i32 = 15;
    pub(crate) const IOCTL: i32 = 16;
    pub(crate) const READV: i32 = 19;
    pub(crate) const WRITEV: i32 = 20;
    pub(crate) const SELECT: i32 = 23;
    pub(crate) const SHMCTL: i32 = 31;
    pub(crate) const NANOSLEEP: i32 = 35;
    pub(crate) const GETITIMER: i32 = 36;
    pub(crate) const ALARM: i32 = 37;
    pub(crate) const SETITIMER: i32 = 38;
    pub(crate) const GETPID: i32 = 39;
    pub(crate) const CONNECT: i32 = 42;
    pub(crate) const ACCEPT: i32 = 43;
    pub(crate) const SENDTO: i32 = 44;
    pub(crate) const RECVFROM: i32 = 45;
    pub(crate) const SENDMSG: i32 = 46;
    pub(crate) const RECVMSG: i32 = 47;
    pub(crate) const SETSOCKOPT: i32 = 54;
    pub(crate) const GETSOCKOPT: i32 = 55;
    pub(crate) const EXIT: i32 = 60;
    pub(crate) const WAIT4: i32 = 61;
    pub(crate) const SEMCTL: i32 = 66;
    pub(crate) const MSGCTL: i32 = 71;
    pub(crate) const FCNTL: i32 = 72;
    pub(crate) const GETTIMEOFDAY: i32 = 96;
    pub(crate) const GETRUSAGE: i32 = 98;
    pub(crate) const SYSINFO: i32 = 99;
    pub(crate) const TIMES: i32 = 100;
    pub(crate) const RT_SIGPENDING: i32 = 127;
    pub(crate) const RT_SIGTIMEDWAIT: i32 = 128;
    pub(crate) const RT_SIGQUEUEINFO: i32 = 129;
    pub(crate) const RT_SIGSUSPEND: i32 = 130;
    pub(crate) const UTIME: i32 = 132;
    pub(crate) const PRCTL: i32 = 157;
    pub(crate) const ADJTIMEX: i32 = 159;
    pub(crate) const SETTIMEOFDAY: i32 = 164;
    pub(crate) const GETTID: i32 = 186;
    pub(crate) const TKILL: i32 = 200;
    pub(crate) const TIME: i32 = 201;
    pub(crate) const FUTEX: i32 = 202;
    pub(crate) const IO_GETEVENTS: i32 = 208;
    pub(crate) const SEMTIMEDOP: i32 = 220;
    pub(crate) const UNSHARE: i32 = 272;
    pub(crate) const SETNS: i32 = 308;
    pub(crate) const TIMER_CREATE: i32 = 222;
    pub(crate) const TIMER_SETTIME: i32 = 223;
    pub(crate) const TIMER_GETTIME: i32 = 224;
    pub(crate) const TIMER_GETOVERRUN: i32 = 225;
    pub(crate) const TIMER_DELETE: i32 = 226;
    pub(crate) const CLOCK_SETTIME: i32 = 227;
    pub(crate) const CLOCK_GETTIME: i32 = 228;
    pub(crate) const CLOCK_GETRES: i32 = 229;
    pub(crate) const CLOCK_NANOSLEEP: i32 = 230;
    pub(crate) const EPOLL_WAIT: i32 = 232;
    pub(crate) const UTIMES: i32 = 235;
    pub(crate) const MQ_TIMEDSEND: i32 = 242;
    pub(crate) const MQ_TIMEDRECEIVE: i32 = 243;
    pub(crate) const WAITID: i32 = 247;
    pub(crate) const FUTIMESAT: i32 = 261;
    pub(crate) const PSELECT6: i32 = 270;
    pub(crate) const PPOLL: i32 = 271;
    pub(crate) const UTIMENSAT: i32 = 280;
    pub(crate) const EPOLL_PWAIT: i32 = 281;
    pub(crate) const TIMERFD_SETTIME: i32 = 286;
    pub(crate) const TIMERFD_GETTIME: i32 = 287;
    pub(crate) const ACCEPT4: i32 = 288;
    pub(crate) const RT_TGSIGQUEUEINFO: i32 = 297;
    pub(crate) const RECVMMSG: i32 = 299;
    pub(crate) const CLOCK_ADJTIME: i32 = 305;
    pub(crate) const SENDMMSG: i32 = 307;
    pub(crate) const PROCESS_VM_READV: i32 = 310;
    pub(crate) const PROCESS_VM_WRITEV: i32 = 311;
    pub(crate) const SECCOMP: i32 = 317;
    pub(crate) const IO_PGETEVENTS: i32 = 333;
    pub(crate) const EPOLL_PWAIT2: i32 = 441;
    pub(crate) const FUTEX_WAITV: i32 = 449;
    pub(crate) const FUTEX_WAIT: i32 = 455;
}

/// Octets of `struct semid64_ds` at which its times lie.
pub(crate) const SEMAPHORE_TIMES: &[usize] = &[48, 64];

// What the launcher borrows: a system call with a trap behind it, at an address that the filter
// exempts, and the return from a signal handler.
global_asm!(
    ".globl image_syscall",
    ".type image_syscall, @function",
    "image_syscall:",
    "syscall",
    "int3",
    ".globl image_sigreturn",
    ".type image_sigreturn, @function",
    "image_sigreturn:",
    "mov eax, 15",
    "syscall",
    "ud2",
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
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

// At its own place in `image.lds`.
global_asm!(
    ".section .verdict,\"ax\",@progbits",
    ".globl image_verdict",
    ".hidden image_verdict",
    "image_verdict:",
    "syscall",
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
            "call image_verdict",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

pub(crate) fn abort() -> ! {
    // SAFETY: an undefined instruction ends the program with SIGILL, which is the intention.
    unsafe { asm!("ud2", options(noreturn)) }
}

/// The general registers in a signal frame, `struct sigcontext_64`.
#[repr(C)]
pub(crate) struct Registers {
    r8: u64,
    r9: u64,
    r10: u64,
    r11: u64,
    r12_to_r15: [u64; 4],
    rdi: u64,
    rsi: u64,
    rbp: u64,
    rbx: u64,
    rdx: u64,
    rax: u64,
    rcx: u64,
    rsp: u64,
    rip: u64,
    rest: [u64; 15],
}

const _: () = assert!(size_of::<Registers>() == 256);

impl Registers {
    /// The arguments of the system call at which the program was stopped.
    pub(crate) fn arguments(&self) -> [usize; 6] {
        [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9].map(|value| value as usize)
    }

    /// The whole register that held the number of the system call.
    pub(crate) fn number(&self) -> u64 {
        self.rax
    }

    /// Lets the program find `result` as the result of its system call.
    pub(crate) fn answer(&mut self, result: isize) {
        self.rax = result as u64;
    }
}

/// `ucontext_t` as the kernel lays it out.
#[repr(C)]
pub(crate) struct SignalFrame {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    /// The registers to return to.
    pub(crate) registers: Registers,
    /// The signals that are blocked after the return.
    pub(crate) mask: u64,
}
