//! What a report looks like (IEC 61850-8-1, clause 17.2.3): a list of values, head first, cut into
//! segments where a PDU of the client does not hold it.

use iec61850::wire::ber::{Writer, encoded};
use iec61850::wire::{Form, Value, Width};

use crate::control_block::{
    Bits, OPT_CONF_REV, OPT_DATA_SET, OPT_REASON, OPT_REFERENCE, OPT_SEGMENTATION, OPT_SEQUENCE,
    OPT_TIME, OPTIONAL_BITS, TRIGGER_BITS,
};
use crate::model::{DataSet, Member, Model};
use crate::report::Report;

/// Octets of a report beside its members: heads of all layers, two references, numbers.
const HEAD_OCTETS: usize = 400;
/// Octets of a member beside its value and reference.
const MEMBER_OCTETS: usize = 8;
/// Fields that unbuffered reports have; others are never sent.
const KNOWN: Bits =
    Bits::of(&[OPT_SEQUENCE, OPT_TIME, OPT_REASON, OPT_DATA_SET, OPT_REFERENCE, OPT_CONF_REV]);
/// Days from 1970 to 1984, where the binary time of MMS begins.
const DAYS_TO_1984: u64 = 5113;
const DAY_MS: u64 = 86_400_000;

/// What all segments of a report have in common.
struct Common<'r> {
    report: &'r Report,
    domain: &'r str,
    set: &'r DataSet,
    realtime_ns: u64,
}

/// A member that is reported: its place in the data set, why, and its encoded value.
struct Included<'m> {
    place: usize,
    member: &'m Member,
    reason: Bits,
    value: Vec<u8>,
}

/// The lists of values of a report for these reasons, each for one PDU of this size.
pub(crate) fn segments(
    report: &Report,
    reasons: &[Bits],
    model: &Model,
    realtime_ns: u64,
    pdu_octets_max: usize,
) -> Vec<Vec<u8>> {
    let Some(set) = report.data_set(model) else { return Vec::new() };
    let room = pdu_octets_max.saturating_sub(HEAD_OCTETS + set.members.len() / 8);
    let with_reference = report.chosen.options.has(OPT_REFERENCE);
    let mut groups: Vec<Vec<Included<'_>>> = Vec::new();
    let mut used = 0;
    for (place, (member, reason)) in set.members.iter().zip(reasons).enumerate() {
        if *reason == Bits::default() {
            continue;
        }
        let value = encoded(|writer| model.write(&member.node, writer));
        let reference = if with_reference { model.domain.len() + member.item.len() } else { 0 };
        let octets = value.len() + reference + MEMBER_OCTETS;
        if octets > room {
            // It fits into no report; the client may still read it.
            continue;
        }
        if groups.is_empty() || used + octets > room {
            groups.push(Vec::new());
            used = 0;
        }
        used += octets;
        if let Some(group) = groups.last_mut() {
            group.push(Included { place, member, reason: *reason, value });
        }
    }
    let (count, domain) = (groups.len(), &model.domain[..]);
    let common = Common { report, domain, set, realtime_ns };
    let segment = |(number, group): (usize, &Vec<Included<'_>>)| {
        let place = (count > 1).then_some((number, number + 1 < count));
        encoded(|writer| common.write(group, place, writer))
    };
    groups.iter().enumerate().map(segment).collect()
}

impl Common<'_> {
    /// Writes one list, last value first.
    fn write(
        &self,
        group: &[Included<'_>],
        segment: Option<(usize, bool)>,
        writer: &mut Writer<'_>,
    ) {
        let mut options = Bits(self.report.chosen.options.0 & KNOWN.0);
        if segment.is_some() {
            options.0 |= Bits::of(&[OPT_SEGMENTATION]).0;
        }
        if options.has(OPT_REASON) {
            let each = group.iter().rev();
            each.for_each(|each| each.reason.value(TRIGGER_BITS).write(Form::Ordinary, writer));
        }
        group.iter().rev().for_each(|each| writer.octets(&each.value));
        if options.has(OPT_REFERENCE) {
            for each in group.iter().rev() {
                let reference = format!("{}/{}", self.domain, each.member.item);
                Value::VisibleString(reference).write(Form::Ordinary, writer);
            }
        }
        inclusion(group, self.set.members.len()).write(Form::Ordinary, writer);
        let head = self.head(options, segment);
        head.iter().rev().for_each(|value| value.write(Form::Ordinary, writer));
    }

    fn head(&self, options: Bits, segment: Option<(usize, bool)>) -> Vec<Value> {
        let report = self.report;
        let mut head =
            vec![Value::VisibleString(report.chosen.id.clone()), options.value(OPTIONAL_BITS)];
        if options.has(OPT_SEQUENCE) {
            head.push(Value::Unsigned(report.sequence.into(), Width::Bits8));
        }
        if options.has(OPT_TIME) {
            head.push(binary_time(self.realtime_ns));
        }
        if options.has(OPT_DATA_SET) {
            head.push(Value::VisibleString(format!("{}/{}", self.domain, self.set.name)));
        }
        if options.has(OPT_CONF_REV) {
            head.push(Value::Unsigned(report.chosen.conf_rev.into(), Width::Bits32));
        }
        if let Some((number, more_follow)) = segment {
            head.push(Value::Unsigned(number as u64, Width::Bits16));
            head.push(Value::Boolean(more_follow));
        }
        head
    }
}

/// A bit for each member of the data set, set for those that are in the report.
fn inclusion(group: &[Included<'_>], members: usize) -> Value {
    let mut octets = vec![0; members.div_ceil(8)];
    for each in group {
        octets[each.place / 8] |= 0x80 >> (each.place % 8);
    }
    let padding = (octets.len() * 8 - members) as u8;
    Value::BitString(octets, padding)
}

fn binary_time(realtime_ns: u64) -> Value {
    let ms = realtime_ns / 1_000_000;
    let days = (ms / DAY_MS).saturating_sub(DAYS_TO_1984);
    let mut octets = ((ms % DAY_MS) as u32).to_be_bytes().to_vec();
    octets.extend((days as u16).to_be_bytes());
    Value::BinaryTime(octets)
}
