//! Reads `locator`: the line whose faults are located (RFLO of IEC 61850-7-4).

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Required};
use ::settings::table::Shape::Within;
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Angle, Number};

use super::elements::OHMS;
use super::model::Locator;
use super::names::Names;
use super::texts::{TEXT, known};
use protection::{Complex, Degrees, locator};

pub(super) static LOCATOR: Table = Table {
    what: "a fault locator",
    name: "locator",
    keys: &[
        key("stream", TEXT, Required, "the stream of the line's end, out of the busbar"),
        key("impedance", OHMS, Required, "primary, positive sequence, of the whole line"),
        key("angle", Within(Angle, 30.0, 90.0), Required, "of `impedance`"),
        key("earth_factor", Within(Number, 0.0, 10.0), Required, "`(Z0 - Z1) / 3 Z1`"),
        key("earth_factor_angle", Within(Angle, -180.0, 180.0), Default("0 deg"), "of that"),
        key("length", Within(Number, 0.01, 2000.0), Required, "of the line, in km"),
    ],
};

/// The locator, if there is one and it is right.
pub(super) fn read(top: &Mapping<'_>, names: &Names<'_>) -> Option<Locator> {
    let map = top.mapping("locator")?;
    let polar =
        |magnitude, angle| Some(Complex::polar_deg(map.quantity(magnitude)?, map.quantity(angle)?));
    let stream = map.parse("stream", |text| known(text, ["stream", "streams"], &names.streams));
    Some(Locator {
        stream: stream?.value,
        line: locator::Settings {
            impedance: polar("impedance", "angle")?,
            earth_factor: polar("earth_factor", "earth_factor_angle")?,
            length_km: map.quantity("length")?,
        },
    })
}
