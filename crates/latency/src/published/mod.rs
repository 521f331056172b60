//! What others measured and what services ask for, as printed: the tables beside this file.
//!
//! A figure says more beside those of a machine that somebody else described. The tables are data;
//! where they come from stands in `README.md` beside them.

const REQUIREMENTS: &str = include_str!("queiroz2023_requirements_ms.csv");
const QUEIROZ: [(&str, &str); 2] = [
    ("ordinary kernel", include_str!("queiroz2023_gpos_ms.csv")),
    ("real-time kernel", include_str!("queiroz2023_rtos_ms.csv")),
];
const SCHOENBORN: &str = include_str!("schoenborn2023_jitter_us.csv");
const ALONSO: &str = include_str!("alonso2021_linux_thread_us.csv");

/// A box plot in figures as published, ms.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PublishedBox {
    pub study: &'static str,
    /// What was measured: `Baseline`, `Hypervisor A` ... and on which kernel.
    pub system: String,
    pub profile: u32,
    /// Lower whisker, lower quartile, median, mean, standard deviation, upper quartile, upper
    /// whisker, maximum jitter, ms.
    pub figures_ms: [f64; 8],
}

/// A mean and a maximum as published, µs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PublishedMaximum {
    pub study: &'static str,
    /// What was measured, and under which load.
    pub system: String,
    pub mean_us: f64,
    pub max_us: f64,
}

/// What a service allows, as published, ms.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Requirement {
    pub service: String,
    pub latency_ms: f64,
    pub jitter_ms: f64,
}

/// The tables of Queiroz et al. 2023 by system and testing profile.
pub(crate) fn boxes() -> Vec<PublishedBox> {
    let of = |(kernel, table): &(&str, &'static str)| {
        let kernel = (*kernel).to_owned();
        rows(table).map(move |row| PublishedBox {
            study: "Queiroz 2023",
            system: format!("{}, {kernel}", row[0]),
            profile: number(row[1]) as u32,
            figures_ms: figures(&row[2..]),
        })
    };
    QUEIROZ.iter().flat_map(of).collect()
}

/// Means and maxima of Schönborn et al. 2023 and Alonso et al. 2021.
pub(crate) fn maxima() -> Vec<PublishedMaximum> {
    let schoenborn = rows(SCHOENBORN).map(|row| PublishedMaximum {
        study: "Schönborn 2023",
        system: format!("{}, {}", row[0], row[1]),
        mean_us: number(row[3]),
        max_us: number(row[2]),
    });
    let alonso = rows(ALONSO).map(|row| PublishedMaximum {
        study: "Alonso 2021",
        system: format!(
            "{}, core {}, {}",
            row[0],
            row[1],
            if row[2] == "yes" { "stress-ng" } else { "no load" }
        ),
        mean_us: number(row[3]),
        max_us: number(row[4]),
    });
    schoenborn.chain(alonso).collect()
}

/// What services ask for, as Queiroz et al. 2023 list it.
pub(crate) fn requirements() -> Vec<Requirement> {
    rows(REQUIREMENTS)
        .map(|row| Requirement {
            service: row[0].to_owned(),
            latency_ms: number(row[1]),
            jitter_ms: number(row[2]),
        })
        .collect()
}

/// The rows of a table below its head; no field of these has a comma in it.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().skip(1).map(|line| line.split(',').collect())
}

fn figures(fields: &[&str]) -> [f64; 8] {
    let numbers: Vec<f64> = fields.iter().map(|field| number(field)).collect();
    numbers.try_into().expect("the tables are part of this program, and a test reads them all")
}

fn number(field: &str) -> f64 {
    field.parse().expect("the tables are part of this program, and a test reads them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_read() {
        let boxes = boxes();
        assert_eq!(boxes.len(), 44);
        let loaded =
            boxes.iter().find(|of| of.system == "Baseline, ordinary kernel" && of.profile == 3);
        assert_eq!(loaded.unwrap().figures_ms[6], 0.572);
        assert_eq!(maxima().len(), 6 + 16);
        let requirements = requirements();
        assert_eq!(requirements.len(), 8);
        assert_eq!((requirements[5].latency_ms, requirements[5].jitter_ms), (5.0, 1.0));
    }
}
