//! Putting one stopped process into virtual time, step by step, each of which can be undone, and
//! the filter last: filters cannot be removed.
//!
//! One thread of the process makes the system calls for that, led by ptrace, while all others
//! stand. It gets image and pages through a socket of its own, whose other end is fetched from
//! it: that works whatever it may open and whatever it sees of `/proc`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::{c_long, pid_t};
use vtime::image::{CLOCK, IMAGE, ORIGINAL, OWN, OWN_SIZE, PAGE_SIZE, PROCESS};
use vtime::masks;

use super::tree::Thread;
use super::vdso::Patch;
use crate::launch::arch::Registers;
use crate::launch::equip::{Equipment, put_functions};
use crate::launch::filter;
use crate::launch::tracee::{Call, Tracee};
use os::fds;
use os::process::{Process, signal_set, status_of};
use os::seccomp;

const SIGTRAP_BIT: u64 = 1 << (libc::SIGTRAP - 1);
/// Room for what calls point to, the filter above all.
const SCRATCH_LENGTH: usize = 4 * PAGE_SIZE;

/// A process on its way into virtual time, and the way back.
pub(super) struct Insertion<'p> {
    equipment: &'p Equipment,
    patch: &'p Patch,
    tracee: &'p mut Tracee,
    process: Process,
    vdso: u64,
    /// A system call instruction that may be borrowed.
    at: u64,
    scratch: u64,
    registers: Registers,
    blocked: u64,
    undo: Vec<Undo>,
}

#[derive(Debug)]
enum Undo {
    Unmap(usize, usize),
    Poke(u64, u64),
    Action(i32, [u64; 4]),
}

impl<'p> Insertion<'p> {
    /// Begins with a thread of the process, whose vDSO lies at this address.
    pub(super) fn begin(
        equipment: &'p Equipment,
        patch: &'p Patch,
        process: pid_t,
        thread: &'p mut Thread,
        vdso: u64,
    ) -> io::Result<Self> {
        let tracee = &mut thread.tracee;
        let (registers, blocked) = (tracee.registers()?, tracee.blocked()?);
        // The kernel would reset a blocked SIGTRAP to its default action at the first step.
        tracee.set_blocked(!SIGTRAP_BIT)?;
        let at = vdso + equipment.addresses.vdso.syscall;
        let process = Process::open_with_files(process)?;
        let mut insertion = Self {
            equipment,
            patch,
            tracee,
            process,
            vdso,
            at,
            scratch: 0,
            registers,
            blocked,
            undo: Vec::new(),
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        match insertion.mmap(0, SCRATCH_LENGTH, access, anonymous, u64::MAX) {
            Ok(scratch) => insertion.scratch = scratch,
            Err(error) => {
                insertion.end();
                return Err(error);
            }
        }
        Ok(insertion)
    }

    pub(super) fn map(&mut self, own: BorrowedFd<'_>) -> io::Result<()> {
        const READ: i32 = libc::PROT_READ;
        const WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        const EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;
        let equipment = self.equipment;
        let [image, clock, own] = self.give(equipment.files(own))?;
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let none = u64::MAX;
        let mut mapped = Ok(());
        for (address, length, access, sharing, fd) in [
            (IMAGE, ORIGINAL - IMAGE, EXECUTE, libc::MAP_SHARED, image),
            (ORIGINAL, PAGE_SIZE, EXECUTE, anonymous, none),
            (PROCESS, PAGE_SIZE, WRITE, anonymous, none),
            (CLOCK, PAGE_SIZE, READ, libc::MAP_SHARED, clock),
            (OWN, OWN_SIZE, WRITE, libc::MAP_SHARED, own),
        ] {
            let flags = sharing | libc::MAP_FIXED_NOREPLACE;
            mapped = self.mmap(address, length, access, flags, fd).map(drop);
            if mapped.is_err() {
                break;
            }
            self.undo.push(Undo::Unmap(address, length));
        }
        for fd in [image, clock, own] {
            self.close(fd)?;
        }
        mapped?;
        let mut words = equipment.native_functions(self.vdso);
        words[0] = match self.patch.original(self.vdso) {
            Some(code) => self.tracee.write(ORIGINAL as u64, &code).map(|()| ORIGINAL as u64)?,
            None => 0,
        };
        put_functions(self.tracee, words)
    }

    /// Makes the image handle SIGSYS, and keeps it from being blocked in handlers. `caught` are
    /// the signals that the program handles.
    pub(super) fn take_signal(&mut self, caught: u64) -> io::Result<()> {
        let own = self.set_action(libc::SIGSYS, self.equipment.action())?;
        self.tracee.write(
            (PROCESS + std::mem::offset_of!(vtime::image::Process, sigsys_action)) as u64,
            &own,
        )?;
        let others = (1..=64).filter(|signal| *signal != libc::SIGSYS);
        for signal in others.filter(|signal| caught & 1 << (signal - 1) != 0) {
            let [handler, flags, restorer, mask] = self.action(signal)?;
            if mask & masks::SIGSYS_BIT != 0 {
                self.set_action(signal, [handler, flags, restorer, masks::kept(mask)])?;
            }
        }
        Ok(())
    }

    pub(super) fn point_vdso(&mut self) -> io::Result<()> {
        for (offset, jump) in &self.patch.jumps {
            let at = self.vdso + offset;
            let mut octets = [0; 8];
            let count = self.tracee.read(at, &mut octets)?;
            if count < octets.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let before = u64::from_le_bytes(octets);
            octets[..jump.len()].copy_from_slice(jump);
            self.tracee.write(at, &[u64::from_le_bytes(octets)]).map_err(|error| {
                io::Error::other(format!("cannot write to its vDSO ({error}); is it sealed?"))
            })?;
            self.undo.push(Undo::Poke(at, before));
        }
        Ok(())
    }

    /// Puts the filter on all its threads. From here on there is no way back. Returns where the
    /// filter reports.
    pub(super) fn install_filter(&mut self) -> io::Result<OwnedFd> {
        const PR_SET_NO_NEW_PRIVS: u64 = 38;
        const HEADER: u64 = 16;
        self.call(libc::SYS_prctl, [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0])?;
        let filter = filter::program(false);
        let steps = filter.iter().map(|step| {
            u64::from(step.code)
                | u64::from(step.jt) << 16
                | u64::from(step.jf) << 24
                | u64::from(step.k) << 32
        });
        let code: Vec<u64> = steps.collect();
        assert!(size_of_val(&*code) + 16 <= SCRATCH_LENGTH, "the filter has room");
        // `struct sock_fprog`
        self.write(0, &[code.len() as u64, self.scratch + HEADER])?;
        self.write(HEADER, &code)?;
        let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
        let flags = seccomp::listener_flags() | flags;
        let mode = u64::from(libc::SECCOMP_SET_MODE_FILTER);
        let fd = self.call(libc::SYS_seccomp, [mode, flags, self.scratch, 0, 0, 0])?;
        self.undo.clear();
        // Calls at the image's own instruction pass the filter.
        self.at = self.equipment.addresses.syscall;
        let listener = self.process.descriptor(fd as i32);
        self.close(fd)?;
        listener
    }

    /// Makes a call of the kernel with an argument that points to words, and reads them back.
    pub(super) fn call_with<const N: usize>(
        &mut self,
        number: c_long,
        arguments: impl FnOnce(u64) -> [u64; 6],
        words: [u64; N],
    ) -> io::Result<[u64; N]> {
        self.write(0, &words)?;
        self.call(number, arguments(self.scratch))?;
        self.words(0)
    }

    /// The thread that makes the calls.
    pub(super) const fn thread(&self) -> pid_t {
        self.tracee.thread()
    }

    /// Undoes what was done, as far as it can be undone.
    pub(super) fn undo(mut self) {
        while let Some(step) = self.undo.pop() {
            // Fails only if the process is gone.
            let _ = match step {
                Undo::Unmap(address, length) => self
                    .call(libc::SYS_munmap, [address as u64, length as u64, 0, 0, 0, 0])
                    .map(drop),
                Undo::Poke(at, before) => self.tracee.write(at, &[before]),
                Undo::Action(signal, before) => self.set_action(signal, before).map(drop),
            };
        }
        self.end();
    }

    pub(super) fn end(mut self) {
        // All of it fails only if the process is gone.
        if self.scratch != 0 {
            let args = [self.scratch, SCRATCH_LENGTH as u64, 0, 0, 0, 0];
            let _ = self.call(libc::SYS_munmap, args);
        }
        let _ = self.tracee.set_registers(&self.registers);
        let _ = self.tracee.set_blocked(self.blocked);
    }

    /// Sends files of ours to the process. Returns their numbers there.
    fn give(&mut self, files: [BorrowedFd<'_>; 3]) -> io::Result<[u64; 3]> {
        const PAIR: u64 = 0;
        const HEADER: u64 = 64;
        const VECTOR: u64 = 128;
        const OCTET: u64 = 160;
        const CONTROL: u64 = 192;
        const CONTROL_LENGTH: u64 = 64;
        let (unix, kind) = (libc::AF_UNIX as u64, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC);
        let args = [unix, kind as u64, 0, self.scratch + PAIR, 0, 0];
        self.call(libc::SYS_socketpair, args)?;
        let [pair] = self.words(PAIR)?;
        let (ours, theirs) = (pair & 0xffff_ffff, pair >> 32);
        let sent = self.process.descriptor(ours as i32);
        let sent = sent.and_then(|socket| fds::send(socket.as_fd(), &[0], &files));
        let scratch = self.scratch;
        let header = [0, 0, scratch + VECTOR, 1, scratch + CONTROL, CONTROL_LENGTH, 0];
        self.write(HEADER, &header)?;
        self.write(VECTOR, &[scratch + OCTET, 1])?;
        let args = [theirs, scratch + HEADER, libc::MSG_CMSG_CLOEXEC as u64, 0, 0, 0];
        let received = sent.and_then(|()| self.call(libc::SYS_recvmsg, args));
        self.close(ours)?;
        self.close(theirs)?;
        received?;
        // Length, level and kind of the control message, and the numbers of 32 bits.
        let [length, _, first, last] = self.words(CONTROL)?;
        if length < 16 + 3 * 4 {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        Ok([first & 0xffff_ffff, first >> 32, last & 0xffff_ffff])
    }

    fn mmap(
        &mut self,
        at: usize,
        length: usize,
        access: i32,
        flags: i32,
        fd: u64,
    ) -> io::Result<u64> {
        let args = [at as u64, length as u64, access as u64, flags as u64, fd, 0];
        self.call(libc::SYS_mmap, args)
    }

    fn close(&mut self, fd: u64) -> io::Result<()> {
        self.call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]).map(drop)
    }

    fn action(&mut self, signal: i32) -> io::Result<[u64; 4]> {
        let args = [signal as u64, 0, self.scratch, 8, 0, 0];
        self.call(libc::SYS_rt_sigaction, args)?;
        self.words(0)
    }

    /// Sets the action of a signal and returns the one before.
    fn set_action(&mut self, signal: i32, action: [u64; 4]) -> io::Result<[u64; 4]> {
        const OLD: u64 = 32;
        self.write(0, &action)?;
        let args = [signal as u64, self.scratch, self.scratch + OLD, 8, 0, 0];
        self.call(libc::SYS_rt_sigaction, args)?;
        let before = self.words(OLD)?;
        self.undo.push(Undo::Action(signal, before));
        Ok(before)
    }

    fn call(&mut self, number: c_long, args: [u64; 6]) -> io::Result<u64> {
        self.tracee.call(&Call { at: self.at, number, args })
    }

    fn write(&self, offset: u64, words: &[u64]) -> io::Result<()> {
        self.tracee.write(self.scratch + offset, words)
    }

    fn words<const N: usize>(&self, offset: u64) -> io::Result<[u64; N]> {
        let mut octets = [[0u8; 8]; N];
        let count = self.tracee.read(self.scratch + offset, octets.as_flattened_mut())?;
        if count < 8 * N {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(octets.map(u64::from_le_bytes))
    }
}

pub(super) fn caught(process: pid_t) -> u64 {
    signal_set(&status_of(process), "SigCgt")
}
