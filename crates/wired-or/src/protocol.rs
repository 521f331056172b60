//! What a guest asks of a GPIO device and what it is told, octet by octet.
//!
//! Virtual I/O Device (VIRTIO) 1.2, 5.18 "GPIO Device"; all numbers little-endian.

/// How many octets a request has.
pub(crate) const REQUEST_SIZE: usize = 8;
/// How many octets the request for an interrupt has: the number of its line.
pub(crate) const WATCH_SIZE: usize = 2;

/// An octet in an answer: the request was carried out.
const STATUS_OK: u8 = 0;
/// The request was not carried out.
const STATUS_ERR: u8 = 1;

/// Whether a line drives the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Direction {
    #[default]
    None,
    Out,
    In,
}

/// The edges that interrupt a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Edges {
    #[default]
    None,
    Rising,
    Falling,
    Both,
}

impl Edges {
    /// Whether an edge to this level is one of them.
    pub(crate) fn contain(self, high: bool) -> bool {
        match self {
            Self::None => false,
            Self::Rising => high,
            Self::Falling => !high,
            Self::Both => true,
        }
    }
}

/// What is asked about one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    GetDirection,
    SetDirection(Direction),
    GetValue,
    SetValue(bool),
    Watch(Edges),
}

impl Request {
    /// The number of a line and what is asked about it; `None` for what this device cannot do:
    /// names, interrupts while a level lasts, and what no standard has.
    pub(crate) fn decode(octets: [u8; REQUEST_SIZE]) -> Option<(u16, Self)> {
        let [kind, kind_high, line, line_high, value @ ..] = octets;
        let value = u32::from_le_bytes(value);
        let request = match (u16::from_le_bytes([kind, kind_high]), value) {
            (2, _) => Self::GetDirection,
            (3, 0) => Self::SetDirection(Direction::None),
            (3, 1) => Self::SetDirection(Direction::Out),
            (3, 2) => Self::SetDirection(Direction::In),
            (4, _) => Self::GetValue,
            (5, 0 | 1) => Self::SetValue(value == 1),
            (6, 0) => Self::Watch(Edges::None),
            (6, 1) => Self::Watch(Edges::Rising),
            (6, 2) => Self::Watch(Edges::Falling),
            (6, 3) => Self::Watch(Edges::Both),
            _ => return None,
        };
        Some((u16::from_le_bytes([line, line_high]), request))
    }
}

/// The answer to a request: a value, zero where none was asked for; `None` if it was refused.
pub(crate) fn encode_answer(value: Option<u8>) -> [u8; 2] {
    value.map_or([STATUS_ERR, 0], |value| [STATUS_OK, value])
}

/// The direction as an answer has it.
pub(crate) fn encode_direction(direction: Direction) -> u8 {
    match direction {
        Direction::None => 0,
        Direction::Out => 1,
        Direction::In => 2,
    }
}

/// The configuration of a device with this many lines, without names.
pub(crate) fn encode_config(lines: u16) -> [u8; 8] {
    let [low, high] = lines.to_le_bytes();
    [low, high, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_standard() {
        let decode = Request::decode;
        assert_eq!(decode([5, 0, 2, 0, 1, 0, 0, 0]), Some((2, Request::SetValue(true))));
        let out = Request::SetDirection(Direction::Out);
        assert_eq!(decode([3, 0, 0, 1, 1, 0, 0, 0]), Some((256, out)));
        assert_eq!(decode([6, 0, 1, 0, 3, 0, 0, 0]), Some((1, Request::Watch(Edges::Both))));
        for refused in [[1, 0], [6, 4], [7, 0], [3, 3], [0, 0]] {
            assert_eq!(decode([refused[0], 0, 0, 0, refused[1], 0, 0, 0]), None, "{refused:?}");
        }
    }

    #[test]
    fn an_answer_tells_a_refusal_from_a_low_line() {
        assert_eq!(encode_answer(Some(0)), [0, 0]);
        assert_eq!(encode_answer(Some(1)), [0, 1]);
        assert_eq!(encode_answer(None), [1, 0]);
        assert_eq!(encode_config(3), [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            [Direction::None, Direction::Out, Direction::In].map(encode_direction),
            [0, 1, 2]
        );
    }
}
