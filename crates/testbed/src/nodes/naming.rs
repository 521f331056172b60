//! The name of the domain of a run. Two runs with folders of their own may have the same one, and then the second is
//! named `NAME.2`.
//!
//! Where a run is on several machines, its domain has the name that was ordered on all of them: whoever names it at one of
//! them would otherwise hold what somebody else runs there. So a machine on which another run has that name is
//! refused. Agents of the same run may be on one machine; they know each other by a mark.

use anyhow::{bail, ensure};

use runtime::agent::registry::{self, Registration};

const TRIES: u32 = 100;

/// Registers a name, or one like it; with a mark, one like it only if an agent with the same mark has the name.
pub(super) fn register(wanted: &str, mark: Option<&str>) -> anyhow::Result<(String, Registration)> {
    let stem = stem(wanted);
    for attempt in 1..TRIES {
        let name = if attempt == 1 { stem.to_owned() } else { format!("{stem}.{attempt}") };
        if !registry::is_there(&name)? {
            match Registration::marked(&name, mark.unwrap_or_default()) {
                Ok(registration) => return Ok((name, registration)),
                // Somebody else was faster.
                Err(_) if registry::is_there(&name)? => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(mark) = mark.filter(|_| attempt == 1) {
            ensure!(
                registry::mark(&name)? == mark,
                "another run has the name `{name}` here, and a run has one name on all of its hosts; run it again, \
                 which gives it the next number, or end the one that has the name (`qcycle ps` here lists it)"
            );
        }
    }
    bail!("there are already {TRIES} domains named `{wanted}`; `qcycle ps` lists them")
}

/// What a name begins with, with room for a number behind it.
fn stem(wanted: &str) -> &str {
    let longest = registry::NAME_LENGTH_MAX - ".100".len();
    let stem = &wanted[wanted.len().saturating_sub(longest)..];
    stem.trim_start_matches(['-', '.'])
}

/// The name of a run whose agents have these: the one that all others have a number behind.
pub fn of_run<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names.into_iter().min_by_key(|name| (name.len(), *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_end_which_tells_runs_apart() {
        let long = format!("{}-17", "x".repeat(60));
        assert_eq!(stem(&long), format!("{}-17", "x".repeat(41)));
        assert_eq!(stem("mini-1"), "mini-1");
        assert_eq!(stem(&format!("{}.-{}", "x".repeat(9), "y".repeat(42))), "y".repeat(42));
    }

    #[test]
    fn a_run_is_named_like_the_first_of_its_agents_on_a_machine() {
        assert_eq!(of_run(["mini-1.10", "mini-1.2", "mini-1"]), Some("mini-1"));
        assert_eq!(of_run(["mini-1.3", "mini-1.2"]), Some("mini-1.2"));
        assert_eq!(of_run([]), None);
    }
}
