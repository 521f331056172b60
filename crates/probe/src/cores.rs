//! Lists of cores as the kernel writes them: `0-2,5`, or `isolated` and the like as files.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, ensure};
use serde::{Serialize, Serializer};

use crate::host::Host;

/// The kernel has been built for up to 8192 processors.
const CORES_MAX: usize = 8192;

/// Some cores of a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cores(BTreeSet<usize>);

impl Cores {
    /// The numbers of the cores, rising.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Whether this one is among them.
    pub fn contains(&self, core: usize) -> bool {
        self.0.contains(&core)
    }

    /// Number of the cores.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that are not in the other list.
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Those that are in both lists.
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// A mask as in `/proc/irq/default_smp_affinity`: `ff,ffffffff`.
    pub fn from_mask(mask: &str) -> Option<Self> {
        let digits: String = mask.chars().filter(|octet| *octet != ',').collect();
        let mut cores = BTreeSet::new();
        for (place, digit) in digits.chars().rev().enumerate() {
            let digit = digit.to_digit(16)?;
            cores.extend((0..4).filter(|bit| digit & (1 << bit) != 0).map(|bit| 4 * place + bit));
        }
        Some(Self(cores))
    }
}

impl FromIterator<usize> for Cores {
    fn from_iter<I: IntoIterator<Item = usize>>(cores: I) -> Self {
        Self(cores.into_iter().collect())
    }
}

impl FromStr for Cores {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cores = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| {
                digits.parse::<usize>().with_context(|| {
                    format!("`{part}` is not a core; write cores as `1` or `0-2,5`")
                })
            };
            let (first, last) = (number(first)?, number(last)?);
            ensure!(first <= last, "`{part}`: the first core is above the last");
            ensure!(last < CORES_MAX, "`{part}`: there are at most {CORES_MAX} cores");
            cores.extend(first..=last);
        }
        Ok(Self(cores))
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cores = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cores.next() {
            let mut last = first;
            while let Some(next) = cores.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(to, "{comma}{first}")?,
                _ => write!(to, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl Serialize for Cores {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The cores to look at: those asked for, or all that this process may use.
///
/// # Errors
/// If `/proc` does not say, none was named, or this process may not use one of them.
pub fn chosen(host: &Host, asked: Option<&Cores>) -> anyhow::Result<Cores> {
    let status = host.text("/proc/self/status").context("/proc/self/status cannot be read")?;
    let allowed = os::process::field(&status, "Cpus_allowed_list")
        .context("/proc/self/status has no line `Cpus_allowed_list`")?;
    let allowed: Cores = allowed.parse()?;
    let Some(asked) = asked else { return Ok(allowed) };
    let missing = asked.without(&allowed);
    ensure!(!asked.is_empty(), "no core was given; give some, such as `--cores {allowed}`");
    ensure!(
        missing.is_empty(),
        "core {missing} is not available to this process, which may use {allowed}"
    );
    Ok(asked.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        for text in ["0", "0-3", "0,2", "1-2,4,6-8"] {
            assert_eq!(text.parse::<Cores>().unwrap().to_string(), text);
        }
        assert!("".parse::<Cores>().unwrap().is_empty());
        for wrong in ["a", "3-1", "1-", "-1", "0-99999999", "1 2"] {
            assert!(wrong.parse::<Cores>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn masks_are_read_from_the_right() {
        assert_eq!(Cores::from_mask("3").unwrap().to_string(), "0-1");
        assert_eq!(Cores::from_mask("1,00000005").unwrap().to_string(), "0,2,32");
        assert_eq!(Cores::from_mask("no"), None);
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let (_root, host) = host::with(&[("/proc/self/status", "Cpus_allowed_list:\t0-3\n")]);
        assert_eq!(chosen(&host, None).unwrap().to_string(), "0-3");
        assert_eq!(chosen(&host, Some(&"2".parse().unwrap())).unwrap().to_string(), "2");
        let error = chosen(&host, Some(&"3-5".parse().unwrap())).unwrap_err().to_string();
        assert_eq!(error, "core 4-5 is not available to this process, which may use 0-3");
    }
}
