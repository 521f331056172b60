//! The logical nodes of a relay, the data sets of its reports, and where each value comes from.

use iec61850::wire::Value;
use mms::{CLIENTS_MAX, Identity, Model, Node, Server, Type, control_block};
use protection::overcurrent::Timing;
use protection::{power, voltage};
use substation::settings::{Element, Function, Relay};

use super::live::{Live, Source};
use super::names::{self, Names};
use super::nodes::{
    ENUMERATED, GENERAL, LogicalNode, Point, REVISION, STATUS, VENDOR, name_plate, text,
};

/// The edition that names and types of nodes are of.
const NAME_SPACE: &str = "IEC 61850-7-4:2007B";
/// Counts on when the same settings become other nodes or data sets.
const CONFIGURATION: &str = "1";
/// Units of IEC 61850-7-3, annex A.
const AMPERE: i64 = 5;
const VOLT: i64 = 29;
const HERTZ: i64 = 33;
const WATT: i64 = 62;
const VAR: i64 = 63;

/// A value of a data object, and the slots of the model that it fills.
#[derive(Clone, PartialEq, Debug)]
struct Bound {
    source: Source,
    values: Vec<usize>,
    quality: usize,
    time: usize,
}

/// Where the values of a model come from.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Bindings(Vec<Bound>);

impl Bindings {
    /// The values of all data objects, by slot.
    pub(crate) fn values(&self, live: &Live) -> Vec<(usize, Value)> {
        let mut all = Vec::with_capacity(4 * self.0.len());
        for bound in &self.0 {
            let observed = live.observe(bound.source);
            all.extend(bound.values.iter().copied().zip(observed.values));
            let quality = Value::BitString(observed.quality.to_bits().into(), 3);
            all.extend([(bound.quality, quality), (bound.time, Value::UtcTime(observed.at))]);
        }
        all
    }

    fn of(points: &[Point], model: &Model) -> Self {
        let bound = |point: &Point| {
            let slot = |path: &str| {
                let slot = model.slot(&format!("{}${path}", point.item));
                slot.expect("a node has what its points name")
            };
            Bound {
                source: point.source,
                values: point.values.iter().map(|path| slot(path)).collect(),
                quality: slot("q"),
                time: slot("t"),
            }
        };
        Self(points.iter().map(bound).collect())
    }
}

/// A server for a relay, and where its values come from.
pub(crate) fn server(relay: &Relay, live: &Live) -> (Server, Bindings) {
    let mut names = Names::default();
    let mut nodes = vec![device_node()];
    for (number, name) in relay.protection.streams.keys().enumerate() {
        nodes.push(measuring_node(&mut names, name, number));
    }
    for (number, (name, element)) in relay.protection.elements.iter().enumerate() {
        let mut node = element_node(&mut names, name, element, number);
        // With setting groups these would be those of the first one, whichever is active.
        if relay.protection.groups.others.is_empty() {
            show_settings(&mut node, &element.function);
        }
        nodes.push(node);
    }
    for (number, name) in relay.protection.trips.elements_by_breaker.keys().enumerate() {
        let mut trip = LogicalNode::new(names.node(name, "PTRC"), name_plate(name));
        trip.status("Tr", Source::Trip(number), GENERAL, Type::Boolean);
        nodes.push(trip);
        if live.has_position(number) {
            let mut switch = LogicalNode::new(names.node(name, "CSWI"), name_plate(name));
            switch.position(Source::Position(number));
            nodes.push(switch);
        }
    }
    let mut first = common_node(relay);
    let points: Vec<Point> =
        std::iter::once(&first).chain(&nodes).flat_map(|node| node.points.clone()).collect();
    let data_sets = [("Status", "$ST$"), ("Measured", "$MX$")]
        .map(|(name, constraint)| (name, members(&points, constraint)));
    let mut control_blocks = Vec::new();
    for (name, _) in data_sets.iter().filter(|(_, members)| !members.is_empty()) {
        for number in 1..=CLIENTS_MAX {
            let block = format!("urcb{name}{number:02}");
            first.put("RP", control_block(&block));
            control_blocks.push((format!("LLN0$RP${block}"), format!("LLN0${name}")));
        }
    }
    let nodes: Vec<Node> =
        std::iter::once(first).chain(nodes).map(LogicalNode::into_node).collect();
    let data_sets = data_sets.into_iter().filter(|(_, members)| !members.is_empty());
    let data_sets = data_sets.map(|(name, members)| (format!("LLN0${name}"), members));
    let model = Model::new(names::device(&relay.name), nodes, data_sets.collect());
    let bindings = Bindings::of(&points, &model);
    let identity = Identity {
        vendor: VENDOR.to_owned(),
        model: "qcrelay".to_owned(),
        revision: REVISION.to_owned(),
    };
    let mut server = Server::new(identity, model, &control_blocks);
    server.update(&bindings.values(live), mms::Now::default());
    (server, bindings)
}

/// Data objects with this constraint, as members of a data set. The behaviour of all nodes is the mode
/// of the first, and is there once; that this is no proxy never changes.
fn members(points: &[Point], constraint: &str) -> Vec<String> {
    let mut members: Vec<String> = points
        .iter()
        .map(|point| &point.member)
        .filter(|member| {
            member.contains(constraint) && !member.ends_with("$Beh") && !member.ends_with("$Proxy")
        })
        .cloned()
        .collect();
    members.dedup();
    members
}

/// What is common to all of the device: mode, health.
fn common_node(relay: &Relay) -> LogicalNode {
    let mut plate = name_plate(&relay.name);
    plate.push(text("configRev", CONFIGURATION));
    let mut node = LogicalNode::new("LLN0", plate);
    node.put("EX", Node::structure("NamPlt", vec![text("ldNs", NAME_SPACE)]));
    node.status("Mod", Source::Mode, STATUS, ENUMERATED);
    node.status_only("Mod");
    node.status("Health", Source::Health, STATUS, ENUMERATED);
    node
}

/// The host that it runs on.
fn device_node() -> LogicalNode {
    let mut node = LogicalNode::bare("LPHD1");
    let plate = [name_plate(""), vec![text("model", "qcrelay")]].concat();
    node.put("DC", Node::structure("PhyNam", plate));
    node.status("PhyHealth", Source::HostHealth, STATUS, ENUMERATED);
    node.status("Proxy", Source::NoProxy, STATUS, Type::Boolean);
    node
}

fn measuring_node(names: &mut Names, name: &str, stream: usize) -> LogicalNode {
    let mut node = LogicalNode::new(names.node(name, "MMXU"), name_plate(name));
    node.phasors("A", |phase| Source::Current(stream, phase), AMPERE);
    node.phasors("PhV", |phase| Source::Voltage(stream, phase), VOLT);
    node.measured("TotW", Source::ActivePower(stream), WATT);
    node.measured("TotVAr", Source::ReactivePower(stream), VAR);
    node.measured("Hz", Source::Frequency(stream), HERTZ);
    node
}

fn element_node(names: &mut Names, name: &str, element: &Element, number: usize) -> LogicalNode {
    let mut node = LogicalNode::new(names.node(name, class(&element.function)), name_plate(name));
    let (start, operate) = (Source::Start(number), Source::Operate(number));
    let act = |node: &mut LogicalNode, object, source| {
        node.status(object, source, GENERAL, Type::Boolean);
    };
    match &element.function {
        // It trips its own breaker again, then those round it.
        Function::BreakerFailure { .. } => {
            act(&mut node, "OpIn", start);
            act(&mut node, "OpEx", operate);
        }
        Function::FuseFailure(_) => node.status("FuFail", operate, STATUS, Type::Boolean),
        Function::SynchroCheck(_) => node.status("Rel", operate, STATUS, Type::Boolean),
        Function::Reclosing(_) => act(&mut node, "Op", operate),
        Function::PowerSwing(_) => {
            node.start("Str", start);
            node.status("BlkZn", operate, STATUS, Type::Boolean);
        }
        _ => {
            node.start("Str", start);
            act(&mut node, "Op", operate);
        }
    }
    node
}

/// Limits and delays as data objects.
fn show_settings(node: &mut LogicalNode, function: &Function) {
    match function {
        Function::Overcurrent { settings, .. } => {
            node.amount("StrVal", settings.pick_up_a, AMPERE);
            // PIOC, which has none, is not delayed.
            if let Timing::Definite(delay) = settings.timing
                && !delay.is_zero()
            {
                node.delay("OpDlTmms", delay);
            }
        }
        Function::Voltage(settings) => {
            node.amount("StrVal", settings.pick_up_v, VOLT);
            if let voltage::Timing::Definite(delay) = settings.timing {
                node.delay("OpDlTmms", delay);
            }
        }
        Function::Frequency(settings) => {
            node.amount("StrVal", settings.pick_up_hz, HERTZ);
            node.delay("OpDlTmms", settings.delay);
        }
        Function::Power(settings) => {
            let unit = match settings.part {
                power::Part::Active => WATT,
                power::Part::Reactive => VAR,
            };
            node.amount("StrVal", settings.pick_up_va, unit);
            node.delay("OpDlTmms", settings.delay);
        }
        Function::BrokenConductor(settings) => node.delay("OpDlTmms", settings.delay),
        Function::FrequencyRate(settings) => node.delay("OpDlTmms", settings.delay),
        _ => {}
    }
}

/// The class of logical nodes (IEC 61850-7-4) for what an element does.
fn class(function: &Function) -> &'static str {
    match function {
        Function::Overcurrent { settings, .. } => match settings.timing {
            Timing::Definite(delay) if delay.is_zero() => "PIOC",
            Timing::Definite(_) | Timing::Inverse(..) => "PTOC",
        },
        Function::Directional(_) | Function::BrokenConductor(_) => "PTOC",
        Function::Voltage(settings) => match settings.side {
            voltage::Side::Under => "PTUV",
            voltage::Side::Over => "PTOV",
        },
        Function::Frequency(settings) => match settings.side {
            voltage::Side::Under => "PTUF",
            voltage::Side::Over => "PTOF",
        },
        Function::FrequencyRate(_) => "PFRC",
        Function::Power(settings) => match settings.side {
            voltage::Side::Under => "PDUP",
            voltage::Side::Over => "PDOP",
        },
        Function::Distance(_) => "PDIS",
        Function::Differential { .. } | Function::RestrictedEarth(_) => "PDIF",
        Function::Thermal(_) => "PTTR",
        Function::Admittance(_) => "PSDE",
        Function::BreakerFailure { .. } => "RBRF",
        Function::FuseFailure(_) => "TVTR",
        Function::PowerSwing(_) => "RPSB",
        Function::SwitchOntoFault(_) => "PSOF",
        Function::Teleprotection(_) => "PSCH",
        // No class says just that; this one is for what has none.
        Function::CtSupervision(_)
        | Function::BreakerSupervision { .. }
        | Function::PoleDiscordance { .. } => "GAPC",
        Function::SynchroCheck(_) => "RSYN",
        Function::Reclosing(_) => "RREC",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorum::CommonTime;

    const TEXT: &str = "
relay: bay
frequency: 50 Hz
streams:
  s01: {sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
elements:
  U<: {function: voltage, stream: s01, pick_up: 40 kV, side: under, delay: 100 ms}
  f>: {function: frequency, stream: s01, pick_up: 51 Hz, side: over, delay: 100 ms}
  I>: {function: overcurrent, stream: s01, pick_up: 400 A, curve: iec-very-inverse, k: 0.5}
  I>>: {function: overcurrent, stream: s01, pick_up: 4 kA, delay: 0 ms}
  IE>: {function: overcurrent, stream: s01, pick_up: 40 A, delay: 500 ms}
  BF: {function: breaker_failure, stream: s01, breaker: Q0, pick_up: 20 A, retrip_delay: 50 ms, backup_delay: 150 ms}
trips:
  breakers: {Q0: [I>]}
";

    fn relay() -> Relay {
        substation::settings::read("", TEXT).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn each_element_is_a_node_of_its_class() {
        let live = Live::new(&relay(), CommonTime::ZERO, 0);
        let (server, _) = server(&relay(), &live);
        for item in [
            "ULPTUV1$ST$Str$general",
            "fHPTOF1$ST$Op$general",
            "IHPTOC1$ST$Str$dirGeneral",
            "IHHPIOC1$SP$StrVal$setMag$f",
            "IEHPTOC1$SP$OpDlTmms$setVal",
            "BFRBRF1$ST$OpEx$general",
            "Q0PTRC1$ST$Tr$q",
            "s01MMXU1$MX$PhV$phsC$cVal$ang$f",
            "s01MMXU1$CF$Hz$units$SIUnit",
            "LLN0$EX$NamPlt$ldNs",
            "LPHD1$DC$PhyNam$vendor",
        ] {
            assert!(server.model().slot(item).is_some(), "{item}");
        }
        let text = |item| server.model().value(server.model().slot(item).expect("it is there"));
        let name = Value::VisibleString("U<".to_owned());
        assert_eq!(text("ULPTUV1$DC$NamPlt$d"), Some(&name));
        // An inverse time is no delay, and PIOC has none; the name space is of another constraint.
        for item in
            ["IHPTOC1$SP$OpDlTmms$setVal", "IHHPIOC1$SP$OpDlTmms$setVal", "LLN0$DC$NamPlt$ldNs"]
        {
            assert_eq!(server.model().slot(item), None, "{item}");
        }
    }

    #[test]
    fn every_data_object_that_changes_is_filled() {
        let live = Live::new(&relay(), CommonTime::ZERO, 0);
        let (server, bindings) = server(&relay(), &live);
        // Of 6 elements two each, of the stream 9, of the breaker one, of the device 4; a behaviour
        // for each node but that of the host.
        assert_eq!(bindings.0.len(), 12 + 9 + 1 + 4 + 9);
        for (slot, value) in bindings.values(&live) {
            assert_eq!(server.model().value(slot), Some(&value));
        }
    }
}
