//! One connection through all layers up to MMS: octets of a client in, PDUs of MMS out, and back.
//!
//! Everything is bounded: what is joined to one PDU, what waits to be sent, and the time that a client
//! may take to associate or to read. What waits is bounded from two sides: no further PDU is looked
//! at while more than [`PAUSE_OCTETS`] wait, and a client for whom reports would heap up beyond
//! [`WAITING_OCTETS_MAX`] is cut off.

use std::ops::Range;
use std::time::Duration;

use iec61850::wire::ber::{Reader, Writer, encoded};
use iec61850::wire::{Fault, WireError};

use crate::acse::{self, Apdu};
use crate::answer;
use crate::cotp::{self, Tpdu};
use crate::pdu::{self, Pdu};
use crate::presentation::{self, Contexts, Syntax};
use crate::session::{self, Spdu};
use crate::tpkt;

/// Largest PDU of MMS that this side takes or sends.
const PDU_OCTETS_MAX: usize = 65_000;
/// A client must be able to take so much; the shortest that holds any single value and its names.
const PDU_OCTETS_MIN: usize = 1024;
/// The largest PDU and what other layers put in front of it.
const TSDU_OCTETS_MAX: usize = PDU_OCTETS_MAX + 512;
const PAUSE_OCTETS: usize = 128 << 10;
const WAITING_OCTETS_MAX: usize = 1 << 20;
/// Within so long a client must have associated, and must go on reading what is sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection, by its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Client(pub(crate) usize);

/// A client's connection, from the first octet to the last.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Association {
    state: State,
    /// Received, and not yet looked at.
    incoming: Vec<u8>,
    /// Parts of what the session layer gets.
    tsdu: Vec<u8>,
    waiting: Vec<u8>,
    tpdu_octets_max: usize,
    pdu_octets_max: usize,
    /// When the client last got on: it connected, associated or read, or had nothing to read.
    progress: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Transport is not yet connected.
    Begin,
    /// Transport is connected, and nothing else.
    Connected,
    Associated(Contexts),
    /// It ends when what waits is sent.
    Over,
}

/// A PDU of MMS in what was received.
#[derive(Debug)]
pub(crate) struct Received {
    tsdu: Vec<u8>,
    pdu: Range<usize>,
}

impl Received {
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new("MMSpdu", &self.tsdu[self.pdu.clone()], self.pdu.start)
    }
}

impl Association {
    pub(crate) const fn new(now: Duration) -> Self {
        Self {
            state: State::Begin,
            incoming: Vec::new(),
            tsdu: Vec::new(),
            waiting: Vec::new(),
            tpdu_octets_max: 0,
            pdu_octets_max: PDU_OCTETS_MAX,
            progress: now,
        }
    }

    pub(crate) const fn pdu_octets_max(&self) -> usize {
        self.pdu_octets_max
    }

    /// What is to be sent.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.waiting
    }

    pub(crate) fn sent(&mut self, octets: usize, now: Duration) {
        self.waiting.drain(..octets.min(self.waiting.len()));
        if octets > 0 {
            self.progress = now;
        }
    }

    /// Whether more may be received: all that came was looked at, or waits for its end.
    pub(crate) fn takes_more(&self) -> bool {
        self.state != State::Over && self.waiting.len() <= PAUSE_OCTETS
    }

    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Whether it must be cut off: it does not associate, or does not read.
    pub(crate) fn is_stuck(&self, now: Duration) -> bool {
        let is_due = now.saturating_sub(self.progress) > PATIENCE;
        let is_associated = matches!(self.state, State::Associated(_));
        is_due && (!is_associated || !self.waiting.is_empty())
    }

    pub(crate) fn receive(&mut self, octets: &[u8]) {
        if self.state != State::Over {
            self.incoming.extend(octets);
        }
    }

    /// The next PDU of MMS that was received.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Received> {
        let mut taken = 0;
        let mut found = None;
        while found.is_none() && self.takes_more() {
            let incoming = std::mem::take(&mut self.incoming);
            let step = match tpkt::first(&incoming[taken..]) {
                Ok(None) => Ok(None),
                Ok(Some((packet, octets))) => {
                    taken += octets;
                    self.packet(packet, now).map(Some)
                }
                Err(error) => Err(error),
            };
            self.incoming = incoming;
            match step {
                Ok(None) => break,
                Ok(Some(received)) => found = received,
                Err(_) => self.abort(now),
            }
        }
        self.incoming.drain(..taken);
        found
    }

    fn packet(&mut self, packet: &[u8], now: Duration) -> Result<Option<Received>, WireError> {
        let wrong = |field, fault| Err(WireError { field, octet: 0, fault });
        match (cotp::decode(packet)?, self.state) {
            (Tpdu::ConnectRequest(request), State::Begin) => {
                self.tpdu_octets_max = request.tpdu_octets_max();
                request.confirm(&mut self.waiting);
                self.state = State::Connected;
                Ok(None)
            }
            (Tpdu::Data { part, is_last }, State::Connected | State::Associated(_)) => {
                let octets = self.tsdu.len() + part.len();
                if octets > TSDU_OCTETS_MAX {
                    return wrong("TSDU", Fault::Length { octets });
                }
                self.tsdu.extend(part);
                if !is_last {
                    return Ok(None);
                }
                let tsdu = std::mem::take(&mut self.tsdu);
                Ok(self.unit(&tsdu, now)?.map(|pdu| Received { tsdu, pdu }))
            }
            (Tpdu::DisconnectRequest, _) => {
                self.state = State::Over;
                Ok(None)
            }
            _ => wrong("TPDU", Fault::Range),
        }
    }

    /// A whole unit of the session layer; answers where the PDU of MMS in it stands.
    fn unit(&mut self, tsdu: &[u8], now: Duration) -> Result<Option<Range<usize>>, WireError> {
        let wrong = |fault| Err(WireError { field: "SPDU", octet: 0, fault });
        match (session::decode(tsdu)?, self.state) {
            (Spdu::Connect { called, user_data }, State::Connected) => {
                self.associate(called, user_data, now)?;
                Ok(None)
            }
            (Spdu::Data(user_data), State::Associated(contexts)) => {
                let (syntax, pdu) = contexts.decode(user_data)?;
                let begin = tsdu.len() - user_data.len() + pdu.at();
                match syntax {
                    Syntax::Mms => Ok(Some(begin..begin + pdu.rest().len())),
                    // Sent without a session PDU of its own, these end the association as well.
                    Syntax::Acse => self.end_by(pdu, now).map(|()| None),
                }
            }
            (Spdu::Finish(user_data), State::Associated(contexts)) => {
                match contexts.decode(user_data)? {
                    (Syntax::Acse, pdu) => self.end_by(pdu, now)?,
                    (Syntax::Mms, _) => return wrong(Fault::Range),
                }
                Ok(None)
            }
            (Spdu::Abort, _) => {
                self.state = State::Over;
                Ok(None)
            }
            _ => wrong(Fault::Range),
        }
    }

    fn associate(
        &mut self,
        called: Option<&[u8]>,
        user_data: &[u8],
        now: Duration,
    ) -> Result<(), WireError> {
        let connect = presentation::connect(user_data)?;
        let Apdu::Associate { is_mms, user_information } = acse::decode(connect.user_data)? else {
            return Err(connect.user_data.error(Fault::Range));
        };
        let Pdu::Initiate(proposed) = pdu::decode(user_information)? else {
            return Err(user_information.error(Fault::Range));
        };
        let stated = proposed.pdu_octets_max.map_or(PDU_OCTETS_MAX, |octets| octets as usize);
        self.pdu_octets_max = stated.min(PDU_OCTETS_MAX);
        if self.pdu_octets_max < PDU_OCTETS_MIN {
            return Err(user_information.error(Fault::Range));
        }
        let (contexts, octets_max) = (connect.contexts, self.pdu_octets_max);
        self.put(now, |writer| {
            if is_mms {
                answer::initiate(writer, &proposed, octets_max);
            }
            acse::associated(writer, is_mms.then_some(contexts.mms()));
            connect.accept(writer);
            session::accept(writer, called);
        });
        self.state = if is_mms { State::Associated(contexts) } else { State::Over };
        self.progress = now;
        Ok(())
    }

    /// A PDU of ACSE on an association: it is over, and a release is answered.
    fn end_by(&mut self, pdu: Reader<'_>, now: Duration) -> Result<(), WireError> {
        match (acse::decode(pdu)?, self.state) {
            (Apdu::Release, State::Associated(contexts)) => self.put(now, |writer| {
                acse::released(writer);
                contexts.wrap(Syntax::Acse, writer);
                session::disconnect(writer);
            }),
            (Apdu::Abort, _) => {}
            _ => return Err(pdu.error(Fault::Range)),
        }
        self.state = State::Over;
        Ok(())
    }

    /// Ends it without what a client would have to answer.
    fn abort(&mut self, now: Duration) {
        if let State::Associated(contexts) = self.state {
            self.put(now, |writer| {
                acse::abort(writer);
                contexts.abort(writer);
                session::abort(writer);
            });
        }
        self.state = State::Over;
    }

    /// Sends a PDU of MMS; an error if it is larger than the client can take.
    pub(crate) fn send(
        &mut self,
        now: Duration,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> Result<(), Fault> {
        let State::Associated(contexts) = self.state else { return Ok(()) };
        let mut octets = 0;
        let tsdu = encoded(|writer| {
            write(writer);
            octets = writer.mark() - writer.begin();
            contexts.wrap(Syntax::Mms, writer);
            session::data(writer);
        });
        if octets > self.pdu_octets_max {
            return Err(Fault::Length { octets });
        }
        self.append(now, &tsdu);
        Ok(())
    }

    /// Sends a unit of the session layer.
    fn put(&mut self, now: Duration, write: impl FnOnce(&mut Writer<'_>)) {
        self.append(now, &encoded(write));
    }

    fn append(&mut self, now: Duration, tsdu: &[u8]) {
        if self.waiting.is_empty() {
            self.progress = now;
        }
        cotp::append(&mut self.waiting, tsdu, self.tpdu_octets_max);
        if self.waiting.len() > WAITING_OCTETS_MAX {
            // It is cut off with nothing more to say, for what it would miss it cannot know.
            self.waiting = Vec::new();
            self.state = State::Over;
        }
    }
}
