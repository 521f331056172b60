//! One connection to another host, or to somebody who says so.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use hosts::seal::PairSecret;
use hosts::stream::{CHANCE_OCTETS, GREETING_OCTETS, Greeting, Refusal, Stream};
use vtime::HostTime;

use super::greeting;

/// Octets that wait for a connection that takes no more, beyond which nothing is sealed for it.
const UNSENT_MAX: usize = 256 * 1024;
/// Octets that are read at once, and how often in a row.
pub(super) const READ_OCTETS: usize = 64 * 1024;
const READS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    me: usize,
    /// The host that it was made to; none where somebody else has made it.
    to: Option<usize>,
    /// From where; none where this host has made it.
    from: Option<IpAddr>,
    /// The own greeting, once it is known for whom.
    own: Option<Greeting>,
    /// The first octets, until they are a greeting.
    inbox: Vec<u8>,
    stream: Option<Stream>,
    /// The host at the other end, as it says.
    host: Option<usize>,
    secret: Option<PairSecret>,
    /// To be sent once both have greeted.
    first: Option<Vec<u8>>,
    unsent: Vec<u8>,
    since: HostTime,
}

/// What one look at a connection has found.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) records: Vec<Vec<u8>>,
    /// Why the connection is over, if it is.
    pub(super) end: Option<End>,
}

#[derive(Debug)]
pub(super) enum End {
    Closed,
    Refused,
}

impl From<Refusal> for End {
    fn from(_: Refusal) -> Self {
        Self::Refused
    }
}

impl Connection {
    /// One that another host has made, or somebody who says so.
    pub(super) fn accepted(
        socket: TcpStream,
        from: IpAddr,
        me: usize,
        now: HostTime,
    ) -> io::Result<Self> {
        Ok(Self { from: Some(from), ..Self::new(socket, me, None, now)? })
    }

    /// This host, the first number, has connected to the second.
    pub(super) fn made(
        socket: TcpStream,
        (me, to): (usize, usize),
        now: HostTime,
    ) -> io::Result<Self> {
        let mut made = Self::new(socket, me, Some(to), now)?;
        let own = greeting(me, to)?;
        made.own = Some(own);
        made.unsent.extend(own.encode());
        Ok(made)
    }

    fn new(socket: TcpStream, me: usize, to: Option<usize>, since: HostTime) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            me,
            to,
            from: None,
            own: None,
            inbox: Vec::new(),
            stream: None,
            host: to,
            secret: None,
            first: None,
            unsent: Vec::new(),
            since,
        })
    }

    /// What to say first, once both have greeted.
    pub(super) fn greets_with(&mut self, secret: &PairSecret, first: Vec<u8>) {
        self.secret = Some(secret.clone());
        self.first = Some(first);
        // If it takes nothing, reading finds that out.
        let _ = self.write();
    }

    /// From where somebody has made it; `None` where this host has.
    pub(super) const fn from(&self) -> Option<IpAddr> {
        self.from
    }

    pub(super) const fn is_made_here(&self) -> bool {
        self.to.is_some()
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) const fn since(&self) -> HostTime {
        self.since
    }

    pub(super) const fn host(&self) -> Option<usize> {
        self.host
    }

    /// Whether this host has made it to that one.
    pub(super) fn is_to(&self, host: usize) -> bool {
        self.to == Some(host)
    }

    pub(super) const fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(super) const fn has_room(&self) -> bool {
        self.unsent.len() < UNSENT_MAX
    }

    /// Seals a record, to be written with the next ones.
    pub(super) fn send(&mut self, record: Vec<u8>) {
        if let Some(stream) = &mut self.stream {
            self.unsent.extend(stream.seal(record));
        }
    }

    /// Writes as much as the connection takes now.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let mut written = 0;
        let outcome = loop {
            let rest = &self.unsent[written..];
            if rest.is_empty() {
                break Ok(());
            }
            match self.socket.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.unsent.drain(..written);
        outcome
    }

    /// Reads what has come, by way of `octets`. `secret_of` knows the secret with each host, for connections that others have made.
    pub(super) fn read(
        &mut self,
        octets: &mut [u8],
        secret_of: impl Fn(usize) -> Option<PairSecret>,
    ) -> Heard {
        let mut heard = Heard::default();
        for _ in 0..READS_MAX {
            match self.socket.read(octets) {
                Ok(0) => heard.end = Some(End::Closed),
                Ok(count) => {
                    if let Err(end) = self.take(&octets[..count], &secret_of, &mut heard.records) {
                        heard.end = Some(end);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => heard.end = Some(End::Closed),
            }
            if heard.end.is_some() {
                break;
            }
        }
        if self.write().is_err() {
            heard.end.get_or_insert(End::Closed);
        }
        heard
    }

    fn take(
        &mut self,
        octets: &[u8],
        secret_of: impl Fn(usize) -> Option<PairSecret>,
        records: &mut Vec<Vec<u8>>,
    ) -> Result<(), End> {
        if self.stream.is_none() {
            self.inbox.extend_from_slice(octets);
            let Some(other) = Greeting::decode(&self.inbox)? else { return Ok(()) };
            self.greeted(other, secret_of)?;
            let rest = self.inbox.split_off(GREETING_OCTETS);
            return self.open(&rest, records);
        }
        self.open(octets, records)
    }

    fn open(&mut self, octets: &[u8], records: &mut Vec<Vec<u8>>) -> Result<(), End> {
        let stream = self.stream.as_mut().expect("both have greeted");
        let (more, outcome) = stream.take(octets);
        records.extend(more);
        outcome.map_err(End::from)
    }

    /// The other one has greeted, and this one does so if it has not.
    fn greeted(
        &mut self,
        other: Greeting,
        secret_of: impl Fn(usize) -> Option<PairSecret>,
    ) -> Result<(), End> {
        let host = usize::from(other.from);
        if self.host.is_some_and(|known| known != host) {
            return Err(End::Refused);
        }
        self.host = Some(host);
        let secret = self.secret.take().or_else(|| secret_of(host)).ok_or(End::Refused)?;
        let own = match self.own {
            Some(own) => own,
            None => {
                let own = greeting(self.me, host).map_err(|_| End::Refused)?;
                self.unsent.extend(own.encode());
                own
            }
        };
        self.stream = Some(Stream::new(&secret, own, other)?);
        if let Some(first) = self.first.take() {
            self.send(first);
        }
        Ok(())
    }
}

/// Octets by chance, from the kernel.
pub(super) fn chance() -> io::Result<[u8; CHANCE_OCTETS]> {
    let mut octets = [0; CHANCE_OCTETS];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets)
}
