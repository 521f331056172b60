//! What a client asks (ISO 9506-2): initiate, confirmed requests, conclude, cancel.
//!
//! Services and the parts of them that IEC 61850-8-1 needs; what else there is gets a reject that
//! says so. Lists are bounded by [`VARIABLES_MAX`], depth by [`COMPONENTS_MAX`].

use iec61850::wire::ber::Reader;
use iec61850::wire::{AllData, Fault, WireError};

/// Variables in one request.
pub(crate) const VARIABLES_MAX: usize = 1000;
/// Components that an alternate access names, one below the other.
const COMPONENTS_MAX: usize = 8;

const CONFIRMED_REQUEST: u8 = 0xa0;
const CANCEL_REQUEST: u8 = 0x85;
const INITIATE_REQUEST: u8 = 0xa8;
const CONCLUDE_REQUEST: u8 = 0x8b;
/// What a client answers to a report, which asks for nothing.
const REJECT: u8 = 0xa4;
const INTEGER: u8 = 2;
const SEQUENCE: u8 = 0x30;
const VISIBLE_STRING: u8 = 0x1a;

/// What a client sent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Pdu<'a> {
    Initiate(Initiate),
    Confirmed { invoke: u32, request: Result<Request<'a>, Reject> },
    Conclude,
    Cancel { invoke: u32 },
    Reject,
}

/// Why a request is rejected (ISO 9506-2, `confirmed-requestPDU`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reject {
    UnrecognizedService = 1,
    UnrecognizedModifier = 2,
    InvalidArgument = 4,
}

/// What a client can take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Initiate {
    pub(crate) pdu_octets_max: Option<u32>,
    pub(crate) calling_max: u32,
    pub(crate) called_max: u32,
    pub(crate) nesting_max: Option<u32>,
}

/// A service that is answered.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Request<'a> {
    Status,
    Identify,
    NameList(NameList<'a>),
    VariableAttributes(Name<'a>),
    Read { what: Access<'a>, with_specification: bool },
    Write { what: Access<'a>, data: AllData<'a> },
    ListAttributes(Name<'a>),
}

/// Which names are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NameList<'a> {
    pub(crate) class: u32,
    /// Those of a domain; without, those of the server.
    pub(crate) domain: Option<&'a str>,
    /// Those of one association, of which there are none.
    pub(crate) is_of_association: bool,
    pub(crate) after: Option<&'a str>,
}

/// The name of an object, by whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name<'a> {
    Domain(&'a str, &'a str),
    /// Of the server or of the association, which have none.
    Elsewhere,
}

/// Variables one by one, or by the list that they are in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Access<'a> {
    Variables(Vec<Variable<'a>>),
    List(Name<'a>),
}

/// A variable, or by alternate access one of its components.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) components: Vec<&'a str>,
}

/// Reads one PDU.
///
/// # Errors
/// It is none, so nobody knows what it wants.
pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Pdu<'_>, WireError> {
    let tag = reader.tag().ok_or_else(|| reader.error_of("MMSpdu", Fault::Missing))?;
    let before = reader;
    let mut value = reader.any("MMSpdu")?;
    match tag {
        CONFIRMED_REQUEST => {
            let invoke = value.value(INTEGER, "invokeID")?.int32u()?;
            Ok(Pdu::Confirmed { invoke, request: confirmed(value) })
        }
        INITIATE_REQUEST => initiate(value).map(Pdu::Initiate),
        CONCLUDE_REQUEST => Ok(Pdu::Conclude),
        CANCEL_REQUEST => Ok(Pdu::Cancel { invoke: value.int32u()? }),
        REJECT => Ok(Pdu::Reject),
        tag => Err(before.error_of("MMSpdu", Fault::Type { tag })),
    }
}

fn initiate(mut value: Reader<'_>) -> Result<Initiate, WireError> {
    let number = |value: Option<Reader<'_>>| value.map(Reader::int32u).transpose();
    Ok(Initiate {
        pdu_octets_max: number(value.optional(0x80, "localDetailCalling")?)?,
        calling_max: value.value(0x81, "proposedMaxServOutstandingCalling")?.int32u()?,
        called_max: value.value(0x82, "proposedMaxServOutstandingCalled")?.int32u()?,
        nesting_max: number(value.optional(0x83, "proposedDataStructureNestingLevel")?)?,
    })
}

fn confirmed(mut value: Reader<'_>) -> Result<Request<'_>, Reject> {
    let tag = value.tag().ok_or(Reject::InvalidArgument)?;
    if tag == SEQUENCE {
        return Err(Reject::UnrecognizedModifier);
    }
    let service: fn(Reader<'_>) -> Result<Request<'_>, WireError> = match tag {
        0x80 => |_| Ok(Request::Status),
        0x82 => |_| Ok(Request::Identify),
        0xa1 => name_list,
        0xa4 => read,
        0xa5 => write,
        0xa6 => variable_attributes,
        0xac => list_attributes,
        // Also numbers of services that take more than one octet, which begin with 0xbf.
        _ => return Err(Reject::UnrecognizedService),
    };
    value.any("service").and_then(service).map_err(|_| Reject::InvalidArgument)
}

fn name_list(mut value: Reader<'_>) -> Result<Request<'_>, WireError> {
    let mut class = value.value(0xa0, "objectClass")?;
    let class = class.value(0x80, "basicObjectClass")?.int32u()?;
    let mut scope = value.value(0xa1, "objectScope")?;
    let (domain, is_of_association) = match scope.tag() {
        Some(0x81) => (Some(scope.any("domainSpecific")?.text()?), false),
        Some(0x80) => (None, false),
        Some(0x82) => (None, true),
        _ => return Err(scope.error(Fault::Range)),
    };
    let after = value.optional(0x82, "continueAfter")?.map(Reader::text).transpose()?;
    Ok(Request::NameList(NameList { class, domain, is_of_association, after }))
}

fn variable_attributes(mut value: Reader<'_>) -> Result<Request<'_>, WireError> {
    name(value.value(0xa0, "name")?).map(Request::VariableAttributes)
}

fn list_attributes(value: Reader<'_>) -> Result<Request<'_>, WireError> {
    name(value).map(Request::ListAttributes)
}

fn read(mut value: Reader<'_>) -> Result<Request<'_>, WireError> {
    let stated = value.optional(0x80, "specificationWithResult")?;
    let with_specification = stated.map(Reader::boolean).transpose()?.unwrap_or(false);
    let what = access(&mut value.value(0xa1, "variableAccessSpecification")?)?;
    Ok(Request::Read { what, with_specification })
}

fn write(mut value: Reader<'_>) -> Result<Request<'_>, WireError> {
    let what = access(&mut value)?;
    let data = AllData::decode(value.value(0xa0, "listOfData")?.rest())?;
    Ok(Request::Write { what, data })
}

fn access<'a>(value: &mut Reader<'a>) -> Result<Access<'a>, WireError> {
    if let Some(list) = value.optional(0xa1, "variableListName")? {
        return name(list).map(Access::List);
    }
    let mut list = value.value(0xa0, "listOfVariable")?;
    let mut variables = Vec::new();
    while list.tag().is_some() {
        if variables.len() == VARIABLES_MAX {
            let stated = VARIABLES_MAX as u32;
            return Err(list.error(Fault::Count { stated, found: stated + 1 }));
        }
        let mut entry = list.value(SEQUENCE, "variable")?;
        let name = name(entry.value(0xa0, "name")?)?;
        let alternate = entry.optional(0xa5, "alternateAccess")?;
        let mut components = Vec::new();
        if let Some(alternate) = alternate {
            select(alternate, &mut components)?;
        }
        variables.push(Variable { name, components });
    }
    Ok(Access::Variables(variables))
}

/// An alternate access that selects one component, directly (`selectAccess`) or below others
/// (`selectAlternateAccess`). Indices, ranges and several components are refused.
fn select<'a>(mut list: Reader<'a>, path: &mut Vec<&'a str>) -> Result<(), WireError> {
    if path.len() == COMPONENTS_MAX {
        return Err(list.error(Fault::Depth));
    }
    if let Some(component) = list.optional(0x81, "component")? {
        path.push(component.text()?);
    } else {
        let mut alternate = list.value(0xa0, "selectAlternateAccess")?;
        path.push(alternate.value(0x80, "component")?.text()?);
        select(alternate.value(SEQUENCE, "alternateAccess")?, path)?;
    }
    list.finish()
}

fn name(mut value: Reader<'_>) -> Result<Name<'_>, WireError> {
    const FIELD: &str = "ObjectName";
    match value.tag() {
        Some(0x80 | 0x82) => value.any(FIELD)?.text().map(|_| Name::Elsewhere),
        Some(0xa1) => {
            let mut pair = value.any(FIELD)?;
            let domain = pair.value(VISIBLE_STRING, "domainId")?.text()?;
            Ok(Name::Domain(domain, pair.value(VISIBLE_STRING, "itemId")?.text()?))
        }
        _ => Err(value.error(Fault::Range)),
    }
}
