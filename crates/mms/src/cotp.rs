//! Transport of class 0 over TCP (ISO 8073 / ITU-T X.224, as RFC 1006 profiles it): a connection is
//! requested and confirmed, and what the session layer sends is cut into data TPDUs and joined again.
//!
//! Any transport selector is accepted: there is one server behind the socket.

use iec61850::wire::{Fault, WireError};

use crate::tpkt;

const CONNECT_REQUEST: u8 = 0xe0;
const CONNECT_CONFIRM: u8 = 0xd0;
const DISCONNECT_REQUEST: u8 = 0x80;
const DATA: u8 = 0xf0;
/// Set in a data TPDU that is the last one of what the session layer sent.
const END_OF_TSDU: u8 = 0x80;
const TPDU_SIZE: u8 = 0xc0;
const CALLING_SELECTOR: u8 = 0xc1;
const CALLED_SELECTOR: u8 = 0xc2;
/// Sizes are powers of two, written as their exponent: 128 octets to 8192.
const SIZE_EXPONENT_MIN: u8 = 7;
const SIZE_EXPONENT_MAX: u8 = 13;
/// What holds where no size is proposed (RFC 1006, clause 5).
const SIZE_UNSTATED: usize = 65_531;
/// A selector is at most so long (ITU-T X.214).
const SELECTOR_OCTETS_MAX: usize = 32;
const OUR_REFERENCE: [u8; 2] = [0, 1];

/// One unit of the transport layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tpdu<'a> {
    ConnectRequest(ConnectRequest<'a>),
    Data { part: &'a [u8], is_last: bool },
    DisconnectRequest,
}

/// Who wants a connection, and in TPDUs of which size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectRequest<'a> {
    reference: [u8; 2],
    size_exponent: Option<u8>,
    calling: Option<&'a [u8]>,
    called: Option<&'a [u8]>,
}

pub(crate) fn decode(octets: &[u8]) -> Result<Tpdu<'_>, WireError> {
    let wrong = |field, octet, fault| Err(WireError { field, octet, fault });
    let [length, code, ..] = *octets else {
        return wrong("TPDU", 0, Fault::Cut { has: octets.len(), needs: 2 });
    };
    let needs = 1 + usize::from(length);
    let Some(header) = octets.get(..needs) else {
        return wrong("TPDU length", 0, Fault::Cut { has: octets.len(), needs });
    };
    match (code, header) {
        (DATA, &[_, _, number]) => {
            Ok(Tpdu::Data { part: &octets[needs..], is_last: number & END_OF_TSDU != 0 })
        }
        // The lower bits are a credit, which class 0 has none of.
        (CONNECT_REQUEST..=0xef, &[_, _, _, _, high, low, _class, ref parameters @ ..]) => {
            connect_request([high, low], parameters).map(Tpdu::ConnectRequest)
        }
        (DISCONNECT_REQUEST, _) => Ok(Tpdu::DisconnectRequest),
        _ => wrong("TPDU code", 1, Fault::Type { tag: code }),
    }
}

fn connect_request(
    reference: [u8; 2],
    mut parameters: &[u8],
) -> Result<ConnectRequest<'_>, WireError> {
    let mut request =
        ConnectRequest { reference, size_exponent: None, calling: None, called: None };
    while let [code, length, rest @ ..] = parameters {
        let octets = usize::from(*length);
        let Some((value, rest)) = rest.split_at_checked(octets) else {
            let fault = Fault::Cut { has: rest.len(), needs: octets };
            return Err(WireError { field: "parameter of CR TPDU", octet: 0, fault });
        };
        match (*code, value) {
            (TPDU_SIZE, &[exponent]) => {
                let known = exponent.clamp(SIZE_EXPONENT_MIN, SIZE_EXPONENT_MAX);
                request.size_exponent = Some(known);
            }
            (CALLING_SELECTOR, _) if octets <= SELECTOR_OCTETS_MAX => request.calling = Some(value),
            (CALLED_SELECTOR, _) if octets <= SELECTOR_OCTETS_MAX => request.called = Some(value),
            // Unknown parameters are ignored (X.224, clause 13.2.3).
            _ => {}
        }
        parameters = rest;
    }
    Ok(request)
}

impl ConnectRequest<'_> {
    /// Largest TPDU of this connection.
    pub(crate) fn tpdu_octets_max(&self) -> usize {
        self.size_exponent.map_or(SIZE_UNSTATED, |exponent| 1 << exponent)
    }

    /// Appends the confirmation: class 0, with what was proposed.
    pub(crate) fn confirm(&self, out: &mut Vec<u8>) {
        let [high, low] = self.reference;
        let [our_high, our_low] = OUR_REFERENCE;
        let mut tpdu = vec![0, CONNECT_CONFIRM, high, low, our_high, our_low, 0];
        let mut parameter = |code, value: &[u8]| {
            tpdu.extend([code, value.len() as u8]);
            tpdu.extend(value);
        };
        if let Some(exponent) = self.size_exponent {
            parameter(TPDU_SIZE, &[exponent]);
        }
        for (code, selector) in [(CALLING_SELECTOR, self.calling), (CALLED_SELECTOR, self.called)] {
            if let Some(selector) = selector {
                parameter(code, selector);
            }
        }
        tpdu[0] = (tpdu.len() - 1) as u8;
        tpkt::append(out, [&tpdu, &[]]);
    }
}

/// Appends what the session layer sends, in as many data TPDUs as it takes.
pub(crate) fn append(out: &mut Vec<u8>, tsdu: &[u8], tpdu_octets_max: usize) {
    const HEADER: usize = 3;
    let mut parts = tsdu.chunks(tpdu_octets_max - HEADER).peekable();
    while let Some(part) = parts.next() {
        let number = if parts.peek().is_none() { END_OF_TSDU } else { 0 };
        tpkt::append(out, [&[(HEADER - 1) as u8, DATA, number], part]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request of a client of libiec61850.
    const REQUEST: [u8; 18] = [17, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 13, 0xc2, 2, 0, 1, 0xc1, 2, 0, 1];

    #[test]
    fn a_request_is_confirmed_with_its_size_and_selectors() {
        let Tpdu::ConnectRequest(request) = decode(&REQUEST).unwrap() else { panic!() };
        assert_eq!(request.tpdu_octets_max(), 8192);
        let mut out = Vec::new();
        request.confirm(&mut out);
        let expected = [17, 0xd0, 0, 1, 0, 1, 0, 0xc0, 1, 13, 0xc1, 2, 0, 1, 0xc2, 2, 0, 1];
        assert_eq!(out[4..], expected);
    }

    #[test]
    fn what_is_longer_than_a_tpdu_is_cut_and_marked_at_its_end() {
        let tsdu: Vec<u8> = (0..300).map(|number| number as u8).collect();
        let mut stream = Vec::new();
        append(&mut stream, &tsdu, 128);
        let (mut rest, mut joined, mut marks) = (&stream[..], Vec::new(), Vec::new());
        while let Some((packet, octets)) = tpkt::first(rest).unwrap() {
            let Tpdu::Data { part, is_last } = decode(packet).unwrap() else { panic!() };
            assert!(packet.len() <= 128);
            joined.extend(part);
            marks.push(is_last);
            rest = &rest[octets..];
        }
        assert_eq!((joined, marks), (tsdu, vec![false, false, true]));
    }

    #[test]
    fn cut_and_unknown_tpdus_are_refused() {
        for tpdu in [&REQUEST[..17], &[17, 0xe0], &[2, 0x50, 0x80], &[1, 0xf0], &[]] {
            assert!(decode(tpdu).is_err(), "{tpdu:?}");
        }
        // A parameter that says it is longer than what is there.
        assert!(decode(&[9, 0xe0, 0, 0, 0, 1, 0, 0xc1, 5, 0]).is_err());
    }
}
