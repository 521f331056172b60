//! What one host tells another, as octets: a frame, a question and an answer as they are behind a short head, all else
//! as JSON. They are sealed, so only a host of the same run can have written them; what cannot be read is refused all the same.

use serde::{Deserialize, Serialize};
use vtime::{HostTime, VirtualTime};

use crate::holds::Message;
use crate::ns;
use crate::questions::{Piece, Question};
use crate::report::Report;

/// A frame, its kind, and where and when it arrives.
const FRAME: u8 = 1;
const FRAME_HEAD_OCTETS: usize = 1 + 4 + 8;
/// All else, as JSON.
const MESSAGE: u8 = 2;
/// A question, and its number.
const QUESTION: u8 = 3;
/// A piece of an answer, the number of its question, and whether it is the last one.
const PIECE: u8 = 4;

/// What one host tells another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// A frame goes on there.
    Frame {
        /// In which direction of which link, as both number them.
        direction: u32,
        arrival: VirtualTime,
        octets: Vec<u8>,
    },
    Report(Report),
    Holds(Message),
    Clock(Clock),
    Question(Question),
    Answer(Piece),
}

/// What is said of clocks that run by themselves. Host times are those of the sender, unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// What does yours show?
    Ask {
        #[serde(with = "ns::host")]
        asked: HostTime,
    },
    Tell {
        /// Of who has asked.
        #[serde(with = "ns::host")]
        asked: HostTime,
        #[serde(with = "ns::host")]
        heard: HostTime,
        #[serde(with = "ns::host")]
        told: HostTime,
        /// What the virtual clock showed when it was told, if it ran.
        runs: Option<Runs>,
    },
    /// The next word lets all go on, as of this host time.
    Goes {
        #[serde(with = "ns::host")]
        at: HostTime,
    },
}

/// A virtual clock that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Runs {
    /// Since this round of holds.
    pub round: u64,
    #[serde(with = "ns")]
    pub at: VirtualTime,
    pub tdf_millionths: u64,
}

/// It is nothing that a host says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Json {
    Report(Report),
    Holds(Message),
    Clock(Clock),
}

impl Word {
    /// As the octets of a record.
    pub fn encode(&self) -> Vec<u8> {
        let json = match self {
            Self::Frame { direction, arrival, octets } => {
                let mut out = Vec::with_capacity(FRAME_HEAD_OCTETS + octets.len());
                out.push(FRAME);
                out.extend(direction.to_le_bytes());
                out.extend(arrival.as_ns().to_le_bytes());
                out.extend(octets);
                return out;
            }
            Self::Report(report) => Json::Report(report.clone()),
            Self::Holds(message) => Json::Holds(*message),
            Self::Clock(clock) => Json::Clock(*clock),
            Self::Question(Question { number, octets }) => {
                return [&[QUESTION][..], &number.to_le_bytes(), octets].concat();
            }
            Self::Answer(Piece { number, is_last, octets }) => {
                return [&[PIECE][..], &number.to_le_bytes(), &[u8::from(*is_last)], octets]
                    .concat();
            }
        };
        let mut out = vec![MESSAGE];
        serde_json::to_writer(&mut out, &json).expect("a message is plain data");
        out
    }

    /// Of octets.
    ///
    /// # Errors
    /// When they are none of [`Word::encode`].
    pub fn decode(octets: &[u8]) -> Result<Self, Unreadable> {
        let (kind, rest) = octets.split_first().ok_or(Unreadable)?;
        match *kind {
            FRAME => {
                let (direction, rest) = rest.split_first_chunk().ok_or(Unreadable)?;
                let (arrival, rest) = rest.split_first_chunk().ok_or(Unreadable)?;
                Ok(Self::Frame {
                    direction: u32::from_le_bytes(*direction),
                    arrival: VirtualTime::from_ns(i64::from_le_bytes(*arrival)),
                    octets: rest.to_vec(),
                })
            }
            MESSAGE => match serde_json::from_slice(rest).map_err(|_| Unreadable)? {
                Json::Report(report) => Ok(Self::Report(report)),
                Json::Holds(message) => Ok(Self::Holds(message)),
                Json::Clock(clock) => Ok(Self::Clock(clock)),
            },
            QUESTION => {
                let (number, octets) = rest.split_first_chunk().ok_or(Unreadable)?;
                let (number, octets) = (u64::from_le_bytes(*number), octets.to_vec());
                Ok(Self::Question(Question { number, octets }))
            }
            PIECE => {
                let (number, rest) = rest.split_first_chunk().ok_or(Unreadable)?;
                let number = u64::from_le_bytes(*number);
                let (is_last, octets) = match rest.split_first().ok_or(Unreadable)? {
                    (0, octets) => (false, octets.to_vec()),
                    (1, octets) => (true, octets.to_vec()),
                    _ => return Err(Unreadable),
                };
                Ok(Self::Answer(Piece { number, is_last, octets }))
            }
            _ => Err(Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::holds::Say;
    use crate::report::Group;

    fn any_time() -> impl Strategy<Value = VirtualTime> {
        any::<i64>().prop_map(VirtualTime::from_ns)
    }

    fn any_report() -> impl Strategy<Value = Report> {
        let counts = || proptest::collection::vec(any::<u64>(), 0..5);
        let group = (any::<u64>(), any_time()).prop_map(|(last, arrival)| Group { last, arrival });
        let groups = proptest::collection::vec(proptest::collection::vec(group, 0..4), 0..5);
        let time = || proptest::option::of(any_time());
        let wants = (time(), time());
        let numbers = (any::<u64>(), any::<u32>());
        (numbers, any_time(), counts(), groups, counts(), wants).prop_map(
            |((number, view), next, received, under_way, heard, (for_timers, wants))| Report {
                number,
                view,
                next,
                received,
                under_way,
                heard,
                for_timers,
                wants,
            },
        )
    }

    fn any_say() -> impl Strategy<Value = Say> {
        prop_oneof![
            (any_time(), any::<u32>()).prop_map(|(at, holds)| Say::Stop { at, holds }),
            any::<i64>().prop_map(|ns| Say::Stands { at: VirtualTime::from_ns(ns) }),
            any::<u32>().prop_map(Say::Holds),
            Just(Say::Go),
        ]
    }

    fn any_clock() -> impl Strategy<Value = Clock> {
        let host = || any::<i64>().prop_map(HostTime::from_ns);
        let runs = (any::<u64>(), any_time(), any::<u64>());
        let runs = runs.prop_map(|(round, at, tdf_millionths)| Runs { round, at, tdf_millionths });
        prop_oneof![
            host().prop_map(|asked| Clock::Ask { asked }),
            (host(), host(), host(), proptest::option::of(runs))
                .prop_map(|(asked, heard, told, runs)| Clock::Tell { asked, heard, told, runs }),
            host().prop_map(|at| Clock::Goes { at }),
        ]
    }

    fn any_word() -> impl Strategy<Value = Word> {
        let octets = || proptest::collection::vec(any::<u8>(), 0..100);
        prop_oneof![
            (any::<u32>(), any_time(), octets()).prop_map(|(direction, arrival, octets)| {
                Word::Frame { direction, arrival, octets }
            }),
            any_report().prop_map(Word::Report),
            any_clock().prop_map(Word::Clock),
            (any::<u32>(), any::<u64>(), any_say())
                .prop_map(|(view, round, say)| Word::Holds(Message { view, round, say })),
            (any::<u64>(), octets())
                .prop_map(|(number, octets)| Word::Question(Question { number, octets })),
            (any::<u64>(), any::<bool>(), octets()).prop_map(|(number, is_last, octets)| {
                Word::Answer(Piece { number, is_last, octets })
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(word in any_word()) {
            prop_assert_eq!(Word::decode(&word.encode()), Ok(word));
        }

        #[test]
        fn no_octets_make_it_panic(word in any_word(), cut: prop::sample::Index, other: u8) {
            let mut octets = word.encode();
            let place = cut.index(octets.len());
            octets[place] = other;
            let _ = Word::decode(&octets);
            octets.truncate(place);
            let _ = Word::decode(&octets);
        }
    }

    #[test]
    fn a_message_is_short() {
        let say = Say::Stop { at: VirtualTime::from_ns(1_000_000_000), holds: 1 };
        let octets = Word::Holds(Message { view: 0, round: 7, say }).encode();
        let text = r#"{"holds":{"view":0,"round":7,"say":{"stop":{"at":1000000000,"holds":1}}}}"#;
        assert_eq!(octets[1..], *text.as_bytes());
    }
}
