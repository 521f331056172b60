//! Voltages and currents of a simulated grid, as a testbed shows them to its programs: a file with
//! all points that were asked for, a name and a number in each line, all of one moment. A merging
//! unit finds its phasors there, with one reading, and makes their waves.
//!
//! Between two readings the phasors are constant, so a fault shows in the samples up to one reading
//! later, and without the direct current that a real one has. A file that cannot be read any more
//! is an error: stale voltages would look like a healthy grid.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use iec61850::SampleTime;
use protection::{Complex, Degrees};
use realtime::time;
use substation::settings::merging_unit::Plant;

use super::waves::Phases;

/// The file with all points, in the folder of a testbed.
const ALL: &str = "values";
/// More octets than a file with some hundred points has; one reading takes it whole.
const OCTETS_MAX: usize = 16 * 1024;
/// Numbers that make three phasors.
const PHASORS: usize = 6;
/// Those of currents and voltages.
const POINTS: usize = 2 * PHASORS;

/// Root mean square phasors of A, B, C.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Phasors {
    pub(crate) current: [Complex; 3],
    /// Voltages to earth, in V.
    pub(crate) voltage: [Complex; 3],
}

/// Waves of phasors that are set from time to time; angles turn on with the frequency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PhasorWaves {
    phasors: Phasors,
    frequency_hz: f64,
    rate: u16,
}

impl PhasorWaves {
    /// Waves of a dead grid.
    pub(crate) fn new(frequency_hz: f64, rate: u16) -> Self {
        Self { phasors: Phasors::default(), frequency_hz, rate }
    }

    /// What the samples from now on are made of.
    pub(crate) const fn set(&mut self, phasors: Phasors) {
        self.phasors = phasors;
    }

    pub(crate) fn at(&self, sample: u64) -> Phases {
        let turned_deg = 360.0 * self.frequency_hz * sample as f64 / f64::from(self.rate);
        let turn = Complex::polar_deg(std::f64::consts::SQRT_2, turned_deg.rem_euclid(360.0));
        let value = |phasor: &Complex| (*phasor * turn).re;
        Phases {
            current_a: self.phasors.current.each_ref().map(value),
            voltage_v: self.phasors.voltage.each_ref().map(value),
        }
    }
}

/// The file with what is measured at one place of the grid, among other points.
#[derive(Debug)]
pub(crate) struct PlantFile {
    file: File,
    path: PathBuf,
    /// Magnitude and angle of each current, then of each voltage.
    names: [String; POINTS],
    octets: Vec<u8>,
    every: Duration,
    next: SampleTime,
}

impl PlantFile {
    /// Opens it and sees whether all points are there.
    pub(crate) fn open(plant: &Plant) -> anyhow::Result<Self> {
        let path = Path::new(&plant.folder).join(ALL);
        let file = File::open(&path).with_context(|| {
            format!("{} is not available to this program; add points to its files", path.display())
        })?;
        let name = |place: usize| {
            let (phase, part) = (place % PHASORS / 2 + 1, ["", "a"][place % 2]);
            match place / PHASORS {
                0 => format!("{}.i{part}{phase}", plant.element),
                _ => format!("bus.{}.v{part}{phase}", plant.bus),
            }
        };
        let (names, octets) = (std::array::from_fn(name), vec![0; OCTETS_MAX]);
        let (every, next) = (plant.every, SampleTime::ZERO);
        let mut plant = Self { file, path, names, octets, every, next };
        plant.read()?;
        Ok(plant)
    }

    /// The phasors, if they are due.
    pub(crate) fn read_when_due(&mut self, now: SampleTime) -> anyhow::Result<Option<Phasors>> {
        if now < self.next {
            return Ok(None);
        }
        let over_ns = now.ns() % time::ns(self.every);
        self.next = SampleTime::from_ns(now.ns() - over_ns).plus(self.every);
        let values = self.read()?;
        let phasor = |place: usize| Complex::polar_deg(values[place], values[place + 1]);
        let phasors = |first: usize| [phasor(first), phasor(first + 2), phasor(first + 4)];
        Ok(Some(Phasors { current: phasors(0), voltage: phasors(PHASORS) }))
    }

    /// All values, of one moment.
    fn read(&mut self) -> anyhow::Result<[f64; POINTS]> {
        let place = || self.path.display().to_string();
        let count = self.file.read_at(&mut self.octets, 0).with_context(place)?;
        if count == OCTETS_MAX {
            bail!("{} is longer than {OCTETS_MAX} octets: give it fewer points", place());
        }
        let text = std::str::from_utf8(&self.octets[..count]).with_context(place)?;
        let mut values = [f64::NAN; POINTS];
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            let Some(index) = self.names.iter().position(|known| known == name) else { continue };
            values[index] = match value.parse::<f64>() {
                Ok(number) if number.is_finite() => number,
                _ => bail!("{}: {name} is {value:?}, which is not a number", place()),
            };
        }
        if let Some(index) = values.iter().position(|value| value.is_nan()) {
            let name = &self.names[index];
            bail!("{}: {name} is not available to this program; add it to its files", place());
        }
        Ok(values)
    }
}

/// Takes the contacts of a breaker in the grid apart.
pub(crate) fn open_breaker(file: &str) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).open(file);
    let written = opened.and_then(|file| file.write_at(b"0\n", 0));
    written.map(drop).with_context(|| format!("opening the breaker at {file}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A grid, and the lines of its file.
    fn grid(folder: &Path) -> (Plant, Vec<String>) {
        let points = (0..3).flat_map(|index| {
            [("bus.680.v", 2400.0), ("line.l.i", 100.0)].map(|(of, value)| (of, value, index))
        });
        let lines = points.flat_map(|(of, value, index)| {
            let angle = f64::from(index) * -120.0;
            let phase = index + 1;
            [format!("{of}{phase} {value}"), format!("{of}a{phase} {angle}")]
        });
        let lines: Vec<String> = ["line.l.closed 1".into()].into_iter().chain(lines).collect();
        write(folder, &lines);
        let plant = Plant {
            folder: folder.display().to_string(),
            bus: "680".into(),
            element: "line.l".into(),
            every: Duration::from_millis(1),
        };
        (plant, lines)
    }

    fn write(folder: &Path, lines: &[String]) {
        fs::write(folder.join("values"), lines.join("\n") + "\n").unwrap();
    }

    #[test]
    fn waves_have_the_phasors_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = PlantFile::open(&grid(folder.path()).0).unwrap();
        let mut waves = PhasorWaves::new(60.0, 4800);
        waves.set(file.read_when_due(SampleTime::ZERO).unwrap().expect("the first is due"));
        assert_eq!(file.read_when_due(SampleTime::from_ns(999_999)).unwrap(), None);
        let squares = |value: &dyn Fn(u64) -> f64| (0..80).map(|n| value(n).powi(2)).sum::<f64>();
        let voltage = (squares(&|n| waves.at(n).voltage_v[1]) / 80.0).sqrt();
        let current = (squares(&|n| waves.at(n).current_a[2]) / 80.0).sqrt();
        assert!((voltage - 2400.0).abs() < 1e-6 && (current - 100.0).abs() < 1e-9);
        assert!((waves.at(0).voltage_v[0] - 2400.0 * 2f64.sqrt()).abs() < 1e-9);
        // Phase B comes a third of a period later.
        let (a, b) = (waves.at(0).voltage_v[0], waves.at(80 + 80 / 3).voltage_v[1]);
        assert!((a - b).abs() < 0.01 * a, "{a} {b}");
    }

    #[test]
    fn a_point_that_is_missing_or_no_number_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (plant, mut lines) = grid(folder.path());
        let mut file = PlantFile::open(&plant).unwrap();
        let index = lines.iter().position(|line| line.starts_with("line.l.ia2")).unwrap();
        lines[index] = "line.l.ia2 nan".into();
        write(folder.path(), &lines);
        let error = file.read_when_due(SampleTime::from_ns(5)).unwrap_err().to_string();
        assert!(error.contains("line.l.ia2 is \"nan\""), "{error}");
        lines.remove(index);
        write(folder.path(), &lines);
        let error = PlantFile::open(&plant).unwrap_err().to_string();
        assert!(error.contains("line.l.ia2 is not available"), "{error}");
        fs::remove_file(folder.path().join("values")).unwrap();
        let error = PlantFile::open(&plant).unwrap_err().to_string();
        assert!(error.contains("values is not available"), "{error}");
    }

    #[test]
    fn a_breaker_is_opened_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("line.l.closed");
        fs::write(&path, "1\n").unwrap();
        open_breaker(&path.display().to_string()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0\n");
        assert!(open_breaker("/nowhere/line.l.closed").is_err());
    }
}
