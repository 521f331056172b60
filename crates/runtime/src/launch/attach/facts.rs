//! What `/proc` says about a process that is to be attached, and why it may not be. Pure: texts in,
//! answers out. proc(5)

use os::process::field;
use vtime::image::{IMAGE, OWN, OWN_SIZE};

/// Whether a process or thread has ended or is about to: it has given its memory back.
pub(super) fn has_ended(status: &str) -> bool {
    field(status, "State").is_none_or(|state| state.starts_with(['Z', 'X']))
        || field(status, "VmSize").is_none() && !is_of_the_kernel(status)
}

fn is_of_the_kernel(status: &str) -> bool {
    match field(status, "Kthread") {
        Some(said) => said == "1",
        // Before Linux 6.8: number 2 starts all of them.
        None => field(status, "Pid") == Some("2") || field(status, "PPid") == Some("2"),
    }
}

/// Why a thread cannot be attached, by its status; `ours` are the tracers that are this process.
pub(super) fn obstacle(status: &str, ours: impl Fn(&str) -> bool) -> Option<String> {
    if has_ended(status) {
        return Some("it has ended and waits for its parent to collect it".to_owned());
    }
    if is_of_the_kernel(status) {
        return Some("it is a kernel thread".to_owned());
    }
    match field(status, "TracerPid") {
        Some("0") | None => {}
        Some(tracer) if ours(tracer) => {}
        Some(tracer) => {
            return Some(format!(
                "it is traced by process {tracer} (a debugger or strace); end that first"
            ));
        }
    }
    match field(status, "Seccomp") {
        Some("0") | None => None,
        Some(_) => Some(
            "it has its own seccomp filter, which may block what the image needs; start it \
             without one, or with `qcycle exec`"
                .to_owned(),
        ),
    }
}

/// What a look at `/proc/PID/maps` reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ImageSlot {
    /// The places of image and pages are free, and the vDSO begins there.
    Free {
        vdso: u64,
    },
    /// It has an image already.
    InADomain,
    /// It has something of its own there.
    Occupied,
    NoVdso,
}

/// Looks for the place of the image, and for the vDSO.
pub(super) fn image_slot(maps: &str) -> ImageSlot {
    let mut vdso = None;
    let mut taken = None;
    for line in maps.lines() {
        let Some((from, to)) = line.split_whitespace().next().and_then(range) else { continue };
        if line.ends_with("[vdso]") {
            vdso = Some(from);
        }
        if to > IMAGE as u64 && from < (OWN + OWN_SIZE) as u64 {
            let ours = line.contains("memfd:quartercycle-");
            taken = Some(if ours {
                ImageSlot::InADomain
            } else {
                taken.unwrap_or(ImageSlot::Occupied)
            });
        }
    }
    taken.unwrap_or(vdso.map_or(ImageSlot::NoVdso, |vdso| ImageSlot::Free { vdso }))
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tcat\nState:\tS (sleeping)\nTracerPid:\t0\nVmSize:\t  5 kB\n\
                          Seccomp:\t0\nSigCgt:\t0000000000004002\n";

    fn refused(from: &str, to: &str) -> String {
        obstacle(&STATUS.replace(from, to), |tracer| tracer == "77").unwrap()
    }

    #[test]
    fn obstacles_are_named() {
        assert_eq!(obstacle(STATUS, |_| false), None);
        assert!(refused("S (sleeping)", "Z (zombie)").contains("ended"));
        assert!(refused("VmSize", "x").contains("ended"));
        assert!(refused("VmSize:\t  5 kB", "Kthread:\t1").contains("kernel"));
        assert!(refused("VmSize:\t  5 kB", "PPid:\t2").contains("kernel"));
        assert!(refused("TracerPid:\t0", "TracerPid:\t12").contains("it is traced by process 12"));
        assert!(refused("Seccomp:\t0", "Seccomp:\t2").contains("seccomp"));
        let own = STATUS.replace("TracerPid:\t0", "TracerPid:\t77");
        assert_eq!(obstacle(&own, |tracer| tracer == "77"), None);
        assert_eq!(os::process::signal_set(STATUS, "SigCgt"), 0x4002);
    }

    #[test]
    fn the_place_of_the_image_must_be_free() {
        let vdso = "7f00-8f00 r-xp 00000000 00:00 0    [vdso]\n";
        let elsewhere = "400000-401000 r-xp 00000000 08:01 5 /bin/x\n";
        assert_eq!(image_slot(&format!("{elsewhere}{vdso}")), ImageSlot::Free { vdso: 0x7f00 });
        assert_eq!(image_slot(elsewhere), ImageSlot::NoVdso);
        let low = "130000-131000 rw-p 00000000 00:00 0\n";
        assert_eq!(image_slot(&format!("{low}{vdso}")), ImageSlot::Occupied);
        let image = "110000-114000 r-xp 00000000 00:01 7 /memfd:quartercycle-image (deleted)\n";
        assert_eq!(image_slot(&format!("{image}{vdso}")), ImageSlot::InADomain);
        let whole = "100000-200000 rw-p 00000000 00:00 0\n";
        assert_eq!(image_slot(&format!("{whole}{vdso}")), ImageSlot::Occupied);
    }
}
