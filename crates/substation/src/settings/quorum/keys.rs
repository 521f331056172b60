//! Every key of the settings of relays that act as one.

use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Of, OneOf, Several, Text, Whole, Within};
use ::settings::table::{Forms, Key, Shape, Table, key};
use ::settings::units::Dimension::{Current, Time};

use super::super::keys::{
    APP_ID, CONF_REV, CORE, DESTINATION, ELEMENTS, EXPECTED_DATA_SET, EXPECTED_GO_ID, NOMINAL_HZ,
    ORDERS, PRIORITY_OF_THREAD, RECORDS_AGE_MAX, RECORDS_KEEP, RECORDS_SIZE_MAX, REFERENCE,
    STREAMS, TRIPS,
};
use super::super::texts::{PARTY, SOCKET, TEXT, YES_NO};

/// The top of the settings of a relay node.
pub static RELAY_NODE: Table = Table {
    what: "a relay node",
    name: "node",
    keys: &[
        key("node", TEXT, Required, "its name"),
        key("quorum", Of(&QUORUM), Required, "protocol, files and addresses"),
        key("decides", OneOf(&DECIDES), Required, "what decides"),
        key("host", Of(&HOST), Optional, "where it runs"),
        key("frequency", NOMINAL_HZ, Optional, "nominal"),
        key("streams", STREAMS, Optional, "as of a relay"),
        key("elements", ELEMENTS, Optional, "as of a relay"),
        key("trips", Of(&TRIPS), Optional, "as of a relay"),
    ],
};

static DECIDES: Forms = Forms {
    what: "words",
    item: "source of decisions",
    forms: &[&BY_ELEMENTS, &BY_VECTOR, &BY_GOOSE],
};

/// The key by which the form is chosen.
const fn by(word: &'static [&'static str; 1]) -> Key {
    key("by", Choice(word), Required, "what decides")
}

/// What a relay's elements may be set to.
const AMPERES: Shape = Within(Current, 0.0, 1e6);

static BY_ELEMENTS: Table = Table {
    what: "a decision by elements",
    name: "elements",
    keys: &[
        by(&["elements"]),
        key("breaker", TEXT, Required, "one of the trip matrix"),
        key("close_after", Within(Time, 0.001, 600.0), Optional, "from the end of a trip"),
    ],
};

static BY_VECTOR: Table = Table {
    what: "a decision by the space vector",
    name: "space_vector",
    keys: &[
        by(&["space_vector"]),
        key("stream", TEXT, Required, "with the currents"),
        key("pick_up", AMPERES, Required, "primary length above which it trips"),
        key("drop_off", AMPERES, Required, "primary length below which it closes"),
        key("samples", Whole { min: 1, max: 8 }, Default("3"), "in a row, beyond a limit"),
        key("closes", YES_NO, Default("yes"), "whether it closes at all"),
    ],
};

static BY_GOOSE: Table = Table {
    what: "a decision of a foreign relay",
    name: "goose",
    keys: &[
        by(&["goose"]),
        key("interface", TEXT, Required, "that leads to that relay only"),
        REFERENCE,
        DESTINATION,
        APP_ID,
        CONF_REV,
        EXPECTED_DATA_SET,
        EXPECTED_GO_ID,
        key("entries", Several(&FOREIGN_ENTRY), Required, "what each value says"),
    ],
};

const FOREIGN_ENTRY: Shape = Choice(&["trip", "close", "unused"]);
const SPAN: Shape = Within(Time, 0.001, 10.0);

static QUORUM: Table = Table {
    what: "a quorum",
    name: "quorum",
    keys: &[
        key("protocol", Choice(&["arbiter", "peer"]), Required, "the same for all parties"),
        key("membership", TEXT, Required, "file with the membership"),
        key("keys", TEXT, Required, "file with the secrets of this party"),
        key("memory", TEXT, Required, "file with what a restart needs"),
        key("addresses", Several(&PARTY), Required, "of the relay nodes, in their order"),
        key("breaker_address", PARTY, Required, "of the breaker node"),
        key("dwell_before_trip", SPAN, Optional, "from an action to the next trip; 3 ms"),
        key("dwell_before_close", SPAN, Optional, "from an action to the next close; 20 ms"),
        key("presence_interval", SPAN, Optional, "between signs of life; 500 ms"),
    ],
};

const STALL: Shape = Within(Time, 1e-6, 1.0);

static HOST: Table = Table {
    what: "a host",
    name: "host",
    keys: &[
        key("interface", TEXT, Optional, "interface of the process bus"),
        key("core", CORE, Optional, "of the thread that must be in time"),
        key("priority", PRIORITY_OF_THREAD, Default("75"), "its priority of SCHED_FIFO"),
        key("canary_priority", PRIORITY_OF_THREAD, Default("90"), "of what measures the host"),
        // A twentieth of a quarter cycle at 60 Hz.
        key("stall_min", STALL, Default("200 us"), "lateness of the canary that is recorded"),
        key("wait_min", STALL, Optional, "wait for the core that is recorded"),
        key(
            "require_realtime",
            YES_NO,
            Default("no"),
            "`yes`: only with real time and a kept clock",
        ),
        key("records", TEXT, Optional, "file for the sequence of events"),
        RECORDS_SIZE_MAX,
        RECORDS_AGE_MAX,
        RECORDS_KEEP,
    ],
};

/// Slowest breaker: a second.
const TRAVEL: Shape = Within(Time, 0.0, 1.0);

/// The top of the settings of the breaker node.
pub static BREAKER_NODE: Table = Table {
    what: "a breaker node",
    name: "breaker",
    keys: &[
        key("breaker", TEXT, Required, "its name"),
        key("quorum", Of(&QUORUM), Required, "protocol, files and addresses"),
        key("initially", Choice(&["closed", "open"]), Default("closed"), "at the first start"),
        key("opening", TRAVEL, Default("0 s"), "how long contacts take"),
        key("closing", TRAVEL, Default("0 s"), "how long contacts take"),
        key("goose", Of(&ORDERS), Optional, "message with trip, close and position"),
        key("status", SOCKET, Optional, "where it answers `qcrelay rejuvenate`"),
        key("host", Of(&HOST), Optional, "where it runs"),
    ],
};

const COMMAND: Shape = Several(&Text);

/// The top of the settings of a rejuvenator.
pub static REJUVENATOR: Table = Table {
    what: "a rejuvenator",
    name: "rejuvenation",
    keys: &[
        key("status", SOCKET, Required, "where the breaker node answers"),
        // At most a month.
        key("interval", Within(Time, 0.1, 2_678_400.0), Required, "from one restart to the next"),
        // Four signs of life of a node that has nothing else to say.
        key("silence_max", Within(Time, 0.01, 3600.0), Default("2 s"), "of a node"),
        key("nodes", Of(&NODES), Required, "a command for each relay node"),
        key("records", TEXT, Optional, "file for what was done"),
        RECORDS_SIZE_MAX,
        RECORDS_AGE_MAX,
        RECORDS_KEEP,
    ],
};

static NODES: Table = Table {
    what: "the relay nodes",
    name: "nodes",
    keys: &[
        key("0", COMMAND, Required, "program and arguments"),
        key("1", COMMAND, Required, "program and arguments"),
        key("2", COMMAND, Required, "program and arguments"),
        key("3", COMMAND, Required, "program and arguments"),
    ],
};
