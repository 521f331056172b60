//! Presentation layer (ISO 8823-1 / ITU-T X.226): which number means which abstract syntax, and in
//! front of each PDU, its number.
//!
//! Two abstract syntaxes are accepted, those of ACSE and of MMS, with the basic encoding rules as
//! their transfer syntax; what else a client proposes is rejected one by one. Normal mode only.

use iec61850::wire::ber::{Reader, Writer};
use iec61850::wire::{Fault, WireError};

/// Contexts that a client may propose; both are among the first of any.
const CONTEXTS_MAX: usize = 16;

/// A selector is at most so long (IEC 61850-8-1, presentation address).
const SELECTOR_OCTETS_MAX: usize = 16;

/// 2.2.1.0.1, the abstract syntax of ACSE.
const ACSE: [u8; 4] = [0x52, 1, 0, 1];
/// 1.0.9506.2.1, that of MMS.
const MMS: [u8; 5] = [0x28, 0xca, 0x22, 2, 1];
/// 2.1.1, the basic encoding rules.
const BASIC_ENCODING: [u8; 2] = [0x51, 1];

const CONNECT: u8 = 0x31;
const MODE: u8 = 0xa0;
const NORMAL_MODE_PARAMETERS: u8 = 0xa2;
const CALLED_SELECTOR: u8 = 0x82;
const RESPONDING_SELECTOR: u8 = 0x83;
const CONTEXT_DEFINITIONS: u8 = 0xa4;
const CONTEXT_RESULTS: u8 = 0xa5;
const ABORT_NORMAL_MODE: u8 = 0xa0;
const FULLY_ENCODED_DATA: u8 = 0x61;
const PDV_LIST: u8 = 0x30;
const SINGLE_TYPE: u8 = 0xa0;
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 2;
const OBJECT_IDENTIFIER: u8 = 6;
/// Results of a proposed context, and why it is rejected: its abstract syntax is not known.
const ACCEPTANCE: u8 = 0;
const PROVIDER_REJECTION: u8 = 2;
const ABSTRACT_SYNTAX_UNKNOWN: u8 = 1;

/// Whose PDU it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Syntax {
    Acse,
    Mms,
}

/// The numbers that a client gave the two abstract syntaxes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contexts {
    acse: u32,
    mms: u32,
}

/// What a CP PPDU proposes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Connect<'a> {
    pub(crate) contexts: Contexts,
    called: Option<&'a [u8]>,
    /// Which of the proposed contexts are accepted, in their order.
    accepted: Vec<bool>,
    /// The PDU of ACSE.
    pub(crate) user_data: Reader<'a>,
}

/// Reads a CP PPDU.
pub(crate) fn connect(octets: &[u8]) -> Result<Connect<'_>, WireError> {
    let mut outer = Reader::new("CP PPDU", octets, 0);
    let mut set = outer.value(CONNECT, "CP PPDU")?;
    let (mut called, mut definitions, mut data) = (None, None, None);
    // Members of a set come in any order.
    while let Some(tag) = set.tag() {
        let mut member = set.any("CP PPDU")?;
        if tag != NORMAL_MODE_PARAMETERS {
            continue;
        }
        while let Some(tag) = member.tag() {
            let value = member.any("normal mode parameters")?;
            match tag {
                CALLED_SELECTOR if value.rest().len() > SELECTOR_OCTETS_MAX => {
                    return Err(value.error(Fault::Length { octets: value.rest().len() }));
                }
                CALLED_SELECTOR => called = Some(value.rest()),
                CONTEXT_DEFINITIONS => definitions = Some(value),
                FULLY_ENCODED_DATA => data = Some(value),
                _ => {}
            }
        }
    }
    let missing = |field| outer.error_of(field, Fault::Missing);
    let mut definitions = definitions.ok_or(missing("context definition list"))?;
    let (mut acse, mut mms, mut accepted) = (None, None, Vec::new());
    while definitions.tag().is_some() {
        if accepted.len() == CONTEXTS_MAX {
            let stated = CONTEXTS_MAX as u32;
            return Err(definitions.error(Fault::Count { stated, found: stated + 1 }));
        }
        let mut definition = definitions.value(SEQUENCE, "context definition")?;
        let number = definition.value(INTEGER, "context identifier")?.int32u()?;
        let name = definition.value(OBJECT_IDENTIFIER, "abstract syntax")?.rest();
        let known = if name == ACSE {
            Some(&mut acse)
        } else if name == MMS {
            Some(&mut mms)
        } else {
            None
        };
        accepted.push(known.is_some());
        if let Some(known) = known {
            *known = Some(number);
        }
    }
    let contexts = Contexts {
        acse: acse.ok_or(missing("abstract syntax of ACSE"))?,
        mms: mms.ok_or(missing("abstract syntax of MMS"))?,
    };
    match contexts.pdv(data.ok_or(missing("user data"))?)? {
        (Syntax::Acse, user_data) => Ok(Connect { contexts, called, accepted, user_data }),
        (Syntax::Mms, _) => Err(missing("user data of ACSE")),
    }
}

impl Contexts {
    /// Whose PDU the user data holds, and the PDU.
    pub(crate) fn decode<'a>(self, octets: &'a [u8]) -> Result<(Syntax, Reader<'a>), WireError> {
        let mut outer = Reader::new("user data", octets, 0);
        self.pdv(outer.value(FULLY_ENCODED_DATA, "fully encoded data")?)
    }

    fn pdv(self, mut data: Reader<'_>) -> Result<(Syntax, Reader<'_>), WireError> {
        let mut list = data.value(PDV_LIST, "PDV-list")?;
        list.optional(OBJECT_IDENTIFIER, "transfer syntax")?;
        let number = list.value(INTEGER, "context identifier")?;
        let syntax = match number.int32u()? {
            number if number == self.acse => Syntax::Acse,
            number if number == self.mms => Syntax::Mms,
            _ => return Err(number.error(Fault::Range)),
        };
        Ok((syntax, list.value(SINGLE_TYPE, "presentation data values")?))
    }

    /// Puts the head of user data in front of the PDU that `writer` has.
    pub(crate) fn wrap(self, syntax: Syntax, writer: &mut Writer<'_>) {
        let mark = writer.begin();
        writer.close(SINGLE_TYPE, mark);
        let number = match syntax {
            Syntax::Acse => self.acse,
            Syntax::Mms => self.mms,
        };
        writer.unsigned(INTEGER, number.into(), 0);
        writer.close(PDV_LIST, mark);
        writer.close(FULLY_ENCODED_DATA, mark);
    }

    /// Makes the PDU of ACSE that `writer` has the user data of an abort (ARU PPDU, normal mode).
    pub(crate) fn abort(self, writer: &mut Writer<'_>) {
        self.wrap(Syntax::Acse, writer);
        writer.close(ABORT_NORMAL_MODE, writer.begin());
    }

    /// The number of MMS, as ACSE repeats it beside what it carries.
    pub(crate) const fn mms(self) -> u32 {
        self.mms
    }
}

impl Connect<'_> {
    /// Makes what `writer` has, a PDU of ACSE, the user data of a CPA PPDU.
    pub(crate) fn accept(&self, writer: &mut Writer<'_>) {
        self.contexts.wrap(Syntax::Acse, writer);
        let results = writer.mark();
        for accepted in self.accepted.iter().rev() {
            let result = writer.mark();
            if *accepted {
                writer.field(0x81, &BASIC_ENCODING);
                writer.field(0x80, &[ACCEPTANCE]);
            } else {
                writer.field(0x82, &[ABSTRACT_SYNTAX_UNKNOWN]);
                writer.field(0x80, &[PROVIDER_REJECTION]);
            }
            writer.close(SEQUENCE, result);
        }
        writer.close(CONTEXT_RESULTS, results);
        if let Some(selector) = self.called {
            writer.field(RESPONDING_SELECTOR, selector);
        }
        writer.close(NORMAL_MODE_PARAMETERS, writer.begin());
        let mode = writer.mark();
        writer.field(0x80, &[1]);
        writer.close(MODE, mode);
        writer.close(CONNECT, writer.begin());
    }
}
