//! The ways to wake another thread: each a call that wakes and a call that waits.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Mutex;
use std::time::Duration;

use realtime::packet::{Batch, PacketSocket, wait};

use super::handover::Way;
use crate::sys::veth;
use crate::sys::wake::{Eventfd, Futex, Signal};

impl Way for Eventfd {
    fn send(&self) -> io::Result<()> {
        self.add()
    }

    fn receive(&self) -> io::Result<()> {
        self.take()
    }
}

impl Way for Futex {
    fn send(&self) -> io::Result<()> {
        self.wake();
        Ok(())
    }

    fn receive(&self) -> io::Result<()> {
        self.wait()
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

/// Datagrams over the loopback interface.
pub(super) struct Udp {
    from: UdpSocket,
    to: UdpSocket,
}

impl Udp {
    pub(super) fn open() -> io::Result<Self> {
        let [from, to] =
            [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)), UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))];
        let (from, to) = (from?, to?);
        // Only from each other: nobody else's datagram is a sample.
        from.connect(to.local_addr()?)?;
        to.connect(from.local_addr()?)?;
        Ok(Self { from, to })
    }
}

impl Way for Udp {
    fn send(&self) -> io::Result<()> {
        self.from.send(&[1]).map(|_| ())
    }

    fn receive(&self) -> io::Result<()> {
        self.to.recv(&mut [0]).map(|_| ())
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
    received: Mutex<Batch>,
}

impl Ethernet {
    pub(super) fn open() -> io::Result<Self> {
        let sockets = || {
            let [from, to] = veth::ENDS.map(|end| PacketSocket::open(end, ETHERTYPE));
            Ok((from?, to?))
        };
        let (from, to) = veth::on_a_cable(sockets)?;
        let mut frame = [0; FRAME_OCTETS];
        frame[..6].copy_from_slice(&to.address());
        frame[6..12].copy_from_slice(&from.address());
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        Ok(Self { from, to, frame, received: Mutex::new(Batch::new(1)) })
    }
}

impl Way for Ethernet {
    fn send(&self) -> io::Result<()> {
        self.from.send(&[&self.frame]).map(|_| ())
    }

    fn receive(&self) -> io::Result<()> {
        let mut received = self.received.lock().expect("only one thread receives");
        while self.to.receive(&mut received)? == 0 {
            wait(&[&self.to], PATIENCE)?;
        }
        Ok(())
    }
}
