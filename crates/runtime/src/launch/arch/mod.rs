//! What depends on the processor: one file each, which all have the same items (`make check-aarch64`
//! finds what was forgotten), and numbers of calls.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!(
    "programs are supported on AArch64 and x86-64; other architectures need a file here"
);

/// Numbers of calls that not all processors have, or that the libc crate lacks, on x86-64 and on
/// AArch64: `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`.
/// Programs make newer calls in place of those with a negative number, for which the filter has no
/// rule.
pub(super) mod nr {
    macro_rules! numbers {
        ($($name:ident: $x86_64:literal, $aarch64:literal;)*) => {
            $(pub(in crate::launch) const $name: libc::c_long =
                if cfg!(target_arch = "aarch64") { $aarch64 } else { $x86_64 };)*
        };
    }

    numbers! {
        POLL: 7, -1001;
        SELECT: 23, -1002;
        ALARM: 37, -1005;
        UTIME: 132, -1006;
        TIME: 201, -1003;
        EPOLL_WAIT: 232, -1004;
        UTIMES: 235, -1007;
        FUTIMESAT: 261, -1008;
        IO_PGETEVENTS: 333, 292;
        // Linux 6.7.
        FUTEX_WAIT: 455, 455;
    }
}
