//! What hosts tell each other: whatever is understood is written as what is understood the same, and what another
//! host says, however wrong, ends nothing.
#![no_main]

use hosts::comparison::{Comparison, Exchange};
use hosts::stream::Greeting;
use hosts::words::{Clock, Word};
use hosts::{Distances, Grants, Holds, Questions};
use vtime::{HostTime, VirtualSpan, VirtualTime};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let _ = Greeting::decode(octets);
    let way = VirtualSpan::from_ns(5000);
    let mut grants = Grants::new(0, Distances::new(3, &[(0, 1, way), (1, 2, way), (2, 0, way)]));
    let mut holds = Holds::new(0, 3);
    let _ = holds.hold();
    let _ = holds.stopped(VirtualTime::from_ns(7));
    let mut comparison = Comparison::default();
    let mut questions = Questions::new(3);
    let asked = [1, 2].map(|host| questions.ask(host, Vec::new()));
    assert!(asked.iter().all(Result::is_ok));
    // Words of two others in turn, each with its length before it.
    let mut rest = octets;
    for from in [1, 2].into_iter().cycle() {
        let Some((length, after)) = rest.split_first() else { break };
        let (word, after) = after.split_at(after.len().min((*length).into()));
        rest = after;
        let Ok(word) = Word::decode(word) else { continue };
        assert_eq!(Word::decode(&word.encode()), Ok(word.clone()));
        match word {
            Word::Frame { arrival, .. } => _ = grants.received(from, arrival),
            Word::Report(report) => _ = grants.heard(from, report),
            Word::Holds(message) => _ = holds.heard(from, message),
            Word::Clock(Clock::Tell { asked, heard, told, .. }) => {
                let answered = HostTime::from_ns(9_000_000_000);
                let _ = comparison.take(&Exchange { asked, heard, told, answered });
            }
            Word::Clock(Clock::Ask { asked: at } | Clock::Goes { at }) => {
                let _ = (comparison.ours(at), comparison.rate_ppb());
            }
            Word::Question(question) => {
                if questions.was_asked(from, &question).is_ok() {
                    let pieces = questions.answer(from, question.number, &question.octets);
                    assert_eq!(pieces.len(), 1);
                }
            }
            Word::Answer(piece) => _ = questions.was_answered(from, piece),
        }
        let _ = (grants.horizon(), grants.others_are_past(VirtualTime::ZERO), grants.report());
    }
    // And one of them is lost, whatever it has said.
    let _ = (grants.is_lost(2), holds.is_lost(2), grants.horizon(), grants.report());
});
