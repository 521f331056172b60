//! A scenario that runs over hosts of the lab. It is ended when this is dropped, whatever was the matter.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use results::RunFolder;

use crate::common::guests::QCYCLE;
use crate::common::lab::Lab;
use crate::domain::Domain;
use crate::scenario::Scenario;
use crate::stop::Stop;

/// How long all hosts may take until programs run.
const BEGIN_LONGEST: Duration = Duration::from_secs(90);
/// How long a run may take to end that is told to.
const END_LONGEST: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// Where runs take place: the lab, and who may interrupt.
pub(crate) struct Place {
    pub(crate) lab: Lab,
    pub(crate) stop: Stop,
}

pub(crate) struct Run<'p> {
    place: &'p Place,
    hosts: usize,
    child: Child,
    folder: PathBuf,
}

impl Place {
    /// A folder with this scenario in it.
    pub(crate) fn scenario(&self, text: &str) -> Result<PathBuf> {
        let folder = self.lab.path().join("scenario");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("scenario.yaml"), text)?;
        Ok(folder)
    }

    pub(crate) fn start_new(&self, scenario: &Scenario<'_>) -> Result<Run<'_>> {
        let folder = self.scenario(&scenario.yaml(&self.lab))?;
        self.start(scenario.hosts, &folder, &[])
    }

    /// Starts the scenario of a folder, which names so many hosts.
    pub(crate) fn start(&self, hosts: usize, scenario: &Path, options: &[&str]) -> Result<Run<'_>> {
        self.stop.check()?;
        let folder = self.lab.path().join("runs");
        // What the run before has left.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut command = bound(Path::new(QCYCLE));
        command.arg("run").arg(scenario).arg("--runs").arg(&folder).args(options);
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", tools.display()));
        command.env("HOME", self.lab.path()).env("XDG_RUNTIME_DIR", self.lab.path());
        command.envs(std::env::var("QCYCLE_DSS_LIBRARY").map(|file| ("QCYCLE_DSS_LIBRARY", file)));
        let mut command = self.lab.at_desk(&command);
        let said = File::create(folder.join("said"))?;
        command.stdout(said.try_clone()?).stderr(said);
        // Ctrl-C is for this program, which ends the run then.
        command.process_group(0);
        let child = self.stop.start(&mut command)?;
        Ok(Run { place: self, hosts, child, folder })
    }
}

/// A command that is interrupted when this program is gone.
pub(crate) fn bound(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT", "--"]).arg(program);
    command
}

impl Run<'_> {
    /// The agents of all hosts, once their clocks run and so many programs are there.
    pub(crate) fn domains(&mut self, programs: usize) -> Result<Vec<Domain>> {
        let begun = Instant::now();
        loop {
            if let Some(mut domains) = self.connected() {
                let details = domains.iter_mut().map(Domain::detail).collect::<Result<Vec<_>>>();
                let details = details.unwrap_or_default();
                let runs = details.iter().filter(|one| one.status.clock.virtual_ns > 0).count();
                let all = details.iter().flat_map(|one| &one.programs).map(|one| one.pids.len());
                if runs == self.hosts && all.sum::<usize>() >= programs {
                    return Ok(domains);
                }
            }
            self.goes_on()?;
            ensure!(begun.elapsed() < BEGIN_LONGEST, "it does not begin: {}", self.said());
            sleep(LOOK);
        }
    }

    fn connected(&self) -> Option<Vec<Domain>> {
        let of_host = |host: usize| {
            let folder = self.place.lab.folder_of(host).join("sockets/quartercycle");
            let mut entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
            let socket = entries.find(|path| path.extension().is_some_and(|end| end == "sock"))?;
            Domain::at(&socket).ok()
        };
        (1..=self.hosts).map(of_host).collect()
    }

    /// An error if it has ended, or is to be.
    pub(crate) fn goes_on(&mut self) -> Result<()> {
        self.place.stop.check()?;
        match self.child.try_wait()? {
            Some(status) => bail!("a run ended with {status}: {}", self.said()),
            None => Ok(()),
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Result<(RunFolder, ExitStatus)> {
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None => self.goes_on()?,
            }
            sleep(LOOK);
        };
        Ok((self.record()?, status))
    }

    fn record(&self) -> Result<RunFolder> {
        let mut entries = fs::read_dir(&self.folder)?.flatten().map(|entry| entry.path());
        let folder = entries.find(|path| path.is_dir());
        let folder = folder.with_context(|| format!("there is no run folder: {}", self.said()))?;
        RunFolder::open(&folder)
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.join("said")).unwrap_or_default().trim().to_owned()
    }
}

/// What a program of a run has printed, without times.
pub(crate) fn printed(run: &RunFolder, program: &str) -> Result<String> {
    let log = fs::read_to_string(run.program_log(program))?;
    let lines = log.lines().filter_map(|line| line.split_once("| "));
    Ok(lines.map(|(_, line)| format!("{line}\n")).collect())
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < END_LONGEST {
            if begun.elapsed() < LOOK {
                os::signals::send(self.child.id(), libc::SIGINT);
            }
            sleep(LOOK);
        }
        // Has ended where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
