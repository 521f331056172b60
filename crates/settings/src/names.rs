//! Names that users give.
//!
//! Names of nodes, switches and attackers become names of hosts and interfaces, so Linux's
//! limit for interfaces (`IFNAMSIZ`, 15 octets and a zero) holds for them. Names of programs,
//! scenarios and variants become names of files and folders.

use super::problems::{Fault, listed, quoted};

/// Where a name is used, and so what it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// Of a node, switch or attacker: what a host may be called (RFC 1123).
    OnNetwork,
    /// Of a scenario, variant or matrix.
    InPaths,
    /// Of a program; it becomes part of file names.
    OfProgram,
    OfVariable,
    /// Of a column or a member, which others have named.
    Foreign,
}

/// Longest name on the network: Linux's `IFNAMSIZ` without the final zero.
const INTERFACE_OCTETS_MAX: usize = 15;
/// Longest name that becomes part of a file name; three of them fit into Linux's 255 octets.
const FILE_OCTETS_MAX: usize = 64;

impl Names {
    /// Longest name, and what it may hold besides letters and digits; `None` where other rules
    /// hold.
    fn rule(self) -> Option<(usize, &'static str)> {
        match self {
            Self::OnNetwork => Some((INTERFACE_OCTETS_MAX, "-")),
            Self::InPaths => Some((FILE_OCTETS_MAX, "-")),
            Self::OfProgram => Some((FILE_OCTETS_MAX, "._-")),
            Self::OfVariable | Self::Foreign => None,
        }
    }

    /// The rule as a regular expression (ECMA-262), for the JSON Schema.
    pub fn pattern(self) -> Option<String> {
        match self {
            Self::OfVariable => Some("^[A-Za-z_][A-Za-z0-9_]*$".into()),
            _ => self.rule().map(|(octets_max, others)| {
                format!("^[A-Za-z0-9][A-Za-z0-9{others}]{{0,{}}}$", octets_max - 1)
            }),
        }
    }

    /// A name if it keeps to the rule.
    fn read(self, text: &str) -> Result<String, Fault> {
        let (octets_max, others) = self.rule().expect("only names with such a rule are read here");
        if text.len() > octets_max {
            let what = format!("{} is longer than {octets_max} letters", quoted(text));
            return Err(Fault::new(what, "shorten the name"));
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || others.as_bytes().contains(&byte);
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins && text.bytes().all(allowed) {
            return Ok(text.to_owned());
        }
        let others = listed(others.chars().rev(), ", ");
        let fix = format!("use letters, digits and {others}, a letter or digit first");
        Err(Fault::new(format!("{} is not a valid name", quoted(text)), fix))
    }
}

/// A text without characters that break a line or turn its direction: what shows it could be misread.
///
/// # Errors
/// When it has such a character.
pub fn shown(text: &str) -> Result<&str, Fault> {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    match text.chars().any(hides) {
        true => {
            let what = format!("{} has characters that are not shown", quoted(text));
            Err(Fault::new(what, "use letters, digits and signs"))
        }
        false => Ok(text),
    }
}

/// A name of a node, switch or attacker.
pub fn on_network(text: &str) -> Result<String, Fault> {
    Names::OnNetwork.read(text)
}

/// A name of a scenario or variant.
pub fn in_paths(text: &str) -> Result<String, Fault> {
    Names::InPaths.read(text)
}

/// A name of a program.
pub fn of_program(text: &str) -> Result<String, Fault> {
    Names::OfProgram.read(text)
}

/// Variables whose names begin so describe the run to programs.
const OWN_VARIABLES: &str = "QCYCLE_";

/// A name of an environment variable that a scenario may set.
pub fn of_variable(text: &str) -> Result<String, Fault> {
    if text.starts_with(OWN_VARIABLES) {
        let what = format!("{} is set by Quartercycle itself", quoted(text));
        let fix = format!("choose a name that does not begin with `{OWN_VARIABLES}`");
        return Err(Fault::new(what, fix));
    }
    let begins = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(text.to_owned());
    }
    let what = format!("{} is not a variable name", quoted(text));
    Err(Fault::new(what, "use letters, digits and `_`, and no digit first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_limits_of_linux() {
        assert!(on_network("controller-0001").is_ok());
        assert!(on_network("controller-00012").is_err());
        for text in ["", "-a", "a_b", "a.b", "ä", "a b", "a/b"] {
            assert!(on_network(text).is_err(), "{text}");
        }
        assert!(of_program("sensor_1.py").is_ok());
        assert!(of_program("..").is_err());
        assert!(of_variable("_X1").is_ok());
        for text in ["", "1X", "A=B", "A-B"] {
            assert!(of_variable(text).is_err(), "{text}");
        }
    }
}
