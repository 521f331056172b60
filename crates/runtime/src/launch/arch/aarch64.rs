//! AArch64. Registers as in `struct user_pt_regs` of `arch/arm64/include/uapi/asm/ptrace.h`.
//!
//! A stepped thread stops at the end of a call with the instruction behind it as the next one, or
//! with the call itself as the next one if the kernel has prepared to make it again: it does that
//! before it notifies the tracer.

use libc::user_regs_struct;

/// `AUDIT_ARCH_AARCH64` of `include/uapi/linux/audit.h`.
pub(in crate::launch) const ARCHITECTURE: u32 = 0xc000_00b7;

/// What the names of the functions in the vDSO of the kernel begin with.
pub(in crate::launch) const VDSO_PREFIX: &str = "__kernel_";

/// The system call instruction, `svc #0`, which lies at addresses divisible by four.
pub(in crate::launch) const SYSCALL: [u8; 4] = 0xd400_0001u32.to_le_bytes();
pub(in crate::launch) const SYSCALL_ALIGNMENT: usize = 4;

pub(in crate::launch) const ATTACHES: bool = false;

#[repr(transparent)]
pub(in crate::launch) struct Registers(user_regs_struct);

impl Registers {
    pub(in crate::launch) fn next(&self) -> u64 {
        self.0.pc
    }

    pub(in crate::launch) fn stack(&self) -> u64 {
        self.0.sp
    }

    pub(in crate::launch) fn result(&self) -> i64 {
        self.0.regs[0].cast_signed()
    }

    /// Lets a thread that stops as it leaves a call make this one in its place, with the same
    /// arguments, of which the result has overwritten the first. A handler of a signal that comes
    /// after this runs, and the call is made after it.
    pub(in crate::launch) fn make_again(&mut self, number: i64, first: u64) {
        self.0.pc -= SYSCALL.len() as u64;
        self.0.regs[8] = number.cast_unsigned();
        self.0.regs[0] = first;
    }

    /// Lets a thread that has stopped in this call, which returns to `address`, find that there is no
    /// such call. Returns whether: not if the call has something to say, or is over. The kernel has
    /// prepared to make most waits again before it reports the stop, so there is no other call to
    /// put in their place, and a handler runs without ending the wait.
    pub(in crate::launch) fn waited_in_vain(
        &mut self,
        number: i64,
        address: u64,
        _in_vain: i64,
    ) -> bool {
        let is_in_it = self.0.regs[8] == number.cast_unsigned();
        let makes_again = self.0.pc + SYSCALL.len() as u64 == address;
        let interrupted = self.0.pc == address && self.result() == -i64::from(libc::EINTR);
        let in_vain_wait = is_in_it && (makes_again || interrupted);
        if in_vain_wait {
            self.0.pc = address;
            self.0.regs[0] = (-i64::from(libc::ENOSYS)).cast_unsigned();
        }
        in_vain_wait
    }

    /// The system call that the thread was stopped in: not known here.
    pub(in crate::launch) fn call(&self) -> Option<(i64, [u64; 6], i64)> {
        None
    }

    /// Lets the thread make its call again, with this in the register of the number.
    pub(in crate::launch) fn call_again(&mut self, number: u64) {
        self.0.pc -= SYSCALL.len() as u64;
        self.0.regs[8] = number;
    }

    /// Prepares a system call by the instruction at an address.
    pub(in crate::launch) fn set_call(&mut self, at: u64, number: i64, args: [u64; 6]) {
        self.0.pc = at;
        self.0.regs[8] = number.cast_unsigned();
        self.0.regs[..args.len()].copy_from_slice(&args);
    }
}
