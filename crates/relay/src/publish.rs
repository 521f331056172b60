//! The GOOSE messages of a relay, as frames: built once with all the room that they need, sent by
//! the task itself in the cycle in which something changed.

use iec61850::SampleTime;
use iec61850::goose::Publisher;
use iec61850::wire::{AllData, Goose, Header, MacAddress, Quality, UtcTime};
use substation::engine::Engine;
use substation::settings::{GooseControl, Mode, Relay, Signal, SignalKind};

/// Octets for a frame, so that encoding asks for no memory.
const FRAME_OCTETS: usize = 2048;

/// A message that is sent again and again, and at once when its values change.
#[derive(Debug)]
pub(crate) struct Outgoing {
    control: GooseControl,
    source: MacAddress,
    publisher: Publisher,
    /// Encoded one behind the other, as they are in the frame.
    pub(crate) values: Vec<u8>,
    t: UtcTime,
    frame: Vec<u8>,
}

impl Outgoing {
    pub(crate) fn new(control: &GooseControl, source: MacAddress, values: Vec<u8>) -> Self {
        Self {
            control: control.clone(),
            source,
            publisher: Publisher::new(control.repeat_min, control.repeat_max),
            values,
            t: UtcTime::default(),
            frame: Vec::with_capacity(FRAME_OCTETS),
        }
    }

    /// The frame to be sent now, if there is one; a new state, and none but it, asks for its stamp.
    pub(crate) fn step(
        &mut self,
        now: SampleTime,
        stamp: impl FnOnce() -> UtcTime,
        has_changed: bool,
    ) -> Option<&[u8]> {
        let message = if has_changed || self.publisher.next().is_none() {
            self.t = stamp();
            self.publisher.change(now)
        } else {
            self.publisher.poll(now)?
        };
        let control = &self.control;
        let goose = Goose {
            header: Header {
                destination: control.destination,
                source: self.source,
                tag: Some(control.tag),
                app_id: control.app_id,
                reserved: [0, 0],
            },
            gocb_ref: &control.reference,
            time_allowed_to_live_ms: message.time_allowed_to_live_ms,
            dat_set: &control.data_set,
            go_id: &control.go_id,
            t: self.t,
            st_num: message.st_num,
            sq_num: message.sq_num,
            simulation: false,
            conf_rev: control.conf_rev,
            nds_com: false,
            all_data: AllData::decode(&self.values).expect("these were encoded here"),
        };
        self.frame.clear();
        goose.encode(control.form, &mut self.frame);
        Some(&self.frame)
    }
}

/// A message that says what a relay sees and does.
#[derive(Debug)]
pub(crate) struct Published {
    /// Its values: what, the place of the element or breaker, and where it ends in the message.
    values: Vec<(SignalKind, usize, usize)>,
    quality: Quality,
    message: Outgoing,
}

impl Published {
    pub(crate) fn of(relay: &Relay, source: MacAddress) -> Vec<Self> {
        relay.goose.values().map(|control| Self::new(control, relay, source)).collect()
    }

    fn new(control: &GooseControl, relay: &Relay, source: MacAddress) -> Self {
        let breakers = &relay.protection.trips.elements_by_breaker;
        let place = |signal: &Signal| match signal.kind {
            SignalKind::Trip | SignalKind::TripPole(_) | SignalKind::TripQuality => {
                breakers.keys().position(|name| *name == signal.name)
            }
            _ => relay.protection.elements.keys().position(|name| *name == signal.name),
        };
        let mut encoded = Vec::new();
        let mut values = Vec::new();
        for signal in &control.signals {
            let head: &[u8] = match signal.kind {
                SignalKind::ElementQuality | SignalKind::TripQuality => &[0x84, 3, 3, 0, 0],
                _ => &[0x83, 1, 0],
            };
            let at = encoded.len() + head.len();
            let place =
                place(signal).expect("settings name only elements and breakers that are there");
            values.push((signal.kind, place, at));
            encoded.extend(head);
        }
        Self {
            values,
            // A test marks all that comes of it.
            quality: if relay.mode == Mode::Test { Quality::TEST } else { Quality::GOOD },
            message: Outgoing::new(control, source, encoded),
        }
    }

    /// The frame to be sent now, if there is one; a new state has `stamp`.
    pub(crate) fn step(
        &mut self,
        now: SampleTime,
        stamp: UtcTime,
        engine: &Engine,
    ) -> Option<&[u8]> {
        let mut has_changed = false;
        for (kind, place, end) in &self.values {
            let boolean = |is_true| [0, if is_true { 0xff } else { 0 }];
            let new = match kind {
                SignalKind::Trip => boolean(engine.is_tripped(*place)),
                SignalKind::TripPole(pole) => boolean(engine.tripped(*place).has(*pole)),
                SignalKind::Lockout => boolean(engine.is_locked_out(*place)),
                SignalKind::Start => boolean(engine.decision(*place).start),
                SignalKind::Operate => boolean(engine.decision(*place).operate),
                SignalKind::TripQuality => self.quality.to_bits(),
                SignalKind::ElementQuality if engine.sees(*place) => self.quality.to_bits(),
                SignalKind::ElementQuality => {
                    Quality(self.quality.0 | Quality::INVALID.0).to_bits()
                }
            };
            let octets = match kind {
                SignalKind::TripQuality | SignalKind::ElementQuality => &new[..],
                _ => &new[1..],
            };
            let value = &mut self.message.values[end - octets.len()..*end];
            has_changed |= value != octets;
            value.copy_from_slice(octets);
        }
        self.message.step(now, || stamp, has_changed)
    }
}
