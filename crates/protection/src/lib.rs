//! From samples to a trip: filters that make phasors, elements that look at them, logic that
//! decides.
//!
//! Every element is a state machine of its own: it takes phasors and their time, keeps what it
//! needs to know of the past, and answers with a [`Decision`]. `None` in place of a phasor means
//! that there is none to be trusted (its stream is invalid, not synchronised or a test): the
//! element is blocked and forgets what it had begun, because a start from before a gap says
//! nothing about now.
//!
//! [`waveform`]: the waves that faults make.
#![forbid(unsafe_code)]

pub mod admittance;
pub mod breaker;
pub mod breaker_failure;
pub mod breaker_supervision;
pub mod broken_conductor;
mod complex;
mod cross_country;
pub mod ct_supervision;
pub mod curve;
pub mod differential;
pub mod direction;
pub mod distance;
pub mod filter;
mod frequency;
pub mod frequency_limit;
pub mod frequency_rate;
pub mod fuse_failure;
mod inception;
pub mod load;
pub mod locator;
mod loops;
pub mod measurands;
pub mod measure;
mod memory;
pub mod overcurrent;
mod phase_set;
pub mod phases;
pub mod plausible;
pub mod pole_discordance;
pub mod power;
pub mod power_swing;
pub mod recent;
pub mod reclosing;
pub mod restricted_earth;
pub mod space_vector;
mod swing_fault;
pub mod switch_onto_fault;
mod symmetrical;
pub mod synchro_check;
pub mod teleprotection;
pub mod thermal;
mod timing;
pub mod trip;
pub mod voltage;
pub mod waveform;
pub mod weak_infeed;

pub use complex::{Complex, Degrees};
pub use filter::{Filter, Offset, Rms, Window};
pub use frequency::FrequencyTracker;
pub use measurands::Measurands;
pub use measure::{Measured, Measuring};
pub use phase_set::PhaseSet;
pub use recent::{Before, Recent};
pub use symmetrical::Sequence;
pub use timing::{Delay, Level};

/// What an element says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// It sees a fault.
    pub start: bool,
    /// It has seen it for long enough: trip.
    pub operate: bool,
    /// Phases of the fault, where the element knows them: else all poles are tripped.
    pub phases: PhaseSet,
}

impl Decision {
    /// Nothing is seen, or nothing may be seen.
    pub const NONE: Self = Self::new(false, false);

    /// Of something in phases that are not known.
    #[must_use]
    pub const fn new(start: bool, operate: bool) -> Self {
        Self { start, operate, phases: PhaseSet::NONE }
    }

    /// The same of these phases; of none while nothing has started.
    #[must_use]
    pub const fn in_phases(self, phases: PhaseSet) -> Self {
        let phases = if self.start { phases } else { PhaseSet::NONE };
        Self { phases, ..self }
    }
}
