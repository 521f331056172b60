//! What virtual time costs a program: the same guest natively and with a prefix (by default
//! `qcycle exec --`), alternately, so that both see the same machine in the same mood.
//!
//! Prints a table and writes `target/bench.json`, a list of figures (see [`figures::Figure`]).
//! There are no thresholds here: a figure is compared by its reader.
//!
//! `--tiny` makes the runs as short as they can be and writes beside the real figures; tests run
//! it so that the bench cannot rot. `--prefix 'COMMAND ARGS'` measures something else, such as
//! `env`, which should give ratios near 1 and shows the noise of the machine. What a user would use
//! instead, libfaketime, is measured beside it where it is installed and can do what is asked:
//! programs with a shared libc.

mod figures;
mod guests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use figures::{Figure, Pair};
use guests::Guests;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let guests = guests::build(&scratch.join("bench-guests"))?;
    let mut figures = Vec::new();
    for comparison in comparisons(&guests, options.size) {
        eprintln!("bench: {}", comparison.name);
        figures.extend(comparison.measure(&options)?);
    }
    print!("{}", figures::table(&figures));
    let absent = [
        (guests.clock_go.is_none(), "the guest in Go, there is no `go` in PATH"),
        (guests.clock_java.is_none(), "the guest in Java, there is no `javac` in PATH"),
        (!guests::is_there(RIVAL), "libfaketime, there is no `faketime` in PATH"),
    ];
    for (_, what) in absent.iter().filter(|(is_absent, _)| *is_absent) {
        println!("not run: {what}");
    }
    let file = match options.size {
        Size::Full => scratch.with_file_name("bench.json"),
        Size::Tiny => scratch.join("bench-tiny.json"),
    };
    let json = serde_json::to_string_pretty(&figures)? + "\n";
    std::fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))
}

const RIVAL: &str = "faketime";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Size {
    Tiny,
    Full,
}

impl Size {
    fn pairs(self) -> usize {
        match self {
            Self::Tiny => 2,
            Self::Full => 15,
        }
    }

    /// One of two numbers.
    fn of(self, tiny: u32, full: u32) -> String {
        let number = if self == Self::Tiny { tiny } else { full };
        number.to_string()
    }
}

#[derive(Clone, Debug)]
struct Options {
    size: Size,
    prefix: Vec<String>,
    /// How rows with the prefix are called.
    prefix_name: String,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let qcycle = env!("CARGO_BIN_EXE_qcycle");
        let mut options = Self {
            size: Size::Full,
            prefix: [qcycle, "exec", "--"].map(str::to_owned).to_vec(),
            prefix_name: "in virtual time".to_owned(),
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // What `cargo bench` says to every bench.
                "--bench" => {}
                "--tiny" => options.size = Size::Tiny,
                "--prefix" => {
                    let prefix = arguments.next().context("--prefix wants a command")?;
                    options.prefix = prefix.split_whitespace().map(str::to_owned).collect();
                    options.prefix_name = format!("under {prefix}");
                }
                _ => bail!("{argument}: usage: [--tiny] [--prefix 'COMMAND ARGUMENTS']"),
            }
        }
        Ok(options)
    }
}

/// One thing to measure, natively and with the prefix.
struct Comparison {
    name: &'static str,
    unit: &'static str,
    sample: Sample,
    command: Vec<OsString>,
    /// Whether libfaketime changes anything for it.
    has_rival: bool,
}

/// Where samples come from.
enum Sample {
    /// The guest prints them, one a line.
    Printed,
    /// Host time from the start of the command to its end, in µs.
    WholeCommand,
}

fn comparisons(guests: &Guests, size: Size) -> Vec<Comparison> {
    let batches = size.of(3, 20);
    let reads = size.of(200, 20_000);
    // A trapped call costs a hundred times what the vDSO does.
    let syscalls = size.of(20, 2_000);
    let starts = size.of(2, 20);
    let printed = |name, unit, program: &PathBuf, arguments: &[&str]| {
        let mut command = vec![program.clone().into_os_string()];
        command.extend(arguments.iter().map(OsString::from));
        Comparison { name, unit, sample: Sample::Printed, command, has_rival: false }
    };
    let vdso = ["vdso", &batches, &reads];
    let mut comparisons = vec![
        Comparison {
            has_rival: true,
            ..printed("clock_gettime, C", "ns", &guests.clock_dynamic, &vdso)
        },
        printed("clock_gettime, static C", "ns", &guests.clock_static, &vdso),
    ];
    if let Some(go) = &guests.clock_go {
        comparisons.push(printed("time.Now, Go", "ns", go, &[&batches, &reads]));
    }
    if let Some(java) = &guests.clock_java {
        let mut comparison = printed("System.nanoTime, Java", "ns", java, &[&batches, &reads]);
        comparison.command.insert(0, "java".into());
        comparisons.push(comparison);
    }
    let raw = ["syscall", &batches, &syscalls];
    comparisons.push(printed(
        "clock_gettime as a raw system call",
        "ns",
        &guests.clock_dynamic,
        &raw,
    ));
    let let_through = [
        ("read", "read"),
        ("write", "write"),
        ("epoll_wait without a timeout", "epoll_wait"),
        ("futex, waking", "futex_wake"),
    ];
    for (name, call) in let_through {
        comparisons.push(printed(name, "ns", &guests.calls, &[call, &batches, &syscalls]));
    }
    comparisons.push(printed("/bin/true as a child", "µs", &guests.start, &[&starts]));
    comparisons.push(Comparison {
        name: "/bin/true as the whole command",
        unit: "µs",
        sample: Sample::WholeCommand,
        command: vec!["/bin/true".into()],
        has_rival: true,
    });
    comparisons
}

impl Comparison {
    /// What virtual time does to it, and what libfaketime does.
    fn measure(&self, options: &Options) -> Result<Vec<Figure>> {
        let mut figures = self.pairs(options, &options.prefix, &options.prefix_name)?.to_vec();
        if self.has_rival && guests::is_there(RIVAL) {
            // An offset of nothing: what is measured is the way to the clock.
            let prefix = [RIVAL, "-f", "+0"].map(str::to_owned);
            let [_, rival] = self.pairs(options, &prefix, "under libfaketime")?;
            figures.push(rival);
        }
        Ok(figures)
    }

    /// Runs the pairs, with the order swapped from pair to pair, and says what they show.
    fn pairs(&self, options: &Options, prefix: &[String], name: &str) -> Result<[Figure; 2]> {
        let mut pairs = Vec::new();
        for number in 0..options.size.pairs() {
            let mut pair = Pair::default();
            if number % 2 == 0 {
                pair.native = self.run(&[])?;
                pair.prefixed = self.run(prefix)?;
            } else {
                pair.prefixed = self.run(prefix)?;
                pair.native = self.run(&[])?;
            }
            pairs.push(pair);
        }
        figures::compare(self.name, name, self.unit, &pairs).context("a guest printed no samples")
    }

    fn run(&self, prefix: &[String]) -> Result<Vec<f64>> {
        match self.sample {
            Sample::Printed => {
                let printed = run(prefix, &self.command)?;
                let samples = printed.lines().map(|line| line.trim().parse::<f64>());
                samples
                    .collect::<Result<_, _>>()
                    .with_context(|| format!("{:?} printed {printed:?}", self.command))
            }
            Sample::WholeCommand => (0..4)
                .map(|_| {
                    let begin = Instant::now();
                    run(prefix, &self.command)?;
                    Ok(begin.elapsed().as_secs_f64() * 1e6)
                })
                .collect(),
        }
    }
}

/// What a command prints; an error if it fails.
fn run(prefix: &[String], command: &[OsString]) -> Result<String> {
    let words: Vec<OsString> =
        prefix.iter().map(OsString::from).chain(command.iter().cloned()).collect();
    let [program, arguments @ ..] = words.as_slice() else { bail!("an empty command") };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(output.status.success(), "{words:?} ended with {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{words:?} printed no text"))
}
