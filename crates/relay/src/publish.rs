//! The GOOSE messages of a relay, as frames: built once with all the room that they need, sent by
//! the task itself in the cycle in which something changed.

use iec61850::SampleTime;
use iec61850::goose::{Message, Publisher};
use iec61850::wire::{AllData, Goose, Header, MacAddress, Quality, UtcTime};
use substation::engine::Engine;
use substation::settings::{GooseControl, Mode, Relay, Signal, SignalKind};

/// Octets for a frame, so that encoding asks for no memory.
const FRAME_OCTETS: usize = 2048;
#[derive(Debug)]
pub(crate) struct Published {
    control: GooseControl,
    /// Its values: what, the place of the element or breaker, and where it stands in `encoded`.
    values: Vec<(SignalKind, usize, usize)>,
    quality: Quality,
    source: MacAddress,
    publisher: Publisher,
    encoded: Vec<u8>,
    t: UtcTime,
    frame: Vec<u8>,
}

impl Published {
    /// The messages of a relay, sent from `source`.
    pub(crate) fn of(relay: &Relay, source: MacAddress) -> Vec<Self> {
        relay.goose.values().map(|control| Self::new(control, relay, source)).collect()
    }

    fn new(control: &GooseControl, relay: &Relay, source: MacAddress) -> Self {
        let breakers = &relay.protection.trips.elements_by_breaker;
        let place = |signal: &Signal| match signal.kind {
            SignalKind::Trip | SignalKind::TripQuality => {
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
            publisher: Publisher::new(control.repeat_min, control.repeat_max),
            encoded,
            control: control.clone(),
            source,
            t: UtcTime::default(),
            frame: Vec::with_capacity(FRAME_OCTETS),
        }
    }

    /// The frame to be sent now, if there is one; a new state has `stamp`.
    pub(crate) fn step(
        &mut self,
        now: SampleTime,
        stamp: UtcTime,
        engine: &Engine,
    ) -> Option<&[u8]> {
        let mut has_changed = self.publisher.next().is_none();
        for (kind, place, end) in &self.values {
            let boolean = |is_true| [0, if is_true { 0xff } else { 0 }];
            let new = match kind {
                SignalKind::Trip => boolean(engine.is_tripped(*place)),
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
            let value = &mut self.encoded[end - octets.len()..*end];
            has_changed |= value != octets;
            value.copy_from_slice(octets);
        }
        let message = if has_changed {
            self.t = stamp;
            self.publisher.change(now)
        } else {
            self.publisher.poll(now)?
        };
        encode(&self.control, self.source, message, self.t, &self.encoded, &mut self.frame);
        Some(&self.frame)
    }
}

/// The frame of a message; `values` are encoded already.
pub(crate) fn encode(
    control: &GooseControl,
    source: MacAddress,
    message: Message,
    t: UtcTime,
    values: &[u8],
    frame: &mut Vec<u8>,
) {
    let goose = Goose {
        header: Header {
            destination: control.destination,
            source,
            tag: Some(control.tag),
            app_id: control.app_id,
            reserved: [0, 0],
        },
        gocb_ref: &control.reference,
        time_allowed_to_live_ms: message.time_allowed_to_live_ms,
        dat_set: &control.data_set,
        go_id: &control.go_id,
        t,
        st_num: message.st_num,
        sq_num: message.sq_num,
        simulation: false,
        conf_rev: control.conf_rev,
        nds_com: false,
        all_data: AllData::decode(values).expect("these were encoded here"),
    };
    frame.clear();
    goose.encode(control.form, frame);
}
