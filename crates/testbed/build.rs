//! Tells `qcycle` which commit it is built from.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    tell_commit();
}

/// The crates that `qcycle` is made of.
const BUILT_FROM: [&str; 21] = [
    "domain",
    "hosts",
    "iec61850",
    "latency",
    "network",
    "os",
    "plant",
    "probe",
    "random",
    "readiness",
    "remote",
    "report-kit",
    "results",
    "runtime",
    "scenario",
    "settings",
    "shim",
    "signal-bus",
    "terminal",
    "testbed",
    "vtime",
];

/// Tells the program of which commit it is: that of the tree it is built from, and whether that was
/// changed since. Elsewhere than in a clone of its repository, the builder may say so by
/// `QCYCLE_GIT_COMMIT`.
fn tell_commit() {
    println!("cargo::rerun-if-env-changed=QCYCLE_GIT_COMMIT");
    let version = variable("CARGO_PKG_VERSION");
    let commit = env::var("QCYCLE_GIT_COMMIT").ok().or_else(commit_of_tree);
    if let Some(commit) = &commit {
        println!("cargo::rustc-env=QCYCLE_GIT_COMMIT={commit}");
    }
    let shown = commit.unwrap_or_else(|| "commit unknown".to_owned());
    println!("cargo::rustc-env=QCYCLE_VERSION={version} ({shown})");
}

fn commit_of_tree() -> Option<String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The repository of somebody who has this tree as a part says nothing of it.
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    let mut status: Vec<String> =
        ["status", "--porcelain", "--", "Cargo.lock"].map(str::to_owned).into();
    for part in BUILT_FROM {
        status
            .extend(["src", "Cargo.toml", "build.rs"].map(|file| format!("crates/{part}/{file}")));
    }
    // The journal of what HEAD was: a commit or a checkout that changes no source is one too.
    let journal = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    for watched in status[3..].iter().chain([&journal]).map(|path| root.join(path)) {
        // What is not there would be taken for changed at every build.
        if watched.exists() {
            println!("cargo::rerun-if-changed={}", watched.display());
        }
    }
    let changed = git(&status.iter().map(String::as_str).collect::<Vec<_>>())?;
    let commit = git(&["rev-parse", "HEAD"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, changed") })
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
