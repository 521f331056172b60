//! The command line of `qcprobe`. Exit codes are those of `qcycle`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use terminal::exit::Exit;

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, Parser, Subcommand};
use strum::VariantNames as _;

use crate::attend::{self, Tended};
use crate::control::Control;
use crate::cores::{self, Cores};
use crate::plan::{BadPlan, PERIOD_NS_MIN, PRIORITIES, SPAN_NS_MAX};
use crate::stream::{NotAStream, Outcome, Reader};
use crate::sys::signal;
use crate::{Facts, Host, Kind, Plan, WiredLines, init, run, show};

const EXAMPLES: &str = "\
Examples:
  qcprobe run --cores 0-1 --duration 60s --output native.qcs
  qcprobe run --probe eventfd --cores 1 --period 500us --output - | qcprobe show -
  qcprobe run --plan plan.json --output - > far.qcs
  ssh bay3 ./qcprobe run --plan - --output - < plan.json > far.qcs
  qcprobe show native.qcs
  qcprobe facts

Exit codes: 0 done, 11 not measured, 12 the stream could not be written, 64 usage, 65 bad plan or \
stream, 69 something is missing on this host, 130 interrupted (the stream is whole).";

#[derive(Parser)]
#[command(
    name = "qcprobe",
    version,
    about = "Measures how late a platform lets programs act, and what caused it",
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, until the end of the plan or Ctrl-C
    #[command(after_help = EXAMPLES)]
    Run(RunArguments),
    /// Run as the first process of a guest: set it up, attend, and power it off
    #[command(hide = true)]
    Init,
    /// Carry out the order on the standard input until that closes; started by `qcycle latency`
    Attend,
    /// Keep a load running; started by `attend`
    #[command(hide = true)]
    Keep {
        #[arg(long, value_parser = process)]
        parent: u32,
        #[arg(long)]
        cores: Option<Cores>,
        #[arg(required = true, last = true)]
        words: Vec<String>,
    },
    /// Print the facts about this machine as JSON
    Facts,
    /// Print a stream in readable form
    Show {
        /// A file, or `-` for the standard input
        stream: PathBuf,
    },
}

#[derive(Args)]
struct RunArguments {
    /// Plan as JSON, or `-` for the standard input; the options below override it
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Where the stream goes: a file, or `-` for the standard output
    #[arg(long, default_value = "-")]
    output: PathBuf,
    /// timer, timerfd, eventfd, signal, pipe, futex, udp, ethernet, gpio, noise or page-fault
    #[arg(long, value_parser = kind)]
    probe: Option<Kind>,
    /// One thread for each of these cores, such as `0-2,5`; without a plan: all of this process
    #[arg(long, value_parser = some_cores)]
    cores: Option<Cores>,
    /// SCHED_FIFO priority, 1 to 99, or `none` for ordinary threads
    #[arg(long, value_parser = priority)]
    priority: Option<Priority>,
    /// Time between two samples, such as `250us` or `10ms`
    #[arg(long, value_parser = span_ns)]
    period: Option<u64>,
    /// Duration, such as `30s`, `5min` or `8h`
    #[arg(long, value_parser = span_ns)]
    duration: Option<u64>,
    /// Do not lock memory
    #[arg(long)]
    no_lock_memory: bool,
    /// Allow deep idle states of processors
    #[arg(long)]
    no_hold_awake: bool,
    /// Let the kernel choose the core of each thread
    #[arg(long)]
    not_pinned: bool,
    /// Spin a thread of the lowest priority on each core, which keeps the core from idling
    #[arg(long)]
    stall_meter: bool,
    /// Have the kernel record task switches: causes are more certain, wake-ups slightly later
    #[arg(long)]
    record_switches: bool,
    /// Have the kernel timestamp datagrams and frames, which shows its share of a latency and adds
    /// to it
    #[arg(long)]
    split: bool,
    /// For the probe gpio: two lines that are wired to each other, such as `gpiochip0:17:27`
    #[arg(long, value_name = "CHIP:OUTPUT:INPUT", value_parser = wired)]
    gpio: Option<WiredLines>,
}

/// The main function of `qcprobe`.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked = !error.use_stderr();
            if asked {
                terminal::print(format_args!("{}", error.render()));
            } else {
                terminal::err!("{}", error.render().to_string().trim_end());
            }
            return terminal::exit_code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    let done = match arguments.command {
        Command::Run(arguments) => measure(&arguments),
        Command::Init => init::run().map(|()| Exit::Done),
        Command::Attend => carry_out(),
        Command::Keep { parent, cores, words } => keep(parent, &words, cores.as_ref()),
        Command::Facts => print_facts(),
        Command::Show { stream } => print_stream(&stream),
    };
    match done {
        Ok(code) => terminal::exit_code(code),
        Err(error) => {
            terminal::err!("qcprobe: {error:#}");
            terminal::exit_code(code_of(&error))
        }
    }
}

fn code_of(error: &anyhow::Error) -> Exit {
    if error.is::<BadPlan>() || error.is::<NotAStream>() {
        Exit::BadInput
    } else if error.is::<BadOption>() {
        Exit::Usage
    } else {
        Exit::BrokenSetup
    }
}

/// An option with which a plan cannot be, by its name and not by the key of the plan.
#[derive(Debug, thiserror::Error)]
#[error("--{}: {}", .0.key.trim_end_matches("_ns"), .0.problem)]
struct BadOption(BadPlan);

fn measure(arguments: &RunArguments) -> Result<Exit> {
    let plan = arguments.plan()?;
    let control = Arc::new(Control::default());
    signal::obey(&control).context("handlers of signals")?;
    let ended = if arguments.output == Path::new("-") {
        ensure!(
            !io::stdout().is_terminal(),
            "the stream is binary and cannot go to a terminal: give a file with --output, or \
             pipe it: | qcprobe show -"
        );
        run(&plan, io::stdout().lock(), &control).map(|(_, outcome)| outcome)
    } else {
        let path = &arguments.output;
        let fix = "give a file that can be written with --output";
        let file = File::create(path).map_err(fixed_by(path, fix))?;
        run(&plan, OnDisk(file), &control).map(|(_, outcome)| outcome)
    };
    match ended {
        Ok(outcome) => Ok(exit_of(outcome, &format!("{}: ", plan.probe))),
        Err(error) => {
            let place = arguments.output.display();
            let fix = if error.kind() == io::ErrorKind::BrokenPipe {
                "have its reader read it to the end, or give a file with --output"
            } else {
                "give another file with --output"
            };
            terminal::err!("qcprobe: writing the stream to {place}: {error}; fix: {fix}");
            Ok(Exit::PartFailed)
        }
    }
}

/// Says why nothing was measured, of what, and returns what the program ends with.
fn exit_of(outcome: Outcome, what: &str) -> Exit {
    match outcome {
        Outcome::Finished => Exit::Done,
        Outcome::Interrupted => Exit::Interrupted,
        Outcome::NotMeasured(reason) | Outcome::Failed(reason) => {
            terminal::err!("qcprobe: {what}not measured: {reason}");
            Exit::NotMeasured
        }
    }
}

fn carry_out() -> Result<Exit> {
    let control = Arc::new(Control::default());
    signal::obey(&control).context("handlers of signals")?;
    let input = BufReader::new(io::stdin());
    Ok(match attend::tend(input, io::stdout().lock(), &control)? {
        Tended::Measured(outcome) => exit_of(outcome, ""),
        Tended::Kept => Exit::Done,
        Tended::LoadMissing => Exit::NotMeasured,
    })
}

fn keep(parent: u32, words: &[String], cores: Option<&Cores>) -> Result<Exit> {
    let cores: Vec<usize> = cores.iter().flat_map(|cores| cores.iter()).collect();
    let kept = attend::keep(parent, words, &cores).context("keeping a load")?;
    Ok(if kept { Exit::Done } else { Exit::NotMeasured })
}

/// A file of which all that was flushed survives a crash of the machine.
struct OnDisk(File);

impl Write for OnDisk {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.sync_data() {
            // Pipes and devices cannot, and need not.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            result => result,
        }
    }
}

fn print_facts() -> Result<Exit> {
    terminal::print_json(&serde_json::to_string_pretty(&Facts::of_this_machine())?);
    Ok(Exit::Done)
}

fn print_stream(path: &Path) -> Result<Exit> {
    let unreadable = fixed_by(path, "give a file that `qcprobe run` wrote");
    let from: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(&unreadable)?)
    };
    let mut from = BufReader::new(from);
    // A folder can be opened, and not be read.
    from.fill_buf().map_err(&unreadable)?;
    let reader = Reader::new(from).with_context(|| format!("{}", path.display()))?;
    terminal::print(format_args!("{}", show::Shown::of(reader)));
    Ok(Exit::Done)
}

impl RunArguments {
    fn plan(&self) -> Result<Plan> {
        let mut plan = match &self.plan {
            Some(path) => read_plan(path)?,
            None => Plan {
                cores: cores::chosen(&Host::this(), None)?.iter().collect(),
                ..Plan::default()
            },
        };
        if let Some(cores) = &self.cores {
            plan.cores = cores::chosen(&Host::this(), Some(cores))?.iter().collect();
        }
        if let Some(Priority(priority)) = self.priority {
            plan.priority = priority;
        }
        plan.probe = self.probe.unwrap_or(plan.probe);
        plan.period_ns = self.period.unwrap_or(plan.period_ns);
        plan.duration_ns = self.duration.unwrap_or(plan.duration_ns);
        plan.lock_memory &= !self.no_lock_memory;
        plan.hold_awake &= !self.no_hold_awake;
        plan.pinned &= !self.not_pinned;
        plan.stall_meter |= self.stall_meter;
        plan.record_switches |= self.record_switches;
        plan.split |= self.split;
        plan.gpio = self.gpio.clone().or(plan.gpio);
        // The plan that was given is right by itself.
        plan.check().map_err(BadOption)?;
        Ok(plan)
    }
}

/// An error of a file with its place and fix.
fn fixed_by(path: &Path, fix: &str) -> impl Fn(io::Error) -> anyhow::Error {
    move |error| anyhow!("{}: {error}; fix: {fix}", path.display())
}

fn read_plan(path: &Path) -> Result<Plan> {
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(fixed_by(path, "give a file with a plan as JSON"))?;
    Plan::from_json(&text).with_context(|| format!("{}", path.display()))
}

fn kind(name: &str) -> Result<Kind, String> {
    name.parse().map_err(|_| format!("one of {}", Kind::VARIANTS.join(", ")))
}

/// A chip and two of its lines, such as `gpiochip0:17:27`.
fn wired(text: &str) -> Result<WiredLines, String> {
    let mut parts = text.rsplitn(3, ':');
    let (input, output, chip) = (parts.next(), parts.next(), parts.next());
    let line = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    match (chip, line(output), line(input)) {
        (Some(chip), Some(output), Some(input)) if !chip.is_empty() => {
            Ok(WiredLines { chip: chip.to_owned(), output, input })
        }
        _ => Err("a chip, the output and the input: `gpiochip0:17:27`".to_owned()),
    }
}

/// A priority as an option: none is a value of its own.
#[derive(Clone, Copy)]
struct Priority(Option<i32>);

fn priority(text: &str) -> Result<Priority, String> {
    if text == "none" {
        return Ok(Priority(None));
    }
    let number = text.parse().ok().filter(|number| PRIORITIES.contains(number));
    number.map(|number| Priority(Some(number))).ok_or_else(|| "give 1 to 99, or `none`".to_owned())
}

fn process(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give the number of a process".to_owned())
}

fn some_cores(text: &str) -> Result<Cores> {
    let cores: Cores = text.parse()?;
    ensure!(!cores.is_empty(), "give at least one core, such as `0-2,5`");
    Ok(cores)
}

/// A period or a duration, such as `250us` or `1.5 h`, in ns: the times that `qcycle` reads too.
fn span_ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim_start() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err("write a number and ns, us, ms, s, min or h".to_owned()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!("`{number}` is not a number; write it as `12` or `12.5`"));
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}").parse::<u128>().ok();
    let ns = digits.and_then(|digits| {
        let (product, divisor) =
            (digits.checked_mul(factor)?, 10_u128.checked_pow(fraction.len() as u32)?);
        (product % divisor == 0).then_some(product / divisor)
    });
    let ns = ns.and_then(|ns| u64::try_from(ns).ok());
    ns.filter(|ns| (PERIOD_NS_MIN..=SPAN_NS_MAX).contains(ns))
        .ok_or_else(|| "give whole nanoseconds, from 10us to 87600h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_in_itself_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(span_ns("250us"), Ok(250_000));
        assert_eq!(span_ns("8h"), Ok(28_800_000_000_000));
        for (text, ns) in
            [("0.5s", 500_000_000), (" 1 s ", 1_000_000_000), ("1.50 h", 5_400_000_000_000)]
        {
            assert_eq!(span_ns(text), Ok(ns), "{text}");
        }
        let finer = "0.00000000001 s";
        for wrong in ["", "5", "1.s", ".5s", "1.5.5s", "ms", "-1s", "0s", "9us", "87601h", finer] {
            assert!(span_ns(wrong).is_err(), "{wrong}");
        }
        let nines = "9".repeat(50);
        for wrong in [format!("{nines}h"), format!("1.{nines}s")] {
            assert!(span_ns(&wrong).unwrap_err().starts_with("give whole nanoseconds, from 10us"));
        }
    }

    #[test]
    fn wired_lines_are_a_chip_and_two_numbers() {
        let lines = WiredLines { chip: "/dev/gpiochip0".to_owned(), output: 17, input: 27 };
        assert_eq!(wired("/dev/gpiochip0:17:27"), Ok(lines));
        for wrong in ["", "gpiochip0", "gpiochip0:17", ":1:2", "17:27", "a:b:c", "a:1:-2"] {
            assert!(wired(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_change_the_plan_that_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        std::fs::write(&path, r#"{"cores": [0], "priority": 50, "stall_meter": true}"#).unwrap();
        let path = path.to_str().unwrap();
        let of = |options: &[&str]| {
            let words = [&["qcprobe", "run", "--plan", path], options].concat();
            let Command::Run(run) = Arguments::try_parse_from(words).unwrap().command else {
                unreachable!("the command is run")
            };
            run.plan()
        };
        let plan = of(&["--period", "10ms", "--priority", "none", "--not-pinned"]).unwrap();
        assert_eq!((plan.period_ns, plan.priority, plan.pinned), (10_000_000, None, false));
        assert!(plan.stall_meter && plan.lock_memory);
        assert_eq!(of(&[]).unwrap().priority, Some(50));
        for (options, said) in [
            (
                ["--period", "11s"],
                "--duration: 10000000000 ns; give one period, 11000000000 ns, to ",
            ),
            (["--gpio", "gpiochip0:1:2"], "--gpio: the probe is timer; only gpio has lines"),
        ] {
            let error = of(&options).unwrap_err();
            assert_eq!(code_of(&error), Exit::Usage);
            assert!(error.to_string().starts_with(said), "{error}");
        }
        std::fs::write(path, r#"{"priority": 0}"#).unwrap();
        assert_eq!(code_of(&of(&[]).unwrap_err()), Exit::BadInput);
    }
}
