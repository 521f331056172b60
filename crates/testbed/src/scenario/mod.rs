//! What a user writes in `scenario.yaml`.

pub mod model;
