//! What depends on the processor: one file each, which all have the same items.
//!
//! The filter takes numbers that all processors have from the libc crate. Who adds a call that is
//! not on all of them, or not in that crate, adds its number to each file here; `make
//! check-aarch64` finds what was forgotten.

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
