//! Session layer (ISO 8327-1 / ITU-T X.225), of which IEC 61850-8-1 uses the kernel and the duplex
//! functional unit: connect, data, finish, abort.
//!
//! A session PDU is an identifier, a length and parameters of the same form.

use iec61850::wire::ber::Writer;
use iec61850::wire::{Fault, WireError};

const CONNECT: u8 = 13;
const ACCEPT: u8 = 14;
const FINISH: u8 = 9;
const DISCONNECT: u8 = 10;
const ABORT: u8 = 25;
/// In front of each data transfer; alone it would be the category 0 PDU "give tokens".
const GIVE_TOKENS_AND_DATA: [u8; 4] = [1, 0, 1, 0];

const CONNECT_ACCEPT_ITEM: u8 = 5;
const TRANSPORT_DISCONNECT: u8 = 17;
const SESSION_REQUIREMENTS: u8 = 20;
const CALLED_SELECTOR: u8 = 52;
const USER_DATA: u8 = 193;
const EXTENDED_USER_DATA: u8 = 194;
/// Transport is not kept, and a user or a provider ends the session.
const USER_ABORT: u8 = 0x0b;
/// No protocol options, version 2.
const OPTIONS_AND_VERSION: [u8; 6] = [19, 1, 0, 22, 1, 2];
const DUPLEX: [u8; 2] = [0, 2];
/// A selector is at most so long (ITU-T X.215).
const SELECTOR_OCTETS_MAX: usize = 16;
/// Length of the form with two octets more.
const LONG: u8 = 0xff;

/// One unit of the session layer, with what the presentation layer sent in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spdu<'a> {
    Connect { called: Option<&'a [u8]>, user_data: &'a [u8] },
    Data(&'a [u8]),
    Finish(&'a [u8]),
    Abort,
}

pub(crate) fn decode(tsdu: &[u8]) -> Result<Spdu<'_>, WireError> {
    let refused = |fault| WireError { field: "SPDU", octet: 0, fault };
    if let Some(user_data) = tsdu.strip_prefix(&GIVE_TOKENS_AND_DATA) {
        return Ok(Spdu::Data(user_data));
    }
    let kind = tsdu.first().copied().ok_or(refused(Fault::Missing))?;
    let (_, parameters, _) = parameter(tsdu)?;
    let (mut called, mut user_data, mut rest) = (None, None, parameters);
    while !rest.is_empty() {
        let (code, value, behind) = parameter(rest)?;
        match code {
            CALLED_SELECTOR if value.len() > SELECTOR_OCTETS_MAX => {
                let fault = Fault::Length { octets: value.len() };
                return Err(WireError { field: "called session selector", octet: 0, fault });
            }
            CALLED_SELECTOR => called = Some(value),
            USER_DATA | EXTENDED_USER_DATA => user_data = Some(value),
            _ => {}
        }
        rest = behind;
    }
    let user_data = user_data.ok_or(refused(Fault::Missing));
    match kind {
        CONNECT => Ok(Spdu::Connect { called, user_data: user_data? }),
        FINISH => Ok(Spdu::Finish(user_data.unwrap_or_default())),
        ABORT => Ok(Spdu::Abort),
        tag => Err(refused(Fault::Type { tag })),
    }
}

/// Code and value of the first of these, and what is behind it.
fn parameter(octets: &[u8]) -> Result<(u8, &[u8], &[u8]), WireError> {
    let cut = |needs| WireError {
        field: "parameter of SPDU",
        octet: 0,
        fault: Fault::Cut { has: octets.len(), needs },
    };
    let (code, length, rest) = match octets {
        [code, LONG, high, low, rest @ ..] => {
            (*code, usize::from(u16::from_be_bytes([*high, *low])), rest)
        }
        [_, LONG, ..] => return Err(cut(4)),
        [code, length, rest @ ..] => (*code, usize::from(*length), rest),
        _ => return Err(cut(2)),
    };
    let (value, behind) = rest.split_at_checked(length).ok_or(cut(2 + length))?;
    Ok((code, value, behind))
}

/// Makes what `writer` has the user data of an accepted connection.
pub(crate) fn accept(writer: &mut Writer<'_>, called: Option<&[u8]>) {
    close(writer, USER_DATA, writer.begin());
    if let Some(selector) = called {
        let mark = writer.mark();
        writer.octets(selector);
        close(writer, CALLED_SELECTOR, mark);
    }
    for (code, value) in
        [(SESSION_REQUIREMENTS, &DUPLEX[..]), (CONNECT_ACCEPT_ITEM, &OPTIONS_AND_VERSION)]
    {
        let mark = writer.mark();
        writer.octets(value);
        close(writer, code, mark);
    }
    close(writer, ACCEPT, writer.begin());
}

/// Puts the head of a data transfer in front of what `writer` has.
pub(crate) fn data(writer: &mut Writer<'_>) {
    writer.octets(&GIVE_TOKENS_AND_DATA);
}

/// Makes what `writer` has the user data of the answer to a finish.
pub(crate) fn disconnect(writer: &mut Writer<'_>) {
    close(writer, USER_DATA, writer.begin());
    close(writer, DISCONNECT, writer.begin());
}

/// Makes what `writer` has the user data of an abort.
pub(crate) fn abort(writer: &mut Writer<'_>) {
    close(writer, USER_DATA, writer.begin());
    let mark = writer.mark();
    writer.octets(&[USER_ABORT]);
    close(writer, TRANSPORT_DISCONNECT, mark);
    close(writer, ABORT, writer.begin());
}

/// As [`Writer::close`], with a length of the session layer.
fn close(writer: &mut Writer<'_>, code: u8, mark: usize) {
    let length = writer.mark() - mark;
    match u8::try_from(length) {
        Ok(length) if length < LONG => writer.octets(&[code, length]),
        _ => {
            let [high, low] = (length as u16).to_be_bytes();
            writer.octets(&[code, LONG, high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iec61850::wire::ber::encoded;

    #[test]
    fn a_connection_is_accepted_with_what_its_user_sends() {
        let octets = encoded(|writer| {
            writer.octets(&[7; 300]);
            accept(writer, Some(&[0, 1]));
        });
        assert_eq!(octets[..4], [ACCEPT, LONG, 1, 64]);
        assert_eq!(octets[4..20], [5, 6, 19, 1, 0, 22, 1, 2, 20, 2, 0, 2, 52, 2, 0, 1]);
        assert_eq!(octets[20..25], [USER_DATA, LONG, 1, 44, 7]);
    }

    #[test]
    fn selector_and_user_data_are_found_behind_whatever_else_is_there() {
        let spdu = [13, 15, 5, 3, 19, 1, 0, 52, 2, 0, 1, 193, 4, 0x31, 2, 0xa0, 0];
        let expected = Spdu::Connect { called: Some(&[0, 1]), user_data: &spdu[13..] };
        assert_eq!(decode(&spdu), Ok(expected));
        assert_eq!(decode(&[1, 0, 1, 0, 0x61]), Ok(Spdu::Data(&[0x61])));
        assert_eq!(decode(&[25, 3, 17, 1, 11]), Ok(Spdu::Abort));
    }

    #[test]
    fn a_selector_has_16_octets_at_most() {
        let connect = |octets: u8| {
            let selector = [&[CALLED_SELECTOR, octets][..], &vec![7; octets.into()]].concat();
            let parameters = [&selector[..], &[USER_DATA, 0]].concat();
            decode(&[&[CONNECT, parameters.len() as u8], &parameters[..]].concat()).is_ok()
        };
        assert_eq!([0, 16, 17].map(connect), [true, true, false]);
    }

    #[test]
    fn cut_and_unknown_units_are_refused() {
        for octets in [&[][..], &[13], &[13, 255], &[13, 4, 193, 9, 0, 0], &[13, 0], &[77, 0]] {
            assert!(decode(octets).is_err(), "{octets:?}");
        }
    }
}
