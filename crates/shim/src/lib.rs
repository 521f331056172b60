//! The image that Quartercycle maps into every program of a time domain.
//!
//! It takes the place of the kernel's vDSO, so that reading a clock stays a function call, and
//! it handles the SIGSYS with which the seccomp filter of the launcher stops those system calls
//! that carry a timeout or read a clock. Neither needs the program's help, so static programs
//! and programs without a C library are no different from others.
//!
//! The image knows only what lies at the fixed addresses of [`vtime::image`]. It has no data of
//! its own, allocates nothing, takes no lock and uses little stack: it runs in signal handlers,
//! on alternate stacks, in children of `vfork`, in programs whose state is unknown. It must fit 128
//! KiB, so what many calls share is kept out of line.
//!
//! - [`vdso`]: the functions of the vDSO
//! - [`trap`]: the SIGSYS handler; which call goes where
//! - [`delivery`]: a SIGSYS that is the program's
//! - [`pending`]: a SIGSYS that the program blocks
//! - [`calls`]: the calls themselves, one file per family
//! - [`wait`]: waiting for a virtual time on the host
//! - [`clock`]: host time and virtual now
//! - [`processor`]: processor time
//! - [`pages`]: the pages at their addresses
//! - [`agent`]: what is asked of it, and opening the process to it
//! - [`filters`]: filters that a program gives itself, its sandbox
//! - [`bpf`]: what a filter is made of
//! - [`namespace`]: time namespaces
//! - [`further`]: calls that are stopped only in programs that ask for it
//! - [`stamps`]: stamps of what sockets receive
//! - [`memory`]: what the arguments of a call point to
//! - [`signal`]: SIGSYS and the signal that stands for it, as the kernel has them
//! - [`told`]: what the agent of a clock that jumps is told of waits
//! - [`word`]: futex words of the pages, and waiting on them
//! - [`timespec`]: times as the kernel has them
//! - [`arch`]: what depends on the processor: system calls, signal frame
#![no_std]

mod agent;
mod arch;
mod bpf;
mod calls;
mod clock;
mod delivery;
mod filters;
mod further;
mod memory;
mod namespace;
mod pages;
mod pending;
mod processor;
mod signal;
mod stamps;
mod timespec;
mod told;
mod trap;
mod vdso;
mod wait;
mod word;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // A bug of ours inside somebody's program: stop it where a debugger shows the place.
    arch::abort()
}
