//! Pointing the kernel's vDSO in a running program at the image, in place.
//!
//! A program has looked the addresses of the vDSO's functions up long ago and keeps them where
//! nobody can find them. So the first octets of each function that reads a clock are replaced by
//! a jump to the function of the image. The image itself reads host time by the same function:
//! the instructions that made way are repeated in a page of their own, from where a jump leads
//! to those behind them. Where they cannot be moved (they say where something lies relative to
//! themselves, or something jumps into them), the image reads host time by a system call:
//! slower, and as right. x86-64.

use std::io;

use vtime::image::{IMAGE, ORIGINAL};

use crate::launch::arch::VDSO_PREFIX;
use crate::launch::image::{self, LINKED_LENGTH};
use os::elf;

const _: () = assert!(IMAGE + LINKED_LENGTH <= ORIGINAL);

/// The functions that read a clock. `clock_getres` reports the same in both.
const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// `mov eax, imm32; jmp rax`: the image lies low, and `rax` is free at a function's beginning.
const JUMP_LENGTH: usize = 7;

/// What is written over the vDSO of this kernel, and what makes way.
#[derive(Debug)]
pub(in crate::launch) struct Patch {
    /// Offset in the vDSO, and the jump that goes there.
    pub(super) jumps: Vec<(u64, [u8; JUMP_LENGTH])>,
    /// The instructions of `clock_gettime` that made way, if they can be moved.
    moved: Option<(u64, Vec<u8>)>,
}

impl Patch {
    /// Works it out from our own vDSO, which is that of all programs.
    ///
    /// # Errors
    /// When this kernel gives programs no vDSO.
    pub(in crate::launch) fn new() -> io::Result<Self> {
        let vdso = image::own_vdso()
            .ok_or_else(|| io::Error::other("this kernel gives programs no vDSO"))?;
        let mut jumps = Vec::new();
        for name in CLOCKS.map(|name| format!("{VDSO_PREFIX}{name}")) {
            let name = name.as_str();
            if let (Some(at), Some(to)) = (elf::symbol(vdso, name), image::function(name)) {
                jumps.push((at, jump(to)));
            }
        }
        let clock_gettime = elf::symbol(vdso, &format!("{VDSO_PREFIX}{}", CLOCKS[0]));
        let moved = clock_gettime.and_then(|at| {
            let length = movable(vdso, usize::try_from(at).ok()?, JUMP_LENGTH)?;
            let from = usize::try_from(at).ok()?;
            Some((at, vdso[from..from + length].to_vec()))
        });
        Ok(Self { jumps, moved })
    }

    /// The code that does what `clock_gettime` of a vDSO at this address did; `None` if there
    /// can be none.
    pub(super) fn original(&self, vdso: u64) -> Option<Vec<u64>> {
        let (at, moved) = self.moved.as_ref()?;
        let mut code = moved.clone();
        // `jmp [rip]`, with the address behind it.
        code.extend([0xff, 0x25, 0, 0, 0, 0]);
        code.extend((vdso + at + moved.len() as u64).to_le_bytes());
        code.resize(code.len().next_multiple_of(8), 0xcc);
        Some(code.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }
}

fn jump(to: u64) -> [u8; JUMP_LENGTH] {
    let [a, b, c, d] = u32::try_from(to).expect("the image lies low").to_le_bytes();
    [0xb8, a, b, c, d, 0xff, 0xe0]
}

/// Octets of the whole instructions from `at` on that cover at least `least`, if each does the
/// same elsewhere and nothing jumps into the midst of them.
fn movable(code: &[u8], at: usize, least: usize) -> Option<usize> {
    let mut length = 0;
    while length < least {
        length += independent(code.get(at + length..)?)?;
    }
    (!jumped_into(code, at, length)).then_some(length)
}

/// The length of an instruction that does the same wherever it lies; of those with which
/// compilers begin functions.
fn independent(code: &[u8]) -> Option<usize> {
    let register_to_register = |octet: &u8| *octet >= 0xc0;
    match code {
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => Some(4),
        [0x50..=0x57, ..] => Some(1),
        [0x41, 0x50..=0x57, ..] => Some(2),
        // mov, test, xor and the like between registers
        [0x31 | 0x85 | 0x89 | 0x8b, modrm, ..] if register_to_register(modrm) => Some(2),
        [0x40..=0x4f, 0x31 | 0x85 | 0x89 | 0x8b, modrm, ..] if register_to_register(modrm) => {
            Some(3)
        }
        // add, and, sub, cmp with a constant of 8 or 32 bits
        [0x83, modrm, ..] if register_to_register(modrm) => Some(3),
        [0x40..=0x4f, 0x83, modrm, ..] if register_to_register(modrm) => Some(4),
        [0x81, modrm, ..] if register_to_register(modrm) => Some(6),
        [0x40..=0x4f, 0x81, modrm, ..] if register_to_register(modrm) => Some(7),
        [0xb8..=0xbf, ..] => Some(5),
        _ => None,
    }
}

/// Whether anything that may be a relative jump or call leads behind `at` and before
/// `at + length`. Looks at each octet as if it began an instruction: what is none may make this
/// say yes, but never no.
fn jumped_into(code: &[u8], at: usize, length: usize) -> bool {
    let into = |next: usize, by: i64| {
        let target = next as i64 + by;
        target > at as i64 && target < (at + length) as i64
    };
    (0..code.len()).any(|from| match &code[from..] {
        [0x70..=0x7f | 0xe0..=0xe3 | 0xeb, by, ..] => into(from + 2, i64::from(by.cast_signed())),
        [0x0f, 0x80..=0x8f, a, b, c, d, ..] => {
            into(from + 6, i64::from(i32::from_le_bytes([*a, *b, *c, *d])))
        }
        [0xe8 | 0xe9, a, b, c, d, ..] => {
            into(from + 5, i64::from(i32::from_le_bytes([*a, *b, *c, *d])))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// push rbp; mov rbp, rsp; push r14; push rbx; and rsp, -16
    const PROLOGUE: [u8; 11] = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0x53, 0x48, 0x83, 0xe4, 0xf0];

    #[test]
    fn whole_instructions_make_way() {
        assert_eq!(movable(&PROLOGUE, 0, 7), Some(7));
        assert_eq!(movable(&PROLOGUE, 0, 8), Some(11));
        assert_eq!(movable(&PROLOGUE[..6], 0, 7), None, "it ends before");
    }

    #[test]
    fn what_says_where_something_lies_relative_to_itself_stays() {
        // push rbp; lea r10, [rip - 0x6818]
        let code = [0x55, 0x4c, 0x8d, 0x15, 0xe8, 0x97, 0xff, 0xff, 0x90];
        assert_eq!(movable(&code, 0, 7), None);
    }

    #[test]
    fn what_something_jumps_into_stays() {
        let mut code = PROLOGUE.to_vec();
        // jmp to the second instruction
        code.extend([0xeb, (-12i8).cast_unsigned()]);
        assert_eq!(movable(&code, 0, 7), None);
        let last = code.len() - 1;
        // jmp to the first: the whole function again
        code[last] = (-13i8).cast_unsigned();
        assert_eq!(movable(&code, 0, 7), Some(7));
    }

    #[test]
    fn this_kernel_has_clocks_to_be_pointed_elsewhere() {
        let patch = Patch::new().unwrap();
        assert!(!patch.jumps.is_empty());
        println!("the beginning of clock_gettime: {:x?}", patch.moved);
    }
}
