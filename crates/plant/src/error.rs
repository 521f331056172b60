//! What can go wrong with the plant, in words that name the place and the fix.

use std::path::{Path, PathBuf};

use settings::problems::{Fault, quoted};

/// Why the plant cannot be opened, asked or advanced.
#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    #[error(
        "the OpenDSS engine (libdss_capi) was not found in: {}; install it with `pip install \
         dss_python_backend==0.14.5` or `make setup`, or name the file in {}",
        listed(.searched),
        crate::LIBRARY_VARIABLE
    )]
    LibraryNotFound { searched: Vec<PathBuf> },
    #[error("{} names {file}, which is not a file; correct or unset it", crate::LIBRARY_VARIABLE)]
    LibraryVariable { file: PathBuf },
    /// The engine cannot be opened or lacks a function, as the loader says.
    #[error(
        "{file} is not a usable OpenDSS engine: {reason}; install the one of \
         dss_python_backend==0.14.5 (`make setup`)"
    )]
    LibraryUnusable { file: PathBuf, reason: String },
    /// The engine refuses the circuit. Its words have the file and line they are about.
    #[error("the engine rejects the circuit {file}: {message}")]
    Circuit { file: PathBuf, message: String },
    /// A table of values cannot be used.
    #[error("{}: {message}", place(.file, *.line))]
    Profile {
        file: PathBuf,
        /// From 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong and what is expected.
        message: String,
    },
    /// The time steps of the scenario do not fit each other: what is wrong and what is expected.
    #[error("{message}")]
    Steps { message: String },
    #[error("the plant has no point {point}: {message}; {}", did_you_mean(.near))]
    UnknownPoint {
        /// As the scenario writes it.
        point: String,
        message: String,
        /// Names that come near.
        near: Vec<String>,
    },
    #[error("{point} is a result of the simulation and cannot be written")]
    ReadOnly { point: String },
    /// A value that no grid has, and those that the point accepts.
    #[error("{value} is not a valid value for {point}; write {wanted}")]
    Value { point: String, value: f64, wanted: String },
    #[error("the engine rejects {value} for {point}: {message}")]
    Refused { point: String, value: f64, message: String },
    #[error("{point} has no value: the solution of the plant did not converge")]
    Unsolved { point: String },
    #[error("the engine failed to {doing}: {message} (its error {number})")]
    Engine {
        /// What it was asked to do.
        doing: String,
        number: i32,
        message: String,
    },
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

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

fn place(file: &Path, line: usize) -> String {
    match line {
        0 => file.display().to_string(),
        _ => format!("{}:{line}", file.display()),
    }
}

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
