//! Virtual machines made here, with nothing in them but a kernel of Debian's and the probe.
//!
//! [`kernel`] gets a kernel out of a package; [`initramfs`] puts the probe, the loads and an order
//! into the guest's first file system ([`cpio`], [`libraries`]); [`machine`] says what QEMU is to
//! build; [`guest`] starts it and, over QEMU's [`monitor`], binds the virtual processors and waits
//! until the guest has booted. [`accelerator`] finds out whether this host can do without
//! emulation.

pub mod accelerator;
pub mod cpio;
pub mod gpio_sim;
pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod libraries;
pub mod machine;
pub mod monitor;
pub mod package;
mod process;
