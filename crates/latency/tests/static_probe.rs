//! The static probe, as `make probe` builds it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use latency::platform::Binary;

/// Builds it, where it is not up to date, and tells where it is.
#[allow(dead_code, reason = "not every test that includes this file needs it")]
pub(crate) fn static_probe() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // The settings of a make around this test are not for this one.
        let made = Command::new("make")
            .args(["--silent", "probe"])
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .current_dir(&root)
            .status();
        assert!(made.is_ok_and(|made| made.success()), "`make probe` fails");
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        root.join("target")
            .join(target)
            .join("release/qcprobe")
            .canonicalize()
            .expect("the build has made it")
    })
}

/// The same, as platforms want it.
#[allow(dead_code, reason = "not every test that includes this file needs it")]
pub(crate) fn binary() -> Binary {
    Binary::at(static_probe()).expect("it is a program")
}
