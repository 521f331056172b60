//! The GOOSE messages of a relay, as frames: built once with all the room that they need, sent by
//! the task itself in the cycle in which something changed.

use substation::SampleTime;
use substation::engine::Engine;
use substation::goose::{Message, Publisher};
use substation::settings::{GooseControl, Relay, SignalKind};
use substation::wire::{AllData, Goose, Header, MacAddress, UtcTime};

/// Octets for a frame, so that encoding asks for no memory.
const FRAME_OCTETS: usize = 2048;
/// Quality of `t`: the clock follows nobody that this program knows of, accuracy unspecified.
const CLOCK_QUALITY: u8 = 0x3f;

/// One message.
#[derive(Debug)]
pub struct Published {
    control: GooseControl,
    /// Places of the signals' elements and breakers.
    places: Vec<usize>,
    source: MacAddress,
    publisher: Publisher,
    /// All values, encoded: tag, length and octet of a boolean each.
    values: Vec<u8>,
    t: UtcTime,
    frame: Vec<u8>,
}

impl Published {
    /// The messages of a relay, sent from `source`.
    #[must_use]
    pub fn of(relay: &Relay, source: MacAddress) -> Vec<Self> {
        relay.goose.values().map(|control| Self::new(control, relay, source)).collect()
    }

    fn new(control: &GooseControl, relay: &Relay, source: MacAddress) -> Self {
        let place = |signal: &substation::settings::Signal| match signal.kind {
            SignalKind::Trip => {
                relay.trips.elements_by_breaker.keys().position(|name| *name == signal.name)
            }
            SignalKind::Start | SignalKind::Operate => {
                relay.elements.keys().position(|name| *name == signal.name)
            }
        };
        let places = control.signals.iter().map(|signal| {
            place(signal).expect("settings name only elements and breakers that are there")
        });
        Self {
            places: places.collect(),
            publisher: Publisher::new(control.repeat_min, control.repeat_max),
            values: control.signals.iter().flat_map(|_| [0x83, 1, 0]).collect(),
            control: control.clone(),
            source,
            t: UtcTime::default(),
            frame: Vec::with_capacity(FRAME_OCTETS),
        }
    }

    /// The frame to be sent now, if there is one.
    pub fn step(&mut self, now: SampleTime, realtime_ns: u64, engine: &Engine) -> Option<&[u8]> {
        let mut has_changed = self.publisher.next().is_none();
        let signals = self.control.signals.iter().zip(&self.places);
        for ((signal, place), value) in signals.zip(self.values.chunks_exact_mut(3)) {
            let is_true = match signal.kind {
                SignalKind::Trip => engine.is_tripped(*place),
                SignalKind::Start => engine.decision(*place).start,
                SignalKind::Operate => engine.decision(*place).operate,
            };
            let octet = if is_true { 0xff } else { 0 };
            has_changed |= value[2] != octet;
            value[2] = octet;
        }
        let message = if has_changed {
            self.t = UtcTime::from_realtime_ns(realtime_ns, CLOCK_QUALITY);
            self.publisher.change(now)
        } else {
            self.publisher.poll(now)?
        };
        self.encode(message);
        Some(&self.frame)
    }

    fn encode(&mut self, message: Message) {
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
            all_data: AllData::decode(&self.values).expect("these are booleans"),
        };
        self.frame.clear();
        goose.encode(control.form, &mut self.frame);
    }
}
