//! Every key of a scenario: what stands there, what holds without it, and what it means.
//!
//! One table for three uses, so that they cannot drift apart: the readers refuse keys that are
//! not here and take defaults from here, and the JSON Schema and the reference page are drawn
//! from it. What no table can say (cross references, files) is checked by the readers.

use settings::names::Names;
use settings::table::{Forms, Key, Need, Shape, Table, key};

use crate::told::Statistic;

/// Most frames that may wait at a link.
pub(crate) const QUEUE_MAX: u64 = 1_000_000;

use Names::{Foreign, InPaths, OfProgram, OfVariable, OnNetwork};
use Need::{Default, Optional, Required};
use Shape::{
    Address, Choice, Factor, File, Freeze, Instant, List, Name, Named, Of, OneOf, Pair, Point,
    Quantity, Rate, Share, Text, Time, Whole, Words,
};

/// What stands at the top of the file.
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
            "virtual time before zero, in which programs start and the plant rests at its first \
             values",
        ),
        key(
            "seed",
            Whole { min: 0, max: u64::MAX },
            Default("1"),
            "seed of what is random in programs, which have it in `QCYCLE_SEED`; nothing in the testbed \
             itself is random",
        ),
        key(
            "tdf",
            Factor,
            Default("1"),
            "time dilation factor, 0.01 to 1000: host seconds per \
             virtual second",
        ),
        key(
            "freeze",
            Freeze,
            Default("1 ms"),
            "when programs are frozen, as well as their clock: `strict` in every hold, `off` in \
             none, or in holds that last longer than this, in host time",
        ),
        key(
            "stall_guard",
            Time,
            Optional,
            "the clock stands still while a processor of the host does not answer for longer than \
             this, in host time, 100 us to 1 s: so stalls of the host are no virtual time",
        ),
        key(
            "start",
            Instant,
            Optional,
            "what the clocks of programs show at scenario time zero; \
             the host's time of day if not given",
        ),
        key("plant", Of(&PLANT), Optional, "the simulated grid"),
        key(
            "nodes",
            Named(OnNetwork, &Of(&NODE)),
            Optional,
            "where programs run, by name; they start in \
             this order",
        ),
        key("switches", List(&Name(OnNetwork)), Optional, "switches of the network"),
        key(
            "attackers",
            List(&Name(OnNetwork)),
            Optional,
            "hosts without programs that attack when an event \
             says so",
        ),
        key(
            "links",
            List(&Of(&LINK)),
            Optional,
            "links between nodes, switches and attackers; \
             every node has at most one, and switches form no loop",
        ),
        key(
            "capture",
            Choice(&["all", "none"]),
            Default("all"),
            "whether all frames are kept as captures; `none` for long runs with much traffic, and \
             then no requirement measures frames",
        ),
        key(
            "events",
            List(&OneOf(&EVENTS)),
            Optional,
            "what happens at which time, in every \
             variant",
        ),
        key(
            "requirements",
            List(&Of(&REQUIREMENT)),
            Optional,
            "what is demanded of the results, \
             in every variant",
        ),
        key(
            "variants",
            Named(InPaths, &Of(&VARIANT)),
            Optional,
            "cases of the scenario, by name; if there \
             are any, each run is of one of them",
        ),
    ],
};

pub(crate) static PLANT: Table = Table {
    what: "a plant",
    name: "plant",
    keys: &[
        key("engine", Choice(&["opendss"]), Default("opendss"), "what simulates the grid"),
        key("circuit", File, Required, "the circuit, in the language of the engine"),
        key("step", Time, Default("1 ms"), "step of the simulation, in whole milliseconds"),
        key("profiles", List(&Of(&PROFILE)), Optional, "inputs that follow recorded data"),
        key(
            "unconverged_share",
            Share,
            Default("0"),
            "the share of a requirement's window in which the simulation may fail to converge, and              its figures are left out; with more the requirement is not measured",
        ),
        key("record", Of(&RECORD), Optional, "what is recorded; nothing if not given"),
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
            "CSV with a line of column names; each row holds until the \
             next",
        ),
        key(
            "time",
            Name(Foreign),
            Required,
            "the column with the time in seconds, which rises from row to \
             row",
        ),
        key(
            "columns",
            Named(Foreign, &Point),
            Required,
            "column to the point it drives, in the point's \
             unit",
        ),
    ],
};

pub(crate) static RECORD: Table = Table {
    what: "a record",
    name: "record",
    keys: &[
        key("every", Time, Required, "time between rows, a multiple of `step`"),
        key("points", List(&Point), Required, "points to record; requirements measure these"),
    ],
};

pub(crate) static NODE: Table = Table {
    what: "a node",
    name: "node",
    keys: &[
        key("kind", Choice(&["process"]), Default("process"), "what the programs run in"),
        key(
            "address",
            Address,
            Optional,
            "IPv4 address and prefix length of its interface \
             `eth0`; needed if it is linked, and then in one subnet with all others",
        ),
        key("files", List(&Of(&POINT_FILE)), Optional, "points served to its programs as files"),
        key("programs", List(&Of(&PROGRAM)), Optional, "what runs there; they start in this order"),
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
            "the point, served as `/plant/<point>`; all of a node together, of one moment, as lines \
             `<point> <value>` of `/plant/values`",
        ),
        key(
            "access",
            Choice(&["read", "write"]),
            Default("read"),
            "whether programs may also \
             write it; one node may, and then no profile drives the point",
        ),
        key(
            "latency",
            Time,
            Default("0 ms"),
            "virtual time that a read takes; it gives the value \
             of the moment of asking",
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
            "program and arguments; the program is a path if it contains \
             `/`, else a file beside the scenario or a program on `PATH`; it runs in the folder \
             of the scenario",
        ),
        key(
            "environment",
            Named(OfVariable, &Text),
            Optional,
            "variables set in addition to a minimal environment (`PATH`, `HOME` and `VIRTUAL_ENV` of the \
             host, `LANG=C.UTF-8`, `TZ=UTC0`) and to what tells of the run: `QCYCLE_SEED`, \
             `QCYCLE_VARIANT`, `QCYCLE_NODE` and `QCYCLE_RUN`",
        ),
        key(
            "on_exit",
            Choice(&["fail", "ignore"]),
            Default("fail"),
            "whether its end ends the run",
        ),
    ],
};

pub(crate) static LINK: Table = Table {
    what: "a link",
    name: "link",
    keys: &[
        key("from", Name(OnNetwork), Required, "one end: a node, switch or attacker"),
        key("to", Name(OnNetwork), Required, "the other end"),
        key("delay", Time, Default("0 ms"), "propagation delay, each way"),
        key("rate", Rate, Optional, "rate in each direction; unlimited if not given"),
        key(
            "queue",
            Whole { min: 1, max: QUEUE_MAX },
            Default("100"),
            "frames that may wait in \
             each direction; further ones are dropped and counted",
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
            "`arp-poison`: the attacker answers ARP \
             for both victims and drops the frames they send to each other",
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
        key("set", Point, Required, "the point that gets a value"),
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
        key("state", Choice(&["up", "down"]), Required, "whether frames pass from now on"),
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
            "smallest value that meets it, with the unit of the \
             measure; one bound is needed",
        ),
        key("at_most", Quantity, Optional, "largest value that meets it"),
        key(
            "disturbed_above",
            Time,
            Optional,
            "how long programs may be kept from acting at one moment, by others who have the \
             processor or by a testbed that is late, before the verdict is `disturbed`; without it \
             a tenth of the bound where that is a time, of the width between the bounds where \
             these are moments, else 10 ms",
        ),
        key(
            "depends_on",
            List(&Name(OnNetwork)),
            Optional,
            "the nodes whose programs must not be kept from acting; all of them without it. The node \
             that is measured, and what the testbed itself is late with, count in any case",
        ),
    ],
};

pub(crate) static MEASURES: Forms = Forms {
    what: "measures",
    item: "measure",
    forms: &[
        &MINIMUM,
        &MAXIMUM,
        &FIRST_BELOW,
        &LAST_BELOW,
        &CHANGES,
        &RECEIVED,
        &LONGEST_GAP,
        &TOLD,
    ],
};

const FROM: Key = key("from", Time, Optional, "begin of the window in scenario time");
const TO: Key = key("to", Time, Optional, "end of the window, not included");
const VALUE: Key = key("value", Quantity, Required, "the value, with the point's unit");

static MINIMUM: Table = Table {
    what: "a minimum",
    name: "minimum",
    keys: &[
        key(
            "minimum",
            Point,
            Required,
            "the smallest value of this point, in the rows that are recorded (`every`)",
        ),
        FROM,
        TO,
    ],
};

static MAXIMUM: Table = Table {
    what: "a maximum",
    name: "maximum",
    keys: &[
        key(
            "maximum",
            Point,
            Required,
            "the largest value of this point, in the rows that are recorded (`every`)",
        ),
        FROM,
        TO,
    ],
};

static FIRST_BELOW: Table = Table {
    what: "a first time below a value",
    name: "first_below",
    keys: &[
        key(
            "first_below",
            Point,
            Required,
            "the first time at which this point lies below \
             `value`; bounds are times",
        ),
        VALUE,
        FROM,
        TO,
    ],
};

static LAST_BELOW: Table = Table {
    what: "a last time below a value",
    name: "last_below",
    keys: &[
        key(
            "last_below",
            Point,
            Required,
            "the last time at which this point lies below `value`; \
             bounds are times",
        ),
        VALUE,
        FROM,
        TO,
    ],
};

static CHANGES: Table = Table {
    what: "a count of changes",
    name: "changes",
    keys: &[
        key(
            "changes",
            Point,
            Required,
            "how many recorded rows differ from the row before; bounds \
             are plain numbers",
        ),
        FROM,
        TO,
    ],
};

static RECEIVED: Table = Table {
    what: "a count of frames",
    name: "received",
    keys: &[
        key(
            "received",
            Of(&FLOW),
            Required,
            "frames with TCP or UDP payload that arrived; bounds \
             are plain numbers",
        ),
        FROM,
        TO,
    ],
};

pub(crate) static FLOW: Table = Table {
    what: "a flow",
    name: "flow",
    keys: &[
        key("from", Name(OnNetwork), Required, "the sending node"),
        key("to", Name(OnNetwork), Required, "the receiving node"),
    ],
};

static LONGEST_GAP: Table = Table {
    what: "a longest gap",
    name: "longest_gap",
    keys: &[
        key(
            "longest_gap",
            Of(&PORT_FLOW),
            Required,
            "the longest time between two frames with \
             new payload: how long one end was silent, or the other heard nothing (`at`); bounds \
             are times",
        ),
        FROM,
        TO,
    ],
};

pub(crate) static PORT_FLOW: Table = Table {
    what: "a flow to a port",
    name: "port-flow",
    keys: &[
        key("from", Name(OnNetwork), Required, "the sending node"),
        key("to", Name(OnNetwork), Required, "the receiving node"),
        key(
            "port",
            Whole { min: 1, max: 65535 },
            Required,
            "TCP or UDP port at the receiving \
             node",
        ),
        key(
            "at",
            Choice(&["sender", "receiver"]),
            Default("sender"),
            "where frames are looked at: `sender` tells when they were sent, also those that \
             were lost on the way; `receiver` when they arrived",
        ),
    ],
};

static TOLD: Table = Table {
    what: "a number that a program tells",
    name: "told",
    keys: &[
        key(
            "told",
            Name(Foreign),
            Required,
            "a member of the JSON objects that a program prints, one a line; bounds are times if \
             it ends in `_ns`, `_us`, `_ms` or `_s`, else plain numbers, as for `count`; a line that names \
             it and says no number (`null`, `NaN`, half an object, one behind other text) leaves the rest \
             not measured",
        ),
        key("by", Name(OfProgram), Required, "the program"),
        key("statistic", Choice(&Statistic::NAMES), Required, "what is drawn from all of them"),
        key("above", Quantity, Optional, "only those above this"),
        FROM,
        TO,
    ],
};

pub(crate) static VARIANT: Table = Table {
    what: "a variant",
    name: "variant",
    keys: &[
        key("events", List(&OneOf(&EVENTS)), Optional, "events of this variant, in addition"),
        key(
            "requirements",
            List(&Of(&REQUIREMENT)),
            Optional,
            "requirements of this variant, in \
             addition",
        ),
    ],
};
