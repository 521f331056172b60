//! Reads what stands below `platforms`: a name alone means a built-in one.

use std::path::Path;

use probe::Cores;
use remote::Target;

use super::keys::ALL_BUILT_IN;
use super::values::{check_name, chosen, cores, priority, yes};
use super::{ContainerSpec, PlatformKind, PlatformSpec, RemoteSpec, VmSpec};
use settings::cursor::{Cursor, Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::{suggest, units};

/// In the order in which they are listed; all that is not said is as the tables say.
const BUILT_IN: &str = "\
platforms:
  native: {native: {}}
  container: {container: {engine: runc}}
  docker: {container: {engine: docker}}
  podman: {container: {engine: podman}}
  vm: {vm: {kernel: stock}}
  vm-rt: {vm: {kernel: rt}}
";

/// The built-in platforms, in the order in which they are listed.
pub fn built_in() -> Vec<PlatformSpec> {
    let whole =
        settings::cursor::read(Path::new("platforms.yaml"), BUILT_IN, &ALL_BUILT_IN, |top| {
            let named = top.named("platforms");
            named.iter().map(|(name, cursor)| platform(name, cursor, &[], Path::new(""))).collect()
        });
    whole.expect("the built-in platforms are right, which a test reads")
}

pub(super) fn platform(
    name: &Placed<'_, &str>,
    cursor: &Cursor<'_>,
    built_in: &[PlatformSpec],
    folder: &Path,
) -> Option<PlatformSpec> {
    check_name(name);
    if cursor.is_empty() {
        let found = built_in.iter().find(|platform| platform.name == name.value).cloned();
        if found.is_none() {
            let names = built_in.iter().map(|platform| platform.name.as_str());
            let what = format!("{} is not a built-in platform", quoted(name.value));
            let fix = suggest::instead_of(name.value, "built-in platforms", names);
            name.place.wrong(what, format!("{fix}; or describe it under its name"));
        }
        return found;
    }
    let form = cursor.form()?;
    let tag = form.table.tag();
    let options = form.mapping(tag)?;
    let kind = match tag {
        "native" => PlatformKind::Native(cores(&options, &["all"])?),
        "container" => PlatformKind::Container(container(&options)?),
        "vm" => PlatformKind::Vm(vm(&options)?),
        "remote" => PlatformKind::Remote(remote(&options, folder)?),
        other => unreachable!("`{other}` is in the table of platforms"),
    };
    Some(PlatformSpec { name: name.value.to_owned(), kind })
}

fn container(options: &Mapping<'_>) -> Option<ContainerSpec> {
    let engine = chosen(options, "engine");
    let real_time_ns = options.parse("real_time", |text| {
        let share = units::time_positive(text)?.as_ns();
        if share > 1_000_000_000 {
            let what = format!("{} is more than a second", quoted(text));
            return Err(Fault::new(what, "it is a share of each second: `500 ms`"));
        }
        Ok(share.unsigned_abs())
    });
    let exclusive = options.is("sharing", "exclusive");
    let cores = cores(options, &["all"]);
    Some(ContainerSpec {
        engine: engine?,
        cores: cores?,
        exclusive,
        real_time_ns: real_time_ns?.value,
    })
}

fn vm(options: &Mapping<'_>) -> Option<VmSpec> {
    let (kernel, accelerator) = (chosen(options, "kernel"), chosen(options, "accelerator"));
    let cores = options.whole("cores").and_then(|cores| usize::try_from(cores.value).ok());
    let memory_mib = options.whole("memory_mb");
    let host_cores = options.parse("host_cores", |text| match text.parse::<Cores>() {
        _ if text == "any" => Ok(None),
        Ok(cores) if !cores.is_empty() => Ok(Some(cores)),
        _ => {
            let what = format!("{} has no meaning here", quoted(text));
            Err(Fault::new(what, "write `any`, or cores as `1` or `0-2,5`"))
        }
    });
    let priority = priority(options, "priority");
    let (huge_pages, lock_memory) = (yes(options, "huge_pages"), yes(options, "lock_memory"));
    let exclusive = options.is("sharing", "exclusive");
    Some(VmSpec {
        kernel: kernel?,
        accelerator: accelerator?,
        cores: cores?,
        memory_mib: memory_mib?.value,
        host_cores: host_cores?.value,
        exclusive,
        priority: priority?,
        huge_pages: huge_pages?,
        lock_memory: lock_memory?,
    })
}

fn remote(options: &Mapping<'_>, folder: &Path) -> Option<RemoteSpec> {
    let target = Target::read(options, "host", folder);
    let cores = cores(options, &["all"]);
    Some(RemoteSpec { target: target?, cores: cores? })
}
