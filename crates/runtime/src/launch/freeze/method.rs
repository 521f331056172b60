//! The ways to freeze programs, in the order of preference.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How programs are frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// `cgroup.freeze` of a control group of version 2.
    CgroupV2,
    /// The freezer of control groups of version 1.
    CgroupV1,
    /// Threads that run are stopped one by one with ptrace(2).
    Ptrace,
}

impl Method {
    /// All methods, best one first.
    pub const ALL: [Self; 3] = [Self::CgroupV2, Self::CgroupV1, Self::Ptrace];

    /// As a user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup-v2",
            Self::CgroupV1 => "cgroup-v1",
            Self::Ptrace => "ptrace",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            format!("`{text}` is not a way to freeze programs: use cgroup-v2, cgroup-v1 or ptrace")
        })
    }
}
