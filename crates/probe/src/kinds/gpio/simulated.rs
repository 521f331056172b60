//! Lines that the kernel simulates (its module gpio-sim), made for one measurement.
//!
//! They are folders of configfs, and writing a file of sysfs pulls a line up or down. They go with
//! the measurement. One that is killed cannot take its own down, so each has the number of its
//! process and when that began in its name: the next measurement removes those of processes that
//! are no more.
//!
//! `Documentation/admin-guide/gpio/gpio-sim.rst` of the kernel.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where simulated chips are made.
const PLACE: &str = "/sys/kernel/config/gpio-sim";
/// There is such a folder wherever a kernel knows of lines at all.
const ANY_LINES: &str = "/sys/bus/gpio";
const NAME: &str = "qcprobe";
const BANK: &str = "bank";
/// The file of a chip is there this long after it was made at the latest.
const FILE_MAX: Duration = Duration::from_secs(2);

/// Simulated lines; dropped, they are gone.
#[derive(Debug)]
pub(super) struct Lines {
    folder: PathBuf,
    /// The name of the chip: `gpiochip0`.
    pub(super) chip: String,
    /// The folder of sysfs with one for each line.
    lines: PathBuf,
}

impl Lines {
    /// Makes so many lines, and removes what killed measurements have left.
    ///
    /// # Errors
    /// Which module is missing, and how to get it; that this user may not.
    pub(super) fn make(count: usize) -> io::Result<Self> {
        if !Path::new(PLACE).exists() {
            return Err(io::Error::new(io::ErrorKind::NotFound, missing(ANY_LINES)));
        }
        clear(Path::new(PLACE), is_running);
        let id = std::process::id();
        let begun = began(id).unwrap_or_default();
        let folder = Path::new(PLACE).join(format!("{NAME}-{id}-{begun}"));
        let of = |what: &str| {
            let what = format!("{}: {what}", folder.display());
            move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
        };
        fs::create_dir(&folder).map_err(of("cannot be made"))?;
        // From here on it is removed whatever happens.
        let mut lines = Self { folder: folder.clone(), chip: String::new(), lines: PathBuf::new() };
        let bank = folder.join(BANK);
        fs::create_dir(&bank).map_err(of(BANK))?;
        fs::write(bank.join("num_lines"), count.to_string()).map_err(of("num_lines"))?;
        fs::write(folder.join("live"), "1").map_err(of("live"))?;
        let word = |path: PathBuf| Ok::<_, io::Error>(fs::read_to_string(path)?.trim().to_owned());
        lines.chip = word(bank.join("chip_name")).map_err(of("chip_name"))?;
        let device = word(folder.join("dev_name")).map_err(of("dev_name"))?;
        lines.lines = Path::new("/sys/devices/platform").join(device).join(&lines.chip);
        let until = Instant::now() + FILE_MAX;
        while !Path::new("/dev").join(&lines.chip).exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(lines)
    }

    pub(super) fn pull(&self, line: u32) -> PathBuf {
        self.lines.join(format!("sim_gpio{line}/pull"))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        take_down(&self.folder);
    }
}

/// Takes down what measurements have left whose process is no more.
fn clear(place: &Path, is_running: impl Fn(u32, u64) -> bool) {
    for entry in fs::read_dir(place).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let maker = name.to_str().and_then(maker);
        if maker.is_some_and(|(id, begun)| !is_running(id, begun)) {
            take_down(&entry.path());
        }
    }
}

/// Of one that is not whole, as much as there is. What fails is there for the next one.
fn take_down(folder: &Path) {
    // Not made if it is not there: configfs makes it.
    let live = File::options().write(true).open(folder.join("live"));
    let _ = live.and_then(|mut live| live.write_all(b"0"));
    let _ = fs::remove_dir(folder.join(BANK));
    let _ = fs::remove_dir(folder);
}

/// The process that made a folder, and when that began; `None` if it is not one of ours.
fn maker(name: &str) -> Option<(u32, u64)> {
    let (id, begun) = name.strip_prefix(NAME)?.strip_prefix('-')?.split_once('-')?;
    Some((id.parse().ok()?, begun.parse().ok()?))
}

fn is_running(id: u32, begun: u64) -> bool {
    began(id) == Some(begun)
}

/// When a process began, in ticks since the machine did.
fn began(id: u32) -> Option<u64> {
    os::process::Identity::of_process(id.cast_signed()).ok().map(|found| found.began)
}

/// Why nothing can be simulated here, and the ways out.
fn missing(any_lines: &str) -> String {
    let why = if Path::new(any_lines).exists() {
        "the kernel does not simulate lines (the module gpio-sim is not loaded: `modprobe \
         gpio-sim`, with configfs mounted at /sys/kernel/config; needs CONFIG_GPIO_SIM)"
    } else {
        "this kernel has no support for GPIO lines (CONFIG_GPIOLIB with CONFIG_GPIO_CDEV, and \
         CONFIG_GPIO_SIM for simulated ones)"
    };
    format!(
        "{why}; set `gpio` to two wired lines of a board, or measure on the platform `vm`, whose \
         guests have simulated lines"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_who_made_it() {
        assert_eq!(maker("qcprobe-12-3456"), Some((12, 3456)));
        for foreign in ["qcprobe", "qcprobe-", "qcprobe-12", "qcprobe-x-1", "other-12-3456", ""] {
            assert_eq!(maker(foreign), None, "{foreign}");
        }
        let own = began(std::process::id()).unwrap();
        assert!(is_running(std::process::id(), own) && !is_running(std::process::id(), own + 1));
        assert!(!is_running(u32::MAX, own));
    }

    #[test]
    fn what_a_killed_measurement_left_is_taken_down_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        // With their bank, before it, and while it was removed.
        for name in ["qcprobe-1-5/bank", "qcprobe-2-5", "qcprobe-3-5/bank", "mine/bank"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        clear(place.path(), |id, begun| (id, begun) == (3, 5));
        let mut left: Vec<_> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["mine", "qcprobe-3-5"]);
    }

    #[test]
    fn the_lack_is_reported_with_the_way_to_it() {
        let none = missing("/nowhere");
        assert!(none.contains("CONFIG_GPIOLIB") && none.contains("`vm`"), "{none}");
        let unloaded = missing("/");
        assert!(unloaded.contains("modprobe gpio-sim"), "{unloaded}");
    }
}
