//! What each service answers: names, types, values, attributes of data sets.

use iec61850::wire::ber::Writer;

use crate::answer::{self, AccessError, ServiceError};
use crate::model::{DataSet, Model, Node};
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
    let set = list(model, name).ok_or(ServiceError::NOT_THERE)?;
    let mark = writer.mark();
    for member in set.members.iter().rev() {
        let entry = writer.mark();
        answer::name(writer, &model.domain, &member.item);
        writer.close(0xa0, entry);
        writer.close(0x30, entry);
    }
    writer.close(0xa1, mark);
    writer.boolean(0x80, false);
    writer.close(0xac, mark);
    Ok(())
}

/// Values of variables. Whoever asks for one a thousand times costs no more than a PDU: what is larger
/// than one of this size is left as it is, for it cannot be sent.
pub(crate) fn read(
    model: &Model,
    what: &Access<'_>,
    with_specification: bool,
    pdu_octets_max: usize,
    writer: &mut Writer<'_>,
) -> Result<(), ServiceError> {
    let nodes: Vec<Result<&Node, AccessError>> = match what {
        Access::Variables(variables) => {
            variables.iter().map(|variable| resolve(model, variable)).collect()
        }
        Access::List(name) => {
            let set = list(model, *name).ok_or(ServiceError::NOT_THERE)?;
            set.members.iter().map(|member| Ok(&member.node)).collect()
        }
    };
    let mark = writer.mark();
    for node in nodes.iter().rev() {
        match node {
            Ok(node) => model.write(node, writer),
            Err(error) => error.write(writer),
        }
        if writer.mark() - mark > pdu_octets_max {
            break;
        }
    }
    writer.close(0xa1, mark);
    // Repeated for lists alone: of single variables the client knows what it asked for.
    if let (Access::List(Name::Domain(domain, item)), true) = (what, with_specification) {
        let specification = writer.mark();
        answer::name(writer, domain, item);
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

/// The data set of this name.
pub(crate) fn list<'m>(model: &'m Model, name: Name<'_>) -> Option<&'m DataSet> {
    match name {
        Name::Domain(domain, item) if domain == model.domain => {
            model.data_set(item).map(|place| &model.data_sets[place])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Trigger;
    use crate::pdu::{VARIABLES_MAX, Variable};
    use crate::types::Type;
    use iec61850::wire::Value;
    use iec61850::wire::ber::encoded;

    #[test]
    fn one_that_asks_for_all_a_thousand_times_costs_no_more_than_a_pdu() {
        const PDU_OCTETS_MAX: usize = 1024;
        let text = Value::VisibleString("x".repeat(100));
        let leaf = Node::leaf("d", Type::VisibleString(255), text, Trigger::None);
        let model = Model::new("LD0", vec![leaf], Vec::new());
        let variable = Variable { name: Name::Domain("LD0", "d"), components: Vec::new() };
        let octets = |count| {
            let what = Access::Variables(vec![variable.clone(); count]);
            let write =
                |writer: &mut Writer<'_>| read(&model, &what, false, PDU_OCTETS_MAX, writer);
            encoded(|writer| write(writer).expect("it is there")).len()
        };
        assert!(octets(9) < PDU_OCTETS_MAX);
        assert!((PDU_OCTETS_MAX + 1..PDU_OCTETS_MAX + 200).contains(&octets(VARIABLES_MAX)));
    }
}
