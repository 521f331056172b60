//! Memory of the program that a call points to.
//!
//! The kernel answers EFAULT where an address points nowhere; following such an address in the
//! image would end the program instead. So values are copied by process_vm_readv(2) and its
//! counterpart, on the program itself, which answer EFAULT too. Where a filter of the program's
//! own forbids these, the address is followed.

use core::mem::MaybeUninit;

use crate::arch::{self, nr};

pub(crate) const EFAULT: isize = -14;

#[repr(C)]
struct Range {
    base: usize,
    length: usize,
}

/// Reads a value at an address of the program.
///
/// # Safety
/// `T` must be valid whatever its octets are.
pub(crate) unsafe fn read<T: Copy>(address: usize) -> Result<T, isize> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the value is as long as the range; the program's side is checked by the kernel.
    unsafe { copy(nr::PROCESS_VM_READV, value.as_mut_ptr() as usize, address, size_of::<T>())? };
    // SAFETY: all its octets are written, and any are valid.
    Ok(unsafe { value.assume_init() })
}

/// Reads octets at an address of the program to memory of ours.
///
/// # Safety
/// `ours` must be valid for `length` octets, whatever they are.
pub(crate) unsafe fn read_to(ours: usize, address: usize, length: usize) -> Result<(), isize> {
    // SAFETY: as the caller vouches; the program's side is checked by the kernel.
    unsafe { copy(nr::PROCESS_VM_READV, ours, address, length) }
}

pub(crate) fn write<T: Copy>(address: usize, value: &T) -> Result<(), isize> {
    // SAFETY: the value is as long as that.
    unsafe { write_from(&raw const *value as usize, address, size_of::<T>()) }
}

/// Writes octets of ours to an address of the program.
///
/// # Safety
/// `ours` must be valid for `length` octets.
pub(crate) unsafe fn write_from(ours: usize, address: usize, length: usize) -> Result<(), isize> {
    // SAFETY: as the caller vouches; the program's side is checked by the kernel.
    unsafe { copy(nr::PROCESS_VM_WRITEV, ours, address, length) }
}

/// Copies between memory of the image and of the program.
///
/// # Safety
/// `ours` must be valid for `length` octets.
#[inline(never)]
unsafe fn copy(number: i32, ours: usize, theirs: usize, length: usize) -> Result<(), isize> {
    let (ours, theirs) = (Range { base: ours, length }, Range { base: theirs, length });
    // SAFETY: takes nothing.
    let process = unsafe { arch::syscall(nr::GETPID, [0; 6]) };
    let args = [process as usize, &raw const ours as usize, 1, &raw const theirs as usize, 1, 0];
    // SAFETY: the ranges are live, and valid on our side as the caller vouches.
    let copied = unsafe { arch::syscall(number, args) };
    if copied == length as isize {
        return Ok(());
    }
    if copied >= 0 || copied == EFAULT {
        return Err(EFAULT);
    }
    let (from, to) = match number {
        nr::PROCESS_VM_READV => (theirs.base, ours.base),
        _ => (ours.base, theirs.base),
    };
    for octet in 0..length {
        // SAFETY: what the program points to, the kernel would have followed too.
        unsafe {
            let value = core::ptr::read_volatile((from + octet) as *const u8);
            core::ptr::write_volatile((to + octet) as *mut u8, value);
        }
    }
    Ok(())
}
