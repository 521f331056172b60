//! x86-64. Registers as in `struct user_regs_struct` of `sys/user.h`.

use libc::user_regs_struct;

/// `AUDIT_ARCH_X86_64` of `include/uapi/linux/audit.h`.
pub(in crate::launch) const ARCHITECTURE: u32 = 0xc000_003e;

/// What the names of the functions in the vDSO of the kernel begin with.
pub(in crate::launch) const VDSO_PREFIX: &str = "__vdso_";

/// The system call instruction, `syscall`, which may lie at any address.
pub(in crate::launch) const SYSCALL: [u8; 2] = [0x0f, 0x05];
pub(in crate::launch) const SYSCALL_ALIGNMENT: usize = 1;

pub(in crate::launch) const ATTACHES: bool = true;

#[repr(transparent)]
pub(in crate::launch) struct Registers(user_regs_struct);

impl Registers {
    pub(in crate::launch) fn next(&self) -> u64 {
        self.0.rip
    }

    pub(in crate::launch) fn stack(&self) -> u64 {
        self.0.rsp
    }

    pub(in crate::launch) fn result(&self) -> i64 {
        self.0.rax as i64
    }

    /// Lets a thread that stops as it leaves a call make this one in its place, with the same
    /// arguments; unless a handler of a signal is to run, for then the call ends with EINTR.
    pub(in crate::launch) fn make_again(&mut self, number: i64, _first: u64) {
        // Of `linux/errno.h`; the kernel takes it for its own, and no program ever sees it.
        const ERESTARTNOHAND: i64 = 514;
        self.0.orig_rax = number as u64;
        self.0.rax = -ERESTARTNOHAND as u64;
    }

    /// Lets a thread that has stopped in this call, which returns to `address`, make another one in
    /// its place; unless a handler of a signal is to run, for then the call ends with EINTR. Returns
    /// whether: not if the call has something to say, or is over.
    pub(in crate::launch) fn waited_in_vain(
        &mut self,
        number: i64,
        address: u64,
        in_vain: i64,
    ) -> bool {
        /// `EINTR`, and those of `linux/errno.h` with which the kernel makes a call again.
        const INTERRUPTED: [i64; 5] = [4, 512, 513, 514, 516];
        let is_in_it = self.0.rip == address && self.0.orig_rax as i64 == number;
        let in_vain_wait = is_in_it && INTERRUPTED.contains(&-self.result());
        if in_vain_wait {
            self.make_again(in_vain, 0);
        }
        in_vain_wait
    }

    /// The system call that the thread was stopped in, as the kernel has left it: number,
    /// arguments and result.
    pub(in crate::launch) fn call(&self) -> Option<(i64, [u64; 6], i64)> {
        let own = &self.0;
        let args = [own.rdi, own.rsi, own.rdx, own.r10, own.r8, own.r9];
        let number = own.orig_rax as i64;
        (number >= 0).then_some((number, args, own.rax as i64))
    }

    /// Lets the thread make its call again, with this in the register of the number.
    pub(in crate::launch) fn call_again(&mut self, number: u64) {
        self.0.rip -= SYSCALL.len() as u64;
        self.0.rax = number;
        // So that the kernel does not go on with the call itself.
        self.0.orig_rax = u64::MAX;
    }

    /// Prepares a system call by the instruction at an address.
    pub(in crate::launch) fn set_call(&mut self, at: u64, number: i64, args: [u64; 6]) {
        let own = &mut self.0;
        own.rip = at;
        own.rax = number as u64;
        // So that the kernel does not restart a call of the program's own.
        own.orig_rax = u64::MAX;
        [own.rdi, own.rsi, own.rdx, own.r10, own.r8, own.r9] = args;
    }
}
