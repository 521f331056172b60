//! Builds the image that is mapped into programs, so that `qcycle` carries it along.
//!
//! The shim is compiled on its own, into a folder of its own: as part of the workspace it would
//! share compiler settings with crates that use the standard library. Its archive is linked into
//! one segment without data and relocations; the linker script fails the build otherwise.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let crates = crates.parent().expect("this crate lies in the folder of crates");
    let out = PathBuf::from(variable("OUT_DIR"));
    for part in ["shim/src", "shim/Cargo.toml", "shim/image.lds", "vtime/src", "random/src"] {
        println!("cargo::rerun-if-changed={}", crates.join(part).display());
    }
    let shim = crates.join("shim");
    let archive = compile(&shim, &out.join("shim"));
    link(&archive, &shim, &out.join("image.so"));
}

fn compile(shim: &Path, target: &Path) -> PathBuf {
    // Without full RELRO and as for a position-independent executable, calls within the archive
    // go straight to their target instead of through a table that would need relocation.
    let mut flags = "-Crelro-level=off\x1f-Crelocation-model=pie".to_owned();
    if processor() == "aarch64" {
        // Otherwise atomic operations would ask a variable of the run-time library which
        // instructions this processor has.
        flags += "\x1f-Ctarget-feature=-outline-atomics";
    }
    let triple = variable("TARGET");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--quiet", "--manifest-path"]).arg(shim.join("Cargo.toml"));
    cargo.args(["--target", &triple, "--target-dir"]).arg(target);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    // Lints of the outer build must not turn this one into a check.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(wrapper);
    }
    run(&mut cargo, "compile the image");
    target.join(triple).join("release/libshim.a")
}

fn link(archive: &Path, shim: &Path, image: &Path) {
    let exports = shim.join(format!("src/arch/{}.ver", processor()));
    let mut linker = Command::new(c_compiler());
    linker.args(["-shared", "-nostdlib", "-s", "-Wl,--hash-style=both", "-Wl,-Bsymbolic"]);
    linker.args(["-Wl,-soname,linux-vdso.so.1", "-Wl,--gc-sections", "-Wl,--build-id=none"]);
    linker.args(["-Wl,-z,max-page-size=4096", "-Wl,-z,noexecstack", "-Wl,-z,defs"]);
    linker.arg(format!("-Wl,-T,{}", shim.join("image.lds").display()));
    linker.arg(format!("-Wl,--version-script={}", exports.display()));
    for symbol in symbols(&exports) {
        linker.arg(format!("-Wl,-u,{symbol}"));
    }
    linker.arg("-o").arg(image).arg(archive);
    run(&mut linker, "link the image (is a C compiler installed?)");
}

/// What launcher and programs look up in the image: the lines of a version script that end in `;`
/// and name something.
fn symbols(exports: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(exports)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", exports.display()));
    let names = text.lines().filter_map(|line| line.trim().strip_suffix(';'));
    names.filter(|name| !name.contains([':', '}'])).map(str::to_owned).collect()
}

/// The compiler of this machine, or the linker that cargo is configured to use for another target.
fn c_compiler() -> String {
    let of_target = env::var("RUSTC_LINKER").ok();
    let cross = variable("TARGET") != variable("HOST");
    let own = || env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    of_target.filter(|_| cross).unwrap_or_else(own)
}

/// The processor that programs run on.
fn processor() -> String {
    variable("CARGO_CFG_TARGET_ARCH")
}

fn run(command: &mut Command, what: &str) {
    let status = command.status();
    assert!(
        status.as_ref().is_ok_and(std::process::ExitStatus::success),
        "cannot {what}: {command:?}: {status:?}"
    );
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
