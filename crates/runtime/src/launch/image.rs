//! The image that is mapped into programs, and the vDSO of the kernel, which the image calls for
//! host time.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use vtime::image::{IMAGE, IMAGE_SIZE_MAX};

use super::arch::{SYSCALL, SYSCALL_ALIGNMENT, VDSO_PREFIX};
use os::elf;

const LINKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/image.so"));

const _: () = assert!(LINKED.len() <= IMAGE_SIZE_MAX);

/// Octets of the image as it was linked.
pub(super) const LINKED_LENGTH: usize = LINKED.len();

/// The image with nothing behind it up to the end of its slot: the filter lets calls pass that are
/// made anywhere in the slot, so a program must find no room in it for code of its own.
static SLOT: [u8; IMAGE_SIZE_MAX] = {
    let mut slot = [0; IMAGE_SIZE_MAX];
    slot.split_at_mut(LINKED.len()).0.copy_from_slice(LINKED);
    slot
};
static IMAGE_FILE: &[u8] = &SLOT;

/// Octets to map for the image.
pub(super) const IMAGE_LENGTH: usize = SLOT.len();

/// Where things lie in programs: the same in all of them, but for the base of the vDSO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) sigsys: u64,
    pub(super) sigreturn: u64,
    pub(super) syscall: u64,
    pub(super) vdso: Vdso,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Vdso {
    /// `clock_gettime`, `getcpu` and `getrandom`, where there are, in the order of
    /// [`vtime::image::Process`].
    pub(super) functions: [Option<u64>; 3],
    pub(super) syscall: u64,
}

/// The image in a memfd of its own, so that all programs share its memory.
pub(super) fn memory() -> io::Result<OwnedFd> {
    use std::io::Write;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create(c"quartercycle-image", flags)?;
    std::fs::File::from(memory.try_clone()?).write_all(IMAGE_FILE)?;
    // One program with privileges could change it for all others, through its entry in /proc.
    let size = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&memory, size | SealFlags::WRITE)?;
    Ok(std::fs::File::open(format!("/proc/self/fd/{}", memory.as_raw_fd()))?.into())
}

/// Looks everything up once; the kernel maps the same vDSO into all 64-bit programs.
pub(super) fn addresses() -> io::Result<Addresses> {
    let ours = |name| {
        function(name).ok_or_else(|| io::Error::other(format!("the image has no symbol {name}")))
    };
    Ok(Addresses {
        sigsys: ours("image_sigsys")?,
        sigreturn: ours("image_sigreturn")?,
        syscall: ours("image_syscall")?,
        vdso: vdso()?,
    })
}

/// Where a function of the image lies in programs.
pub(super) fn function(name: &str) -> Option<u64> {
    elf::symbol(IMAGE_FILE, name).map(|offset| IMAGE as u64 + offset)
}

fn vdso() -> io::Result<Vdso> {
    let object = own_vdso().ok_or_else(|| {
        io::Error::other("this kernel gives programs no vDSO (booted with vdso=0?)")
    })?;
    let syscall = object
        .windows(SYSCALL.len())
        .step_by(SYSCALL_ALIGNMENT)
        .position(|octets| octets == SYSCALL)
        .ok_or_else(|| io::Error::other("the vDSO of this kernel contains no system call"))?;
    let native = |name| elf::symbol(object, &format!("{VDSO_PREFIX}{name}"));
    Ok(Vdso {
        functions: ["clock_gettime", "getcpu", "getrandom"].map(native),
        syscall: (syscall * SYSCALL_ALIGNMENT) as u64,
    })
}

/// The vDSO of this process as it lies in memory.
pub(super) fn own_vdso() -> Option<&'static [u8]> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    let from = usize::from_str_radix(from, 16).ok()?;
    let to = usize::from_str_radix(to, 16).ok()?;
    // SAFETY: the kernel maps this range readable for the life of the process.
    Some(unsafe { std::slice::from_raw_parts(from as *const c_void as *const u8, to - from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_in_the_image_and_in_the_vdso() {
        let found = addresses().unwrap();
        let image = IMAGE as u64..(IMAGE + LINKED_LENGTH) as u64;
        for address in [found.sigsys, found.sigreturn, found.syscall] {
            assert!(image.contains(&address));
        }
        assert!(found.vdso.functions[0].is_some());
        let verdict = vtime::image::VERDICT - IMAGE;
        assert_eq!(IMAGE_FILE[verdict - SYSCALL.len()..verdict], SYSCALL);
        let name = format!("{VDSO_PREFIX}clock_gettime");
        assert!(elf::symbol(IMAGE_FILE, &name).is_some());
        assert!(elf::symbol(IMAGE_FILE, &name[..name.len() - 1]).is_none());
    }
}
