//! Every key of the settings of a relay: what stands there and what holds without it.

use ::settings::names::Names::Foreign;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Named, Of, OneOf, Several, Whole, Within, Written};
use ::settings::table::{Key, Shape, Syntax, Table, key};
use ::settings::units::Dimension::{Frequency, Size, Time};

use super::elements::ELEMENT;
use super::groups::{GROUPS, NUMBERS};
use super::host::cache_group;
use super::locator::LOCATOR;
use super::recorder::RECORDER;
use super::texts::{GROUP, RATE, SOCKET, TEXT, VISIBLE, YES_NO};

pub(super) const SYNCHRONISATION: Shape = Choice(&["none", "local", "global"]);
pub(super) const NOMINAL_HZ: Shape = Within(Frequency, 45.0, 65.0);
pub(super) const ANY_U32: Shape = Whole { min: 0, max: u32::MAX as u64 };
pub(super) const PRIORITY_OF_THREAD: Shape = Whole { min: 1, max: 98 };
pub(super) const CORE: Shape = Whole { min: 0, max: 1023 };

/// The top of the settings of a relay.
pub static RELAY: Table = Table {
    what: "a relay",
    name: "relay",
    keys: &[
        key("relay", TEXT, Required, "its name"),
        key("frequency", NOMINAL_HZ, Required, "nominal"),
        key("mode", Choice(&["on", "test"]), Default("on"), "`test`: uses and sends test data"),
        key("streams", STREAMS, Required, "sampled values that it uses, by name"),
        key("elements", ELEMENTS, Optional, "what it protects with, by name"),
        key("trips", Of(&TRIPS), Optional, "which elements trip which breakers"),
        key("goose", Named(Foreign, &Of(&GOOSE)), Optional, "messages that it sends, by name"),
        key("subscriptions", Named(Foreign, &Of(&SUBSCRIPTION)), Optional, "messages of others"),
        key("recorder", Of(&RECORDER), Optional, "what it records of disturbances"),
        key("locator", Of(&LOCATOR), Optional, "the line whose faults it locates"),
        key("host", Of(&HOST), Optional, "where and how it runs"),
        key("groups", Of(&GROUPS), Optional, "other settings of `elements`, by number"),
        key("active_group", NUMBERS, Default("1"), "the group that is active at the start"),
    ],
};

pub(super) const STREAMS: Shape = Named(Foreign, &Of(&STREAM));
pub(super) const ELEMENTS: Shape = Named(Foreign, &OneOf(&ELEMENT));

pub(super) const SV_ID: Key = key("sv_id", VISIBLE, Required, "svID");
pub(super) const DESTINATION: Key = key("destination", GROUP, Required, "group that it is sent to");
pub(super) const SV_APP_ID: Key =
    key("app_id", Whole { min: 0x4000, max: 0x7fff }, Required, "APPID");
pub(super) const SV_RATE: Key = key("rate", RATE, Required, "samples a second");
pub(super) const SV_CONF_REV: Key = key("conf_rev", ANY_U32, Default("1"), "revision");

const VOLTAGE_TRANSFORMERS: Key = key(
    "voltage_transformers",
    Choice(&["capacitive", "inductive"]),
    Default("capacitive"),
    "`inductive`, also for sensors: distance is faster, as none of them rings",
);

static STREAM: Table = Table {
    what: "a stream",
    name: "stream",
    keys: &[
        SV_ID,
        DESTINATION,
        SV_APP_ID,
        SV_RATE,
        SV_CONF_REV,
        key("late_max", Within(Time, 0.0001, 0.02), Default("3 ms"), "how late samples may be"),
        key("synchronisation", SYNCHRONISATION, Default("global"), "clock that is needed"),
        VOLTAGE_TRANSFORMERS,
        SIMULATED,
    ],
};

pub(super) static TRIPS: Table = Table {
    what: "a trip matrix",
    name: "trips",
    keys: &[
        key(
            "pulse_min",
            Within(Time, 0.0, 10.0),
            Default("100 ms"),
            "how long a trip outlasts its cause",
        ),
        key("lockout", YES_NO, Default("no"), "`yes`: a trip stays"),
        key("breakers", Named(Foreign, &Several(&TEXT)), Optional, "elements of each breaker"),
        key("single_pole", Several(&TEXT), Optional, "breakers with a drive for each pole"),
    ],
};

pub(super) const REFERENCE: Key =
    key("reference", VISIBLE, Required, "reference of the control block");
pub(super) const APP_ID: Key = key("app_id", Whole { min: 0, max: 0xbfff }, Required, "APPID");
pub(super) const CONF_REV: Key =
    key("conf_rev", Whole { min: 1, max: u32::MAX as u64 }, Required, "revision");
const DATA_SET: Key = key("data_set", VISIBLE, Required, "reference of the data set");
const GO_ID: Key = key("go_id", VISIBLE, Required, "name of the message");
pub(super) const EXPECTED_DATA_SET: Key =
    key("data_set", VISIBLE, Optional, "reference of its data set; without it, any");
pub(super) const EXPECTED_GO_ID: Key =
    key("go_id", VISIBLE, Optional, "name of the message; without it, any");
pub(super) const VLAN: Key =
    key("vlan", Whole { min: 0, max: 4094 }, Default("0"), "VLAN of the tag");
pub(super) const PRIORITY: Key =
    key("priority", Whole { min: 0, max: 7 }, Default("4"), "priority of the tag");
const REPEAT_MIN: Key =
    key("repeat_min", Within(Time, 0.001, 1.0), Required, "first interval after a change");
const REPEAT_MAX: Key =
    key("repeat_max", Within(Time, 0.01, 60.0), Required, "interval while nothing changes");
const ENCODING: Key = key(
    "encoding",
    Choice(&["ordinary", "fixed_length"]),
    Default("ordinary"),
    "how integers are encoded",
);
const SIMULATED: Key = key("simulated", YES_NO, Default("no"), "`yes` accepts data of test sets");

static GOOSE: Table = Table {
    what: "a message",
    name: "goose",
    keys: &[
        REFERENCE,
        DATA_SET,
        GO_ID,
        DESTINATION,
        APP_ID,
        VLAN,
        PRIORITY,
        CONF_REV,
        REPEAT_MIN,
        REPEAT_MAX,
        ENCODING,
        key("signals", Several(&TEXT), Required, "such as `trip Q0`, `start I>` and `quality`"),
    ],
};

/// The message of a breaker node: that node says by itself what is in it.
pub(super) static ORDERS: Table = Table {
    what: "the message with orders",
    name: "orders",
    keys: match GOOSE.keys {
        [control @ .., _signals] => control,
        [] => &[],
    },
};

static SUBSCRIPTION: Table = Table {
    what: "a subscription",
    name: "subscription",
    keys: &[
        REFERENCE,
        DESTINATION,
        APP_ID,
        CONF_REV,
        EXPECTED_DATA_SET,
        EXPECTED_GO_ID,
        SIMULATED,
        key("entries", Several(&TEXT), Required, "what each value is for: `position Q0`, `unused`"),
    ],
};

static HOST: Table = Table {
    what: "a host",
    name: "host",
    keys: &[
        key("interface", TEXT, Optional, "interface of the process bus"),
        key("station_interface", TEXT, Optional, "interface for GOOSE, if it is another one"),
        key("receive_core", CORE, Optional, "core of the receiving thread"),
        key("receive_priority", PRIORITY_OF_THREAD, Default("80"), "its priority of SCHED_FIFO"),
        key("task_core", CORE, Optional, "core of the protection task"),
        key("task_priority", PRIORITY_OF_THREAD, Default("75"), "its priority of SCHED_FIFO"),
        key("canary_priority", PRIORITY_OF_THREAD, Default("90"), "of what measures the host"),
        key("cache_group", CACHE_GROUP, Optional, "group of resctrl for a share of the cache"),
        key("interface_down", Choice(&["alarm", "end"]), Default("alarm"), "what to do then"),
        key("require_realtime", YES_NO, Default("no"), "`yes`: refuse to run without real time"),
        key("metrics", SOCKET, Optional, "where metrics are served"),
        key(
            "mms",
            SOCKET,
            Optional,
            "where clients of IEC 61850-8-1 are served; their port is 102",
        ),
        key("records", TEXT, Optional, "file for events and windows of measurements"),
        RECORDS_SIZE_MAX,
        RECORDS_AGE_MAX,
        RECORDS_KEEP,
        key("control", TEXT, Optional, "socket (file) of `qcrelay group`"),
    ],
};

/// A file takes what may wait for it at once, 4 MiB.
const RECORDS_SIZE: Shape = Within(Size, 4_194_304.0, 1_099_511_627_776.0);
/// A minute to a year.
const RECORDS_AGE: Shape = Within(Time, 60.0, 31_536_000.0);
pub(super) const RECORDS_SIZE_MAX: Key =
    key("records_size_max", RECORDS_SIZE, Default("64 MiB"), "a larger file is put aside");
pub(super) const RECORDS_AGE_MAX: Key =
    key("records_age_max", RECORDS_AGE, Default("24 h"), "an older file is put aside");
pub(super) const RECORDS_KEEP: Key =
    key("records_keep", Whole { min: 1, max: 999 }, Default("8"), "how many put aside are kept");

const CACHE_GROUP: Shape =
    Written(&Syntax { what: "a folder of /sys/fs/resctrl, without a path", check: cache_group });
