//! Every key of a matrix: what stands there, what holds without it, and what it means.
//!
//! One table for the reader and for `docs/reference/latency.md`, as for scenarios.

use remote::target;
use strum::VariantNames as _;

use super::{Accelerator, Engine, GuestKernel};
use settings::names::Names;
use settings::table::Need::{Default, Optional, Required};
use settings::table::Shape::{Choice, List, Name, Named, Of, OneOf, Text, Time, Whole, Words};
use settings::table::{Forms, Key, Need, Shape, Table};

const fn key(name: &'static str, shape: Shape, need: Need, meaning: &'static str) -> Key {
    Key { name, shape, need, meaning }
}

/// Yes or no, in the words of YAML that are no slip of the keyboard.
pub(super) static YES_NO: [&str; 2] = ["yes", "no"];
/// Where threads may run.
pub(super) static AFFINITY: [&str; 2] = ["free", "pinned"];
/// Probes, by the names of [`probe::Kind`].
pub(super) static PROBES: &[&str] = <probe::Kind as strum::VariantNames>::VARIANTS;

/// What stands at the top of a matrix.
pub(super) static TOP: Shape = Of(&MATRIX);
/// What stands at the top of what is built in.
pub(super) static ALL_BUILT_IN: Shape = Of(&BUILT_IN);

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
            "time between the start of loads and neighbours and the start of a measurement",
        ),
        key(
            "platforms",
            Named(Names::InPaths, &OneOf(&PLATFORMS)),
            Required,
            "platforms by name; for a built-in platform the name alone is enough",
        ),
        key(
            "profiles",
            Named(Names::InPaths, &Of(&PROFILE)),
            Required,
            "profiles by name; for a built-in profile the name alone is enough",
        ),
        key("skip", List(&Of(&SKIP)), Optional, "cells that are left out"),
        key(
            "limits",
            Named(Names::InPaths, &Time),
            Optional,
            "additional limits by name, each the longest acceptable latency; they are judged \
             beside those of power grids",
        ),
    ],
};

static BUILT_IN: Table = Table {
    what: "a file of what is built in",
    name: "built-in",
    keys: &[
        key("platforms", Named(Names::InPaths, &OneOf(&PLATFORMS)), Optional, "platforms by name"),
        key("profiles", Named(Names::InPaths, &Of(&PROFILE)), Optional, "profiles by name"),
    ],
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
            "name of a built-in profile, whose values are the defaults of the other keys",
        ),
        key("description", Text, Default(""), "its purpose, in a sentence"),
        key("source", Text, Default(""), "where it is defined: a paper or standard"),
        key(
            "probe",
            Choice(PROBES),
            Default("timer"),
            "what the threads wait for; `timer` is clock_nanosleep(2), like cyclictest",
        ),
        key(
            "priority",
            Whole { min: 0, max: 99 },
            Default("90"),
            "SCHED_FIFO priority; 0: an ordinary thread",
        ),
        key("period", Time, Default("10 ms"), "time between two samples of a thread"),
        key(
            "cores",
            Text,
            Default("all"),
            "cores with one thread of the probe each: `all` of the platform, the second `half` of \
             them, or a list such as `1` or `0-2,5`",
        ),
        key(
            "affinity",
            Choice(&AFFINITY),
            Default("pinned"),
            "`pinned`: each thread stays on its core; `free`: the scheduler decides",
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
            "whether a spinning thread of the lowest priority records when each core was taken \
             away; it keeps the core from idling, and so changes the cost of a wake-up",
        ),
        key(
            "split",
            Choice(&YES_NO),
            Default("no"),
            "whether the kernel timestamps what `udp` and `ethernet` send and receive, so that \
             the report can separate its share from the wake-up; this makes each sample slightly \
             later",
        ),
        key(
            "gpio",
            Of(&WIRED),
            Optional,
            "for the probe `gpio`: two lines of a board that are wired to each other; without it \
             the kernel simulates lines (module gpio-sim, available in guests of `vm`)",
        ),
        key(
            "loads",
            List(&Of(&LOAD)),
            Optional,
            "programs that run beside the probe; `[]` for none if `like` has some",
        ),
        key(
            "neighbours",
            Of(&NEIGHBOURS),
            Optional,
            "other containers or virtual machines of the same kind on the same host",
        ),
        key(
            "duration",
            Time,
            Optional,
            "how long to measure, overriding the duration of the matrix",
        ),
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
            "package to install if the program is missing; empty: a package of the same name",
        ),
    ],
};

pub(super) static NEIGHBOURS: Table = Table {
    what: "a mapping of neighbours",
    name: "neighbours",
    keys: &[
        key("count", Whole { min: 1, max: 64 }, Default("1"), "how many"),
        key("loads", List(&Of(&LOAD)), Required, "programs that run in each of them"),
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

pub(super) static SHARING: [&str; 2] = ["shared", "exclusive"];

pub(super) static CONTAINER_OPTIONS: Table = Table {
    what: "a mapping of options of containers",
    name: "container options",
    keys: &[
        key("engine", Choice(Engine::VARIANTS), Default("runc"), "the container engine"),
        key("cores", Text, Default("all"), "cores of the container: `all`, or a list"),
        key(
            "sharing",
            Choice(&SHARING),
            Default("shared"),
            "`exclusive`: neighbours get the other cores of this machine; `shared`: they get all \
             cores",
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

pub(super) static VM_OPTIONS: Table = Table {
    what: "a mapping of options of virtual machines",
    name: "vm options",
    keys: &[
        key(
            "kernel",
            Choice(GuestKernel::VARIANTS),
            Default("stock"),
            "Debian's ordinary or its PREEMPT_RT kernel",
        ),
        key(
            "accelerator",
            Choice(Accelerator::VARIANTS),
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
            "cores of this machine, one for each virtual processor in order: a list, or `any`",
        ),
        key(
            "sharing",
            Choice(&SHARING),
            Default("shared"),
            "with `host_cores`: neighbours get the same cores, or with `exclusive` the others",
        ),
        key(
            "priority",
            Whole { min: 0, max: 99 },
            Default("0"),
            "SCHED_FIFO priority of the threads of virtual processors; 0: ordinary threads",
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
    keys: &[key("remote", Of(&REMOTE_OPTIONS), Required, "a machine reachable by ssh")],
};

pub(super) static REMOTE_OPTIONS: Table = Table {
    what: "a mapping of options of a remote machine",
    name: "remote options",
    keys: &[
        key("host", Text, Required, "destination as for ssh(1): `name` or `user@name`"),
        target::PORT,
        target::IDENTITY,
        target::CONFIG,
        key("folder", Text, Default("/tmp"), "folder for the probe while it runs"),
        key("cores", Text, Default("all"), "cores to use: `all`, or a list"),
    ],
};
