//! Virtual machines made here, with nothing in them but a kernel of Debian's and the probe.
//!
//! [`kernel`] gets a kernel out of a package; [`initramfs`] puts the probe, the loads and an order
//! into the guest's first file system ([`cpio`], [`libraries`]); [`machine`] says what QEMU is to
//! build; [`guest`] starts it and, over QEMU's [`monitor`], binds the virtual processors and waits
//! until the guest has booted. [`accelerator`] finds out whether this host can do without
//! emulation.

pub(crate) mod accelerator;
pub(crate) mod cpio;
pub(crate) mod gpio_sim;
pub(crate) mod guest;
pub(crate) mod initramfs;
pub(crate) mod kernel;
pub(crate) mod libraries;
pub(crate) mod machine;
pub(crate) mod monitor;
pub(crate) mod package;
mod process;
