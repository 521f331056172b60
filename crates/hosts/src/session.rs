//! Words between two hosts that outlive their connection: each comes once, and in order, though
//! connections break and are made again.
//!
//! A record is how many words its sender has received so far, and a word, or none. The first record of a
//! connection has none: it says from where the other one has to begin again. What was not said to have been
//! received is kept.

use std::collections::VecDeque;

/// Words that are kept for another host, in octets: one that takes no more of them for that long is lost.
pub const KEPT_OCTETS_MAX: usize = 64 * 1024 * 1024;

const COUNT_OCTETS: usize = 8;

/// What was said to and by one other host, over all connections.
#[derive(Clone, Debug, Default)]
pub struct Session {
    received: u64,
    /// Words that the other one has received.
    delivered: u64,
    /// Those after these, and how many octets they are.
    kept: VecDeque<Vec<u8>>,
    kept_octets: usize,
    /// Of these, how many were sent over the present connection; `None` until it is known from where.
    sent: Option<usize>,
}

/// A record says what cannot be: that more was received than was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Impossible;

impl Session {
    /// Keeps a word until the other one has it. Returns whether there was room for it.
    #[must_use]
    pub fn say(&mut self, word: Vec<u8>) -> bool {
        self.kept_octets += word.len();
        self.kept.push_back(word);
        self.kept_octets <= KEPT_OCTETS_MAX
    }

    /// Octets of words that the other one is not known to have received.
    pub const fn kept_octets(&self) -> usize {
        self.kept_octets
    }

    /// There is another connection. Returns the first record to be sent over it.
    pub fn connected(&mut self) -> Vec<u8> {
        self.sent = None;
        self.beat()
    }

    /// The next record to be sent over this connection, if there is one.
    pub fn next_record(&mut self) -> Option<Vec<u8>> {
        let sent = self.sent.as_mut()?;
        let word = self.kept.get(*sent)?;
        *sent += 1;
        Some([&self.received.to_le_bytes()[..], word].concat())
    }

    /// A record without a word: the other one is to know that this one is there, and what it has received.
    pub fn beat(&self) -> Vec<u8> {
        self.received.to_le_bytes().to_vec()
    }

    /// A record has come over this connection. Returns the word in it, if there is one.
    ///
    /// # Errors
    /// When no host says that which works as it should.
    pub fn take(&mut self, record: &[u8]) -> Result<Option<Vec<u8>>, Impossible> {
        let (count, word) = record.split_first_chunk::<COUNT_OCTETS>().ok_or(Impossible)?;
        let delivered = u64::from_le_bytes(*count);
        let more = delivered.checked_sub(self.delivered).ok_or(Impossible)?;
        let more = usize::try_from(more).map_err(|_| Impossible)?;
        if more > self.kept.len() {
            return Err(Impossible);
        }
        self.kept_octets -= self.kept.drain(..more).map(|word| word.len()).sum::<usize>();
        self.delivered = delivered;
        // Before the first record of a connection it is not known what has come over the last one.
        self.sent = Some(self.sent.map_or(0, |sent| sent.saturating_sub(more)));
        self.received += u64::from(!word.is_empty());
        Ok((!word.is_empty()).then(|| word.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    /// Two hosts, whose connection loses the last of what is on its way when it breaks.
    struct Two {
        sessions: [Session; 2],
        ways: [VecDeque<Vec<u8>>; 2],
        got: [Vec<u8>; 2],
        said: [u8; 2],
    }

    impl Two {
        fn new() -> Self {
            let mut two = Self {
                sessions: Default::default(),
                ways: Default::default(),
                got: Default::default(),
                said: [0; 2],
            };
            two.connect();
            two
        }

        fn connect(&mut self) {
            for (way, session) in self.ways.iter_mut().zip(&mut self.sessions) {
                way.clear();
                way.push_back(session.connected());
            }
        }

        fn step(&mut self, random: &mut Random, speaks: bool) {
            let me = random.below(2) as usize;
            match random.below(100) {
                0..20 if speaks => {
                    self.said[me] = self.said[me].wrapping_add(1);
                    assert!(self.sessions[me].say(vec![self.said[me]; 3]));
                }
                20..50 => self.ways[me].extend(self.sessions[me].next_record()),
                50..55 => {
                    let beat = self.sessions[me].beat();
                    self.ways[me].push_back(beat);
                }
                55..57 if speaks => self.connect(),
                _ => {
                    if let Some(record) = self.ways[1 - me].pop_front()
                        && let Some(word) = self.sessions[me].take(&record).unwrap()
                    {
                        self.got[me].push(word[0]);
                    }
                }
            }
        }
    }

    #[test]
    fn each_word_comes_once_and_in_order_however_often_the_connection_breaks() {
        for seed in 0..200 {
            let (mut two, mut random) = (Two::new(), Random::new(seed));
            for _ in 0..random.within(10, 600) {
                two.step(&mut random, true);
            }
            for _ in 0..2000 {
                two.step(&mut random, false);
            }
            for (me, got) in two.got.iter().enumerate() {
                let said: Vec<u8> = (1..=two.said[1 - me]).collect();
                assert_eq!(*got, said, "seed {seed}");
            }
            // A beat of each has come, so nothing is kept any more.
            assert_eq!(two.sessions.each_ref().map(|session| session.kept_octets), [0, 0]);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut session = Session::default();
        assert!(session.say(b"word".to_vec()));
        for record in [&[0; 7][..], &2_u64.to_le_bytes(), &u64::MAX.to_le_bytes()] {
            assert_eq!(session.take(record), Err(Impossible));
        }
        assert_eq!(session.take(&1_u64.to_le_bytes()), Ok(None));
        assert_eq!(session.take(&0_u64.to_le_bytes()), Err(Impossible), "it goes back");
    }

    #[test]
    fn nothing_is_sent_before_it_is_known_from_where() {
        let mut session = Session::default();
        session.connected();
        assert!(session.say(b"word".to_vec()));
        assert_eq!(session.next_record(), None);
        assert_eq!(session.take(&0_u64.to_le_bytes()), Ok(None));
        assert_eq!(session.next_record(), Some([&[0; 8], &b"word"[..]].concat()));
        assert_eq!(session.next_record(), None);
    }

    #[test]
    fn there_is_room_for_so_much() {
        let mut session = Session::default();
        let word = vec![0; 1024 * 1024];
        let fits = (0..100).take_while(|_| session.say(word.clone())).count();
        assert_eq!(fits, KEPT_OCTETS_MAX / word.len());
    }
}
