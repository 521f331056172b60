//! How a board is wired to the bus.

use serde::{Deserialize, Serialize};

/// The place of a host on the bus.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Wiring {
    /// The label of its GPIO chip, as `gpiodetect` shows it in brackets.
    pub chip: String,
    /// Number of the line on the chip that drives the bus.
    pub output: u32,
    /// That of the line that watches it.
    pub input: u32,
    /// That of one more line that watches it, for the edge by which it is released, so that no edge has to be told by the level
    /// that comes after it. Of use to the module only.
    pub input_released: Option<u32>,
    pub active: Active,
    pub drive: Drive,
    /// For how long after an edge no other counts, in microseconds.
    pub debounce_us: u32,
    pub through: Through,
}

/// The level that says that the bus is asserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Active {
    #[default]
    Low,
    High,
}

/// What the output does while it does not assert the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// Nothing: a resistor does. Boards can share one wire.
    #[default]
    OpenDrain,
    /// It drives the other level: for a gate that makes the OR.
    PushPull,
}

/// Who sees the edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    /// The module where it is loaded and may be used, the agent otherwise.
    #[default]
    Either,
    /// The kernel module `qcbus`, in its interrupt.
    Module,
    /// The agent, through the character device of the chip.
    Lines,
}

impl Through {
    /// As scenarios and records say it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Either => "either",
            Self::Module => "module",
            Self::Lines => "lines",
        }
    }
}
