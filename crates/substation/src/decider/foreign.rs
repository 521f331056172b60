//! A relay of somebody else, which says over GOOSE what it decides.
//!
//! The message is believed because nobody else can send on the wire between relay and harness;
//! GOOSE itself proves nothing. So it must come over an interface that leads nowhere else.

use iec61850::SampleTime;
use iec61850::goose::{Counters, Expected, Field, Liveness, Reception, Refusal, Said, Subscriber};
use iec61850::wire::{Data, Goose};
use quorum::Action;

use super::{Decision, Voice};
use crate::settings::quorum::ForeignEntry;

/// A relay of another make, whose GOOSE says what it decides.
#[derive(Debug)]
pub struct Foreign {
    subscriber: Subscriber,
    entries: Vec<ForeignEntry>,
    wanted: Option<Action>,
    voice: Voice,
}

impl Foreign {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(expected: Expected, entries: Vec<ForeignEntry>) -> Self {
        let voice = Voice::default();
        Self { subscriber: Subscriber::new(expected), entries, wanted: None, voice }
    }

    /// What became of messages.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.subscriber.counters()
    }

    pub(super) fn message(&mut self, now: SampleTime, message: &Goose<'_>) {
        if !self.subscriber.expected().matches(message) {
            return;
        }
        let mut values = self.entries.iter().zip(message.all_data.elements());
        let odd = values.position(|(entry, data)| {
            *entry != ForeignEntry::Unused && !matches!(data, Data::Boolean(_))
        });
        let checked = self.subscriber.expected().check(message);
        if let (Some(index), Ok(())) = (odd, checked) {
            let (expected, got) = (Said::Words("a boolean"), Said::Value(index as u32));
            let refusal = Refusal { field: Field::AllData, expected, got };
            self.subscriber.refuse(now, refusal);
        } else if self.subscriber.receive(now, message) == Reception::Changed {
            let values = self.entries.iter().zip(message.all_data.elements());
            let wanted = values.filter_map(|(entry, data)| match (entry, data) {
                (ForeignEntry::Decides(action), Data::Boolean(true)) => Some(*action),
                _ => None,
            });
            // Trip is the lesser: it beats close.
            self.wanted = wanted.min();
        }
    }

    pub(super) fn look(&mut self, now: SampleTime) -> Option<Decision> {
        let is_alive = self.subscriber.poll(now) == Liveness::Alive;
        self.voice.say(self.wanted.filter(|_| is_alive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iec61850::wire::{AllData, Form, Header, MacAddress, UtcTime, Value};

    const GROUP: MacAddress = MacAddress([1, 0x0c, 0xcd, 1, 0, 1]);

    fn encoded(st_num: u32, values: [bool; 2]) -> Vec<u8> {
        let (mut data, mut frame) = (Vec::new(), Vec::new());
        Value::encode_all(&values.map(Value::Boolean), Form::Ordinary, &mut data);
        let source = MacAddress([2, 0, 0, 0, 0, 1]);
        Goose {
            header: Header { destination: GROUP, source, tag: None, app_id: 1, reserved: [0; 2] },
            gocb_ref: "F1/LLN0$GO$trips",
            time_allowed_to_live_ms: 100,
            dat_set: "F1/LLN0$trips",
            go_id: "trips",
            t: UtcTime::default(),
            st_num,
            sq_num: 0,
            simulation: false,
            conf_rev: 1,
            nds_com: false,
            all_data: AllData::decode(&data).expect("it was encoded"),
        }
        .encode(Form::Ordinary, &mut frame);
        frame
    }

    #[test]
    fn it_decides_as_long_as_the_relay_says_so_and_is_heard() {
        let expected = Expected {
            destination: GROUP,
            app_id: 1,
            gocb_ref: "F1/LLN0$GO$trips".into(),
            conf_rev: 1,
            dat_set: None,
            go_id: None,
            entries: 2,
            simulated: false,
        };
        let entries = [Action::Trip, Action::Close].map(ForeignEntry::Decides).to_vec();
        let mut foreign = Foreign::new(expected, entries);
        let at = |ms: u64| SampleTime::from_ns(ms * 1_000_000);
        assert_eq!(foreign.look(at(0)), None);
        let mut say = |ms, st_num, values| {
            let frame = encoded(st_num, values);
            foreign.message(at(ms), &Goose::decode(&frame).expect("it was encoded"));
            foreign.look(at(ms))
        };
        assert_eq!(say(1, 1, [false, false]), None);
        assert_eq!(say(2, 2, [true, false]), Some(Decision::Decided(Action::Trip)));
        assert_eq!(say(3, 3, [false, true]), Some(Decision::Decided(Action::Close)));
        assert_eq!(say(4, 4, [true, true]), Some(Decision::Decided(Action::Trip)));
        assert_eq!(foreign.look(at(50)), Some(Decision::Decided(Action::Trip)));
        assert_eq!(foreign.look(at(200)), Some(Decision::Withdrawn), "it is silent");
        assert_eq!(foreign.look(at(201)), None);
    }
}
