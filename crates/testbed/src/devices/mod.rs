//! What programs see of the plant: each point is a file `/plant/<point>`, so that a program in
//! any language reads a sensor with `open` and `read` and sets an actuator with `write`; and one
//! more file, [`ALL`], has all of them in one reading, of one moment.
//!
//! Where runs are to be the same, what programs read from `/dev/urandom` is served as well ([`Randomness`]).
//!
//! Files are served by FUSE, since only then does a read reach the testbed at the moment it is
//! made. [`mount_here`] mounts the folder where the program will run; [`serve`] answers it from
//! the testbed, in virtual time; values come from a [`PointStore`].

mod device;
mod folder;
mod mount;
mod randomness;
mod server;
mod text;
mod waits;
mod wire;

use vtime::VirtualTime;

use network::border::AllHeld;
use plant::name::PointName;

pub use mount::{mount_here, open_fuse};
pub use randomness::{Randomness, mount_random_here};
pub use server::{SERVER_NAME, Server, ServerStats, serve};

/// Where programs find the points.
pub const FOLDER: &str = "/plant";
/// The file with all points that the others are of. A point cannot be called so: its name has dots.
pub const ALL: &str = "values";

/// Where values of points come from and go to. Asked while the domain is held at `at`.
pub trait PointStore: Send + Sync {
    /// Holds all clocks that have to stand while a point is accessed, if that of this host alone is not enough.
    fn hold_all(&self) -> Option<AllHeld> {
        None
    }

    /// The values of points at a virtual time, in their order.
    ///
    /// # Errors
    /// Why there is one without; the program sees `EIO`.
    fn read(&self, points: &[PointName], at: VirtualTime) -> Result<Vec<f64>, String>;

    /// Sets a point at a virtual time.
    ///
    /// # Errors
    /// Why it was refused; the program sees `EIO`.
    fn write(&self, point: &PointName, value: f64, at: VirtualTime) -> Result<(), String>;
}

#[cfg(test)]
mod tests;
