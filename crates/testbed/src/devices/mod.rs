//! What programs see of the plant: each point is a file `/plant/<point>`, so that a program in
//! any language reads a sensor with `open` and `read` and sets an actuator with `write`.
//!
//! Files are served by FUSE, since only then does a read reach the testbed at the moment it is
//! made. [`mount_here`] mounts the folder where the program will run; [`serve`] answers it from
//! the testbed, in virtual time; values come from a [`PointStore`].

mod folder;
mod mount;
mod server;
mod text;
mod wire;

use vtime::VirtualTime;

use crate::scenario::model::PointName;

pub use mount::mount_here;
pub use server::{Server, ServerStats, serve};

/// Where programs find the points.
pub const FOLDER: &str = "/plant";

/// Where values of points come from and go to. Asked while the domain is held at `at`.
pub trait PointStore: Send + Sync {
    /// The value of a point at a virtual time.
    ///
    /// # Errors
    /// Why there is none; the program sees `EIO`.
    fn read(&self, point: &PointName, at: VirtualTime) -> Result<f64, String>;

    /// Sets a point at a virtual time.
    ///
    /// # Errors
    /// Why it was refused; the program sees `EIO`.
    fn write(&self, point: &PointName, value: f64, at: VirtualTime) -> Result<(), String>;
}

#[cfg(test)]
mod tests;
