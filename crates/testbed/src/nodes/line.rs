//! What goes over the line between a relay and its runner: from the runner the orders, a line each; from the relay
//! reports, what programs wrote and captures, told apart by their first character. An empty line says that the
//! other end is there: whoever hears nothing for [`SILENCE_LONGEST`] takes it for lost.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::orders::{Output, Report};

/// How often each end says that it is there.
pub const SAID_EVERY: Duration = Duration::from_millis(500);
/// For how long an end may say nothing.
pub const SILENCE_LONGEST: Duration = Duration::from_secs(4);
/// Most octets of a line and of a piece of a file; what programs write comes in smaller ones.
const OCTETS_MAX: u64 = 64 << 20;

const REPORT: u8 = b'r';
const OUTPUT: u8 = b'o';
const PIECE: u8 = b'f';

/// What a relay has said.
#[derive(Debug)]
pub enum Word {
    /// That it is there.
    There,
    Report(Box<Report>),
    Output(Output),
    /// The next octets of a file.
    Piece(Piece, Vec<u8>),
}

/// What stands before octets of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// The file, without its folder.
    pub file: String,
    /// How many come; none after the last.
    pub octets: u64,
    /// Why the file has no more than what came before; there are no octets then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// A line of a report, or of what a program wrote, as the agent has written them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Report,
    Output,
}

/// The line of an agent as it goes over the line between relay and runner.
pub fn of_agent(kind: Kind, line: &str) -> Vec<u8> {
    let first = if kind == Kind::Report { REPORT } else { OUTPUT };
    let mut octets = vec![first];
    octets.extend_from_slice(line.as_bytes());
    octets.push(b'\n');
    octets
}

/// Octets of a file, to be sent as they are.
pub fn of_piece(piece: &Piece, octets: &[u8]) -> Vec<u8> {
    let mut line = vec![PIECE];
    serde_json::to_writer(&mut line, piece).expect("a vector takes all");
    line.push(b'\n');
    line.extend_from_slice(octets);
    line
}

/// The next word; `None` when there is no more.
///
/// # Errors
/// When the line breaks, or what came is no word.
pub fn next(from: &mut impl BufRead) -> io::Result<Option<Word>> {
    let mut line = Vec::new();
    from.by_ref().take(OCTETS_MAX).read_until(b'\n', &mut line)?;
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let Some((b'\n', text)) = line.split_last() else {
        return match line.is_empty() {
            true => Ok(None),
            false => Err(invalid("a line is cut off or has no end".to_owned())),
        };
    };
    let Some((first, rest)) = text.split_first() else { return Ok(Some(Word::There)) };
    let wrong = |error: serde_json::Error| invalid(error.to_string());
    Ok(Some(match *first {
        REPORT => Word::Report(Box::new(serde_json::from_slice(rest).map_err(wrong)?)),
        OUTPUT => Word::Output(serde_json::from_slice(rest).map_err(wrong)?),
        PIECE => {
            let piece: Piece = serde_json::from_slice(rest).map_err(wrong)?;
            if piece.octets > OCTETS_MAX {
                return Err(invalid(format!("{} octets at once", piece.octets)));
            }
            let mut octets = Vec::new();
            from.by_ref().take(piece.octets).read_to_end(&mut octets)?;
            if octets.len() as u64 != piece.octets {
                return Err(invalid("a file is cut off".to_owned()));
            }
            Word::Piece(piece, octets)
        }
        other => return Err(invalid(format!("a line begins with {:?}", char::from(other)))),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_sent_comes_in_order_and_as_it_was() {
        let output = r#"{"program":"p","error":false,"at_ns":7,"text":"one\ntwo\n"}"#.to_owned();
        let piece = Piece { file: "a.pcapng".to_owned(), octets: 4, cut: None };
        let octets = [
            of_agent(Kind::Report, r#"{"report":"arrived"}"#),
            b"\n".to_vec(),
            of_piece(&piece, b"\n\nr{"),
            of_agent(Kind::Output, &output),
        ];
        let octets = octets.concat();
        let mut from = &octets[..];
        let mut word = || next(&mut from).unwrap();
        assert!(matches!(word(), Some(Word::Report(report)) if matches!(*report, Report::Arrived)));
        assert!(matches!(word(), Some(Word::There)));
        assert!(
            matches!(word(), Some(Word::Piece(is, octets)) if is == piece && octets == b"\n\nr{")
        );
        assert!(matches!(word(), Some(Word::Output(output)) if output.text == "one\ntwo\n"));
        assert!(word().is_none());
        for cut in 1..octets.len() - 1 {
            let mut from = &octets[..cut];
            while let Ok(Some(_)) = next(&mut from) {}
        }
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut from = &octets[..];
            while let Ok(Some(_)) = next(&mut from) {}
        }

        #[test]
        fn nor_do_those_that_begin_well(kind in "[rof]", rest in "[{}\":,a-z0-9\n]{0,80}") {
            let octets = format!("{kind}{rest}");
            let mut from = octets.as_bytes();
            while let Ok(Some(_)) = next(&mut from) {}
        }
    }
}
