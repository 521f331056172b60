//! The command line: what can be asked, and in which words.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};
use domain::{Freeze, Pace, Start};
use os::fds;
use os::process_bus::Wiring;
use results::report;
use runtime::agent::attach::Attach;
use runtime::agent::exec::Exec;
use runtime::agent::protocol::Call;
use runtime::agent::target::{self, Target};
use runtime::agent::{attach, client, exec, keep, listing, registry};
use runtime::launch::freeze::{self, FreezeConfig, Method};
use runtime::launch::program::Gate;
use terminal::exit::{BadUsage, Exit};
use testbed::nodes::needs::Needs;
use testbed::nodes::{daemon, node, relay};
use testbed::{bus, compare, run};
use vtime::{HostSpan, Tdf, VirtualSpan};

/// Does power-grid control software act in time? Runs unmodified programs in virtual time against a
/// simulated grid and returns a verdict.
#[derive(Parser, Debug)]
#[command(name = "qcycle", version = env!("QCYCLE_VERSION"), max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a program in its own time domain.
    #[command(after_help = "Examples:\n  \
        qcycle exec -- sleep 5\n  \
        qcycle exec --name lab --tdf 10 -- python3 controller.py\n  \
        qcycle exec --start 2019-06-03T12:00:00Z -- date\n  \
        qcycle exec --stall-guard 1ms -- ./deadline-test\n  \
        qcycle exec --pace skip -- sleep 1d            ends at once, a day later\n  \
        qcycle exec --pace events -- ./controller      the same on any machine, however busy\n\n\
        From another terminal: qcycle hold lab; qcycle release lab; qcycle dilate --tdf 2 lab; \
        qcycle ps\n\
        The exit code and the signals are those of the program; 126 and 127 if it cannot start.")]
    Exec {
        /// Name of the domain, for `hold`, `release`, `dilate`, `query` and `ps`.
        #[arg(long, value_parser = domain_name, allow_hyphen_values = true)]
        name: Option<String>,
        /// Time dilation factor: host seconds per virtual second, 0.01 to 1000.
        #[arg(long, default_value_t = Tdf::ONE, allow_hyphen_values = true)]
        tdf: Tdf,
        /// Time of day at the start, as 2019-06-03T12:00:00Z [default: now].
        #[arg(long, value_parser = scenario::moment)]
        start: Option<i64>,
        /// How time passes: `real`, `skip` to jump over time in which no program can run, or `events` to
        /// let time pass in such jumps alone, so that computing takes none.
        #[arg(long, default_value_t = Pace::Real)]
        pace: Pace,
        /// What programs get that is random follows from this with `--pace events`: getrandom(2) and
        /// `AT_RANDOM`; with another pace it is the kernel's.
        #[arg(long, default_value = "0", value_parser = seed, allow_hyphen_values = true)]
        seed: u64,
        /// When programs are frozen together with their clocks: `off`, `strict`, or in holds longer
        /// than a time, such as `5 ms`.
        #[arg(long, default_value = "1ms")]
        freeze: Freeze,
        /// Method of freezing: `cgroup-v2`, `cgroup-v1` or `ptrace` [default: the first that
        /// works].
        #[arg(long)]
        freeze_by: Option<Method>,
        /// Stop the clock when a processor of the host has not responded for this host time, 100 us
        /// to 1 s, so that stalls of the host take no virtual time [default: no guard].
        #[arg(long, value_parser = settings::units::time_of_guard, allow_hyphen_values = true)]
        stall_guard: Option<HostSpan>,
        /// The program and its arguments; `--` is only needed if its name begins with `-`.
        #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
        program: Vec<String>,
    },
    /// Attach to a running program, with its threads and children, in its own time domain; Ctrl-C
    /// detaches it.
    #[command(after_help = "Examples:\n  \
        qcycle attach 4711\n  \
        qcycle attach --name lab --tdf 10 $(pidof controller)\n\n\
        Its clocks continue from their current values. When this command ends, by Ctrl-C or\n\
        otherwise, the program is detached and continues at host speed; it is never killed.")]
    Attach {
        /// Process ID.
        #[arg(value_name = "PID", value_parser = process_number, allow_negative_numbers = true)]
        process: i32,
        /// Name of the domain, for `hold`, `release`, `dilate`, `detach` and `ps`.
        #[arg(long, value_parser = domain_name, allow_hyphen_values = true)]
        name: Option<String>,
        /// Time dilation factor: host seconds per virtual second, 0.01 to 1000.
        #[arg(long, default_value_t = Tdf::ONE, allow_hyphen_values = true)]
        tdf: Tdf,
        /// How time passes: `real`, `skip` to jump over time in which no program can run, or `events` to
        /// let time pass in such jumps alone, so that computing takes none.
        #[arg(long, default_value_t = Pace::Real)]
        pace: Pace,
    },
    /// Detach the programs of a domain: they continue at host speed, and holds no longer apply.
    #[command(after_help = "Examples:\n  qcycle detach lab\n  qcycle detach 4711")]
    Detach {
        /// Name of the domain, or ID of a process in it.
        domain: Target,
    },
    /// Hold a domain: its clock is stopped when this returns; each hold needs one release.
    #[command(after_help = "Examples:\n  qcycle hold lab\n  qcycle hold minimal-1 --json\n\n\
        A run also has a domain; it prints the name at the start. At any host of a run over several,\n\
        all are held.")]
    Hold {
        /// Name of the domain; `qcycle ps` lists them.
        name: String,
        /// Print the state of the domain as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Release one hold of a domain.
    #[command(
        after_help = "Examples:\n  qcycle release lab\n  qcycle release minimal-1 --json\n\n\
        A hold of a run over several hosts may be released at any of them."
    )]
    Release {
        /// Name of the domain; `qcycle ps` lists them.
        name: String,
        /// Print the state of the domain as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change the speed of a domain's time, or of programs within their domain.
    #[command(after_help = "Examples:\n  \
        qcycle dilate --tdf 10 lab           one virtual second of the domain lasts ten seconds\n  \
        qcycle dilate --tdf 10 lab/sensor    one program and its children: ten times slower\n\
        \x20                                      than their domain\n  \
        qcycle dilate --tdf 10 4711          the program of one process\n\n\
        At any host of a run over several: the clocks of all of them, at one virtual time, or the\n\
        programs of that name, wherever they are. Processes are those of this machine.")]
    Dilate {
        /// Time dilation factor, 0.01 to 1000: host seconds per virtual second of a domain, or
        /// virtual seconds of its domain per second of a program.
        #[arg(long, allow_hyphen_values = true)]
        tdf: Tdf,
        /// Process ID, name of a domain, or DOMAIN/PROGRAM; `qcycle ps` lists them.
        #[arg(value_name = "PID|NAME")]
        target: Target,
        /// Print the new state as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the full state of a domain, or of programs in one.
    #[command(after_help = "Examples:\n  qcycle query lab\n  qcycle query lab/sensor\n  \
        qcycle query 4711 --json\n\n\
        Of a run over several hosts, all of them are shown, and programs wherever they are. Processes\n\
        are those of this machine.")]
    Query {
        /// Process ID, name of a domain, or DOMAIN/PROGRAM; `qcycle ps` lists them.
        #[arg(value_name = "PID|NAME")]
        target: Target,
        /// Print the state as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the time domains of this user, and the programs in them.
    #[command(after_help = "Examples:\n  qcycle ps\n  qcycle ps --domains --json\n  \
        qcycle ps --hosts                    what runs on other hosts of a run, too\n\n\
        A host that does not say within two seconds how it stands is shown with the reason.\n\
        A shell in the node of a program of a run, in host time:\n  \
        nsenter --target PID --net --mount --uts --pid bash")]
    Ps {
        /// List domains only.
        #[arg(long)]
        domains: bool,
        /// Of a run over several hosts, list all of them, with their programs.
        #[arg(long)]
        hosts: bool,
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario and judge its requirements.
    #[command(after_help = "Examples:\n  \
        qcycle run scenarios/voltage-stability --variant normal\n  \
        qcycle run my.yaml --duration '10 s' --csv\n  \
        qcycle run my.yaml --dry-run           check it, start nothing\n\n\
        Exit codes: 0 all requirements met, 10 one missed, 11 one not measured, 12 a part failed,\n\
        13 one disturbed (the machine or another process delayed programs),\n\
        64 wrong command line, 65 wrong scenario (nothing was started), 69 something is missing on\n\
        this machine, 74 output could not be written, 130 interrupted (recorded data are kept).")]
    Run {
        /// The scenario: a file, or a folder with a `scenario.yaml`.
        scenario: PathBuf,
        /// Variant of the scenario.
        #[arg(long)]
        variant: Option<String>,
        /// Folder for run folders.
        #[arg(long, default_value = "runs")]
        runs: PathBuf,
        /// Virtual length, overriding the scenario's, such as '10 s'.
        #[arg(long, value_parser = settings::units::time_positive, allow_hyphen_values = true)]
        duration: Option<VirtualSpan>,
        /// Seed for programs (`QCYCLE_SEED`, and with `--pace events` all that they get at random), a whole
        /// number, overriding the scenario's; the frames that links with `loss` lose follow from it, too.
        #[arg(long, value_parser = seed, allow_hyphen_values = true)]
        seed: Option<u64>,
        /// Time dilation factor, overriding the scenario's: host seconds per virtual second, 0.01
        /// to 1000.
        #[arg(long, allow_hyphen_values = true)]
        tdf: Option<Tdf>,
        /// How time passes, overriding the scenario's: `real`, `skip` to jump over time in which no
        /// program can run, or `events` to let time pass in such jumps alone.
        #[arg(long)]
        pace: Option<Pace>,
        /// Also write the recorded points as CSV.
        #[arg(long)]
        csv: bool,
        /// Copy all input files to the run folder: scenario, circuit, data, programs and their
        /// interpreters. Their hashes are always in run.json.
        #[arg(long)]
        copy_inputs: bool,
        /// Repeat the run while a requirement is disturbed, at most this many times; the last run
        /// counts.
        #[arg(long, default_value_t = 0, value_name = "TIMES", value_parser = times,
            allow_hyphen_values = true)]
        repeat_disturbed: u32,
        /// Print the record of the run as JSON.
        #[arg(long)]
        json: bool,
        /// Only check the scenario, including its circuit and points, and start nothing; without
        /// `--variant` check all variants.
        #[arg(long, conflicts_with_all = ["csv", "json"])]
        dry_run: bool,
    },
    /// Write an HTML report of one or more runs.
    #[command(after_help = "Example:\n  \
        qcycle report runs/voltage-stability-1 runs/voltage-stability-2 --output report.html")]
    Report {
        /// Run folders; their series are drawn in the same charts.
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
        /// Output file [default: report.html in the first run folder].
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Compare runs of a scenario: are they the same, and where do they differ first?
    ///
    /// Two runs are the same if they ended the same way, with the same verdicts (outcome, value
    /// and unit), the same recorded series, and the same captures: times, directions and lengths of
    /// frames. All runs are compared with the first one.
    #[command(after_help = "Examples:\n  \
        qcycle compare runs/minimal-1 runs/minimal-2\n  \
        qcycle compare --tolerance 10us runs/minimal-*\n  \
        qcycle compare --payload --json reference runs/minimal-7\n  \
        qcycle compare --any-scenario runs/one-host-1 runs/four-hosts-1\n\n\
        Exit codes: 0 the same, 11 nothing to compare, 14 different, 69 a run has not ended or its \
        files\n\
        cannot be read.")]
    Compare {
        /// Run folders, two or more; all are compared with the first.
        #[arg(required = true, num_args = 2.., value_name = "RUN")]
        runs: Vec<PathBuf>,
        /// Times that lie no further apart are equal, such as 10us; also those of verdicts.
        #[arg(long, default_value = "0s", value_parser = settings::units::time_not_negative,
            allow_hyphen_values = true)]
        tolerance: VirtualSpan,
        /// Compare the octets of frames, too.
        #[arg(long)]
        payload: bool,
        /// Compare runs of scenarios whose texts differ, too, such as one that was spread over hosts.
        #[arg(long)]
        any_scenario: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a publisher and relays on a process bus of kernel links, in host time.
    #[command(after_help = "Example:\n  \
        qcycle bus --wiring macvlan \\\n    \
        --publisher 'exec qcmerge stream --interface bus0 --streams 20 --duration 60s --json \
        >merge.json' \\\n    \
        --relay 'exec qcrelay run relay.yaml --interface bus0 --duration 63s --json >relay.json'\n\n\
        Each is run by `sh -c` in its own network namespace, where the interface is bus0. Needs \
        root.\n\
        If qcycle is killed, each shell is too, but not what it has started: begin a command \
        with `exec`\n\
        if it must end with qcycle. The links vanish with the last process on them.")]
    Bus {
        /// `veth` (one relay), `bridge`, or `macvlan` with a cutoff of -1, which is read back.
        #[arg(long)]
        wiring: Wiring,
        /// Command of the merging unit.
        #[arg(long)]
        publisher: String,
        /// Command of a relay; may be repeated.
        #[arg(long = "relay", required = true)]
        relays: Vec<String>,
    },
    /// Check whether this host is ready for protection software, with fixes; or check a scenario.
    ///
    /// Reads the host settings that take time from real-time tasks, and measures how late threads
    /// wake up. Changes nothing. With a scenario, checks that instead, like `qcycle run --dry-run`.
    #[command(after_help = "Examples:\n  \
        qcycle check                            this host, in 40 s\n  \
        qcycle check --cores 2-3 --interface eth1\n  \
        qcycle check --duration '2 s' --json\n  \
        qcycle check my/scenario.yaml           a scenario, start nothing\n\n\
        Exit codes: 0 nothing fails (warnings are risks), 10 an item fails, 11 measured under \
        load,\n\
        65 wrong scenario, 69 a core or interface does not exist.")]
    Check {
        /// A scenario to check instead of this host: a file, or a folder with a `scenario.yaml`.
        #[arg(conflicts_with_all = ["cores", "interface", "duration", "json"])]
        scenario: Option<PathBuf>,
        /// Cores of the protection tasks, such as 1 or 0-2,5 [default: all of this process].
        #[arg(long, value_parser = cores, allow_hyphen_values = true)]
        cores: Option<readiness::Cores>,
        /// Interface of the process bus.
        #[arg(long)]
        interface: Option<String>,
        /// How long to measure wake-ups.
        #[arg(long, default_value = "20s", value_parser = settings::units::time_positive,
            allow_hyphen_values = true)]
        duration: VirtualSpan,
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure the latency of platforms and judge it against each deadline: this machine,
    /// containers, guests, other machines by ssh.
    #[command(after_help = "Examples:\n  \
        qcycle latency                         two minutes: this machine under tp1 to tp4\n  \
        qcycle latency --profile tp3 --duration 8h\n  \
        qcycle latency --platform native --platform container\n  \
        qcycle latency --matrix matrix.yaml\n  \
        qcycle latency --resume runs/latency-20260131-125959\n  \
        qcycle latency --list\n  \
        qcycle latency compare runs/host-6 runs/host-7\n\n\
        Keys of a matrix: docs/reference/latency.md.\n\
        Exit codes: 0 all limits kept (those of the matrix, else those of power grids), 10 one \
        is\n\
        not, 11 a limit or cell could not be measured, 12 a cell failed, 65 wrong matrix, 69\n\
        something is missing on this machine, 130 interrupted (measured data are kept).")]
    Latency(Box<latency::command::Arguments>),
    /// Remove leftovers of killed runs from this host; run folders are kept.
    Clean,
    #[command(hide = true)]
    Keep {
        #[arg(long)]
        gate: i32,
        #[arg(long)]
        seeded: bool,
        #[arg(required = true, last = true)]
        program: Vec<String>,
    },
    #[command(hide = true)]
    Warden { group: PathBuf },
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        owner: i32,
        #[arg(long)]
        process: i32,
        #[arg(long)]
        tdf: Tdf,
        #[arg(long)]
        pace: Pace,
        #[arg(long)]
        name: Option<String>,
    },
    #[command(hide = true)]
    Agent {
        #[arg(long)]
        owner: i32,
        #[arg(long)]
        outputs: i32,
    },
    #[command(hide = true)]
    Relay {
        #[arg(long)]
        network: bool,
        #[arg(long)]
        files: bool,
    },
    #[command(hide = true)]
    Node {
        #[arg(long)]
        socket: i32,
        #[arg(long)]
        gate: i32,
        #[arg(long)]
        seeded: bool,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked = !error.use_stderr();
            if asked {
                terminal::print(format_args!("{}", error.render()));
            } else {
                // It repeats what was typed, or what the shell made of it.
                terminal::err!("{}", error.render().to_string().trim_end());
            }
            return code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    match dispatch(arguments.command) {
        Ok(exit) => code(exit),
        Err(error) => {
            terminal::err!("qcycle: {error:#}");
            let is_data = error.chain().any(|cause| cause.is::<latency::import::BadImport>());
            let is_usage = error.chain().any(|cause| cause.is::<BadUsage>());
            code(match (is_data, is_usage) {
                (true, _) => Exit::BadInput,
                (_, true) => Exit::Usage,
                _ => Exit::BrokenSetup,
            })
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Exec { name, tdf, start, pace, seed, freeze, freeze_by, stall_guard, program } => {
            let start = Start { tdf, realtime_ns: start, pace, seed, ..Start::default() };
            let freeze = FreezeConfig { freeze, method: freeze_by };
            match exec::exec(&Exec { name, start, freeze, stall_guard, command: program })? {}
        }
        Command::Attach { process, name, tdf, pace } => {
            attach::attach(&Attach { process, name, tdf, pace })?;
            Ok(Exit::Done)
        }
        Command::Detach { domain } => detach(&domain),
        Command::Serve { owner, process, tdf, pace, name } => {
            let [owner] = inherited([owner])?;
            std::process::exit(attach::serve(owner, &Attach { process, name, tdf, pace }).into())
        }
        Command::Hold { name, json } => call_and_print(&name, Call::Hold, json),
        Command::Release { name, json } => call_and_print(&name, Call::Release, json),
        Command::Dilate { tdf, target, json } => {
            let detail = target::dilate(&target, tdf)?;
            print_result(&detail, json, |detail| listing::lines(detail, target.is_domain()))
        }
        Command::Query { target, json } => {
            let detail = target::query(&target)?;
            print_result(&detail, json, |detail| listing::full(detail, target.is_domain()))
        }
        Command::Ps { domains: only_domains, hosts, json } => {
            let mut domains = client::all(hosts)?;
            if only_domains {
                for info in &mut domains {
                    if let client::DomainInfo::Detail(domain) = info {
                        domain.clear_programs();
                    }
                }
            }
            print_result(&domains, json, |domains| listing::table(domains))
        }
        Command::Run {
            scenario,
            variant,
            runs,
            duration,
            seed,
            tdf,
            pace,
            csv,
            copy_inputs,
            repeat_disturbed,
            json,
            dry_run,
        } => {
            let options = scenario::Options { variant, duration, seed, tdf, pace };
            if dry_run {
                return checked(&scenario, &options);
            }
            execute(
                &scenario,
                &options,
                &run::Options { runs, csv, copy_inputs, json, repeat_disturbed },
            )
        }
        Command::Report { runs, output } => {
            let output = output.unwrap_or_else(|| runs[0].join("report.html"));
            let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
            let written = report::write(&runs, &output)?;
            terminal::out!(
                "report: {} ({} chart{})",
                output.display(),
                written.charts,
                if written.charts == 1 { "" } else { "s" }
            );
            Ok(Exit::Done)
        }
        Command::Compare { runs, tolerance, payload, any_scenario, json } => {
            let tolerance_ns = tolerance.as_ns().unsigned_abs();
            let rules = results::compare::Rules { tolerance_ns, payload, any_scenario };
            compare::run(&compare::Options { runs, rules, json })
        }
        Command::Bus { wiring, publisher, relays } => {
            bus::run(&bus::Options { wiring, publisher, relays })
        }
        Command::Check { scenario: Some(scenario), .. } => {
            checked(&scenario, &scenario::Options::default())
        }
        Command::Check { scenario: None, cores, interface, duration, json } => {
            let duration = Duration::from_nanos(duration.as_ns().unsigned_abs());
            let report = readiness::check(&readiness::Options { cores, interface, duration })?;
            if json {
                terminal::print_json(&serde_json::to_string_pretty(&report)?);
            } else {
                terminal::out!("{report}");
            }
            Ok(report.exit())
        }
        Command::Latency(arguments) => latency::command::run(*arguments, testbed::BUILD),
        Command::Clean => {
            let left = registry::remove_dead()?;
            let groups = freeze::sweep();
            let platforms = latency::platform::sweep()?;
            terminal::out!(
                "removed {left} sockets and {} control groups of dead agents, and the remains of \
                 {platforms} latency measurements",
                groups.removed
            );
            for (group, processes) in &groups.left {
                terminal::out!(
                    "could not remove the control group {}: {} in it (processes {processes:?}) do \
                     not end; they may be waiting for a file system that hangs",
                    group.display(),
                    processes.len()
                );
            }
            Ok(if groups.left.is_empty() { Exit::Done } else { Exit::BrokenSetup })
        }
        Command::Warden { group } => {
            freeze::warden(group);
            Ok(Exit::Done)
        }
        Command::Keep { gate, seeded, program } => {
            let [gate] = inherited([gate])?;
            keep::keep(Gate::from_fd(gate, seeded), &program)
        }
        Command::Agent { owner, outputs } => {
            std::process::exit(daemon::main(inherited([owner, outputs])?).into())
        }
        Command::Relay { network, files } => {
            std::process::exit(relay::main(Needs { network, files }).into())
        }
        Command::Node { socket, gate, seeded } => {
            let [socket, gate] = inherited([socket, gate])?;
            node::inside::main(socket, Gate::from_fd(gate, seeded))
        }
    }
}

fn inherited<const COUNT: usize>(numbers: [i32; COUNT]) -> anyhow::Result<[OwnedFd; COUNT]> {
    // SAFETY: a role has one such command, and is begun by it: this process has read its command
    // line so far, and opened nothing.
    Ok(unsafe { fds::take_over(numbers) }?)
}

fn execute(file: &Path, options: &scenario::Options, how: &run::Options) -> anyhow::Result<Exit> {
    let scenario = match scenario::read(file, options) {
        Ok(scenario) => scenario,
        Err(problems) => {
            terminal::err!("{problems}");
            return Ok(Exit::BadInput);
        }
    };
    run::run(&scenario, how).or_else(not_begun)
}

fn checked(file: &Path, options: &scenario::Options) -> anyhow::Result<Exit> {
    match run::check(file, options) {
        Ok(summary) => {
            terminal::out!("{summary}");
            Ok(Exit::Done)
        }
        Err(failure) => not_begun(failure),
    }
}

/// Reports why a run did not begin, or would not.
fn not_begun(failure: run::Failure) -> anyhow::Result<Exit> {
    match failure {
        run::Failure::Setup(error) => Err(error),
        run::Failure::Scenario(problems) => {
            terminal::err!("{problems}");
            Ok(Exit::BadInput)
        }
    }
}

/// Detaches a domain, named itself or by a process in it.
fn detach(target: &Target) -> anyhow::Result<Exit> {
    match target {
        Target::Domain(name) => call_and_print(name, Call::Detach, false),
        Target::Program(domain, _) => {
            anyhow::bail!("only whole domains can be detached: `qcycle detach {domain}`")
        }
        Target::Process(process) => match client::of_process(*process)? {
            Some(found) => call_and_print(&found.status.name, Call::Detach, false),
            None => {
                anyhow::bail!(
                    "process {process} is not in one of your time domains; `qcycle ps` lists them"
                )
            }
        },
    }
}

fn call_and_print(name: &str, call: Call, json: bool) -> anyhow::Result<Exit> {
    print_result(&client::call(name, call)?, json, |status| listing::line(status) + "\n")
}

fn print_result<T: serde::Serialize>(
    what: &T,
    json: bool,
    for_people: impl FnOnce(&T) -> String,
) -> anyhow::Result<Exit> {
    if json {
        terminal::print_json(&serde_json::to_string_pretty(what).context("cannot write JSON")?);
    } else {
        terminal::print(format_args!("{}", for_people(what)));
    }
    Ok(Exit::Done)
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}, such as 12", u64::MAX))
}

fn times(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}, such as 5", u32::MAX))
}

fn domain_name(text: &str) -> anyhow::Result<String> {
    registry::check_name(text)?;
    Ok(text.to_owned())
}

fn cores(text: &str) -> anyhow::Result<readiness::Cores> {
    let cores: readiness::Cores = text.parse()?;
    anyhow::ensure!(!cores.is_empty(), "no core was given; give some, such as `1` or `0-2,5`");
    Ok(cores)
}

fn process_number(text: &str) -> Result<i32, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "give a process ID, such as one from `pidof controller` or `ps`".to_owned())
}

fn code(exit: Exit) -> ExitCode {
    terminal::exit_code(exit)
}
