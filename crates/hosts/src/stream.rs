//! A connection between two hosts as a stream of octets: who is there, then records.
//!
//! Both begin with a greeting: who they are, for whom it is, and 16 octets by chance. Greetings are not
//! sealed, so they prove nothing; a record that can be opened does. Everything that is wrong ends the
//! connection and nothing else, as whoever reaches the port can send it.

use crate::seal::{Forged, PairSecret, Seal, TAG_OCTETS};

const MAGIC: [u8; 4] = *b"QCh1";
/// Magic, who, for whom, by chance.
pub const GREETING_OCTETS: usize = 4 + 2 + 2 + CHANCE_OCTETS;
/// Octets that make the keys of a connection others than those of all before.
pub const CHANCE_OCTETS: usize = 16;
/// The largest frame, and what is around it; the longest report is shorter.
pub const RECORD_OCTETS_MAX: usize = 128 * 1024;
const HEAD_OCTETS: usize = 4;

/// Why a connection is of no use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It is not one of these connections, or of another version.
    NoGreeting,
    /// It is for another host, or from one that is none of these, or from this one.
    Misdirected,
    Forged,
    TooLong,
}

impl From<Forged> for Refusal {
    fn from(_: Forged) -> Self {
        Self::Forged
    }
}

/// The first octets of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Greeting {
    pub from: u16,
    pub to: u16,
    /// From the kernel's random numbers, for this connection alone.
    pub chance: [u8; CHANCE_OCTETS],
}

impl Greeting {
    /// As the first octets of a connection.
    pub fn encode(&self) -> [u8; GREETING_OCTETS] {
        let mut out = [0; GREETING_OCTETS];
        out[..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&self.from.to_le_bytes());
        out[6..8].copy_from_slice(&self.to.to_le_bytes());
        out[8..].copy_from_slice(&self.chance);
        out
    }

    /// Of the first octets of a connection; `None` while there are too few.
    ///
    /// # Errors
    /// When they are none, which is said as soon as it is known.
    pub fn decode(octets: &[u8]) -> Result<Option<Self>, Refusal> {
        let known = octets.len().min(MAGIC.len());
        if octets[..known] != MAGIC[..known] {
            return Err(Refusal::NoGreeting);
        }
        let Some(octets) = octets.first_chunk::<GREETING_OCTETS>() else { return Ok(None) };
        let number = |place: usize| u16::from_le_bytes([octets[place], octets[place + 1]]);
        let chance = *octets.last_chunk().expect("a greeting ends with it");
        Ok(Some(Self { from: number(4), to: number(6), chance }))
    }
}

/// Records of one connection, once both have greeted.
#[derive(Debug)]
pub struct Stream {
    outbound: Seal,
    inbound: Seal,
    /// What has come and is not a whole record yet.
    inbox: Vec<u8>,
    /// Whether a record could be opened.
    is_proven: bool,
}

impl Stream {
    /// The connection of those two who have greeted: `own` this host, `other` the other one.
    ///
    /// # Errors
    /// When the two have not greeted each other.
    pub fn new(secret: &PairSecret, own: Greeting, other: Greeting) -> Result<Self, Refusal> {
        if other.to != own.from || other.from != own.to || own.from == own.to {
            return Err(Refusal::Misdirected);
        }
        let seal = |from: Greeting, to: Greeting| {
            Seal::new(secret, &[from.encode(), to.encode()].concat())
        };
        let (outbound, inbound) = (seal(own, other), seal(other, own));
        Ok(Self { outbound, inbound, inbox: Vec::new(), is_proven: false })
    }

    /// Octets to be sent that are this record.
    ///
    /// # Panics
    /// When it is longer than any that is said.
    pub fn seal(&mut self, mut record: Vec<u8>) -> Vec<u8> {
        assert!(record.len() <= RECORD_OCTETS_MAX, "no record is that long");
        let length = u32::try_from(record.len() + TAG_OCTETS).expect("it is short");
        let head = length.to_le_bytes();
        self.outbound.close(&head, &mut record);
        record.splice(..0, head);
        record
    }

    /// Octets have come. Returns the records that are whole now.
    ///
    /// # Errors
    /// When they are not what the other host has sent. The connection is of no use any more; what it
    /// has brought before is.
    pub fn take(&mut self, octets: &[u8]) -> (Vec<Vec<u8>>, Result<(), Refusal>) {
        self.inbox.extend_from_slice(octets);
        let mut records = Vec::new();
        let mut begin = 0;
        let outcome = loop {
            let Some(head) = self.inbox[begin..].first_chunk::<HEAD_OCTETS>() else { break Ok(()) };
            let length = u32::from_le_bytes(*head) as usize;
            if !(TAG_OCTETS..=RECORD_OCTETS_MAX + TAG_OCTETS).contains(&length) {
                break Err(Refusal::TooLong);
            }
            let end = begin + HEAD_OCTETS + length;
            let Some(sealed) = self.inbox.get(begin + HEAD_OCTETS..end) else { break Ok(()) };
            let mut record = sealed.to_vec();
            if let Err(forged) = self.inbound.open(head, &mut record) {
                break Err(forged.into());
            }
            self.is_proven = true;
            records.push(record);
            begin = end;
        };
        self.inbox.drain(..begin);
        (records, outcome)
    }

    /// Whether it is known that the other host is there, and nobody else.
    pub const fn is_proven(&self) -> bool {
        self.is_proven
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn greetings() -> [Greeting; 2] {
        [(1, 2), (2, 1)].map(|(from, to)| Greeting { from, to, chance: [from as u8; 16] })
    }

    fn pair() -> [Stream; 2] {
        let (secret, [one, other]) = (PairSecret([5; 32]), greetings());
        [(one, other), (other, one)].map(|(own, other)| Stream::new(&secret, own, other).unwrap())
    }

    proptest! {
        #[test]
        fn records_come_as_they_were_sent_however_they_are_cut(
            records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..10),
            cuts in proptest::collection::vec(1usize..200, 1..50),
        ) {
            let [mut here, mut there] = pair();
            let octets: Vec<u8> =
                records.iter().flat_map(|record| here.seal(record.clone())).collect();
            let (mut rest, mut got) = (&octets[..], Vec::new());
            for cut in cuts.iter().cycle().take_while(|_| !records.is_empty()) {
                if rest.is_empty() {
                    break;
                }
                let (some, more) = rest.split_at((*cut).min(rest.len()));
                let (records, outcome) = there.take(some);
                outcome.unwrap();
                got.extend(records);
                rest = more;
            }
            prop_assert_eq!(there.is_proven(), !records.is_empty());
            prop_assert_eq!(got, records);
        }

        #[test]
        fn whatever_else_comes_is_refused(octets in proptest::collection::vec(any::<u8>(), 20..300)) {
            let [mut here, _] = pair();
            let (records, _) = here.take(&octets);
            prop_assert!(records.is_empty() && !here.is_proven());
            let _ = Greeting::decode(&octets);
        }
    }

    #[test]
    fn what_came_before_a_forged_record_counts() {
        let [mut here, mut there] = pair();
        let mut octets = here.seal(b"one".to_vec());
        let mut forged = here.seal(b"two".to_vec());
        forged[7] ^= 1;
        octets.extend(forged);
        assert_eq!(there.take(&octets), (vec![b"one".to_vec()], Err(Refusal::Forged)));
    }

    #[test]
    fn records_of_another_connection_cannot_be_opened() {
        let (secret, [one, other]) = (PairSecret([5; 32]), greetings());
        let [mut here, _] = pair();
        let octets = here.seal(b"one".to_vec());
        // The other side has greeted with something else now, which whoever replays cannot choose.
        let other = Greeting { chance: [9; 16], ..other };
        let mut there = Stream::new(&secret, other, one).unwrap();
        assert_eq!(there.take(&octets), (Vec::new(), Err(Refusal::Forged)));
        // Nor does it come back to who has sent it.
        assert_eq!(here.take(&octets), (Vec::new(), Err(Refusal::Forged)));
    }

    #[test]
    fn a_greeting_says_who_and_for_whom() {
        let [one, other] = greetings();
        let octets = one.encode();
        assert_eq!(Greeting::decode(&octets), Ok(Some(one)));
        assert_eq!(Greeting::decode(&octets[..20]), Ok(None));
        assert_eq!(Greeting::decode(b"GE"), Err(Refusal::NoGreeting));
        let secret = PairSecret([5; 32]);
        for wrong in [one, Greeting { from: 3, ..other }, Greeting { to: 3, ..other }] {
            assert_eq!(Stream::new(&secret, one, wrong).unwrap_err(), Refusal::Misdirected);
        }
    }

    #[test]
    fn a_length_that_no_record_has_is_refused_at_once() {
        let [mut here, _] = pair();
        assert_eq!(here.take(&u32::MAX.to_le_bytes()).1, Err(Refusal::TooLong));
        let [mut here, _] = pair();
        assert_eq!(here.take(&[3, 0, 0, 0]).1, Err(Refusal::TooLong));
    }
}
