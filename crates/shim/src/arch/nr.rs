//! Numbers of system calls, on x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl` of the kernel) and on
//! AArch64 (`include/uapi/asm-generic/unistd.h`).
//!
//! Calls that a processor does not have get numbers that no call has, so that what handles them is
//! compiled and checked everywhere.

macro_rules! numbers {
    ($($name:ident: $x86_64:literal, $aarch64:literal;)*) => {
        $(pub(crate) const $name: i32 =
            if cfg!(target_arch = "aarch64") { $aarch64 } else { $x86_64 };)*
    };
}

numbers! {
    READ: 0, 63;
    WRITE: 1, 64;
    POLL: 7, -1001;
    MMAP: 9, 222;
    MUNMAP: 11, 215;
    RT_SIGACTION: 13, 134;
    RT_SIGPROCMASK: 14, 135;
    RT_SIGRETURN: 15, 139;
    IOCTL: 16, 29;
    READV: 19, 65;
    WRITEV: 20, 66;
    SELECT: 23, -1002;
    SHMCTL: 31, 195;
    NANOSLEEP: 35, 101;
    GETITIMER: 36, 102;
    ALARM: 37, -1008;
    SETITIMER: 38, 103;
    GETPID: 39, 172;
    CONNECT: 42, 203;
    ACCEPT: 43, 202;
    SENDTO: 44, 206;
    RECVFROM: 45, 207;
    SENDMSG: 46, 211;
    RECVMSG: 47, 212;
    SETSOCKOPT: 54, 208;
    GETSOCKOPT: 55, 209;
    EXIT: 60, 93;
    WAIT4: 61, 260;
    SEMCTL: 66, 191;
    MSGCTL: 71, 187;
    FCNTL: 72, 25;
    GETTIMEOFDAY: 96, 169;
    GETRUSAGE: 98, 165;
    SYSINFO: 99, 179;
    TIMES: 100, 153;
    RT_SIGPENDING: 127, 136;
    RT_SIGTIMEDWAIT: 128, 137;
    RT_SIGQUEUEINFO: 129, 138;
    RT_SIGSUSPEND: 130, 133;
    UTIME: 132, -1005;
    PRCTL: 157, 167;
    ADJTIMEX: 159, 171;
    SETTIMEOFDAY: 164, 170;
    GETTID: 186, 178;
    TKILL: 200, 130;
    TIME: 201, -1003;
    FUTEX: 202, 98;
    IO_GETEVENTS: 208, 4;
    SEMTIMEDOP: 220, 192;
    TIMER_CREATE: 222, 107;
    TIMER_SETTIME: 223, 110;
    TIMER_GETTIME: 224, 108;
    TIMER_GETOVERRUN: 225, 109;
    TIMER_DELETE: 226, 111;
    CLOCK_SETTIME: 227, 112;
    CLOCK_GETTIME: 228, 113;
    CLOCK_GETRES: 229, 114;
    CLOCK_NANOSLEEP: 230, 115;
    EPOLL_WAIT: 232, -1004;
    UTIMES: 235, -1006;
    MQ_TIMEDSEND: 242, 182;
    MQ_TIMEDRECEIVE: 243, 183;
    WAITID: 247, 95;
    FUTIMESAT: 261, -1007;
    PSELECT6: 270, 72;
    PPOLL: 271, 73;
    UNSHARE: 272, 97;
    UTIMENSAT: 280, 88;
    EPOLL_PWAIT: 281, 22;
    TIMERFD_SETTIME: 286, 86;
    TIMERFD_GETTIME: 287, 87;
    ACCEPT4: 288, 242;
    RT_TGSIGQUEUEINFO: 297, 240;
    RECVMMSG: 299, 243;
    CLOCK_ADJTIME: 305, 266;
    SENDMMSG: 307, 269;
    SETNS: 308, 268;
    PROCESS_VM_READV: 310, 270;
    PROCESS_VM_WRITEV: 311, 271;
    SECCOMP: 317, 277;
    GETRANDOM: 318, 278;
    IO_PGETEVENTS: 333, 292;
    EPOLL_PWAIT2: 441, 441;
    FUTEX_WAITV: 449, 449;
    FUTEX_WAIT: 455, 455;
}
