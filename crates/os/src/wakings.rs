//! Which threads of the host were woken: a program of some instructions, which the kernel runs before a
//! thread becomes runnable, whoever wakes it and with whatever (tracepoint `sched_waking`), notes each in memory
//! that this process sees too. So a thread that slept, and of which nothing is noted since, sleeps on,
//! without a look at it.
//!
//! What an interrupt wakes is not always noted: where timers of hundreds of threads end at once, on a virtual
//! machine, dozens in a row were not, without being counted as missed. Who has woken another one
//! by a call of its own, or has sent it a frame, is noted. The kernel's other way to tell of its tracepoints,
//! perf_event_open(2), is no better: on the same host it told nothing while one of the processors was idle.
//!
//! It takes CAP_BPF and CAP_PERFMON, a kernel that describes its types (`CONFIG_DEBUG_INFO_BTF`), and threads that
//! have the numbers here that they have in the first process namespace: it is tried out with a thread of its own.
//! All of it is gone with its descriptors. bpf(2), `Documentation/bpf/btf.rst`

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libc::pid_t;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::kernel_types;

/// No thread has a number from here on (`PID_MAX_LIMIT` of 64-bit kernels), so this is an octet for each.
const NUMBERS: usize = 1 << 22;
/// So many of them stand in one word.
const GROUP: usize = size_of::<u64>();
/// Attempts to see a thread woken that slept for so long.
const ATTEMPTS: u32 = 50;
const SLEPT: Duration = Duration::from_micros(500);

/// Of `enum bpf_cmd`, `enum bpf_map_type`, `enum bpf_prog_type` and the flags of maps.
const MAP_CREATE: libc::c_long = 0;
const PROG_LOAD: libc::c_long = 5;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
/// Octets of `union bpf_attr` that are used.
const ATTRIBUTES: usize = 128;
/// The program below, which needs a helper that is for free programs alone, may be used under either.
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";

/// Some threads whose numbers follow each other, which cost no more to ask for than one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Group(u32);

impl Group {
    /// That to which a thread belongs; `None` if none has this number.
    pub fn of(thread: pid_t) -> Option<Self> {
        let number = u32::try_from(thread).ok()?;
        ((number as usize) < NUMBERS).then_some(Self(number / GROUP as u32))
    }
}

/// Who was woken, since this began or was last asked.
#[derive(Debug)]
pub struct Wakings {
    /// An octet for each number of a thread, which is not 0 if it was woken.
    woken: NonNull<AtomicU64>,
    /// The program runs for as long as this is open.
    _attached: OwnedFd,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Wakings {}

impl Wakings {
    /// Has them noted from now on.
    ///
    /// # Errors
    /// Where that is not allowed or not known to the kernel, or where threads have other numbers.
    pub fn begin() -> io::Result<Self> {
        let number_at = kernel_types::offset_of("task_struct", "pid")?;
        let map = array()?;
        let program = load(&instructions(&map, number_at))?;
        let attached = attach(&program)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let at = unsafe { mmap(null_mut(), NUMBERS, access, MapFlags::SHARED, &map, 0) }?;
        let woken = NonNull::new(at.cast()).expect("a mapping is nowhere near zero");
        let all = Self { woken, _attached: attached };
        match all.proves_itself() {
            true => Ok(all),
            false => Err(io::Error::other("a thread that was woken is not among those noted")),
        }
    }

    /// Tells who was woken since this was last asked, of threads that are in one of these groups, whether
    /// they are meant or not.
    ///
    /// # Panics
    /// If there is no such group, which is a bug of the caller.
    pub fn take(&self, groups: &[Group], mut woken: impl FnMut(pid_t)) {
        for group in groups {
            let place = group.0 as usize;
            assert!(place < NUMBERS / GROUP, "threads have no such numbers");
            // SAFETY: the mapping has this many octets.
            let word = unsafe { self.woken.add(place).as_ref() };
            if word.load(Ordering::Acquire) == 0 {
                continue;
            }
            for (at, octet) in word.swap(0, Ordering::AcqRel).to_ne_bytes().into_iter().enumerate()
            {
                if octet != 0 {
                    woken((place * GROUP + at) as pid_t);
                }
            }
        }
    }

    /// Whether a thread that slept and was woken is among those that are noted.
    fn proves_itself(&self) -> bool {
        let (said, number) = mpsc::channel();
        let (wake, sleeps) = mpsc::channel::<()>();
        let sleeper = move || {
            // SAFETY: takes nothing.
            let own = unsafe { libc::gettid() };
            while said.send(own).is_ok() && sleeps.recv().is_ok() {}
        };
        let Ok(thread) = thread::Builder::new().name("sleeper".into()).spawn(sleeper) else {
            return false;
        };
        let mut is_noted = false;
        for _ in 0..ATTEMPTS {
            let Ok(sleeper) = number.recv() else { break };
            thread::sleep(SLEPT);
            let Some(group) = Group::of(sleeper) else { break };
            self.take(&[group], |_| {});
            let _ = wake.send(());
            self.take(&[group], |woken| is_noted |= woken == sleeper);
            if is_noted {
                break;
            }
        }
        drop((wake, number));
        thread.join().is_ok() && is_noted
    }
}

impl Drop for Wakings {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own and not used afterwards.
        let _ = unsafe { munmap(self.woken.as_ptr().cast(), NUMBERS) };
    }
}

/// One of `struct bpf_insn`, where numbers begin with their lowest octet.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    let low = [code, from << 4 | to, offset.to_le_bytes()[0], offset.to_le_bytes()[1]];
    u32::from_le_bytes(low) as u64 | (number as u64) << 32
}

/// Notes the thread that is the first argument of the tracepoint, whose number stands so far behind its begin.
fn instructions(map: &OwnedFd, number_at: usize) -> Vec<u64> {
    const PROBE_READ_KERNEL: i32 = 113;
    // The instruction after the last that does something.
    const END: i16 = 14;
    vec![
        // r3 = argument 0 + where its number is
        instruction(0x79, 3, 1, 0, 0),
        instruction(0x07, 3, 0, 0, number_at as i32),
        // r0 = probe_read_kernel(stack - 8, 4, r3)
        instruction(0xbf, 1, 10, 0, 0),
        instruction(0x07, 1, 0, 0, -8),
        instruction(0xb7, 2, 0, 0, 4),
        instruction(0x85, 0, 0, 0, PROBE_READ_KERNEL),
        // if r0 != 0 end
        instruction(0x55, 0, 0, END - 7, 0),
        // r7 = the number; if r7 >= NUMBERS end
        instruction(0x61, 7, 10, -8, 0),
        instruction(0x35, 7, 0, END - 9, NUMBERS as i32),
        // r1 = the first octet of the map + r7
        instruction(0x18, 1, 2, 0, map.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        instruction(0x0f, 1, 7, 0, 0),
        // *r1 = 1
        instruction(0xb7, 2, 0, 0, 1),
        instruction(0x73, 1, 2, 0, 0),
        // END
        instruction(0xb7, 0, 0, 0, 0),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

fn array() -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new();
    attributes.u32(0, MAP_TYPE_ARRAY).u32(4, 4).u32(8, NUMBERS as u32).u32(12, 1);
    attributes.u32(16, MAP_MMAPABLE);
    new_descriptor(MAP_CREATE, &attributes)
}

fn load(instructions: &[u64]) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new();
    attributes.u32(0, PROG_TYPE_RAW_TRACEPOINT).u32(4, instructions.len() as u32);
    attributes.address(8, instructions.as_ptr().cast()).address(16, LICENSE.as_ptr().cast());
    new_descriptor(PROG_LOAD, &attributes)
}

fn attach(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new();
    attributes.address(0, c"sched_waking".as_ptr().cast());
    attributes.u32(8, program.as_raw_fd().cast_unsigned());
    new_descriptor(RAW_TRACEPOINT_OPEN, &attributes)
}

fn new_descriptor(command: libc::c_long, attributes: &Attributes) -> io::Result<OwnedFd> {
    let descriptor = call(command, attributes)?;
    // SAFETY: the descriptor is new and nobody else's. The kernel closes these on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn call(command: libc::c_long, attributes: &Attributes) -> io::Result<libc::c_long> {
    // SAFETY: the octets are read for the size that is said, and addresses in them are those of memory that lives
    // until then.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command, attributes.0.as_ptr(), ATTRIBUTES) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// `union bpf_attr`.
#[repr(C, align(8))]
struct Attributes([u8; ATTRIBUTES]);

impl Attributes {
    const fn new() -> Self {
        // SAFETY: octets.
        unsafe { zeroed() }
    }

    fn u32(&mut self, at: usize, value: u32) -> &mut Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn address(&mut self, at: usize, value: *const u8) -> &mut Self {
        self.0[at..at + 8].copy_from_slice(&(value as u64).to_ne_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at_rest::{Found, Looked};

    fn until_asleep(look: &Looked) {
        while !matches!(look.look(), Found::Asleep(_)) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn was_woken(wakings: &Wakings, thread: pid_t) -> bool {
        let mut was_woken = false;
        wakings.take(&[Group::of(thread).unwrap()], |woken| was_woken |= woken == thread);
        was_woken
    }

    #[test]
    fn who_is_woken_is_noted_where_that_is_allowed() {
        let wakings = match Wakings::begin() {
            Ok(wakings) => wakings,
            Err(error) => return println!("not measured: {error}"),
        };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = child.id().cast_signed();
        let look = Looked::open(number, number).unwrap();
        until_asleep(&look);
        was_woken(&wakings, number);
        assert!(!was_woken(&wakings, number), "it sleeps");
        child.kill().unwrap();
        assert!(was_woken(&wakings, number), "the signal has woken it");
        child.wait().unwrap();
        assert!(Group::of(-1).or_else(|| Group::of(1 << 22)).is_none());
        assert_ne!(Group::of(7), Group::of(8));
        wakings.take(&[Group::of((1 << 22) - 1).unwrap()], |_| {});
    }

    #[test]
    fn who_is_woken_by_another_thread_is_noted_on_each_processor() {
        let Ok(wakings) = Wakings::begin() else {
            return println!("not measured: this user may not have it noted who is woken");
        };
        for processor in 0..thread::available_parallelism().unwrap().get() {
            let (said, number) = mpsc::channel();
            let (wake, sleeps) = mpsc::channel::<()>();
            let sleeper = thread::spawn(move || {
                // It may be one that this process may not use.
                let _ = crate::realtime::pin(processor);
                // SAFETY: takes nothing.
                let own = unsafe { libc::gettid() };
                while said.send(own).is_ok() && sleeps.recv().is_ok() {}
            });
            for _ in 0..200 {
                let own = number.recv().unwrap();
                until_asleep(&Looked::open(std::process::id().cast_signed(), own).unwrap());
                was_woken(&wakings, own);
                wake.send(()).unwrap();
                assert!(was_woken(&wakings, own), "on processor {processor}");
            }
            drop((wake, number));
            sleeper.join().unwrap();
        }
    }
}
