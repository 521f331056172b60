//! What messages of other devices say: positions of breakers, elements to be blocked, breakers to be
//! tripped, trips that a breaker failure element must know of.
//!
//! While a publisher is silent, or what it says has no good quality, positions are unknown, nothing
//! is blocked and nothing tripped: a relay that cannot hear its neighbour clears faults rather than
//! waits for it, and trips on nothing that it does not trust.

use iec61850::SampleTime;
use iec61850::goose::{Counters, Field, Liveness, Reception, Refusal, Said, Subscriber};
use iec61850::wire::{Data, Goose, Quality};
use substation::settings::{Entry, Input, Mode, Relay};

#[derive(Debug)]
pub(crate) struct Subscribed {
    subscriber: Subscriber,
    entries: Vec<Entry>,
    /// The element or breaker that each entry is for, by its number.
    places: Vec<Option<usize>>,
    /// The value of each entry, unknown without a publisher and without quality.
    pub(crate) values: Vec<Option<bool>>,
    takes_tests: bool,
}

/// What a value of a message wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// An element is told something.
    Tell(Input, usize),
    /// An element is told of a trip of one pole, by its place.
    Initiate(usize, usize),
    /// A breaker is to be tripped.
    Trip(usize),
    /// A breaker is closed or not, or one of its poles.
    Position(usize, Option<usize>),
    /// A setting group is to be active, by its number from 1.
    Group(u8),
}

impl Subscribed {
    pub(crate) fn of(relay: &Relay) -> Vec<Self> {
        let place = |entry: &Entry| relay.protection.place(entry);
        let subscriptions = relay.subscriptions.values();
        subscriptions
            .map(|subscription| Self {
                subscriber: Subscriber::new(subscription.expected.clone()),
                places: subscription.entries.iter().map(place).collect(),
                takes_tests: relay.mode == Mode::Test,
                values: vec![None; subscription.entries.len()],
                entries: subscription.entries.clone(),
            })
            .collect()
    }

    /// A message has come; others than the expected are left.
    pub(crate) fn receive(&mut self, now: SampleTime, message: &Goose<'_>) {
        if !self.subscriber.expected().matches(message) {
            return;
        }
        let checked = self.subscriber.expected().check(message);
        if let (Some(odd), Ok(())) = (self.odd_kind(message), checked) {
            self.subscriber.refuse(now, odd);
        } else if self.subscriber.receive(now, message) == Reception::Changed {
            self.take(message);
        }
    }

    /// What was refused and is worth a record.
    pub(crate) fn take_report(&mut self) -> Option<Refusal> {
        self.subscriber.take_report()
    }

    pub(crate) fn poll(&mut self, now: SampleTime) -> Liveness {
        let liveness = self.subscriber.poll(now);
        if liveness != Liveness::Alive {
            self.values.fill(None);
        }
        liveness
    }

    pub(crate) const fn counters(&self) -> &Counters {
        self.subscriber.counters()
    }

    /// The breaker whose lockout is reset when this value becomes true.
    pub(crate) fn resets(&self, entry: usize) -> Option<usize> {
        self.places[entry].filter(|_| matches!(self.entries[entry], Entry::Reset(_)))
    }

    /// What it says to elements and breakers, and the value if it is known.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (Order, Option<bool>)> {
        let known = self.entries.iter().zip(&self.places).zip(&self.values);
        known.filter_map(|((entry, place), value)| {
            let order = match entry {
                Entry::Input(input, _) => Order::Tell(*input, (*place)?),
                Entry::InitiatePole(_, pole) => Order::Initiate((*place)?, *pole),
                Entry::Trip(_) => Order::Trip((*place)?),
                Entry::Position(_) => Order::Position((*place)?, None),
                Entry::PolePosition(_, pole) => Order::Position((*place)?, Some(*pole)),
                Entry::Group(number) => Order::Group(*number),
                Entry::Reset(_) | Entry::Quality(_) | Entry::Unused => return None,
            };
            Some((order, *value))
        })
    }

    /// The first value that is of another kind than its entry.
    fn odd_kind(&self, message: &Goose<'_>) -> Option<Refusal> {
        let values = self.entries.iter().zip(message.all_data.elements()).enumerate();
        let mut odd = values.filter_map(|(index, (entry, data))| {
            let (fits, expected) = match entry {
                Entry::Position(_) | Entry::PolePosition(..) => match data {
                    Data::BitString(bits) => (bits.len() == 2, "a double point or boolean"),
                    other => (matches!(other, Data::Boolean(_)), "a double point or boolean"),
                },
                Entry::Input(..)
                | Entry::InitiatePole(..)
                | Entry::Trip(_)
                | Entry::Reset(_)
                | Entry::Group(_) => (matches!(data, Data::Boolean(_)), "a boolean"),
                Entry::Quality(_) => (
                    matches!(data, Data::BitString(bits) if Quality::from_bits(bits).is_some()),
                    "a quality",
                ),
                Entry::Unused => return None,
            };
            (!fits).then_some((index as u32, expected))
        });
        odd.next().map(|(index, expected)| Refusal {
            field: Field::AllData,
            expected: Said::Words(expected),
            got: Said::Value(index),
        })
    }

    /// Values first, then their qualities, which may stand before them.
    fn take(&mut self, message: &Goose<'_>) {
        let entries = self.entries.iter().zip(message.all_data.elements());
        for (value, (entry, data)) in self.values.iter_mut().zip(entries) {
            *value = match (entry, data) {
                (Entry::Quality(_), _) => None,
                (_, Data::Boolean(value)) => Some(value),
                (Entry::Position(_) | Entry::PolePosition(..), Data::BitString(bits)) => {
                    match (bits.get(0), bits.get(1)) {
                        (Some(true), Some(false)) => Some(true),
                        (Some(false), Some(true)) => Some(false),
                        _ => None,
                    }
                }
                _ => None,
            };
        }
        for (entry, data) in self.entries.iter().zip(message.all_data.elements()) {
            if let (Entry::Quality(of), Data::BitString(bits)) = (entry, data) {
                let quality = Quality::from_bits(bits).unwrap_or(Quality::INVALID);
                if !quality.is_usable(self.takes_tests) {
                    for guarded in of {
                        self.values[*guarded] = None;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iec61850::wire::{UtcTime, Value};
    use substation::settings;

    use crate::goose;

    const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams: {s: {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
elements: {I>: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}}
subscriptions:
  breaker:
    reference: Q0
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    entries: [position Q0, quality, block I>, unused]
";

    /// Hands a message with these values over at that time; answers what is known then.
    fn give(to: &mut Subscribed, ms: u64, st_num: u32, values: &[Value]) -> Vec<Option<bool>> {
        let frame = goose::frame(values, |message| {
            message.time_allowed_to_live_ms = 100;
            message.t = UtcTime::from_realtime_ns(ms * 1_000_000, 0);
            message.st_num = st_num;
        });
        let message = Goose::decode(&frame).expect("it was encoded");
        let now = SampleTime::from_ns(ms * 1_000_000);
        to.receive(now, &message);
        to.poll(now);
        to.values.clone()
    }

    fn values(position: u8, quality: u8, block: bool) -> [Value; 4] {
        [
            Value::BitString(vec![position], 6),
            Value::BitString(vec![quality, 0], 3),
            Value::Boolean(block),
            Value::VisibleString("whatever".into()),
        ]
    }

    #[test]
    fn positions_and_blocks_are_known_while_the_publisher_is_heard() {
        let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
        let mut all = Subscribed::of(&relay);
        let subscribed = &mut all[0];
        let known = give(subscribed, 0, 1, &values(0x80, 0, true));
        assert_eq!(known[..3], [Some(true), None, Some(true)]);
        assert!(subscribed.orders().eq([(Order::Tell(Input::Block, 0), Some(true))]));
        // Open; of questionable quality; between the ends; silent.
        assert_eq!(give(subscribed, 1, 2, &values(0x40, 0, false))[0], Some(false));
        assert_eq!(give(subscribed, 2, 3, &values(0x40, 0xc0, false))[0], None);
        assert_eq!(give(subscribed, 3, 4, &values(0x00, 0, true))[0], None);
        assert_eq!(subscribed.poll(SampleTime::from_ns(104_000_000)), Liveness::Lost);
        assert!(subscribed.orders().eq([(Order::Tell(Input::Block, 0), None)]));
    }

    #[test]
    fn a_trip_of_one_pole_and_of_all_are_told_apart() {
        let text = SETTINGS.replace(
            "function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}",
            "function: breaker_failure, stream: s, breaker: Q0, pick_up: 20 A, \
             retrip_delay: 50 ms, backup_delay: 150 ms}",
        ) + "trips: {breakers: {Q0: I>}}\n";
        let text = text.replace("quality, block I>, unused", "unused, initiate I>, initiate I> C");
        let relay = settings::read("relay.yaml", &text).unwrap_or_else(|p| panic!("{p}"));
        let mut all = Subscribed::of(&relay);
        let [position, unused, all_poles, _] = values(0x80, 0, false);
        give(&mut all[0], 0, 1, &[position, unused, all_poles, Value::Boolean(true)]);
        let orders: Vec<_> = all[0].orders().skip(1).collect();
        let told = Order::Tell(Input::Initiate, 0);
        assert_eq!(orders, [(told, Some(false)), (Order::Initiate(0, 2), Some(true))]);
    }

    #[test]
    fn values_of_other_kinds_change_nothing() {
        let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
        let mut all = Subscribed::of(&relay);
        let [position, quality, block, unused] = values(0x80, 0, true);
        let swapped = [block, quality, position, unused];
        assert_eq!(give(&mut all[0], 0, 1, &swapped), [None; 4]);
        assert_eq!((all[0].counters().misconfigured, all[0].counters().received), (1, 1));
        let said = all[0].take_report().expect("it is worth a record").to_string();
        assert_eq!(said, "allData: expected a boolean, got another kind of value as number 3");
    }

    #[test]
    fn a_quality_before_its_value_is_the_quality_of_that_value() {
        let text = SETTINGS.replace(
            "[position Q0, quality, block I>, unused]",
            "[quality of 2, position Q0, quality of 4, block I>]",
        );
        let relay = settings::read("relay.yaml", &text).expect("the settings are good");
        let mut all = Subscribed::of(&relay);
        let subscribed = &mut all[0];
        let mut told = |ms, st_num, qualities: [u8; 2]| {
            let [position, _, block, _] = values(0x80, 0, true);
            let [one, other] = qualities.map(|quality| Value::BitString(vec![quality, 0], 3));
            let known = give(subscribed, ms, st_num, &[one, position, other, block]);
            [known[1], known[3]]
        };
        assert_eq!(told(0, 1, [0, 0]), [Some(true), Some(true)]);
        // The position is of questionable quality, and then what blocks is.
        assert_eq!(told(1, 2, [0xc0, 0]), [None, Some(true)]);
        assert_eq!(told(2, 3, [0, 0xc0]), [Some(true), None]);
        assert_eq!(told(3, 4, [0, 0]), [Some(true), Some(true)]);
    }
}
