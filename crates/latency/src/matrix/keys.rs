//! Every key of a matrix: what stands there, what holds without it, and what it means.
//!
//! One table for the reader and for `docs/reference/latency.md`, as for scenarios.

use settings::names::Names;
use settings::table::Need::{Default, Optional, Required};
use settings::table::Shape::{
    Choice, File, List, Name, Named, Of, OneOf, Text, Time, Whole, Words,
};
use settings::table::{Forms, Key, Need, Shape, Table};

const fn key(name: &'static str, shape: Shape, need: Need, meaning: &'static str) -> Key {
    Key { name, shape, need, meaning }
}

/// Yes or no, in the words of YAML that are no slip of the keyboard.
pub(super) static YES_NO: [&str; 2] = ["yes", "no"];
/// Where threads may run.
pub(super) static AFFINITY: [&str; 2] = ["free", "pinned"];
/// Probes, by the names of [`probe::Kind`].
pub(super) static PROBES: [&str; 11] = [
    "timer",
    "timerfd",
    "eventfd",
    "signal",
    "pipe",
    "futex",
    "udp",
    "ethernet",
    "gpio",
    "noise",
    "page-fault",
];

/// What stands at the top of a matrix.
pub(super) static TOP: Shape = Of(&MATRIX);
/// What stands at the top of the built-in profiles.
pub(super) static PROFILES: Shape = Of(&PROFILE_FILE);

pub(super) static MATRIX: Table = Table {
    what: "a matrix",
    name: "matrix",
    keys: &[
        key("matrix", Name(Names::InPaths), Required, "its name: letters, digits and `-`"),
        key("description", Text, Default(""), "one paragraph for the report"),
        key("duration", Time, Default("30 s"), "how long each cell is measured"),
        key(
            "settle",
            Time,
            Default("1 s"),
            "between the start of loads and neighbours and the begin of a measurement",
        ),
        key(
            "platforms",
            Named(Names::InPaths, &OneOf(&PLATFORMS)),
            Required,
            "where, by name; nothing below the name of a built-in platform is that platform",
        ),
        key(
            "profiles",
            Named(Names::InPaths, &Of(&PROFILE)),
            Required,
            "how, by name; nothing below the name of a built-in profile is that profile",
        ),
        key("skip", List(&Of(&SKIP)), Optional, "cells that are left out"),
        key(
            "limits",
            Named(Names::InPaths, &Time),
            Optional,
            "limits of one's own by name, each the longest latency that is good enough; the \
             verdict holds them beside those of the field",
        ),
    ],
};

static PROFILE_FILE: Table = Table {
    what: "a file of profiles",
    name: "profiles",
    keys: &[key("profiles", Named(Names::InPaths, &Of(&PROFILE)), Required, "profiles by name")],
};

pub(super) static SKIP: Table = Table {
    what: "a skipped cell",
    name: "skip",
    keys: &[
        key("platform", Text, Required, "name of a platform of this matrix"),
        key("profile", Text, Required, "name of a profile of this matrix"),
    ],
};

pub(super) static PROFILE: Table = Table {
    what: "a profile",
    name: "profile",
    keys: &[
        key(
            "like",
            Text,
            Optional,
            "name of a built-in profile, whose values hold for the keys that are not given",
        ),
        key("description", Text, Default(""), "what it is for, in a sentence"),
        key("source", Text, Default(""), "where it is defined: a paper, a standard"),
        key(
            "probe",
            Choice(&PROBES),
            Default("timer"),
            "what is waited for; `timer` is clock_nanosleep(2), as cyclictest",
        ),
        key(
            "priority",
            Whole { min: 0, max: 99 },
            Default("90"),
            "of SCHED_FIFO; 0: an ordinary thread",
        ),
        key("period", Time, Default("10 ms"), "between two samples of a thread"),
        key(
            "cores",
            Text,
            Default("all"),
            "where the probe has one thread each: `all` that the platform has, the second `half` \
             of them, or a list such as `1` or `0-2,5`",
        ),
        key(
            "affinity",
            Choice(&AFFINITY),
            Default("pinned"),
            "`pinned`: each thread is bound to its core; `free`: the scheduler decides",
        ),
        key("lock_memory", Choice(&YES_NO), Default("yes"), "whether memory is locked"),
        key(
            "hold_awake",
            Choice(&YES_NO),
            Default("yes"),
            "whether processors are kept out of deep idle states (`/dev/cpu_dma_latency`)",
        ),
        key(
            "stall_meter",
            Choice(&YES_NO),
            Default("no"),
            "whether a spinning thread of the lowest priority notes when each core was taken away; \
             it keeps the core from idling, and so changes what a wake-up costs",
        ),
        key(
            "split",
            Choice(&YES_NO),
            Default("no"),
            "whether the kernel stamps what `udp` and `ethernet` send and receive, so that the \
             report tells its part from that of the wake-up; it makes each sample a little later",
        ),
        key(
            "gpio",
            Of(&WIRED),
            Optional,
            "for the probe `gpio`: two lines of a board that are wired to each other; without it the \
             kernel simulates lines (its module gpio-sim, which guests of `vm` have)",
        ),
        key(
            "loads",
            List(&Of(&LOAD)),
            Optional,
            "programs that run beside the probe; `[]` for none where `like` has some",
        ),
        key(
            "neighbours",
            Of(&NEIGHBOURS),
            Optional,
            "other containers or virtual machines of the same kind on the same host",
        ),
        key("duration", Time, Optional, "how long, instead of the matrix's duration"),
    ],
};

pub(super) static WIRED: Table = Table {
    what: "a mapping of wired lines",
    name: "gpio",
    keys: &[
        key("chip", Text, Required, "the chip: `gpiochip0`, or its path"),
        key("output", LINE, Required, "number of the line that is set"),
        key("input", LINE, Required, "number of the line whose edges are read"),
    ],
};

/// A line of a GPIO chip.
const LINE: Shape = Whole { min: 0, max: 65_535 };

pub(super) static LOAD: Table = Table {
    what: "a load",
    name: "load",
    keys: &[
        key(
            "run",
            Words,
            Required,
            "the program and its arguments; `{cores}` in them is the number of its cores",
        ),
        key(
            "cores",
            Text,
            Default("all"),
            "where it may run: `all`, the cores of the `probe`, the `others`, or a list",
        ),
        key(
            "package",
            Text,
            Default(""),
            "what to install where the program is missing; empty: a package of its name",
        ),
    ],
};

pub(super) static NEIGHBOURS: Table = Table {
    what: "a mapping of neighbours",
    name: "neighbours",
    keys: &[
        key("count", Whole { min: 1, max: 64 }, Default("1"), "how many"),
        key("loads", List(&Of(&LOAD)), Required, "what runs in each of them"),
    ],
};

pub(super) static PLATFORMS: Forms = Forms {
    what: "kinds of platforms",
    item: "platform",
    forms: &[&NATIVE, &CONTAINER, &VM, &REMOTE],
};

pub(super) static NATIVE: Table = Table {
    what: "a native platform",
    name: "native",
    keys: &[key("native", Of(&NATIVE_OPTIONS), Required, "this machine, as it is")],
};

pub(super) static NATIVE_OPTIONS: Table = Table {
    what: "a mapping of options of this machine",
    name: "native options",
    keys: &[key("cores", Text, Default("all"), "cores to use: `all`, or a list")],
};

pub(super) static CONTAINER: Table = Table {
    what: "a container platform",
    name: "container",
    keys: &[key("container", Of(&CONTAINER_OPTIONS), Required, "containers on this machine")],
};

pub(super) static ENGINES: [&str; 3] = ["runc", "docker", "podman"];
pub(super) static SHARING: [&str; 2] = ["shared", "exclusive"];

pub(super) static CONTAINER_OPTIONS: Table = Table {
    what: "a mapping of options of containers",
    name: "container options",
    keys: &[
        key("engine", Choice(&ENGINES), Default("runc"), "what runs them"),
        key("cores", Text, Default("all"), "cores of the container: `all`, or a list"),
        key(
            "sharing",
            Choice(&SHARING),
            Default("shared"),
            "`exclusive`: neighbours get the other cores of this machine; `shared`: all of them",
        ),
        key(
            "real_time",
            Time,
            Default("500 ms"),
            "share of each second that real-time threads of the container may use, where control \
             groups divide it (version 1 with real-time group scheduling)",
        ),
    ],
};

pub(super) static VM: Table = Table {
    what: "a platform of virtual machines",
    name: "vm",
    keys: &[key("vm", Of(&VM_OPTIONS), Required, "QEMU virtual machines on this machine")],
};

pub(super) static KERNELS: [&str; 2] = ["stock", "rt"];
pub(super) static ACCELERATORS: [&str; 4] = ["auto", "kvm", "tcg", "icount"];

pub(super) static VM_OPTIONS: Table = Table {
    what: "a mapping of options of virtual machines",
    name: "vm options",
    keys: &[
        key(
            "kernel",
            Choice(&KERNELS),
            Default("stock"),
            "Debian's ordinary or its PREEMPT_RT kernel",
        ),
        key(
            "accelerator",
            Choice(&ACCELERATORS),
            Default("auto"),
            "`auto`: KVM if a guest boots with it, else emulation (`tcg`), which is marked \
             everywhere; `icount`: emulation whose clock counts instructions, the same on any host",
        ),
        key("cores", Whole { min: 1, max: 64 }, Default("2"), "virtual processors"),
        key("memory_mb", Whole { min: 128, max: 65_536 }, Default("512"), "memory, MiB"),
        key(
            "host_cores",
            Text,
            Default("any"),
            "cores of this machine, one for each virtual processor in turn: a list, or `any`",
        ),
        key(
            "sharing",
            Choice(&SHARING),
            Default("shared"),
            "with `host_cores`: neighbours get the same cores, or `exclusive`: the others",
        ),
        key(
            "priority",
            Whole { min: 0, max: 99 },
            Default("0"),
            "of SCHED_FIFO, of the threads of virtual processors; 0: ordinary threads",
        ),
        key("huge_pages", Choice(&YES_NO), Default("no"), "whether its memory is in huge pages"),
        key(
            "lock_memory",
            Choice(&YES_NO),
            Default("no"),
            "whether its memory is kept from being paged out",
        ),
    ],
};

pub(super) static REMOTE: Table = Table {
    what: "a remote platform",
    name: "remote",
    keys: &[key("remote", Of(&REMOTE_OPTIONS), Required, "a machine that ssh reaches")],
};

pub(super) static REMOTE_OPTIONS: Table = Table {
    what: "a mapping of options of a remote machine",
    name: "remote options",
    keys: &[
        key("host", Text, Required, "as ssh(1) knows it: `name`, `user@name`"),
        key("port", Whole { min: 1, max: 65_535 }, Optional, "of its ssh server"),
        key("identity", File, Optional, "file of the private key"),
        key("config", File, Optional, "configuration of ssh(1), instead of the user's"),
        key("folder", Text, Default("/tmp"), "where the probe is put while it runs"),
        key("cores", Text, Default("all"), "cores to use: `all`, or a list"),
    ],
};
