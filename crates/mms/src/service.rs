//! What each service answers: names, types, values, attributes of data sets.

use iec61850::wire::ber::Writer;

use crate::answer::{self, AccessError, ServiceError};
use crate::model::{Model, Node};
use crate::pdu::{Access, Name, NameList, Variable};

/// Classes of objects (ISO 9506-2, `basicObjectClass`).
const NAMED_VARIABLE: u32 = 0;
const NAMED_VARIABLE_LIST: u32 = 2;
const JOURNAL: u32 = 8;
const DOMAIN: u32 = 9;
/// Octets of an answer beside its names: tags, lengths, the number of the request, and heads.
const NAMES_OVERHEAD: usize = 64;

/// Who made the server (`identify`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    pub vendor: String,
    pub model: String,
    pub revision: String,
}

pub(crate) fn status(writer: &mut Writer<'_>) {
    let mark = writer.mark();
    // Logical: state changes allowed; physical: operational.
    writer.field(0x81, &[0]);
    writer.field(0x80, &[0]);
    writer.close(0xa0, mark);
}

pub(crate) fn identify(identity: &Identity, writer: &mut Writer<'_>) {
    let mark = writer.mark();
    writer.field(0x82, identity.revision.as_bytes());
    writer.field(0x81, identity.model.as_bytes());
    writer.field(0x80, identity.vendor.as_bytes());
    writer.close(0xa2, mark);
}

/// As many names as a PDU of this size holds, and whether more follow.
pub(crate) fn name_list(
    model: &Model,
    wanted: &NameList<'_>,
    pdu_octets_max: usize,
    writer: &mut Writer<'_>,
) -> Result<(), ServiceError> {
    if wanted.domain.is_some_and(|domain| domain != model.domain) {
        return Err(ServiceError::NOT_THERE);
    }
    let names = match (wanted.class, wanted.domain) {
        _ if wanted.is_of_association => &[],
        (DOMAIN, None) => std::slice::from_ref(&model.domain),
        (NAMED_VARIABLE, Some(_)) => &model.variables[..],
        (NAMED_VARIABLE_LIST, Some(_)) => &model.lists[..],
        (NAMED_VARIABLE | NAMED_VARIABLE_LIST | JOURNAL | DOMAIN, _) => &[],
        _ => return Err(ServiceError::ACCESS_UNSUPPORTED),
    };
    // Names are sorted, so a client may continue behind any, whether it is there or not.
    let begin =
        wanted.after.map_or(0, |after| names.partition_point(|name| name.as_str() <= after));
    let mut room = pdu_octets_max.saturating_sub(NAMES_OVERHEAD);
    let fits = |name: &&String| {
        let needs = name.len() + 3;
        let fits = needs <= room;
        room = room.saturating_sub(needs);
        fits
    };
    let rest = &names[begin..];
    let count = rest.iter().take_while(fits).count();
    let mark = writer.mark();
    writer.boolean(0x81, count < rest.len());
    let list = writer.mark();
    rest[..count].iter().rev().for_each(|name| answer::identifier(writer, name));
    writer.close(0xa0, list);
    writer.close(0xa1, mark);
    Ok(())
}

pub(crate) fn variable_attributes(
    model: &Model,
    name: Name<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), ServiceError> {
    let node = find(model, name).ok_or(ServiceError::NOT_THERE)?;
    let mark = writer.mark();
    node.write_type(writer);
    writer.close(0xa2, mark);
    writer.boolean(0x80, false);
    writer.close(0xa6, mark);
    Ok(())
}

pub(crate) fn list_attributes(
    model: &Model,
    name: Name<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), ServiceError> {
    let items = list(model, name).ok_or(ServiceError::NOT_THERE)?;
    let mark = writer.mark();
    for item in items.rev() {
        let entry = writer.mark();
        answer::name(writer, Name::Domain(&model.domain, item));
        writer.close(0xa0, entry);
        writer.close(0x30, entry);
    }
    writer.close(0xa1, mark);
    writer.boolean(0x80, false);
    writer.close(0xac, mark);
    Ok(())
}

pub(crate) fn read(
    model: &Model,
    what: &Access<'_>,
    with_specification: bool,
    writer: &mut Writer<'_>,
) -> Result<(), ServiceError> {
    let mark = writer.mark();
    match what {
        Access::Variables(variables) => {
            for variable in variables.iter().rev() {
                match resolve(model, variable) {
                    Ok(node) => model.write(node, writer),
                    Err(error) => error.write(writer),
                }
            }
        }
        Access::List(name) => {
            let items = list(model, *name).ok_or(ServiceError::NOT_THERE)?;
            for item in items.rev() {
                match model.find(item) {
                    Some(node) => model.write(node, writer),
                    None => AccessError::NotThere.write(writer),
                }
            }
        }
    }
    writer.close(0xa1, mark);
    // Repeated for lists alone: of single variables the client knows what it asked for.
    if let (Access::List(list), true) = (what, with_specification) {
        let specification = writer.mark();
        answer::name(writer, *list);
        writer.close(0xa1, specification);
        writer.close(0xa0, specification);
    }
    writer.close(0xa4, mark);
    Ok(())
}

/// What became of each value that was to be written.
pub(crate) fn written(results: &[Result<(), AccessError>], writer: &mut Writer<'_>) {
    let mark = writer.mark();
    for result in results.iter().rev() {
        match result {
            Ok(()) => writer.field(0x81, &[]),
            Err(error) => error.write(writer),
        }
    }
    writer.close(0xa5, mark);
}

/// The variable, or its component.
pub(crate) fn resolve<'m>(
    model: &'m Model,
    variable: &Variable<'_>,
) -> Result<&'m Node, AccessError> {
    let node = find(model, variable.name).ok_or(AccessError::NotThere)?;
    // A component may be named by a path as well.
    let path = variable.components.iter().flat_map(|component| component.split('$'));
    node.below(path).ok_or(AccessError::NotThere)
}

fn find<'m>(model: &'m Model, name: Name<'_>) -> Option<&'m Node> {
    match name {
        Name::Domain(domain, item) if domain == model.domain => model.find(item),
        _ => None,
    }
}

/// Names of the members of a data set.
pub(crate) fn list<'m>(
    model: &'m Model,
    name: Name<'_>,
) -> Option<impl DoubleEndedIterator<Item = &'m str> + ExactSizeIterator + use<'m>> {
    match name {
        Name::Domain(domain, item) if domain == model.domain => {
            Some(model.data_set(item)?.members.iter().map(|member| member.item.as_str()))
        }
        _ => None,
    }
}
