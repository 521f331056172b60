//! Questions that hosts ask each other, such as how one stands, and what has come of the answers.
//!
//! An answer may be longer than a record, so it comes in pieces. A host has a few questions open with each other one
//! at a time: one that answers nothing, or asks on and on, costs the other little. What the octets say is for those
//! who ask and answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Questions of one host to another one that are open at a time; more than people ask at once.
pub const OPEN_MAX: usize = 16;
/// As long as a request to an agent.
pub const QUESTION_OCTETS_MAX: usize = 64 * 1024;
/// So much of an answer is in one record.
pub const PIECE_OCTETS_MAX: usize = 64 * 1024;
/// Longer than what is to be said of some ten thousand processes.
pub const ANSWER_OCTETS_MAX: usize = 1024 * 1024;

/// Asked of another host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// Counted from 1 by who asks, for each other host.
    pub number: u64,
    pub octets: Vec<u8>,
}

/// A piece of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The number of the question.
    pub number: u64,
    pub is_last: bool,
    pub octets: Vec<u8>,
}

/// Why a question is not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    TooLong,
    /// That host has not answered [`OPEN_MAX`] others.
    TooMany,
}

/// What no host says that works as it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Another question was to come.
    Number,
    /// It waits for no more answers than [`OPEN_MAX`].
    TooMany,
    /// A question or an answer.
    TooLong,
    /// It answers what it was not asked.
    Unasked,
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Number => "has left out a question, or repeats one",
            Self::TooMany => "asks more at a time than hosts do",
            Self::TooLong => "says more at a time than hosts do",
            Self::Unasked => "answers what it was not asked",
        })
    }
}

/// Those that one host has asked, and was asked.
#[derive(Clone, Debug)]
pub struct Questions {
    with: Vec<With>,
}

/// Between this host and another one.
#[derive(Clone, Default, Debug)]
struct With {
    asked: u64,
    /// What has come of answers that are not whole.
    coming: BTreeMap<u64, Vec<u8>>,
    /// The number of its last question.
    was_asked: u64,
    /// Its questions that were not answered.
    open: BTreeSet<u64>,
}

impl Questions {
    /// With so many hosts, of which one is this.
    pub fn new(hosts: usize) -> Self {
        Self { with: vec![With::default(); hosts] }
    }

    /// The next question to this host, to be said.
    ///
    /// # Errors
    /// When it is not asked.
    pub fn ask(&mut self, host: usize, octets: Vec<u8>) -> Result<Question, Refused> {
        let with = &mut self.with[host];
        if octets.len() > QUESTION_OCTETS_MAX {
            return Err(Refused::TooLong);
        }
        if with.coming.len() >= OPEN_MAX {
            return Err(Refused::TooMany);
        }
        with.asked += 1;
        with.coming.insert(with.asked, Vec::new());
        Ok(Question { number: with.asked, octets })
    }

    /// This host is asked something.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn was_asked(&mut self, from: usize, question: &Question) -> Result<(), Wrong> {
        let with = &mut self.with[from];
        if question.number != with.was_asked + 1 {
            return Err(Wrong::Number);
        }
        if question.octets.len() > QUESTION_OCTETS_MAX {
            return Err(Wrong::TooLong);
        }
        if with.open.len() >= OPEN_MAX {
            return Err(Wrong::TooMany);
        }
        with.was_asked = question.number;
        with.open.insert(question.number);
        Ok(())
    }

    /// The answer to a question, to be said in these pieces. Nothing is said instead of one that is too long, and to a
    /// question that is not open.
    pub fn answer(&mut self, to: usize, number: u64, octets: &[u8]) -> Vec<Piece> {
        if !self.with[to].open.remove(&number) {
            return Vec::new();
        }
        let octets = if octets.len() > ANSWER_OCTETS_MAX { &[] } else { octets };
        let count = octets.len().div_ceil(PIECE_OCTETS_MAX).max(1);
        let piece = |place: usize| {
            let rest = &octets[place * PIECE_OCTETS_MAX..];
            let octets = rest[..rest.len().min(PIECE_OCTETS_MAX)].to_vec();
            Piece { number, is_last: place + 1 == count, octets }
        };
        (0..count).map(piece).collect()
    }

    /// A piece of an answer has come. Returns the answer, with the number of its question, if it is whole; one of no
    /// octets was too long.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn was_answered(
        &mut self,
        from: usize,
        piece: Piece,
    ) -> Result<Option<(u64, Vec<u8>)>, Wrong> {
        let Piece { number, is_last, octets } = piece;
        let coming = &mut self.with[from].coming;
        let answer = coming.get_mut(&number).ok_or(Wrong::Unasked)?;
        if answer.len() + octets.len() > ANSWER_OCTETS_MAX {
            return Err(Wrong::TooLong);
        }
        answer.extend(octets);
        Ok(is_last.then(|| (number, coming.remove(&number).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    /// Asks host 1 and answers as host 0.
    fn two() -> [Questions; 2] {
        [Questions::new(2), Questions::new(2)]
    }

    #[test]
    fn each_question_gets_its_own_answer_in_whatever_order_they_come() {
        for seed in 0..50 {
            let (mut random, [mut asks, mut answers]) = (Random::new(seed), two());
            let (mut open, mut said, mut got) = (Vec::new(), Vec::<Piece>::new(), 0);
            for _ in 0..200 {
                match asks.ask(1, b"how long".to_vec()) {
                    Ok(question) => {
                        answers.was_asked(0, &question).unwrap();
                        open.push(question.number);
                    }
                    Err(refused) => assert_eq!(refused, Refused::TooMany),
                }
                if random.below(2) == 0 && !open.is_empty() {
                    let number = open.remove(random.below(open.len() as u64) as usize);
                    let length = random.below(3 * PIECE_OCTETS_MAX as u64) as usize;
                    let octet = u8::try_from(number % 251).unwrap();
                    said.extend(answers.answer(0, number, &vec![octet; length.max(1)]));
                    assert_eq!(answers.answer(0, number, b"again"), []);
                }
                if random.below(3) == 0 {
                    for piece in said.drain(..) {
                        assert!(piece.octets.len() <= PIECE_OCTETS_MAX);
                        if let Some((number, octets)) = asks.was_answered(1, piece).unwrap() {
                            let octet = u8::try_from(number % 251).unwrap();
                            assert!(!octets.is_empty() && octets.iter().all(|one| *one == octet));
                            got += 1;
                        }
                    }
                }
            }
            assert!(got > 20, "seed {seed}: {got}");
        }
    }

    #[test]
    fn who_is_not_answered_asks_no_more_than_so_much() {
        let [mut asks, mut answers] = two();
        let questions: Vec<_> = (0..OPEN_MAX).map(|_| asks.ask(1, Vec::new()).unwrap()).collect();
        assert_eq!(asks.ask(1, Vec::new()), Err(Refused::TooMany));
        assert_eq!(asks.ask(0, vec![0; QUESTION_OCTETS_MAX + 1]), Err(Refused::TooLong));
        for question in &questions {
            answers.was_asked(0, question).unwrap();
        }
        let [piece] = answers.answer(0, 1, b"done")[..].to_vec().try_into().unwrap();
        assert_eq!(asks.was_answered(1, piece), Ok(Some((1, b"done".to_vec()))));
        assert!(asks.ask(1, Vec::new()).is_ok());
    }

    #[test]
    fn an_answer_that_is_too_long_is_none() {
        let [mut asks, mut answers] = two();
        answers.was_asked(0, &asks.ask(1, Vec::new()).unwrap()).unwrap();
        let pieces = answers.answer(0, 1, &vec![7; ANSWER_OCTETS_MAX + 1]);
        assert_eq!(pieces, [Piece { number: 1, is_last: true, octets: Vec::new() }]);
        answers.was_asked(0, &asks.ask(1, Vec::new()).unwrap()).unwrap();
        let mut whole = None;
        for piece in answers.answer(0, 2, &vec![7; ANSWER_OCTETS_MAX]) {
            whole = asks.was_answered(1, piece).unwrap();
        }
        assert_eq!(whole.unwrap().1.len(), ANSWER_OCTETS_MAX);
    }

    #[test]
    fn what_no_host_says_is_refused_and_costs_no_more_than_what_one_says() {
        let [mut asks, mut answers] = two();
        let piece = |number, length| Piece { number, is_last: false, octets: vec![0; length] };
        assert_eq!(asks.was_answered(1, piece(1, 1)), Err(Wrong::Unasked));
        let _ = asks.ask(1, Vec::new()).unwrap();
        for _ in 0..ANSWER_OCTETS_MAX / PIECE_OCTETS_MAX {
            assert_eq!(asks.was_answered(1, piece(1, PIECE_OCTETS_MAX)), Ok(None));
        }
        assert_eq!(asks.was_answered(1, piece(1, 1)), Err(Wrong::TooLong));
        let question = |number, length| Question { number, octets: vec![0; length] };
        for (number, length, wrong) in [
            (0, 0, Wrong::Number),
            (2, 0, Wrong::Number),
            (u64::MAX, 0, Wrong::Number),
            (1, QUESTION_OCTETS_MAX + 1, Wrong::TooLong),
        ] {
            assert_eq!(answers.was_asked(0, &question(number, length)), Err(wrong));
        }
        for number in 1..=OPEN_MAX as u64 {
            assert_eq!(answers.was_asked(0, &question(number, 0)), Ok(()));
        }
        let one_more = question(OPEN_MAX as u64 + 1, 0);
        assert_eq!(answers.was_asked(0, &one_more), Err(Wrong::TooMany));
    }
}
