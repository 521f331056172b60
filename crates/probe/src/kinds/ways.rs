//! The ways to wake another thread: each a call that wakes and a call that waits.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use os::packet::{PacketSocket, wait};
use os::process_bus::{INTERFACE, ProcessBus, Wiring};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::thread::futex;

use super::handover::Way;
use super::time_of_day::Distance;
use crate::clock::HostTime;
use crate::sys::signal::Signal;
use crate::sys::stamping::{self, KernelStamps};

/// A counter in the kernel, which a reader waits for (`os::wake` never does). eventfd(2)
pub(super) struct Eventfd(OwnedFd);

impl Eventfd {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }
}

impl Way for Eventfd {
    fn send(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1u64.to_ne_bytes())?;
        Ok(())
    }

    fn receive(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }
}

/// A word in memory that can be waited for: 1 if it is set. futex(2)
#[derive(Default)]
pub(super) struct Futex(AtomicU32);

impl Way for Futex {
    fn send(&self) -> io::Result<()> {
        self.0.store(1, Ordering::Release);
        futex::wake(&self.0, futex::Flags::PRIVATE, 1)?;
        Ok(())
    }

    fn receive(&self) -> io::Result<()> {
        while self.0.swap(0, Ordering::AcqRel) == 0 {
            match futex::wait(&self.0, futex::Flags::PRIVATE, 0, None) {
                // Set meanwhile, or woken for nothing: look again.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Way for Signal {
    fn send(&self) -> io::Result<()> {
        self.send_to_waiter()
    }

    fn receive(&self) -> io::Result<()> {
        self.wait()
    }
}

/// A pipe, one octet each time.
pub(super) struct Pipe {
    out: PipeReader,
    into: PipeWriter,
}

impl Pipe {
    pub(super) fn open() -> io::Result<Self> {
        let (out, into) = io::pipe()?;
        Ok(Self { out, into })
    }
}

impl Way for Pipe {
    fn send(&self) -> io::Result<()> {
        (&self.into).write_all(&[1])
    }

    fn receive(&self) -> io::Result<()> {
        (&self.out).read_exact(&mut [0])
    }
}

/// What the receiver of a datagram or frame knows beside it: used by one thread only.
///
/// The driver's stamp of what was sent waits at the sending socket. It is there before the other
/// side gets anything, and so the receiver takes it, once its sample has ended: the thread that
/// sends has no part in it.
///
/// Stamps are made between send and receive: a copy of what is sent, a further reading of the clock.
/// So they are part of what is measured, and there are none unless they are asked for.
struct Passed {
    stamps: KernelStamps,
    /// Of the clock that stamps; none: nothing is stamped.
    distance: Option<Distance>,
}

impl Passed {
    fn between(from: &impl AsFd, to: &impl AsFd, is_split: bool) -> io::Result<Mutex<Self>> {
        if is_split {
            stamping::stamp_sent(from)?;
            stamping::stamp_received(to)?;
        }
        let distance = is_split.then(Distance::read);
        Ok(Mutex::new(Self { stamps: KernelStamps::default(), distance }))
    }

    fn of(this: &Mutex<Self>) -> MutexGuard<'_, Self> {
        this.lock().expect("only one thread receives")
    }

    /// When the driver took it and when the stack got it. Not known if the time of day was set
    /// since the one before.
    fn noted(&mut self, from: &impl AsFd) -> [Option<HostTime>; 2] {
        let Some(distance) = &mut self.distance else { return [None; 2] };
        let [received_ns, sent_ns] = [self.stamps.received_ns(), self.stamps.sent_ns(from)];
        let holds = distance.holds();
        [sent_ns, received_ns].map(|ns| ns.filter(|_| holds).map(|ns| distance.monotonic(ns)))
    }
}

/// Datagrams over the loopback interface.
pub(super) struct Udp {
    from: UdpSocket,
    to: UdpSocket,
    /// None: a plain call receives, which costs less than one that asks for stamps.
    passed: Option<Mutex<Passed>>,
}

impl Udp {
    pub(super) fn open(is_split: bool) -> io::Result<Self> {
        let [from, to] =
            [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)), UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))];
        let (from, to) = (from?, to?);
        // Only from each other: nobody else's datagram is a sample.
        from.connect(to.local_addr()?)?;
        to.connect(from.local_addr()?)?;
        let passed = is_split.then(|| Passed::between(&from, &to, true)).transpose()?;
        Ok(Self { from, to, passed })
    }
}

impl Way for Udp {
    fn send(&self) -> io::Result<()> {
        self.from.send(&[1]).map(|_| ())
    }

    fn receive(&self) -> io::Result<()> {
        match &self.passed {
            Some(passed) => Passed::of(passed).stamps.receive(&self.to),
            None => self.to.recv(&mut [0]).map(|_| ()),
        }
    }

    fn noted(&self) -> [Option<HostTime>; 2] {
        let passed = self.passed.as_ref();
        passed.map_or([None; 2], |passed| Passed::of(passed).noted(&self.from))
    }
}

/// Of frames for experiments within one place (IEEE 802, local experimental EtherType 1).
const ETHERTYPE: u16 = 0x88b5;
/// The shortest frame that Ethernet knows, without its checksum.
const FRAME_OCTETS: usize = 60;
/// A receiver that waits this long has not been sent anything; it looks again.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Frames over a cable of the probe's own.
pub(super) struct Ethernet {
    from: PacketSocket,
    to: PacketSocket,
    frame: [u8; FRAME_OCTETS],
    passed: Mutex<Passed>,
}

impl Ethernet {
    pub(super) fn open(is_split: bool) -> io::Result<Self> {
        let (from, to) = on_a_cable().map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => error,
            Err(other) => io::Error::other(format!("{other:#}")),
        })?;
        let mut frame = [0; FRAME_OCTETS];
        frame[..6].copy_from_slice(&to.address());
        frame[6..12].copy_from_slice(&from.address());
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        let passed = Passed::between(&from, &to, is_split)?;
        Ok(Self { from, to, frame, passed })
    }
}

/// A socket at each end of a cable between two networks of the probe's own: no frame of it is seen
/// outside, and it vanishes with the sockets, also after a kill.
fn on_a_cable() -> anyhow::Result<(PacketSocket, PacketSocket)> {
    let cable = ProcessBus::lay(Wiring::Veth, 1)?;
    let open = || Ok(PacketSocket::open(INTERFACE, ETHERTYPE)?);
    Ok((cable.publisher.run(open)?, cable.relays[0].run(open)?))
}

impl Way for Ethernet {
    fn send(&self) -> io::Result<()> {
        self.from.send(&[&self.frame]).map(|_| ())
    }

    fn receive(&self) -> io::Result<()> {
        let mut passed = Passed::of(&self.passed);
        loop {
            match passed.stamps.receive_now(&self.to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(&[&self.to], PATIENCE)?;
                }
                received => return received,
            }
        }
    }

    fn noted(&self) -> [Option<HostTime>; 2] {
        Passed::of(&self.passed).noted(&self.from)
    }
}
