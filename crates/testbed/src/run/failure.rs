//! What keeps a run from beginning. Once it has begun, whatever happens is in its record.

use settings::Problems;

/// What kept a run from beginning.
#[derive(Debug)]
pub enum Failure {
    /// The scenario or its data is wrong.
    Scenario(Problems),
    /// This machine lacks something.
    Setup(anyhow::Error),
}
