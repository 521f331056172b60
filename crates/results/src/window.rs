//! The stretch of scenario time that a requirement is about. A scenario may leave its ends open; what
//! measures, looks for holes or for disturbances has both.

use scenario::model::Window;
use vtime::VirtualSpan;

/// A window with both ends, in scenario time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub from_ns: i64,
    /// End in scenario time, not included.
    pub to_ns: i64,
}

impl Bounds {
    /// An open begin is scenario time zero, an open end the planned end of the run.
    pub fn of(window: Window, planned_to: VirtualSpan) -> Self {
        Self {
            from_ns: window.from.unwrap_or(VirtualSpan::ZERO).as_ns(),
            to_ns: window.to.unwrap_or(planned_to).as_ns(),
        }
    }

    /// Whether a moment lies in it.
    pub fn holds(self, time_ns: i64) -> bool {
        (self.from_ns..self.to_ns).contains(&time_ns)
    }
}
