//! Quantities with units: `400 A`, `12.5 ms`, `15 %`.

use super::problems::quoted;

/// What a quantity is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Current,
    Voltage,
    Frequency,
    Time,
    Impedance,
    Admittance,
    Angle,
    Share,
    Number,
}

impl Unit {
    /// Units by name and what they are in the first of them.
    const fn table(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Current => &[("A", 1.0), ("mA", 1e-3), ("kA", 1e3)],
            Self::Voltage => &[("V", 1.0), ("mV", 1e-3), ("kV", 1e3)],
            Self::Frequency => &[("Hz", 1.0)],
            Self::Time => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)],
            Self::Impedance => &[("ohm", 1.0), ("mohm", 1e-3)],
            Self::Admittance => &[("S", 1.0), ("mS", 1e-3), ("uS", 1e-6)],
            Self::Angle => &[("deg", 1.0)],
            Self::Share => &[("%", 0.01)],
            Self::Number => &[("", 1.0)],
        }
    }

    /// The unit in which limits are told, and its factor.
    pub(super) const fn first(self) -> (&'static str, f64) {
        self.table()[0]
    }
}

/// A quantity in the first unit of its kind (shares as fractions); else what is wrong, and the
/// way out.
pub(super) fn parse(text: &str, unit: Unit) -> Result<f64, (String, String)> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, name) = (&text[..end], text[end..].trim_start());
    let names: Vec<&str> = unit.table().iter().map(|(name, _)| *name).collect();
    let way_out = || match names[..] {
        [""] => "write a number alone, such as `0.5`".into(),
        _ => format!("write a number and one of: {}", names.join(", ")),
    };
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let Some(value) = value else {
        return Err((format!("{} is not a quantity", quoted(text)), way_out()));
    };
    match unit.table().iter().find(|(known, _)| *known == name) {
        Some((_, factor)) => Ok(value * factor),
        None if name.is_empty() => Err((format!("{} has no unit", quoted(text)), way_out())),
        None => Err((format!("{} is not a valid unit for it", quoted(name)), way_out())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_need_a_unit_that_fits() {
        assert_eq!(parse("2 kA", Unit::Current), Ok(2000.0));
        assert_eq!(parse("12.5ms", Unit::Time), Ok(0.0125));
        assert_eq!(parse("15 %", Unit::Share), Ok(0.15));
        assert_eq!(parse("0.5", Unit::Number), Ok(0.5));
        let wrong = |text, unit| parse(text, unit).unwrap_err().0;
        assert_eq!(wrong("2", Unit::Current), "`2` has no unit");
        assert_eq!(wrong("2 kV", Unit::Current), "`kV` is not a valid unit for it");
        assert_eq!(wrong("much", Unit::Current), "`much` is not a quantity");
        assert_eq!(wrong("1e999 A", Unit::Current), "`1e999 A` is not a quantity");
        assert_eq!(wrong("0.5 A", Unit::Number), "`A` is not a valid unit for it");
    }
}
