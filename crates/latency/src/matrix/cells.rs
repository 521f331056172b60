//! The cells of a matrix, in the order in which they are measured.

use super::{Matrix, PlatformSpec};
use crate::profile::Profile;
use crate::verdict::{self, Limit};

/// The platform and profile of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// Where it is measured.
    pub platform: &'a PlatformSpec,
    pub profile: &'a Profile,
}

impl Coordinates<'_> {
    /// Its name, and that of its folder: `native.tp1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.platform.name, self.profile.name)
    }
}

impl Matrix {
    /// Its cells: platform by platform, since changing the platform is what takes time.
    pub fn cells(&self) -> impl Iterator<Item = Coordinates<'_>> {
        let is_left_out = |cell: &Coordinates<'_>| {
            let names = (&cell.platform.name, &cell.profile.name);
            self.skip.iter().any(|(platform, profile)| (platform, profile) == names)
        };
        let pairs = self.platforms.iter().flat_map(|platform| {
            self.profiles.iter().map(move |profile| Coordinates { platform, profile })
        });
        pairs.filter(move |cell| !is_left_out(cell))
    }

    /// Its limits, as verdicts hold them.
    pub fn own_limits(&self) -> impl Iterator<Item = Limit> {
        self.limits.iter().map(|(name, limit_ns)| verdict::own(name, *limit_ns))
    }

    /// How long all of it takes at least, ns.
    pub fn length_ns(&self) -> u64 {
        let lengths = self.cells().map(|cell| self.duration_ns(cell) + self.settle_ns);
        lengths.fold(0, u64::saturating_add)
    }

    /// How long a cell is measured, ns.
    pub fn duration_ns(&self, cell: Coordinates<'_>) -> u64 {
        cell.profile.duration_ns.unwrap_or(self.duration_ns)
    }
}
