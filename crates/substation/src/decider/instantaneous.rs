//! One stream and one element that looks at each sample by itself: trip above, close below.
//!
//! Nothing else decides as fast, so this is what the time of a whole action is measured with. The
//! stream is supervised as all are; an element that does not look back believes it again with the
//! first sample after a gap.

use iec61850::SampleTime;
use iec61850::stream::{Counters, State, Supervision, Verdict};
use iec61850::wire::Synchronisation;
use quorum::Action;

use super::{Decision, Voice};
use crate::engine::Arrival;
use crate::settings::{Stream, SynchronisationNeeded};
use protection::space_vector::{self, SpaceVector};

/// A of one bit of a current (9-2LE).
const UNIT_A: f64 = 1e-3;
/// Phase currents among the channels.
const PHASES: usize = 3;

/// A relay that decides by single samples of one stream.
#[derive(Clone, Debug)]
pub struct Instantaneous {
    supervision: Supervision,
    needed: SynchronisationNeeded,
    synchronisation: Synchronisation,
    element: SpaceVector,
    is_above: bool,
    closes: bool,
    voice: Voice,
}

impl Instantaneous {
    /// An element on a stream; `closes` if a current below the limit is a decision to close.
    #[must_use]
    pub fn new(stream: &Stream, settings: space_vector::Settings, closes: bool) -> Self {
        let mut supervision = stream.supervision;
        supervision.recovery_samples = 1;
        Self {
            supervision: Supervision::new(supervision),
            needed: stream.synchronisation,
            synchronisation: Synchronisation::None,
            element: SpaceVector::new(settings),
            is_above: false,
            closes,
            voice: Voice::default(),
        }
    }

    /// What became of samples.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.supervision.counters()
    }

    pub(super) fn sample(&mut self, arrival: &Arrival) {
        let asdu = arrival.asdu();
        if self.supervision.receive(arrival.at, arrival.header(), &asdu) == Verdict::Drop {
            return;
        }
        self.synchronisation = asdu.smp_synch;
        let mut phases_a = [0.0; PHASES];
        for (to, raw) in phases_a.iter_mut().zip(asdu.channels.iter()) {
            *to = f64::from(raw.value) * UNIT_A;
        }
        self.is_above = self.element.update(phases_a);
    }

    pub(super) fn look(&mut self, now: SampleTime) -> Option<Decision> {
        self.supervision.poll(now);
        if !self.is_to_be_trusted() {
            self.element.forget();
            self.is_above = false;
            return self.voice.say(None);
        }
        let wanted = match self.is_above {
            true => Some(Action::Trip),
            false => self.closes.then_some(Action::Close),
        };
        self.voice.say(wanted)
    }

    fn is_to_be_trusted(&self) -> bool {
        let follows = match self.needed {
            SynchronisationNeeded::None => true,
            SynchronisationNeeded::Local => self.synchronisation.is_synchronised(),
            SynchronisationNeeded::Global => self.synchronisation == Synchronisation::Global,
        };
        follows
            && self.supervision.state() == State::Valid
            && (0..PHASES).all(|channel| self.supervision.is_usable(channel))
    }
}
