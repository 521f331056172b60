//! Association control (ISO 8650-1 / ITU-T X.227): who talks to whom about what, and the end of it.
//!
//! An association is accepted if its application context is that of MMS. Titles of applications and
//! passwords are ignored: there is no authentication here.

use iec61850::wire::ber::{Reader, Writer};
use iec61850::wire::{Fault, WireError};

/// 1.0.9506.2.3, the application context of MMS.
const MMS_CONTEXT: [u8; 5] = [0x28, 0xca, 0x22, 2, 3];

const ASSOCIATE_REQUEST: u8 = 0x60;
const ASSOCIATE_RESPONSE: u8 = 0x61;
const RELEASE_REQUEST: u8 = 0x62;
const RELEASE_RESPONSE: u8 = 0x63;
const ABORT: u8 = 0x64;
const CONTEXT_NAME: u8 = 0xa1;
const RESULT: u8 = 0xa2;
const RESULT_SOURCE: u8 = 0xa3;
const SOURCE_USER: u8 = 0xa1;
const USER_INFORMATION: u8 = 0xbe;
const EXTERNAL: u8 = 0x28;
const SINGLE_TYPE: u8 = 0xa0;
const OBJECT_IDENTIFIER: u8 = 6;
const OBJECT_DESCRIPTOR: u8 = 7;
const INTEGER: u8 = 2;
/// Why an association is refused for good: its application context is not supported.
const REJECTED: u8 = 1;
const CONTEXT_NOT_SUPPORTED: u8 = 2;

/// One unit of ACSE that a client may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Apdu<'a> {
    Associate { is_mms: bool, user_information: Reader<'a> },
    Release,
    Abort,
}

pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Apdu<'_>, WireError> {
    match reader.tag() {
        Some(ASSOCIATE_REQUEST) => associate(reader.any("AARQ")?),
        Some(RELEASE_REQUEST) => Ok(Apdu::Release),
        Some(ABORT) => Ok(Apdu::Abort),
        Some(tag) => Err(reader.error_of("APDU", Fault::Type { tag })),
        None => Err(reader.error_of("APDU", Fault::Missing)),
    }
}

fn associate(mut aarq: Reader<'_>) -> Result<Apdu<'_>, WireError> {
    let (mut is_mms, mut information) = (false, None);
    while let Some(tag) = aarq.tag() {
        let mut value = aarq.any("AARQ")?;
        match tag {
            CONTEXT_NAME => {
                let name = value.value(OBJECT_IDENTIFIER, "application context name")?;
                is_mms = name.rest() == MMS_CONTEXT;
            }
            USER_INFORMATION => information = Some(value),
            _ => {}
        }
    }
    let mut information = information.ok_or(aarq.error_of("user information", Fault::Missing))?;
    let mut external = information.value(EXTERNAL, "EXTERNAL")?;
    external.optional(OBJECT_IDENTIFIER, "direct reference")?;
    external.optional(INTEGER, "indirect reference")?;
    external.optional(OBJECT_DESCRIPTOR, "data value descriptor")?;
    let user_information = external.value(SINGLE_TYPE, "single-ASN1-type")?;
    Ok(Apdu::Associate { is_mms, user_information })
}

/// Makes what `writer` has, a PDU of the context with this number, the user information of an AARE
/// that accepts; without a number, one that refuses.
pub(crate) fn associated(writer: &mut Writer<'_>, context: Option<u32>) {
    if let Some(number) = context {
        writer.close(SINGLE_TYPE, writer.begin());
        writer.unsigned(INTEGER, number.into(), 0);
        writer.close(EXTERNAL, writer.begin());
        writer.close(USER_INFORMATION, writer.begin());
    }
    let (result, reason) =
        if context.is_some() { (0, 0) } else { (REJECTED, CONTEXT_NOT_SUPPORTED) };
    let mark = writer.mark();
    writer.field(INTEGER, &[reason]);
    writer.close(SOURCE_USER, mark);
    writer.close(RESULT_SOURCE, mark);
    let mark = writer.mark();
    writer.field(INTEGER, &[result]);
    writer.close(RESULT, mark);
    let mark = writer.mark();
    writer.field(OBJECT_IDENTIFIER, &MMS_CONTEXT);
    writer.close(CONTEXT_NAME, mark);
    writer.close(ASSOCIATE_RESPONSE, writer.begin());
}

/// Writes an RLRE: the association ends normally.
pub(crate) fn released(writer: &mut Writer<'_>) {
    let mark = writer.mark();
    writer.field(0x80, &[0]);
    writer.close(RELEASE_RESPONSE, mark);
}

/// Writes an ABRT of this side's user.
pub(crate) fn abort(writer: &mut Writer<'_>) {
    let mark = writer.mark();
    writer.field(0x80, &[0]);
    writer.close(ABORT, mark);
}
