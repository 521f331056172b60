//! What can go wrong with the plant, in words that name the place and the fix.

use std::fmt;
use std::path::PathBuf;

use settings::problems::{Fault, quoted};

/// Why the plant cannot be opened, asked or advanced.
#[derive(Debug)]
pub enum PlantError {
    /// No folder holds the engine.
    LibraryNotFound {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The variable that names the engine names no file.
    LibraryVariable {
        /// Path of the file or library.
        file: PathBuf,
    },
    /// The engine cannot be opened or lacks a function.
    LibraryUnusable {
        /// Path of the file or library.
        file: PathBuf,
        /// What the loader says.
        reason: String,
    },
    /// The engine refuses the circuit.
    Circuit {
        /// The circuit file of the scenario.
        file: PathBuf,
        /// The engine's words, with the file and line they are about.
        message: String,
    },
    /// A table of values cannot be used.
    Profile {
        /// Path of the file or library.
        file: PathBuf,
        /// Line, from 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong and what is expected.
        message: String,
    },
    /// The time steps of the scenario do not fit each other.
    Steps {
        /// What is wrong and what is expected.
        message: String,
    },
    /// The circuit has no such point.
    UnknownPoint {
        /// The point as the scenario writes it.
        point: String,
        /// The text of the engine or of the reader.
        message: String,
        /// Names that come near.
        near: Vec<String>,
    },
    /// The point cannot be written.
    ReadOnly {
        /// Name of the point.
        point: String,
    },
    /// A value that no grid has.
    Value {
        /// Name of the point.
        point: String,
        /// The value that was refused.
        value: f64,
        /// Values that the point accepts.
        wanted: String,
    },
    /// A value that the engine does not take.
    Refused {
        /// Name of the point.
        point: String,
        /// The value that was refused.
        value: f64,
        /// The text of the engine or of the reader.
        message: String,
    },
    /// The last step is no solution of the grid, so nothing has a value.
    Unsolved {
        /// The point asked for.
        point: String,
    },
    /// The engine reports an error while running.
    Engine {
        /// What it was asked to do.
        doing: String,
        /// Error number of the engine.
        number: i32,
        /// The text of the engine or of the reader.
        message: String,
    },
}

impl fmt::Display for PlantError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LibraryNotFound { searched } => {
                write!(out, "the OpenDSS engine (libdss_capi) was not found in: ")?;
                write_list(out, searched.iter().map(|path| path.display().to_string()))?;
                write!(
                    out,
                    "; install it with `pip install dss_python_backend==0.14.5` or `make setup`, \
                     or name the file in {}",
                    crate::LIBRARY_VARIABLE
                )
            }
            Self::LibraryVariable { file } => write!(
                out,
                "{} names {}, which is not a file; correct or unset it",
                crate::LIBRARY_VARIABLE,
                file.display()
            ),
            Self::LibraryUnusable { file, reason } => write!(
                out,
                "{} is not a usable OpenDSS engine: {reason}; install the one of \
                 dss_python_backend==0.14.5 (`make setup`)",
                file.display()
            ),
            Self::Circuit { file, message } => {
                write!(out, "the engine rejects the circuit {}: {message}", file.display())
            }
            Self::Profile { file, line: 0, message } => {
                write!(out, "{}: {message}", file.display())
            }
            Self::Profile { file, line, message } => {
                write!(out, "{}:{line}: {message}", file.display())
            }
            Self::Steps { message } => write!(out, "{message}"),
            Self::UnknownPoint { point, message, near } => {
                write!(out, "the plant has no point {point}: {message}; {}", did_you_mean(near))
            }
            Self::ReadOnly { point } => {
                write!(out, "{point} is a result of the simulation and cannot be written")
            }
            Self::Value { point, value, wanted } => {
                write!(out, "{value} is not a valid value for {point}; write {wanted}")
            }
            Self::Refused { point, value, message } => {
                write!(out, "the engine rejects {value} for {point}: {message}")
            }
            Self::Unsolved { point } => {
                write!(out, "{point} has no value: the solution of the plant did not converge")
            }
            Self::Engine { doing, number, message } => {
                write!(out, "the engine failed to {doing}: {message} (its error {number})")
            }
        }
    }
}

/// The fix for a name that is not one of a point.
fn did_you_mean(near: &[String]) -> String {
    let near: Vec<String> = near.iter().map(|name| quoted(name)).collect();
    match near.split_last() {
        None => "check it in the circuit; points are `bus.<bus>.v<phase>` and \
                 `<class>.<element>.<property>`"
            .into(),
        Some((last, [])) => format!("did you mean {last}?"),
        Some((last, others)) => format!("did you mean {} or {last}?", others.join(", ")),
    }
}

fn write_list(out: &mut fmt::Formatter<'_>, items: impl Iterator<Item = String>) -> fmt::Result {
    for (index, item) in items.enumerate() {
        write!(out, "{}{item}", if index > 0 { ", " } else { "" })?;
    }
    Ok(())
}

impl std::error::Error for PlantError {}

impl PlantError {
    /// Whether something is missing on this machine, rather than wrong with the scenario.
    pub fn is_of_this_machine(&self) -> bool {
        use PlantError::{LibraryNotFound, LibraryUnusable, LibraryVariable};
        matches!(self, LibraryNotFound { .. } | LibraryVariable { .. } | LibraryUnusable { .. })
    }

    /// What is wrong with a scenario, and the fix.
    pub fn fault(&self) -> Fault {
        let text = match self {
            // The place of the problem says the file and the line.
            Self::Profile { message, .. } => message.clone(),
            _ => self.to_string(),
        };
        let (what, fix) = match self {
            Self::ReadOnly { .. } => {
                (&*text, "set a load, generator or storage unit, such as `load.d611.kW`")
            }
            Self::Circuit { .. } => (&*text, "correct the circuit"),
            _ => text.split_once("; ").unwrap_or((&text, "write a different one")),
        };
        Fault::new(what, fix)
    }
}
