//! Every key of a scenario: what stands there, what holds without it, and what it means.
//!
//! The readers, the JSON Schema and the reference page use it ([`settings::table`]).

use remote::target;
use settings::names::Names;
use settings::table::{Forms, Key, Need, Shape, Table, key};
use settings::units::Dimension;

use crate::told::Statistic;

/// Most frames that may wait at a link.
pub(crate) const QUEUE_MAX: u64 = 1_000_000;

use Names::{Foreign, InPaths, OfProgram, OfVariable, OnNetwork};
use Need::{Default, Optional, Required};
use Shape::{
    Address, Choice, Factor, File, Freeze, Instant, List, Name, Named, Of, OneOf, Pair, Point,
    Quantity, Rate, Share, Text, Time, Whole, Within, Words,
};

pub(crate) static TOP: Shape = Of(&SCENARIO);

pub(crate) static SCENARIO: Table = Table {
    what: "a scenario",
    name: "scenario",
    keys: &[
        key("scenario", Name(InPaths), Required, "its name: letters, digits and `-`"),
        key("description", Text, Default(""), "one paragraph for the report"),
        key("duration", Time, Required, "virtual length of the run, from scenario time zero"),
        key(
            "settle",
            Time,
            Default("3 s"),
            "virtual time before zero, in which programs start and the plant stays at its first \
             values",
        ),
        key(
            "seed",
            Whole { min: 0, max: u64::MAX },
            Default("1"),
            "seed for what is random in programs, passed to them in `QCYCLE_SEED`; with `pace: events` \
             all that they get from the kernel at random follows from it, and so do the frames that links \
             with `loss` lose",
        ),
        key(
            "tdf",
            Factor,
            Default("1"),
            "time dilation factor, 0.01 to 1000: host seconds per virtual second",
        ),
        key(
            "pace",
            Choice(&["real", "skip", "events"]),
            Default("real"),
            "how time passes: `real`, a virtual second per host second (times `tdf`); `skip`, the same \
             while a program can run, and a jump to the next moment at which one has something to do \
             when none can; `events`, the same jumps, and no time while a program can run",
        ),
        key(
            "kernel_timers",
            Choice(&["wait", "late"]),
            Default("wait"),
            "with `pace: skip` or `events`, while a kernel may be about to send something by a timer of its own \
             (TCP that repeats what nobody acknowledged, say): `wait` lets the clock run at host rate, \
             so that it comes in time; `late` jumps, and it is late by that",
        ),
        key(
            "order",
            Choice(&["together", "one-node-at-a-time"]),
            Default("together"),
            "with `pace: events`, which nodes run at the same instant: `together`, all whose time has come; \
             `one-node-at-a-time`, none, so that no node is faster than another one by chance: each has \
             nanoseconds of its own at which its programs wake, the first node 10, 20, 30 and so on, the \
             next 11, 21, 31",
        ),
        key(
            "freeze",
            Freeze,
            Default("1 ms"),
            "when programs are frozen together with their clock: `strict` in every hold, `off` \
             never, or a time to freeze only in holds longer than this (host time)",
        ),
        key(
            "stall_guard",
            Time,
            Optional,
            "stops the clock while a processor of the host has not responded for longer than this \
             (host time, 100 us to 1 s), so that stalls of the host take no virtual time; with `pace: events` \
             they take none anyway",
        ),
        key(
            "start",
            Instant,
            Optional,
            "time of day on the programs' clocks at scenario time zero; without it the host's",
        ),
        key("plant", Of(&PLANT), Optional, "the simulated grid"),
        key(
            "hosts",
            Named(InPaths, &Of(&HOST)),
            Optional,
            "machines that the nodes run on, by name, with one virtual time over all of them; without it all \
             nodes run on this machine",
        ),
        key(
            "sync",
            Choice(&["granted", "free"]),
            Default("granted"),
            "with several `hosts`, how their clocks are kept one: `granted`, none runs further than the others allow, \
             so no frame is ever late; `free`, each runs by itself (`pace: real` alone), all stand at the same \
             nanosecond in each hold, and a frame that comes after its time is counted",
        ),
        key(
            "nodes",
            Named(OnNetwork, &Of(&NODE)),
            Optional,
            "where programs run, by name; they start in this order",
        ),
        key("switches", List(&Name(OnNetwork)), Optional, "switches of the network"),
        key(
            "attackers",
            List(&Name(OnNetwork)),
            Optional,
            "hosts without programs that attack when an event starts an attack",
        ),
        key(
            "links",
            List(&Of(&LINK)),
            Optional,
            "links between nodes, switches and attackers; every node has at most one, and switches \
             form no loop",
        ),
        key(
            "capture",
            Choice(&["all", "none"]),
            Default("all"),
            "whether all frames are saved as captures; `none` for long runs with much traffic, in \
             which case no requirement can measure frames",
        ),
        key("events", List(&OneOf(&EVENTS)), Optional, "scheduled events, in every variant"),
        key(
            "requirements",
            List(&Of(&REQUIREMENT)),
            Optional,
            "requirements on the results, in every variant",
        ),
        key(
            "variants",
            Named(InPaths, &Of(&VARIANT)),
            Optional,
            "variants of the scenario, by name; if there are any, each run uses one of them",
        ),
    ],
};

pub(crate) static PLANT: Table = Table {
    what: "a plant",
    name: "plant",
    keys: &[
        key("engine", Choice(&["opendss"]), Default("opendss"), "the simulation engine"),
        key("circuit", File, Required, "the circuit file, in the format of the engine"),
        key("step", Time, Default("1 ms"), "step of the simulation, in whole milliseconds"),
        key("profiles", List(&Of(&PROFILE)), Optional, "inputs that follow recorded data"),
        key(
            "unconverged_share",
            Share,
            Default("0"),
            "the share of a requirement's window in which the simulation may fail to converge \
             (values from these steps are left out); above it the requirement is not measured",
        ),
        key("record", Of(&RECORD), Optional, "what is recorded; without it nothing"),
    ],
};

pub(crate) static PROFILE: Table = Table {
    what: "a profile",
    name: "profile",
    keys: &[
        key(
            "file",
            File,
            Required,
            "CSV with a header line of column names; each row applies until the next",
        ),
        key(
            "time",
            Name(Foreign),
            Required,
            "the column with the time in seconds, strictly increasing",
        ),
        key(
            "columns",
            Named(Foreign, &Point),
            Required,
            "mapping from column to the point it drives, in the point's unit",
        ),
    ],
};

pub(crate) static RECORD: Table = Table {
    what: "a record",
    name: "record",
    keys: &[
        key("every", Time, Required, "time between rows, a multiple of `step`"),
        key(
            "points",
            List(&Point),
            Required,
            "points to record; requirements can measure only these",
        ),
    ],
};

pub(crate) static HOST: Table = Table {
    what: "a host",
    name: "host",
    keys: &[
        key(
            "ssh",
            Text,
            Optional,
            "destination as for ssh(1): `name` or `user@name`; without it the host is this machine",
        ),
        target::PORT,
        target::IDENTITY,
        target::CONFIG,
        key(
            "folder",
            Text,
            Default("/tmp"),
            "folder for the agent and its files while it runs there",
        ),
        key(
            "address",
            Text,
            Optional,
            "address at which the other hosts reach it; without it the one at which this machine reached its \
             ssh server",
        ),
        key(
            "directory",
            Text,
            Optional,
            "folder there that stands for the folder of the scenario, with the programs in it; without it the \
             same path as here",
        ),
        key(
            "bus",
            Of(&BUS),
            Optional,
            "its place on a wired-OR bus of GPIO lines, whose edge stops its clock before a word over the network can",
        ),
        key(
            "on_loss",
            Choice(&["end", "go-on"]),
            Default("end"),
            "when the host dies or nothing is heard of it for 4 s: `end`, the run ends with the reason; `go-on`, the \
             other hosts go on without it and its nodes, and no requirement is met by what they cannot do any more",
        ),
    ],
};

pub(crate) static BUS: Table = Table {
    what: "a place on a signal bus",
    name: "bus",
    keys: &[
        key("chip", Text, Required, "label of the GPIO chip, as `gpiodetect` shows it in brackets"),
        key("output", GPIO_LINE, Required, "number of the line on the chip that asserts the bus"),
        key("input", GPIO_LINE, Required, "number of the line that watches it"),
        key(
            "input_released",
            GPIO_LINE,
            Optional,
            "number of one more line that watches it, for the edge by which it is released; of use to the module \
             alone, which then need not look at the level after an edge",
        ),
        key(
            "active",
            Choice(&["low", "high"]),
            Default("low"),
            "level that says that the bus is asserted",
        ),
        key(
            "drive",
            Choice(&["open-drain", "push-pull"]),
            Default("open-drain"),
            "`open-drain` shares one wire with others and a pull-up resistor; `push-pull` is for a gate that makes the OR",
        ),
        key(
            "debounce",
            Within(Dimension::Time, 0.0, 1.0),
            Default("20 us"),
            "for how long after an edge no other counts; the level at its end does",
        ),
        key(
            "through",
            Choice(&["either", "module", "lines"]),
            Default("either"),
            "`module`: the kernel module `qcbus`; `lines`: the character device of the chip; `either`: the module if it is \
             loaded and may be used",
        ),
    ],
};

/// The number of a line on a GPIO chip.
const GPIO_LINE: Shape = Whole { min: 0, max: u32::MAX as u64 };

pub(crate) static NODE: Table = Table {
    what: "a node",
    name: "node",
    keys: &[
        key("kind", Choice(&["process"]), Default("process"), "how the programs run"),
        key(
            "host",
            Name(InPaths),
            Optional,
            "the host that it is on; required if there are `hosts`",
        ),
        key(
            "address",
            Address,
            Optional,
            "IPv4 address and prefix length of its interface `eth0`; required if the node is \
             linked, in the same subnet as all other nodes",
        ),
        key(
            "compute",
            Of(&COMPUTE),
            Optional,
            "virtual time that its programs take to compute, with `pace: events`; without it they take \
             none there",
        ),
        key("files", List(&Of(&POINT_FILE)), Optional, "points that its programs see as files"),
        key(
            "programs",
            List(&Of(&PROGRAM)),
            Optional,
            "programs on this node; they start in this order",
        ),
    ],
};

pub(crate) static COMPUTE: Table = Table {
    what: "what computing takes",
    name: "compute",
    keys: &[
        key(
            "per_wakeup",
            Time,
            Optional,
            "for each wake-up by a time, a frame or a point with a latency: the programs wake later by so \
             much, so that all that they do then is later too, what they send and their next waits",
        ),
        key(
            "per_processor_time",
            Factor,
            Optional,
            "virtual seconds for each second of processor time that its programs use, 0.01 to 1000: so many \
             times slower than this machine is the processor of the node. What they send, what they \
             print and their accesses to points come when what was computed before is over, and what \
             becomes due meanwhile reaches them then",
        ),
    ],
};

pub(crate) static POINT_FILE: Table = Table {
    what: "a point file",
    name: "file",
    keys: &[
        key(
            "point",
            Point,
            Required,
            "the point, served as `/plant/<point>`; `/plant/values` has all points of the node, \
             sampled at the same moment, as lines `<point> <value>`",
        ),
        key(
            "access",
            Choice(&["read", "write"]),
            Default("read"),
            "whether programs may also write it; only one node may, and no profile may drive the \
             point",
        ),
        key(
            "latency",
            Time,
            Default("0 ms"),
            "virtual time that a read takes; the value is that of the moment of the request",
        ),
    ],
};

pub(crate) static PROGRAM: Table = Table {
    what: "a program",
    name: "program",
    keys: &[
        key("name", Name(OfProgram), Required, "its name, unique in the scenario"),
        key(
            "run",
            Words,
            Required,
            "program and arguments; the program is a path if it contains `/`, otherwise a file in \
             the folder of the scenario or a program on `PATH`; it runs in the folder of the \
             scenario",
        ),
        key(
            "environment",
            Named(OfVariable, &Text),
            Optional,
            "variables set in addition to a minimal environment (`PATH`, `HOME` and `VIRTUAL_ENV` \
             of the host, `LANG=C.UTF-8`, `TZ=UTC0`) and to those that describe the run: \
             `QCYCLE_SEED`, `QCYCLE_VARIANT`, `QCYCLE_NODE` and `QCYCLE_RUN`",
        ),
        key(
            "on_exit",
            Choice(&["fail", "ignore"]),
            Default("fail"),
            "whether the run ends when the program exits",
        ),
    ],
};

pub(crate) static LINK: Table = Table {
    what: "a link",
    name: "link",
    keys: &[
        key("from", Name(OnNetwork), Required, "one end: a node, switch or attacker"),
        key("to", Name(OnNetwork), Required, "the other end"),
        key("delay", Time, Default("0 ms"), "propagation delay in each direction"),
        key("rate", Rate, Optional, "rate in each direction; without it unlimited"),
        key(
            "queue",
            Whole { min: 1, max: QUEUE_MAX },
            Default("100"),
            "queue length in frames, in each direction; further frames are dropped and counted",
        ),
        key(
            "loss",
            Share,
            Default("0"),
            "share of the frames that is lost on the wire, in whole millionths, in each direction, each frame \
             for itself; which ones follows from `seed`",
        ),
    ],
};

pub(crate) static EVENTS: Forms =
    Forms { what: "kinds of event", item: "event", forms: &[&ATTACK, &SET, &LINK_STATE] };

static ATTACK: Table = Table {
    what: "an attack",
    name: "attack",
    keys: &[
        key(
            "attack",
            Choice(&["arp-poison"]),
            Required,
            "`arp-poison`: the attacker answers ARP requests for both victims and drops the \
             frames they send to each other",
        ),
        key("at", Time, Required, "scenario time"),
        key("by", Name(OnNetwork), Required, "the attacker"),
        key("between", Pair(&Name(OnNetwork)), Required, "the two nodes that are its victims"),
    ],
};

static SET: Table = Table {
    what: "a change of a point",
    name: "set",
    keys: &[
        key("set", Point, Required, "the point that is set"),
        key("at", Time, Required, "scenario time"),
        key("value", Quantity, Required, "the value, with the point's unit"),
    ],
};

static LINK_STATE: Table = Table {
    what: "a change of a link",
    name: "link-state",
    keys: &[
        key("link", Pair(&Name(OnNetwork)), Required, "the two ends of the link"),
        key("at", Time, Required, "scenario time"),
        key(
            "state",
            Choice(&["up", "down"]),
            Required,
            "whether the link passes frames from then on",
        ),
    ],
};

pub(crate) static REQUIREMENT: Table = Table {
    what: "a requirement",
    name: "requirement",
    keys: &[
        key("name", Text, Required, "a sentence for the table of verdicts"),
        key("measure", OneOf(&MEASURES), Required, "what is measured"),
        key(
            "at_least",
            Quantity,
            Optional,
            "smallest value that meets the requirement, with a unit of the measure; at least one \
             bound is required",
        ),
        key("at_most", Quantity, Optional, "largest value that meets the requirement"),
        key(
            "disturbed_above",
            Time,
            Optional,
            "how long programs may be delayed at one moment, by other users of the processor or \
             by lateness of the testbed, before the verdict is `disturbed`; default: a tenth of \
             the bound if that is a duration, a tenth of the width between the bounds if these \
             are points in time, otherwise 10 ms",
        ),
        key(
            "depends_on",
            List(&Name(OnNetwork)),
            Optional,
            "the nodes whose programs must not be delayed; without it all nodes. The measured \
             node and lateness of the testbed itself always count",
        ),
    ],
};

const FROM: Key = key("from", Time, Optional, "start of the window in scenario time");
const TO: Key = key("to", Time, Optional, "end of the window, not included");
const VALUE: Key = key("value", Quantity, Required, "the value, with the point's unit");

/// Measures: of each what it is, the key that names it, what else stands beside that key, and the window.
macro_rules! measures {
    ($($table:ident: $what:literal, $name:literal, $shape:expr, $meaning:literal, [$($more:expr),*];)*) => {
        $(static $table: Table = Table {
            what: $what,
            name: $name,
            keys: &[key($name, $shape, Required, $meaning), $($more,)* FROM, TO],
        };)*
        pub(crate) static MEASURES: Forms =
            Forms { what: "measures", item: "measure", forms: &[$(&$table),*] };
    };
}

measures! {
    MINIMUM: "a minimum", "minimum", Point,
        "the smallest value of this point in the recorded rows (`every`)", [];
    MAXIMUM: "a maximum", "maximum", Point,
        "the largest value of this point in the recorded rows (`every`)", [];
    FIRST_BELOW: "the first time below a value", "first_below", Point,
        "the first time at which this point is below `value`; bounds are times", [VALUE];
    LAST_BELOW: "the last time below a value", "last_below", Point,
        "the last time at which this point is below `value`; bounds are times", [VALUE];
    CHANGES: "a count of changes", "changes", Point,
        "how many recorded rows differ from the previous row; bounds are plain numbers", [];
    RECEIVED: "a count of frames", "received", Of(&FLOW),
        "number of frames with TCP or UDP payload that arrived; bounds are plain numbers", [];
    LONGEST_GAP: "a longest gap", "longest_gap", Of(&PORT_FLOW),
        "the longest time between two frames with new payload: how long the sender was silent or the \
         receiver heard nothing, see `at`; bounds are times", [];
    TOLD: "a number that a program reports", "told", Name(Foreign),
        "a member of the JSON objects that a program prints, one per line; bounds are times if its name \
         ends in `_ns`, `_us`, `_ms` or `_s`, otherwise plain numbers, as for `count`; after a line \
         that contains the member without a valid number (`null`, `NaN`, a truncated object, an object \
         after other text) the rest is not measured",
        [
            key("by", Name(OfProgram), Required, "the program"),
            key("statistic", Choice(&Statistic::NAMES), Required, "the statistic of all its values"),
            key("above", Quantity, Optional, "only values above this")
        ];
}

const FLOW_FROM: Key = key("from", Name(OnNetwork), Required, "the sending node");
const FLOW_TO: Key = key("to", Name(OnNetwork), Required, "the receiving node");

pub(crate) static FLOW: Table = Table { what: "a flow", name: "flow", keys: &[FLOW_FROM, FLOW_TO] };

pub(crate) static PORT_FLOW: Table = Table {
    what: "a flow to a port",
    name: "port-flow",
    keys: &[
        FLOW_FROM,
        FLOW_TO,
        key(
            "port",
            Whole { min: 1, max: 65535 },
            Required,
            "TCP or UDP port at the receiving node",
        ),
        key(
            "at",
            Choice(&["sender", "receiver"]),
            Default("sender"),
            "where frames are observed: at the `sender` when they were sent, including those lost \
             on the way; at the `receiver` when they arrived",
        ),
    ],
};

pub(crate) static VARIANT: Table = Table {
    what: "a variant",
    name: "variant",
    keys: &[
        key("events", List(&OneOf(&EVENTS)), Optional, "additional events of this variant"),
        key(
            "requirements",
            List(&Of(&REQUIREMENT)),
            Optional,
            "additional requirements of this variant",
        ),
    ],
};
