//! A matrix written out in full: with each default and each value of a built-in profile, so that
//! the file says what was measured, whatever the defaults are when somebody reads it.

use std::fmt::{self, Write as _};

use probe::Cores;

use super::{Matrix, PlatformKind, PlatformSpec};
use crate::profile::{Load, Profile};

impl Matrix {
    /// The matrix as a file that reads as this matrix.
    pub fn text(&self) -> String {
        let mut text = String::new();
        write_matrix(self, &mut text).expect("a text takes all that is written to it");
        text
    }
}

fn write_matrix(matrix: &Matrix, to: &mut String) -> fmt::Result {
    writeln!(to, "matrix: {}", quoted(&matrix.name))?;
    writeln!(to, "description: {}", quoted(&matrix.description))?;
    writeln!(to, "duration: {}", time(matrix.duration_ns))?;
    writeln!(to, "settle: {}", time(matrix.settle_ns))?;
    writeln!(to, "platforms:")?;
    for platform in &matrix.platforms {
        write_platform(platform, to)?;
    }
    writeln!(to, "profiles:")?;
    for profile in &matrix.profiles {
        write_profile(profile, to)?;
    }
    if !matrix.skip.is_empty() {
        writeln!(to, "skip:")?;
    }
    for (platform, profile) in &matrix.skip {
        writeln!(to, "  - {{platform: {}, profile: {}}}", quoted(platform), quoted(profile))?;
    }
    if !matrix.limits.is_empty() {
        writeln!(to, "limits:")?;
    }
    for (name, limit_ns) in &matrix.limits {
        writeln!(to, "  {}: {}", quoted(name), time(*limit_ns))?;
    }
    Ok(())
}

fn write_platform(platform: &PlatformSpec, to: &mut String) -> fmt::Result {
    writeln!(to, "  {}:", quoted(&platform.name))?;
    match &platform.kind {
        PlatformKind::Native(cores) => {
            writeln!(to, "    native: {{cores: {}}}", quoted(&cores.to_string()))
        }
        PlatformKind::Container(container) => {
            writeln!(to, "    container:")?;
            writeln!(to, "      engine: {}", container.engine)?;
            writeln!(to, "      cores: {}", quoted(&container.cores.to_string()))?;
            let sharing = if container.exclusive { "exclusive" } else { "shared" };
            writeln!(to, "      sharing: {sharing}")?;
            writeln!(to, "      real_time: {}", time(container.real_time_ns))
        }
        PlatformKind::Vm(vm) => {
            writeln!(to, "    vm:")?;
            writeln!(to, "      kernel: {}", vm.kernel)?;
            writeln!(to, "      accelerator: {}", vm.accelerator)?;
            writeln!(to, "      cores: {}", vm.cores)?;
            writeln!(to, "      memory_mb: {}", vm.memory_mib)?;
            let host_cores = vm.host_cores.as_ref().map_or("any".to_owned(), Cores::to_string);
            writeln!(to, "      host_cores: {}", quoted(&host_cores))?;
            writeln!(to, "      sharing: {}", if vm.exclusive { "exclusive" } else { "shared" })?;
            writeln!(to, "      priority: {}", vm.priority.unwrap_or(0))?;
            writeln!(to, "      huge_pages: {}", yes(vm.huge_pages))?;
            writeln!(to, "      lock_memory: {}", yes(vm.lock_memory))
        }
        PlatformKind::Remote(remote) => {
            writeln!(to, "    remote:")?;
            writeln!(to, "      host: {}", quoted(&remote.target.destination))?;
            let target = &remote.target;
            if let Some(port) = target.port {
                writeln!(to, "      port: {port}")?;
            }
            for (key, file) in [("identity", &target.identity), ("config", &target.config)] {
                if let Some(file) = file {
                    writeln!(to, "      {key}: {}", quoted(&file.to_string_lossy()))?;
                }
            }
            writeln!(to, "      folder: {}", quoted(&target.folder))?;
            writeln!(to, "      cores: {}", quoted(&remote.cores.to_string()))
        }
    }
}

fn write_profile(profile: &Profile, to: &mut String) -> fmt::Result {
    writeln!(to, "  {}:", quoted(&profile.name))?;
    writeln!(to, "    description: {}", quoted(&profile.description))?;
    writeln!(to, "    source: {}", quoted(&profile.source))?;
    writeln!(to, "    probe: {}", profile.plan.probe)?;
    writeln!(to, "    priority: {}", profile.plan.priority.unwrap_or(0))?;
    writeln!(to, "    period: {}", time(profile.plan.period_ns))?;
    writeln!(to, "    cores: {}", quoted(&profile.cores.to_string()))?;
    writeln!(to, "    affinity: {}", if profile.plan.pinned { "pinned" } else { "free" })?;
    writeln!(to, "    lock_memory: {}", yes(profile.plan.lock_memory))?;
    writeln!(to, "    hold_awake: {}", yes(profile.plan.hold_awake))?;
    writeln!(to, "    stall_meter: {}", yes(profile.plan.stall_meter))?;
    writeln!(to, "    split: {}", yes(profile.plan.split))?;
    if let Some(lines) = &profile.plan.gpio {
        writeln!(to, "    gpio:")?;
        writeln!(to, "      chip: {}", quoted(&lines.chip))?;
        writeln!(to, "      output: {}", lines.output)?;
        writeln!(to, "      input: {}", lines.input)?;
    }
    write_loads(&profile.loads, "    ", to)?;
    if let Some(neighbours) = &profile.neighbours {
        writeln!(to, "    neighbours:")?;
        writeln!(to, "      count: {}", neighbours.count)?;
        write_loads(&neighbours.loads, "      ", to)?;
    }
    if let Some(duration_ns) = profile.duration_ns {
        writeln!(to, "    duration: {}", time(duration_ns))?;
    }
    Ok(())
}

const fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn write_loads(loads: &[Load], indentation: &str, to: &mut String) -> fmt::Result {
    if loads.is_empty() {
        return writeln!(to, "{indentation}loads: []");
    }
    writeln!(to, "{indentation}loads:")?;
    for load in loads {
        let words: Vec<String> = load.words.iter().map(|word| quoted(word)).collect();
        writeln!(to, "{indentation}  - run: [{}]", words.join(", "))?;
        writeln!(to, "{indentation}    cores: {}", quoted(&load.cores.to_string()))?;
        writeln!(to, "{indentation}    package: {}", quoted(&load.package))?;
    }
    Ok(())
}

/// A text in double quotes (YAML 1.2, 7.3.1), which hold anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control.is_control() => {
                write!(quoted, "\\x{:02x}", u32::from(control)).expect("a text takes all");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A time in the largest unit in which it is whole.
fn time(ns: u64) -> String {
    let units = [(3_600_000_000_000, "h"), (60_000_000_000, "min"), (1_000_000_000, "s")];
    let small = [(1_000_000, "ms"), (1_000, "us")];
    let fits = |(factor, _): &&(u64, &str)| ns > 0 && ns.is_multiple_of(*factor);
    match units.iter().chain(&small).find(fits) {
        Some((factor, unit)) => format!("{} {unit}", ns / factor),
        None => format!("{ns} ns"),
    }
}
