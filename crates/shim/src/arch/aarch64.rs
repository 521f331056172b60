//! AArch64: system calls, the frame of a signal, and the entry points in assembly.
//!
//! The frame is that of `arch/arm64/include/uapi/asm/{sigcontext,ucontext}.h`.

use core::arch::{asm, global_asm};

use vtime::image::{IMAGE, IMAGE_SIZE_MAX};

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

/// A system call by an instruction that makes it, or calls what does.
macro_rules! system_call {
    ($instruction:literal, $number:ident, $args:ident, $($more:tt)*) => {{
        let result: isize;
        asm!(
            $instruction,
            in("x8") $number as isize,
            inlateout("x0") $args[0] as isize => result,
            in("x1") $args[1],
            in("x2") $args[2],
            in("x3") $args[3],
            in("x4") $args[4],
            in("x5") $args[5],
            $($more)*
        );
        result
    }};
}

/// Makes a system call of the host. Returns what the kernel answers: `-errno` on failure.
///
/// # Safety
/// The arguments must be what the kernel demands for this call.
#[inline]
pub(crate) unsafe fn syscall(number: i32, args: [usize; 6]) -> isize {
    // SAFETY: clobbers as the kernel's calling convention says; the caller vouches for the rest.
    unsafe { system_call!("svc #0", number, args, options(nostack)) }
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
    // SAFETY: the callee is one instruction and the return from it.
    unsafe { system_call!("bl image_verdict", number, args, lateout("x30") _) }
}

pub(crate) fn abort() -> ! {
    // SAFETY: an undefined instruction ends the program with SIGILL, which is the intention.
    unsafe { asm!("udf #0", options(noreturn)) }
}

/// The instruction of a system call, and its length in octets.
const LENGTH: u64 = 4;
const CALL: [u8; 4] = 0xd400_0001_u32.to_le_bytes();

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

    /// Lets a call of the image that a signal has ended answer `result` instead, or one that it has come
    /// before, if that is one of these. Changes nothing elsewhere.
    pub(crate) fn cut_call_short(&mut self, calls: &[i32], result: isize) -> bool {
        const EINTR: isize = -4;
        let at = |address: u64| {
            let image = IMAGE as u64..(IMAGE + IMAGE_SIZE_MAX) as u64 - LENGTH;
            // SAFETY: the image is mapped there, for reading too.
            image.contains(&address)
                && unsafe { *(address as *const [u8; LENGTH as usize]) } == CALL
        };
        if at(self.pc) && calls.iter().any(|call| *call as u64 == self.number()) {
            self.pc += LENGTH;
            self.answer(result);
            true
        } else if at(self.pc - LENGTH) && self.x[0] == EINTR as u64 {
            self.answer(result);
            true
        } else {
            false
        }
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
    pub(crate) registers: Registers,
}

const _: () = assert!(core::mem::offset_of!(SignalFrame, mask) == 40);
const _: () = assert!(core::mem::offset_of!(SignalFrame, registers) == 176);
