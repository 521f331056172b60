//! What depends on the processor: one file each, which all have the same items (`make check-aarch64`
//! finds what was forgotten), and one list each of what the image exports, with the extension `.ver`.
//! Its functions are those of [`crate::vdso`].

pub(crate) mod nr;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("the image is written for AArch64 and x86-64; others need a file of their own here");
