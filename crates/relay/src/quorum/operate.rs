//! The breaker itself, and the GOOSE message that operates it: `trip` and `close`, of which one is
//! true once there was an action, and the position of the contacts as a double point, which takes its time.

use iec61850::SampleTime;
use iec61850::wire::{MacAddress, UtcTime};
use os::packet::PacketSocket;
use protection::breaker::{Breaker, Position, Settings};
use quorum::Action;
use realtime::time::Now;
use substation::settings::GooseControl;

use crate::publish::Outgoing;

/// Quality of `t`: the clock follows nobody that this program knows of, accuracy unspecified.
const CLOCK_QUALITY: u8 = 0x3f;

#[derive(Debug)]
pub(crate) struct Operator<'s> {
    breaker: Breaker,
    /// The order that stands; none before the first, if it is not known what the last one was.
    ordered: Option<Action>,
    message: Option<(Outgoing, &'s PacketSocket)>,
    /// Frames that the interface did not take.
    pub(crate) unsent: u64,
}

/// All values, encoded: two booleans and a bit string of two bits.
type Values = [u8; 10];

impl<'s> Operator<'s> {
    /// A breaker that stands so since long ago, the order that it stands by, and where its message
    /// goes.
    pub(crate) fn new(
        settings: Settings,
        (stands, ordered): (Action, Option<Action>),
        message: Option<(&GooseControl, &'s PacketSocket)>,
    ) -> Self {
        let mut breaker = Breaker::new(settings);
        if stands == Action::Trip {
            breaker.trip(SampleTime::ZERO);
        }
        let message = message.map(|(control, socket)| {
            let source = MacAddress(socket.address());
            (Outgoing::new(control, source, Values::default().to_vec()), socket)
        });
        Self { breaker, ordered, message, unsent: 0 }
    }

    /// Orders an action; the message is sent before this comes back.
    pub(crate) fn order(&mut self, now: Now, action: Action) {
        self.ordered = Some(action);
        if action == Action::Trip {
            self.breaker.trip(now.own);
        }
        self.poll(now);
    }

    /// Time has passed: the contacts may have moved, or the message be due again.
    pub(crate) fn poll(&mut self, now: Now) {
        // A breaker that still opens does not listen, so the order to close stands until it does.
        if self.ordered == Some(Action::Close) {
            self.breaker.close(now.own);
        }
        let Some((message, socket)) = &mut self.message else { return };
        let values = encoded(self.ordered, self.breaker.position(now.own));
        let has_changed = message.values != values;
        message.values.copy_from_slice(&values);
        let stamp = UtcTime::from_realtime_ns(now.common.ns(), CLOCK_QUALITY);
        if let Some(frame) = message.step(now.own, || stamp, has_changed) {
            self.unsent += u64::from(socket.send(&[frame]).unwrap_or(0) == 0);
        }
    }
}

fn encoded(ordered: Option<Action>, position: Position) -> Values {
    let boolean = |is_true| if is_true { 0xff } else { 0 };
    let point = match position {
        Position::Intermediate => 0x00,
        Position::Open => 0x40,
        Position::Closed => 0x80,
    };
    let is_ordered = |action| boolean(ordered == Some(action));
    let (trip, close) = (is_ordered(Action::Trip), is_ordered(Action::Close));
    [0x83, 1, trip, 0x83, 1, close, 0x84, 2, 6, point]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iec61850::wire::{AllData, Data};

    use super::*;

    #[test]
    fn the_message_says_trip_close_and_position() {
        let values = encoded(Some(Action::Trip), Position::Closed);
        let data = AllData::decode(&values).expect("three values");
        let said: Vec<_> = data.elements().collect();
        assert!(matches!(said[..2], [Data::Boolean(true), Data::Boolean(false)]), "{said:?}");
        let Data::BitString(point) = said[2] else { panic!("{said:?}") };
        assert_eq!([point.get(0), point.get(1)], [Some(true), Some(false)]);
        let before_any = encoded(None, Position::Closed);
        assert_eq!([before_any[2], before_any[5]], [0, 0], "nobody has ordered anything");
    }

    #[test]
    fn an_order_to_close_waits_until_the_breaker_is_open() {
        let travel = Duration::from_millis(40);
        let mut operator = Operator::new(
            Settings { opening: travel, closing: travel },
            (Action::Close, None),
            None,
        );
        let at = |ms: u64| {
            let own = SampleTime::from_ns(ms * 1_000_000);
            Now { common: quorum::CommonTime::ZERO, own }
        };
        operator.order(at(0), Action::Trip);
        operator.order(at(20), Action::Close);
        assert_eq!(operator.breaker.position(at(39).own), Position::Intermediate);
        operator.poll(at(40));
        assert_eq!(operator.breaker.position(at(79).own), Position::Intermediate);
        assert_eq!(operator.breaker.position(at(80).own), Position::Closed);
    }
}
