//! What a server says (ISO 9506-2): answers, errors and reports around what the writer has, last
//! field first.

use iec61850::wire::ber::Writer;

use crate::pdu::{Initiate, Reject};

const INTEGER: u8 = 2;
const VISIBLE_STRING: u8 = 0x1a;
/// MMS of 2003, as edition 1 of IEC 61850 has it too.
const VERSION: u8 = 1;
/// Structures, arrays, named variables, alternate access, lists of variables.
const PARAMETERS: [u8; 3] = [5, 0xf1, 0];
/// Requests that a client may send before it has an answer. Each is answered at once.
const OUTSTANDING_MAX: u32 = 5;
const NESTING_MAX: u32 = 10;

/// Numbers of the services in the bit string of those that are supported.
const SERVICES: [usize; 9] = [
    0,  // status
    1,  // getNameList
    2,  // identify
    4,  // read
    5,  // write
    6,  // getVariableAccessAttributes
    12, // getNamedVariableListAttributes
    79, // informationReport
    83, // conclude
];
const SERVICES_COUNT: usize = 85;

/// Class and code of an error (ISO 9506-2, `ServiceError`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ServiceError(u8, u8);

impl ServiceError {
    /// The answer does not fit into a PDU of this client.
    pub(crate) const PDU_SIZE: Self = Self(4, 3);
    pub(crate) const ACCESS_UNSUPPORTED: Self = Self(7, 1);
    pub(crate) const NOT_THERE: Self = Self(7, 2);
    /// Each request is answered at once, so none is there to be cancelled.
    const INVOKE_UNKNOWN: Self = Self(10, 1);

    fn write(self, writer: &mut Writer<'_>) {
        let mark = writer.mark();
        writer.field(0x80 | self.0, &[self.1]);
        writer.close(0xa0, mark);
    }
}

/// What is wrong with a variable (ISO 9506-2, `DataAccessError`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessError {
    TemporarilyUnavailable = 2,
    Denied = 3,
    TypeInconsistent = 7,
    NotThere = 10,
    ValueInvalid = 11,
}

impl AccessError {
    pub(crate) fn write(self, writer: &mut Writer<'_>) {
        writer.field(0x80, &[self as u8]);
    }
}

/// Accepts what a client proposes, within bounds.
pub(crate) fn initiate(writer: &mut Writer<'_>, proposed: &Initiate, pdu_octets_max: usize) {
    let detail = writer.mark();
    let mut services = [0; SERVICES_COUNT.div_ceil(8)];
    for service in SERVICES {
        services[service / 8] |= 0x80 >> (service % 8);
    }
    let bits = writer.mark();
    writer.octets(&services);
    writer.octets(&[(services.len() * 8 - SERVICES_COUNT) as u8]);
    writer.close(0x82, bits);
    writer.field(0x81, &PARAMETERS);
    writer.field(0x80, &[VERSION]);
    writer.close(0xa4, detail);
    let nesting = proposed.nesting_max.unwrap_or(NESTING_MAX).min(NESTING_MAX);
    writer.unsigned(0x83, nesting.into(), 0);
    writer.unsigned(0x82, proposed.called_max.clamp(1, OUTSTANDING_MAX).into(), 0);
    writer.unsigned(0x81, proposed.calling_max.clamp(1, OUTSTANDING_MAX).into(), 0);
    writer.unsigned(0x80, pdu_octets_max as u64, 0);
    writer.close(0xa9, writer.begin());
}

/// Makes what `writer` has, the answer of a service, that of this request.
pub(crate) fn confirmed(writer: &mut Writer<'_>, invoke: u32) {
    writer.unsigned(INTEGER, invoke.into(), 0);
    writer.close(0xa1, writer.begin());
}

pub(crate) fn error(writer: &mut Writer<'_>, invoke: u32, error: ServiceError) {
    let mark = writer.mark();
    error.write(writer);
    writer.close(0xa2, mark);
    writer.unsigned(0x80, invoke.into(), 0);
    writer.close(0xa2, mark);
}

pub(crate) fn reject(writer: &mut Writer<'_>, invoke: u32, reason: Reject) {
    let mark = writer.mark();
    writer.field(0x81, &[reason as u8]);
    writer.unsigned(0x80, invoke.into(), 0);
    writer.close(0xa4, mark);
}

/// Rejects what is no PDU (`pdu-error`, invalid).
pub(crate) fn reject_pdu(writer: &mut Writer<'_>) {
    let mark = writer.mark();
    writer.field(0x85, &[1]);
    writer.close(0xa4, mark);
}

pub(crate) fn concluded(writer: &mut Writer<'_>) {
    writer.field(0x8c, &[]);
}

pub(crate) fn not_cancelled(writer: &mut Writer<'_>, invoke: u32) {
    let mark = writer.mark();
    ServiceError::INVOKE_UNKNOWN.write(writer);
    writer.close(0xa1, mark);
    writer.unsigned(0x80, invoke.into(), 0);
    writer.close(0xa7, mark);
}

/// Makes what `writer` has, a list of values, a report of IEC 61850: an information report with the
/// name `RPT`.
pub(crate) fn report(writer: &mut Writer<'_>) {
    writer.close(0xa0, writer.begin());
    let name = writer.mark();
    writer.field(0x80, b"RPT");
    writer.close(0xa1, name);
    writer.close(0xa0, writer.begin());
    writer.close(0xa3, writer.begin());
}

/// The name of an object of a domain.
pub(crate) fn name(writer: &mut Writer<'_>, domain: &str, item: &str) {
    let mark = writer.mark();
    writer.field(VISIBLE_STRING, item.as_bytes());
    writer.field(VISIBLE_STRING, domain.as_bytes());
    writer.close(0xa1, mark);
}

/// One name of a list of names.
pub(crate) fn identifier(writer: &mut Writer<'_>, text: &str) {
    writer.field(VISIBLE_STRING, text.as_bytes());
}
