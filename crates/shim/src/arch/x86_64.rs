//! x86-64: system calls, the frame of a signal, and the two entry points in assembly.
//!
//! The frame is that of `arch/x86/include/uapi/asm/{sigcontext,ucontext}.h`.

use core::arch::{asm, global_asm};

use vtime::image::{IMAGE, IMAGE_SIZE_MAX};

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

/// A system call by an instruction that makes it, or calls what does.
macro_rules! system_call {
    ($instruction:literal, $number:ident, $args:ident, $($more:tt)*) => {{
        let result: isize;
        asm!(
            $instruction,
            inlateout("rax") $number as isize => result,
            in("rdi") $args[0],
            in("rsi") $args[1],
            in("rdx") $args[2],
            in("r10") $args[3],
            in("r8") $args[4],
            in("r9") $args[5],
            lateout("rcx") _,
            lateout("r11") _,
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
    unsafe { system_call!("syscall", number, args, options(nostack)) }
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
    // SAFETY: the callee is one instruction and the return from it.
    unsafe { system_call!("call image_verdict", number, args,) }
}

pub(crate) fn abort() -> ! {
    // SAFETY: an undefined instruction ends the program with SIGILL, which is the intention.
    unsafe { asm!("ud2", options(noreturn)) }
}

/// The instruction of a system call, and its length in octets.
const LENGTH: u64 = 2;
const CALL: [u8; 2] = [0x0f, 0x05];

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
        if at(self.rip) && calls.iter().any(|call| *call as u64 == self.number()) {
            self.rip += LENGTH;
            self.answer(result);
            true
        } else if at(self.rip - LENGTH) && self.rax == EINTR as u64 {
            self.answer(result);
            true
        } else {
            false
        }
    }
}

/// `ucontext_t` as the kernel lays it out.
#[repr(C)]
pub(crate) struct SignalFrame {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    pub(crate) registers: Registers,
    /// The signals that are blocked after the return.
    pub(crate) mask: u64,
}
