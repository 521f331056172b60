//! Every key of the settings of a merging unit.

use ::settings::Fault;
use ::settings::names::Names::Foreign;
use ::settings::problems::quoted;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Named, Of, OneOf, Several, Text, Whole, Within, Written};
use ::settings::table::{Forms, Key, Shape, Syntax, Table, key};
use ::settings::units::Dimension::{
    Angle, Current, Frequency, Impedance, Number, Portion, Time, Voltage,
};

use super::super::keys::{
    ANY_U32, APP_ID, DESTINATION, NOMINAL_HZ, ORDERS, PRIORITY, REFERENCE, SV_APP_ID, SV_CONF_REV,
    SV_ID, SV_RATE, SYNCHRONISATION, VLAN,
};
use super::super::texts::{TEXT, YES_NO};

/// Longest time that anything of a merging unit takes, in s: a week.
const WEEK_S: f64 = 604_800.0;
/// Currents and voltages that 32 bits of 1 mA and 10 mV hold with room for an offset.
const AMPERES: Shape = Within(Current, 0.0, 500_000.0);
const VOLTS: Shape = Within(Voltage, 0.0, 5_000_000.0);
const LAG: Shape = Within(Angle, -180.0, 180.0);
const WITHIN_A_WEEK: Shape = Within(Time, 0.0, WEEK_S);

fn element_of_plant(text: &str) -> Result<(), Fault> {
    if text.contains('.') {
        return Ok(());
    }
    let what = format!("{} has no class", quoted(text));
    Err(Fault::new(what, "give class and name, such as `line.650632`"))
}

/// The top of the settings of a merging unit.
pub static MERGING_UNIT: Table = Table {
    what: "a merging unit",
    name: "merging_unit",
    keys: &[
        key("merging_unit", TEXT, Required, "its name"),
        key("frequency", NOMINAL_HZ, Required, "nominal"),
        key("interface", TEXT, Optional, "that it sends to, unless `--interface` names one"),
        key("duration", Within(Time, 0.001, WEEK_S), Optional, "how long, or until its end"),
        key("seed", ANY_U32, Default("1"), "of disturbances: the same seed, the same frames"),
        key("sources", Named(Foreign, &OneOf(&SOURCE)), Required, "of samples, by name"),
        key("streams", Named(Foreign, &Of(&STREAM)), Required, "that it publishes, by name"),
        key("disturbances", Named(Foreign, &Of(&DISTURBANCE)), Optional, "of frames, by name"),
        key("breaker", Of(&BREAKER), Optional, "that ends the fault current of sources"),
    ],
};

static SOURCE: Forms =
    Forms { what: "kinds", item: "source", forms: &[&WAVEFORM, &COMTRADE, &CAPTURE, &PLANT] };

/// The key by which the form of a source is chosen.
const fn kind(word: &'static [&'static str; 1]) -> Key {
    key("kind", Choice(word), Required, "where samples come from")
}

static WAVEFORM: Table = Table {
    what: "a waveform",
    name: "waveform",
    keys: &[
        kind(&["waveform"]),
        key("frequency", Within(Frequency, 40.0, 70.0), Optional, "of the waves, if not nominal"),
        key("voltage", VOLTS, Required, "phase to earth, root mean square"),
        key("current", AMPERES, Required, "of a phase, root mean square"),
        key("lag", LAG, Default("0 deg"), "of the current behind its voltage"),
        key("current_harmonics", HARMONICS, Optional, "shares of the fundamental, by number"),
        key("voltage_harmonics", HARMONICS, Optional, "shares of the fundamental, by number"),
        key("fault", Of(&FAULT), Optional, "none without it"),
        key("transformer", Of(&TRANSFORMER), Optional, "current transformers that saturate"),
    ],
};

const HARMONICS: Shape = Named(Foreign, &Within(Portion, 0.0, 1.0));

static FAULT: Table = Table {
    what: "a fault",
    name: "fault",
    keys: &[
        key("at", WITHIN_A_WEEK, Required, "when it may begin: at the next `inception`"),
        key("every", Within(Time, 0.1, WEEK_S), Optional, "from one to the next, or once"),
        key("lasts", Within(Time, 0.001, WEEK_S), Optional, "how long it stays if not cleared"),
        key("phases", Choice(&["a", "b", "c", "ab", "bc", "ca", "abc"]), Required, "faulted"),
        key("current", AMPERES, Required, "of the fault, root mean square"),
        key("lag", LAG, Default("80 deg"), "of the current behind its voltage"),
        key("voltage_left", Within(Portion, 0.0, 2.0), Default("0 %"), "of faulted phases"),
        key("inception", Within(Angle, -360.0, 360.0), Default("0 deg"), "angle of the voltage"),
        key("tau", Within(Time, 0.0, 1.0), Default("0 s"), "time constant of the offset"),
        key(
            "dies_after",
            Within(Time, 0.0, 60.0),
            Optional,
            "of no current: an arc; else it stays",
        ),
    ],
};

static TRANSFORMER: Table = Table {
    what: "a current transformer",
    name: "transformer",
    keys: &[
        key("ratio", Within(Number, 1.0, 100_000.0), Required, "primary to secondary"),
        key("burden", Within(Impedance, 0.001, 1000.0), Required, "secondary, with winding"),
        key("saturation", Within(Voltage, 1.0, 1e5), Required, "secondary, at 10 A of excitation"),
        key("remanence", Within(Portion, -0.9, 0.9), Default("0 %"), "share of the knee"),
    ],
};

const INCEPTION: Key =
    key("inception", WITHIN_A_WEEK, Optional, "when the fault begins in the record");

static COMTRADE: Table = Table {
    what: "a fault record",
    name: "comtrade",
    keys: &[
        kind(&["comtrade"]),
        key("configuration", TEXT, Required, "its `.cfg` file, or a combined file, `.cff`"),
        key("data", TEXT, Optional, "its `.dat` file; a combined file contains it"),
        key("channels", Several(&Text), Required, "for Ia Ib Ic In Ua Ub Uc Un; `none` for zero"),
        INCEPTION,
    ],
};

static CAPTURE: Table = Table {
    what: "a capture",
    name: "capture",
    keys: &[
        kind(&["capture"]),
        key("file", TEXT, Required, "a libpcap file"),
        SV_ID,
        SV_RATE,
        INCEPTION,
    ],
};

static PLANT: Table = Table {
    what: "a simulated grid",
    name: "plant",
    keys: &[
        kind(&["plant"]),
        key("folder", TEXT, Default("/plant"), "where its files are"),
        key("bus", TEXT, Required, "with the voltages: `671` for `bus.671.v1`"),
        key("element", ELEMENT_OF_PLANT, Required, "with the currents: `line.671692`"),
        key("every", Within(Time, 0.0001, 1.0), Default("1 ms"), "how often files are read"),
    ],
};

const ELEMENT_OF_PLANT: Shape =
    Written(&Syntax { what: "class and name, such as `line.650632`", check: element_of_plant });

static STREAM: Table = Table {
    what: "a stream",
    name: "stream",
    keys: &[
        SV_ID,
        DESTINATION,
        SV_APP_ID,
        SV_RATE,
        // With eight, a frame stays below 1500 octets with the longest name.
        key("asdus", Whole { min: 1, max: 8 }, Optional, "samples in a frame, or as usual"),
        SV_CONF_REV,
        VLAN,
        PRIORITY,
        key("tag", YES_NO, Default("yes"), "whether frames have one"),
        // Later than this a frame would be one of another sample altogether.
        key("phase", Within(Time, 0.0, 0.02), Default("0 s"), "of a frame after its last sample"),
        key("synchronisation", SYNCHRONISATION, Default("global"), "that it reports"),
        key("source", TEXT, Required, "of its samples"),
    ],
};

const KINDS: Shape =
    Choice(&["loss", "duplicate", "reorder", "unsynchronised", "invalid", "questionable", "test"]);

static DISTURBANCE: Table = Table {
    what: "a disturbance",
    name: "disturbance",
    keys: &[
        key("kind", KINDS, Required, "what happens to frames"),
        key("streams", Several(&TEXT), Optional, "which it affects, or all"),
        key("share", Within(Portion, 0.0, 1.0), Default("100 %"), "of the frames"),
        key("at", WITHIN_A_WEEK, Default("0 s"), "when it begins"),
        key("lasts", Within(Time, 1e-6, WEEK_S), Optional, "how long, or to the end"),
    ],
};

static BREAKER: Table = Table {
    what: "a breaker",
    name: "breaker",
    keys: &[
        REFERENCE,
        DESTINATION,
        APP_ID,
        key("value", VALUE, Default("0"), "which is the trip, from 0"),
        key("pole_values", Several(&VALUE), Optional, "which trip the poles A, B and C"),
        key("close_value", VALUE, Optional, "which closes it; else it closes for the next fault"),
        key("opening", Within(Time, 0.0, 10.0), Required, "until the contacts are apart"),
        key("closing", Within(Time, 0.0, 10.0), Optional, "until the contacts are made"),
        key("tells", Of(&TELLS), Optional, "message with its position"),
        key("position", TEXT, Optional, "file that gets a 0 then: the switch of a simulated grid"),
    ],
};

const VALUE: Shape = Whole { min: 0, max: 255 };

/// The message of a breaker: what is in it is always the same.
static TELLS: Table = Table { what: "a message of a breaker", name: "tells", keys: ORDERS.keys };
