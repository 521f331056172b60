//! Docker and Podman: the same root file system as an image of its own, the same rights as options.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::bundle::REAL_TIME_PERIOD_US;
use super::root::{AWAKE, PROBE};
use super::{CAPABILITIES, Share};
use crate::matrix::Engine;
use crate::platform::scratch::Scratch;

/// The Debian package of an engine.
pub(super) fn package(engine: Engine) -> &'static str {
    match engine {
        Engine::Runc => "runc",
        Engine::Docker => "docker.io",
        Engine::Podman => "podman",
    }
}

/// What starts a container, from an image that is made of the root file system now and removed with
/// the scratch folder.
pub(super) fn command(
    engine: Engine,
    scratch: &Scratch,
    root: &Path,
    share: &Share,
    binds: &[PathBuf],
    name: &str,
) -> Result<Command> {
    // Before anything is made, so that it is found whatever happens.
    scratch.note_container(engine.name(), name)?;
    import(engine, root, name)?;
    let has_device = Path::new(AWAKE).exists();
    let mut command = Command::new(engine.name());
    command.args(arguments(share, binds, name, has_device));
    Ok(command)
}

fn import(engine: Engine, root: &Path, name: &str) -> Result<()> {
    let mut tar = Command::new("tar")
        .arg("--create")
        .arg("--directory")
        .arg(root)
        .arg(".")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start tar, which makes the image")?;
    let archive = tar.stdout.take().context("tar gave no output")?;
    let import = Command::new(engine.name())
        .args(["import", "-", name])
        .stdin(archive)
        .output()
        .with_context(|| format!("cannot start {}", engine.name()))?;
    let packed = tar.wait().context("cannot wait for tar")?;
    let said = String::from_utf8_lossy(&import.stderr);
    let last = said.lines().last().unwrap_or("it gave no reason").to_owned();
    ensure!(packed.success() && import.status.success(), "{} import: {last}", engine.name());
    Ok(())
}

fn arguments(share: &Share, binds: &[PathBuf], name: &str, has_device: bool) -> Vec<String> {
    let mut words: Vec<String> =
        ["run", "--rm", "--interactive", "--pull=never"].map(Into::into).into();
    let mut option = |option: &str, value: String| words.extend([option.to_owned(), value]);
    option("--name", name.to_owned());
    option("--network", "host".to_owned());
    option("--cap-drop", "ALL".to_owned());
    for capability in CAPABILITIES {
        option("--cap-add", capability.trim_start_matches("CAP_").to_owned());
    }
    option("--security-opt", "no-new-privileges".to_owned());
    option("--cpuset-cpus", share.cores.to_string());
    if let Some(real_time_ns) = share.real_time_ns {
        // The engine's own group has no share to hand on.
        option("--cgroup-parent", "/".to_owned());
        option("--cpu-rt-period", REAL_TIME_PERIOD_US.to_string());
        option("--cpu-rt-runtime", (real_time_ns / 1000).to_string());
    }
    for path in binds {
        let path = path.display();
        option("--volume", format!("{path}:{path}:ro"));
    }
    if has_device {
        option("--device", AWAKE.to_owned());
    }
    option("--tmpfs", "/tmp".to_owned());
    option("--workdir", "/tmp".to_owned());
    option("--env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
    words.push("--read-only".to_owned());
    words.extend([name.to_owned(), format!("/{PROBE}"), "attend".to_owned()]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_given_the_same_rights_as_a_bundle() {
        let share =
            Share { cores: "1".parse().unwrap(), real_time_ns: Some(400_000_000), programs: true };
        let words = arguments(&share, &["/usr".into()], "x", true).join(" ");
        for wanted in [
            "run --rm --interactive --pull=never --name x ",
            "--cap-drop ALL --cap-add SYS_NICE --cap-add IPC_LOCK ",
            "--cpuset-cpus 1 ",
            "--cgroup-parent / --cpu-rt-period 1000000 --cpu-rt-runtime 400000 ",
            "--volume /usr:/usr:ro ",
            "--device /dev/cpu_dma_latency ",
        ] {
            assert!(words.contains(wanted), "no {wanted} in {words}");
        }
        assert!(words.ends_with("x /qcprobe attend"));
        assert!(!words.contains("privileged"));
    }
}
