//! One wire and all lines that are soldered to it: who drives it, which level it has, and who is told
//! of an edge.
//!
//! A resistor pulls the wire to its idle level; a line that drives it to the other one wins, as open
//! drains do. A line that drives it to the idle level changes nothing.
//!
//! A guest that is to be told of an edge hands over a buffer and gets it back with the next edge. An edge that comes
//! while the device has no buffer of that line is kept, one for each line: a guest that is slow is late and misses no
//! change of the level. Sockets and memory are elsewhere (`session`); here a buffer is any value.

use crate::protocol::{Direction, Edges, Request, encode_direction};

/// Each guest has one that drives and two that watch, one for each edge. Which is which is theirs to say.
pub(crate) const LINES: u16 = 3;

/// A buffer that goes back to a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer<B> {
    pub guest: usize,
    pub buffer: B,
    /// Whether there was an edge; else the line is no longer watched.
    pub is_edge: bool,
}

/// A line of a guest.
#[derive(Debug)]
struct Line<B> {
    direction: Direction,
    /// The level to which it drives the wire when it does.
    high: bool,
    edges: Edges,
    buffer: Option<B>,
    /// An edge for which there was no buffer.
    kept: bool,
}

impl<B> Default for Line<B> {
    fn default() -> Self {
        Self {
            direction: Direction::None,
            high: false,
            edges: Edges::None,
            buffer: None,
            kept: false,
        }
    }
}

/// A wire between guests, which are counted from zero.
#[derive(Debug)]
pub(crate) struct Wire<B> {
    idle_high: bool,
    high: bool,
    guests: Vec<[Line<B>; LINES as usize]>,
}

impl<B> Wire<B> {
    /// A wire at its idle level, with guests that do nothing yet.
    pub(crate) fn new(guests: usize, idle_high: bool) -> Self {
        let guests = (0..guests).map(|_| Default::default()).collect();
        Self { idle_high, high: idle_high, guests }
    }

    /// Carries out what a guest asks about a line: the value it is answered, or `None` if there is no such
    /// line; and the buffers that go back because of it, to whomever.
    pub(crate) fn request(
        &mut self,
        guest: usize,
        line: u16,
        request: Request,
    ) -> (Option<u8>, Vec<Answer<B>>) {
        let high = self.high;
        let Some(line) = self.guests[guest].get_mut(usize::from(line)) else {
            return (None, Vec::new());
        };
        let mut answers = Vec::new();
        let value = match request {
            Request::GetDirection => encode_direction(line.direction),
            Request::GetValue => u8::from(high),
            Request::SetDirection(direction) => {
                line.direction = direction;
                0
            }
            Request::SetValue(high) => {
                line.high = high;
                0
            }
            Request::Watch(edges) => {
                line.edges = edges;
                line.kept = false;
                if edges == Edges::None {
                    let buffer = line.buffer.take();
                    answers.extend(buffer.map(|buffer| Answer { guest, buffer, is_edge: false }));
                }
                0
            }
        };
        answers.extend(self.settle());
        (Some(value), answers)
    }

    /// Takes a buffer for the next edge of a line; it comes back at once if that has been already, or if there
    /// is no such line or nobody watches it.
    pub(crate) fn queue(&mut self, guest: usize, line: u16, buffer: B) -> Option<Answer<B>> {
        let Some(line) = self.guests[guest].get_mut(usize::from(line)) else {
            return Some(Answer { guest, buffer, is_edge: false });
        };
        if line.edges == Edges::None || line.buffer.is_some() {
            return Some(Answer { guest, buffer, is_edge: false });
        }
        if std::mem::take(&mut line.kept) {
            return Some(Answer { guest, buffer, is_edge: true });
        }
        line.buffer = Some(buffer);
        None
    }

    /// A guest is gone, and with it whatever it drove and all of its buffers.
    pub(crate) fn leave(&mut self, guest: usize) -> Vec<Answer<B>> {
        self.guests[guest] = Default::default();
        self.settle()
    }

    /// Gives the wire the level that its lines make, and tells of the edge if that is another one.
    fn settle(&mut self) -> Vec<Answer<B>> {
        let idle_high = self.idle_high;
        let mut lines = self.guests.iter().flatten();
        let is_driven =
            lines.any(|line| line.direction == Direction::Out && line.high != idle_high);
        let high = is_driven != idle_high;
        if high == self.high {
            return Vec::new();
        }
        self.high = high;
        let mut answers = Vec::new();
        for (guest, lines) in self.guests.iter_mut().enumerate() {
            for line in lines.iter_mut().filter(|line| line.edges.contain(high)) {
                match line.buffer.take() {
                    Some(buffer) => answers.push(Answer { guest, buffer, is_edge: true }),
                    None => line.kept = true,
                }
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const GUESTS: usize = 3;
    const OUT: Request = Request::SetDirection(Direction::Out);

    fn drive(wire: &mut Wire<u32>, guest: usize, high: bool) -> Vec<Answer<u32>> {
        let (value, mut answers) = wire.request(guest, 0, Request::SetValue(high));
        assert_eq!(value, Some(0));
        answers.extend(wire.request(guest, 0, OUT).1);
        answers
    }

    fn level(wire: &mut Wire<u32>) -> bool {
        wire.request(0, 1, Request::GetValue).0 == Some(1)
    }

    fn watch(wire: &mut Wire<u32>, guest: usize, line: u16, edges: Edges) {
        wire.request(guest, line, Request::Watch(edges));
    }

    #[test]
    fn the_wire_is_asserted_while_anybody_asserts_it() {
        let mut wire = Wire::new(GUESTS, false);
        assert!(!level(&mut wire));
        drive(&mut wire, 0, true);
        drive(&mut wire, 1, true);
        drive(&mut wire, 0, false);
        assert!(level(&mut wire));
        drive(&mut wire, 1, false);
        assert!(!level(&mut wire));
    }

    #[test]
    fn with_a_pull_up_low_wins() {
        let mut wire = Wire::new(GUESTS, true);
        assert!(level(&mut wire));
        drive(&mut wire, 0, true);
        drive(&mut wire, 1, false);
        assert!(!level(&mut wire));
        // An open drain lets go by becoming an input.
        wire.request(1, 0, Request::SetDirection(Direction::In));
        assert!(level(&mut wire));
    }

    #[test]
    fn all_are_told_of_an_edge_who_wait_for_it_also_the_one_who_made_it() {
        let mut wire = Wire::new(GUESTS, false);
        for guest in 0..GUESTS {
            watch(&mut wire, guest, 1, Edges::Rising);
            watch(&mut wire, guest, 2, Edges::Falling);
            let number = 10 * u32::try_from(guest).unwrap();
            assert_eq!(wire.queue(guest, 1, number + 1), None);
            assert_eq!(wire.queue(guest, 2, number + 2), None);
        }
        let told = |answers: Vec<Answer<u32>>| {
            assert!(answers.iter().all(|answer| answer.is_edge));
            answers.iter().map(|answer| (answer.guest, answer.buffer)).collect::<Vec<_>>()
        };
        assert_eq!(told(drive(&mut wire, 1, true)), [(0, 1), (1, 11), (2, 21)]);
        assert_eq!(told(drive(&mut wire, 2, true)), []);
        assert_eq!(told(drive(&mut wire, 1, false)), []);
        assert_eq!(told(drive(&mut wire, 2, false)), [(0, 2), (1, 12), (2, 22)]);
    }

    #[test]
    fn an_edge_waits_for_a_buffer() {
        let mut wire = Wire::new(GUESTS, false);
        watch(&mut wire, 0, 1, Edges::Both);
        assert_eq!(drive(&mut wire, 1, true), []);
        assert_eq!(wire.queue(0, 1, 7), Some(Answer { guest: 0, buffer: 7, is_edge: true }));
        assert_eq!(wire.queue(0, 1, 8), None);
    }

    #[test]
    fn who_stops_watching_gets_the_buffer_back_and_no_edge() {
        let mut wire = Wire::new(GUESTS, false);
        watch(&mut wire, 0, 1, Edges::Both);
        wire.queue(0, 1, 7);
        let back = Answer { guest: 0, buffer: 7, is_edge: false };
        assert_eq!(wire.request(0, 1, Request::Watch(Edges::None)), (Some(0), vec![back]));
        assert_eq!(wire.queue(0, 1, 7), Some(back));
        assert_eq!(drive(&mut wire, 1, true), []);
    }

    #[test]
    fn a_guest_that_is_gone_holds_nothing() {
        let mut wire = Wire::new(GUESTS, false);
        watch(&mut wire, 0, 2, Edges::Falling);
        wire.queue(0, 2, 7);
        drive(&mut wire, 1, true);
        assert_eq!(wire.leave(1), [Answer { guest: 0, buffer: 7, is_edge: true }]);
        assert!(!level(&mut wire));
    }

    #[test]
    fn lines_that_are_not_there_are_refused() {
        let mut wire = Wire::new(GUESTS, false);
        assert_eq!(wire.request(0, LINES, Request::GetValue), (None, vec![]));
        let back = Answer { guest: 0, buffer: 7, is_edge: false };
        assert_eq!(wire.queue(0, LINES, 7), Some(back));
        // A second buffer of one line.
        watch(&mut wire, 0, 1, Edges::Both);
        assert_eq!(wire.queue(0, 1, 6), None);
        assert_eq!(wire.queue(0, 1, 7), Some(back));
    }

    #[derive(Clone, Debug)]
    enum Act {
        Drive(usize, bool),
        LetGo(usize),
        Leave(usize),
        Queue,
    }

    fn any_act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (1..GUESTS, any::<bool>()).prop_map(|(guest, high)| Act::Drive(guest, high)),
            (1..GUESTS).prop_map(Act::LetGo),
            (1..GUESTS).prop_map(Act::Leave),
            Just(Act::Queue),
        ]
    }

    proptest! {
        /// Whatever others do, and however slow a guest is: the level is what the lines make, and the
        /// guest, once it has handed over its buffers, has been told of the last edge.
        #[test]
        fn no_change_of_the_level_is_missed(idle_high: bool, acts in vec(any_act(), 1..60)) {
            let mut wire = Wire::new(GUESTS, idle_high);
            watch(&mut wire, 0, 1, Edges::Rising);
            watch(&mut wire, 0, 2, Edges::Falling);
            let mut driven = [None; GUESTS];
            let (mut edges, mut told, mut was) = ([0; 2], [0; 2], idle_high);
            let mut here = [true; 2];
            for act in acts {
                let answers = match act {
                    Act::Drive(guest, high) => {
                        driven[guest] = Some(high);
                        drive(&mut wire, guest, high)
                    }
                    Act::LetGo(guest) => {
                        driven[guest] = None;
                        wire.request(guest, 0, Request::SetDirection(Direction::In)).1
                    }
                    Act::Leave(guest) => {
                        driven[guest] = None;
                        wire.leave(guest)
                    }
                    Act::Queue => {
                        let mut answers = Vec::new();
                        for line in [1, 2] {
                            let is_here = &mut here[usize::from(line) - 1];
                            if *is_here {
                                *is_here = false;
                                answers.extend(wire.queue(0, line, u32::from(line)));
                            }
                        }
                        answers
                    }
                };
                // `drive` sets the value first: what a line already drives changes before its direction.
                let high = driven.iter().flatten().any(|high| *high != idle_high) != idle_high;
                prop_assert_eq!(level(&mut wire), high);
                edges[usize::from(!high)] += usize::from(high != was);
                was = high;
                for answer in answers {
                    prop_assert!(answer.guest == 0 && answer.is_edge);
                    let line = answer.buffer as usize - 1;
                    told[line] += 1;
                    here[line] = true;
                }
                for line in 0..2 {
                    prop_assert!(told[line] <= edges[line]);
                    // Buffers that are there have been returned for all edges since they came.
                    prop_assert!(told[line] > 0 || edges[line] == 0 || here[line]);
                }
            }
        }
    }
}
