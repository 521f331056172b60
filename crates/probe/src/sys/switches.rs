//! Which task had a core when, as the kernel's own recorder has it (perf_event_open(2), records of
//! the kind `PERF_RECORD_SWITCH_CPU_WIDE`).
//!
//! The recorder works like that of an aeroplane: the kernel overwrites what is oldest, and nobody
//! reads until something has happened. So it costs a few hundred nanoseconds at each switch and
//! nothing else. It needs CAP_PERFMON, or `kernel.perf_event_paranoid` of 0 or less.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::Mapping;
use crate::clock::HostTime;

/// Pages of records, a power of two: some 4000 switches, more than what happens between the end of
/// a stall and the moment that the collector looks.
const PAGES: usize = 64;
/// From the kernel's `perf_event.h`.
const TYPE_SOFTWARE: u32 = 1;
const COUNT_SW_DUMMY: u64 = 9;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
const WRITE_BACKWARD: u64 = 1 << 27;
const RECORD_SWITCH_CPU_WIDE: u32 = 15;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const IOC_PAUSE_OUTPUT: u64 = 0x4004_2409;
/// Where `data_head` stands in the first page.
const DATA_HEAD_OFFSET: usize = 1024;

/// One switch of a core from one task to another; task 0 is the idle one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switch {
    pub(crate) at: HostTime,
    pub(crate) from: i32,
    pub(crate) to: i32,
}

/// The beginning of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// Records the switches of one core for as long as it is there.
#[derive(Debug)]
pub(crate) struct Recorder {
    fd: OwnedFd,
    /// Of which the first page is not of records. Read-only: the kernel overwrites what nobody has read.
    map: Mapping,
}

impl Recorder {
    /// # Errors
    /// `EACCES` or `EPERM` without the right, `ENOSYS` or `ENOENT` on kernels without it.
    pub(crate) fn of_core(core: usize) -> io::Result<Self> {
        // SAFETY: a plain structure of numbers.
        let mut attributes: Attributes = unsafe { zeroed() };
        attributes.kind = TYPE_SOFTWARE;
        attributes.size = size_of::<Attributes>() as u32;
        attributes.config = COUNT_SW_DUMMY;
        attributes.sample_type = SAMPLE_TID | SAMPLE_TIME;
        attributes.flags = SAMPLE_ID_ALL | USE_CLOCKID | CONTEXT_SWITCH | WRITE_BACKWARD;
        attributes.clockid = libc::CLOCK_MONOTONIC;
        // SAFETY: the structure is read for the size that it says; the rest are numbers.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                -1,
                core as libc::c_int,
                -1,
                libc::c_long::from(1u32 << 3), // PERF_FLAG_FD_CLOEXEC
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let map = Mapping::shared(&fd, (1 + PAGES) * rustix::param::page_size())?;
        Ok(Self { fd, map })
    }

    /// The last switches, oldest first.
    pub(crate) fn switches(&self) -> Vec<Switch> {
        self.pause(true);
        // SAFETY: an aligned number in the first page, which the kernel writes as a whole.
        let head = unsafe { &*self.map.start().add(DATA_HEAD_OFFSET).cast::<AtomicU64>() };
        let head = head.load(Ordering::Acquire);
        let page = self.map.octets / (1 + PAGES);
        let mut records = vec![0; PAGES * page];
        // SAFETY: all pages after the first hold records; the kernel does not write meanwhile.
        unsafe {
            let data = self.map.start().add(page);
            std::ptr::copy_nonoverlapping(data, records.as_mut_ptr(), records.len());
        }
        self.pause(false);
        let newest = (head % records.len() as u64) as usize;
        records.rotate_left(newest);
        let mut switches = switches_in(&records);
        switches.reverse();
        switches
    }

    fn pause(&self, pause: bool) {
        // A recorder that cannot be paused only makes what is read less sure.
        // SAFETY: takes numbers only.
        unsafe {
            libc::ioctl(self.fd.as_raw_fd(), IOC_PAUSE_OUTPUT as _, libc::c_ulong::from(pause))
        };
    }
}

/// The switches in records that follow each other, newest first, up to the first that makes no
/// sense: there the older ones are overwritten, or never were.
fn switches_in(mut records: &[u8]) -> Vec<Switch> {
    let mut switches = Vec::new();
    while let Some((record, rest)) = split(records) {
        records = rest;
        if let Some(switch) = switch(record) {
            switches.push(switch);
        }
    }
    switches
}

fn split(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let octets = u16::from_ne_bytes([*records.get(6)?, *records.get(7)?]);
    if octets < 8 {
        return None;
    }
    records.split_at_checked(octets.into())
}

/// A record of a switch away from a task:
/// `type:u32 misc:u16 size:u16 next_pid:u32 next_tid:u32 pid:u32 tid:u32 time:u64`.
fn switch(record: &[u8]) -> Option<Switch> {
    let u32_at = |at: usize| Some(u32::from_ne_bytes(*record.get(at..)?.first_chunk()?));
    let misc = u16::from_ne_bytes(*record.get(4..)?.first_chunk()?);
    if u32_at(0)? != RECORD_SWITCH_CPU_WIDE || misc & MISC_SWITCH_OUT == 0 {
        return None;
    }
    let at_ns = u64::from_ne_bytes(*record.get(24..)?.first_chunk()?);
    let (from, to) = (u32_at(20)?.cast_signed(), u32_at(12)?.cast_signed());
    Some(Switch { at: HostTime::from_ns(at_ns.cast_signed()), from, to })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::{self, HostSpan};

    fn record(kind: u32, misc: u16, to: u32, from: u32, at_ns: u64) -> Vec<u8> {
        let mut octets = Vec::new();
        octets.extend(kind.to_ne_bytes());
        octets.extend(misc.to_ne_bytes());
        octets.extend(32u16.to_ne_bytes());
        for number in [7, to, 8, from] {
            octets.extend(number.to_ne_bytes());
        }
        octets.extend(at_ns.to_ne_bytes());
        octets
    }

    #[test]
    fn switches_away_are_read_until_the_records_end() {
        let mut records = record(RECORD_SWITCH_CPU_WIDE, MISC_SWITCH_OUT, 5, 0, 300);
        records.extend(record(RECORD_SWITCH_CPU_WIDE, 0, 5, 0, 299));
        records.extend(record(2, 0, 0, 0, 250));
        records.extend(record(RECORD_SWITCH_CPU_WIDE, MISC_SWITCH_OUT, 0, 5, 200));
        records.extend([0; 16]);
        let switch = |ns, from, to| Switch { at: HostTime::from_ns(ns), from, to };
        assert_eq!(switches_in(&records), [switch(300, 0, 5), switch(200, 5, 0)]);
    }

    proptest! {
        #[test]
        fn any_octets_are_read_without_harm(octets: Vec<u8>) {
            switches_in(&octets);
        }
    }

    #[test]
    fn this_thread_is_seen_to_come_and_go_where_that_is_allowed() {
        os::realtime::pin(0).unwrap();
        let Ok(recorder) = Recorder::of_core(0) else { return };
        let begin = clock::now();
        clock::sleep_until(begin + HostSpan::from_ms(2));
        let end = clock::now();
        let own = crate::sys::thread::id();
        let switches = recorder.switches();
        assert!(switches.is_sorted_by_key(|switch| switch.at));
        let within = |switch: &&Switch| (begin..=end).contains(&switch.at);
        let mut seen = switches.iter().filter(within);
        assert!(seen.any(|switch| switch.from == own), "{switches:?}");
        assert!(seen.any(|switch| switch.to == own), "{switches:?}");
    }
}
