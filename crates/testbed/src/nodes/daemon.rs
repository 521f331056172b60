//! `qcycle agent`: owns the time domain, the nodes and the programs of one run on this host.
//!
//! It does what the runner orders and reports what happens. When the runner is gone it ends, and
//! everything that it made ends with it: nodes are processes that die with their agent, devices
//! and namespaces are held by descriptors of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use parking_lot::{Condvar, Mutex};
use random::seed_named;
use rustix::time::{ClockId, clock_gettime};
use scenario::model::Order;
use vtime::{HostSpan, Tdf, VirtualTime};

use super::lost::LostHosts;
use super::naming;
use super::node::{FromNode, NodeHandle};
use super::orders::{self, Exited, FinalReport, Report, Setup};
use super::other_hosts::{self, OverHosts};
use super::outlook;
use super::owner::{self, Owner};
use super::points::Points;
use super::starter::{NodeToStart, Outputs, Starter};
use super::wakes;
use super::watch::{self, Watch};
use crate::devices::{self, Randomness, Server};
use domain::{Domain, Guard, NodeTime, Pace, Start};
use hosts::Sync;
use hosts::seal::PairSecret;
use network::border::{AllHolds, Border, Fault, Following, Lost, Peer};
use network::emulator::{self, Emulator};
use os::fds;
use os::signals;
use runtime::agent::control::Control;
use runtime::agent::protocol::VERSION;
use runtime::agent::registry::Registration;
use runtime::intervention::Interventions;
use runtime::launch::freeze::{FreezeConfig, Freezer};
use runtime::launch::{Follower, Jumper, Outlook};
use signal_bus::{Driver, Drives, Place, Watcher, Watches, Wiring};

/// How long programs may take to end when they are asked to, before they are killed.
const GRACE: Duration = Duration::from_millis(500);
/// How long hosts may take to connect to each other, once all of them wait for that.
const MEET_LONGEST: Duration = Duration::from_secs(10);
/// How long a runner may take to end a run of which a host is lost, or to say that it goes on.
const LOST_LONGEST: Duration = Duration::from_secs(10);
/// How long the last output of programs may take to be reported after all of them have ended.
const OUTPUT_LONGEST: Duration = Duration::from_secs(1);

/// Serves one run, whose runner is at the other end of these descriptors: a socket, and a pipe
/// for what programs write. The answer is the exit code of the process.
pub fn main([owner, outputs]: [OwnedFd; 2]) -> u8 {
    let stream = UnixStream::from(owner);
    // What `ps` shows; without it, the last part of `/proc/self/exe`.
    let _ = std::fs::write("/proc/self/comm", "qcycle-agent");
    // Ctrl-C reaches the whole group; what it means is for the runner to decide.
    signals::Signals::block(&signals::FOR_THE_PROGRAM);
    let Ok(owner) = Owner::new(&stream, outputs) else { return 1 };
    let owner = Arc::new(owner);
    let mut orders = owner::orders(stream);
    let Some(orders::Order::Prepare(setup)) = orders.next() else { return 1 };
    let mut agent = match Agent::prepare(*setup, &owner) {
        Ok(agent) => agent,
        Err(error) => {
            owner.report(&Report::Failed { reason: format!("{error:#}") });
            return 1;
        }
    };
    for order in orders {
        match order {
            orders::Order::Meet { addresses } => match agent.meet(&addresses) {
                Ok(()) => owner.report(&Report::Met),
                Err(error) => {
                    owner.report(&Report::Failed { reason: format!("{error:#}") });
                    return 1;
                }
            },
            orders::Order::Begin => {
                if let Err(error) = agent.begin() {
                    owner.report(&Report::Failed { reason: format!("{error:#}") });
                    return 1;
                }
            }
            orders::Order::Answer { ask, outcome } => agent.points.answer(ask, outcome),
            orders::Order::Lost { host, reason } => agent.lose(Lost { host, reason }),
            orders::Order::Status => owner.report(&Report::Status(agent.control.status())),
            orders::Order::End => {
                let ended = agent.end();
                owner.report(&Report::Ended(Box::new(ended)));
                return 0;
            }
            orders::Order::Prepare(_) => {
                owner.warn("received a second order to prepare".to_owned());
            }
        }
    }
    // The runner is gone.
    agent.points.close();
    1
}

struct Agent {
    setup: Setup,
    owner: Arc<Owner>,
    domain: Arc<Domain>,
    control: Arc<Control>,
    freezer: Arc<Freezer>,
    points: Arc<Points>,
    nodes: BTreeMap<String, NodeHandle>,
    network: Option<Emulator>,
    lost: Arc<LostHosts>,
    /// Where other hosts connect to, until they do.
    listener: Option<TcpListener>,
    files: Vec<(String, Server)>,
    random: Vec<Randomness>,
    programs: Arc<Programs>,
    outputs: Outputs,
    guard: Option<Guard>,
    jumper: Option<Jumper>,
    watch: Option<Watch>,
    times: BTreeMap<String, Arc<NodeTime>>,
    /// Its place on a signal bus, until that is followed.
    bus: Option<(Driver, Watcher)>,
    following: Option<Following>,
    /// Kept for what they do when they are dropped.
    _registration: Registration,
    _follower: Follower,
}

const ON_BUS: &str = "cannot take its place on the signal bus";

/// A clock, which lies where the module can stop it if that sees the edges of the signal bus.
fn clock(start: Start, wiring: Option<Wiring>) -> anyhow::Result<(Arc<Domain>, Option<Place>)> {
    let (bus, memory) = wiring.map(Place::find).transpose().context(ON_BUS)?.unzip();
    let domain = match memory.flatten() {
        Some(memory) => Domain::on_device(start, memory),
        None => Domain::new(start),
    };
    Ok((domain.context("cannot make a clock")?, bus))
}

/// The programs that run, and whether they were asked to stop.
#[derive(Debug, Default)]
struct Programs {
    running: Mutex<u32>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl Programs {
    fn started(&self) {
        *self.running.lock() += 1;
    }

    fn ended(&self) {
        let mut running = self.running.lock();
        *running = running.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Waits until all have ended, at most for so long. Returns whether they have.
    fn wait(&self, longest: Duration) -> bool {
        let mut running = self.running.lock();
        let any = |running: &mut u32| *running > 0;
        !self.changed.wait_while_for(&mut running, any, longest).timed_out() || *running == 0
    }
}

impl Agent {
    fn prepare(mut setup: Setup, owner: &Arc<Owner>) -> anyhow::Result<Self> {
        let version = setup.version;
        ensure!(
            version == VERSION,
            "the runner uses protocol version {version}, this agent {VERSION}"
        );
        find_programs(&mut setup)?;
        let mark = setup.hosts.as_ref().and_then(|hosts| hosts.mark.as_deref());
        let (name, registration) = naming::register(&setup.name, mark)?;
        let zero = VirtualTime::ZERO + setup.settle;
        let start = Start {
            tdf: Tdf::from_millionths(setup.tdf_millionths)?,
            realtime_ns: setup.realtime_zero_ns.map(|ns| ns.saturating_sub(setup.settle.as_ns())),
            held: true,
            pace: setup.pace,
            is_joined: false,
            seed: setup.seed,
        };
        let wiring = setup.hosts.as_ref().and_then(|hosts| hosts.bus.clone());
        let (domain, bus) = clock(start, wiring)?;
        if let Some(warning) = start.fix_addresses() {
            owner.warn(warning);
        }
        domain.grant(zero + setup.duration);
        let times = wakes::of_nodes(&setup);
        domain.set_nodes(wakes::of_programs(&setup, &times));
        let wanted = FreezeConfig { freeze: setup.freeze, method: None };
        let freezer = Freezer::start(wanted).context("cannot freeze programs")?;
        domain.set_backstop(freezer.clone());
        let control =
            Control::new(&name, &setup.title, Arc::clone(&domain), Arc::clone(&freezer), true);
        report_interventions(&control, &domain, owner);
        control.serve(&registration)?;
        let warned = (Arc::clone(&control), Arc::clone(owner));
        let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer), move |refusal| {
            warned.0.warn(refusal.clone());
            warned.1.warn(refusal);
        })
        .context("cannot follow programs")?;
        let gate = follower.gate().clone();
        let mut agent = Self {
            points: Points::new(Arc::clone(owner), Arc::clone(&domain)),
            owner: Arc::clone(owner),
            domain,
            control,
            freezer,
            nodes: BTreeMap::new(),
            network: None,
            lost: Arc::default(),
            listener: None,
            files: Vec::new(),
            random: Vec::new(),
            programs: Arc::default(),
            outputs: Outputs::default(),
            guard: None,
            jumper: None,
            watch: None,
            times,
            _registration: registration,
            _follower: follower,
            setup,
            bus: None,
            following: None,
        };
        let through = bus.as_ref().map(Place::through);
        agent.bus = bus.map(Place::attach).transpose().context(ON_BUS)?;
        let (plan, pace) = (agent.setup.network.clone(), agent.setup.pace);
        let random = agent.serves_randomness();
        for node in &agent.setup.nodes {
            let interface = plan
                .nodes()
                .find(|(name, ..)| *name == node.name)
                .map(|(_, mac, address, prefix)| (mac, address, prefix));
            let served = [!node.files.is_empty(), random];
            let made = NodeHandle::new(&node.name, interface, served, pace, &gate)
                .with_context(|| format!("node `{}`", node.name))?;
            agent.nodes.insert(node.name.clone(), made);
        }
        fds::raise_limit();
        agent.serve_files()?;
        agent.serve_randomness()?;
        let address = agent.listen()?;
        // With other hosts once they have been met.
        if !plan.links.is_empty() && address.is_none() {
            agent.start_network(None)?;
        }
        agent.start_guard()?;
        let realtime_zero_ns = agent.domain.realtime_ns(zero);
        owner.report(&Report::Prepared { name, realtime_zero_ns, address, bus: through });
        Ok(agent)
    }

    fn start_guard(&mut self) -> anyhow::Result<()> {
        // Where the clock stands no stall takes virtual time.
        let allowed_ns = self.setup.stall_guard_ns.filter(|_| self.setup.pace != Pace::Events);
        let Some(allowed_ns) = allowed_ns else { return Ok(()) };
        let guard = self.domain.guard(HostSpan::from_ns(allowed_ns));
        let guard = guard.context("cannot guard the clock against stalls of the host")?;
        if let Some(warning) = guard.warning() {
            self.owner.warn(warning.to_owned());
        }
        self.guard = Some(guard);
        Ok(())
    }

    fn serve_files(&mut self) -> anyhow::Result<()> {
        for node in &self.setup.nodes {
            let handle = self.nodes.get_mut(&node.name).expect("all nodes are made");
            let Some(device) = handle.plant.take() else { continue };
            let store = Arc::clone(&self.points) as Arc<dyn devices::PointStore>;
            let (domain, time) = (Arc::clone(&self.domain), Arc::clone(&self.times[&node.name]));
            let server = devices::serve(device, node.files.clone(), domain, store, time)
                .with_context(|| format!("cannot serve the points of node `{}`", node.name))?;
            self.files.push((node.name.clone(), server));
        }
        Ok(())
    }

    /// Whether nodes get files of random numbers; says why not where the seed asks for them.
    fn serves_randomness(&self) -> bool {
        let fuse = self.domain.is_seeded().then(devices::open_fuse);
        if let Some(Err(error)) = &fuse {
            self.owner.warn(format!(
                "what programs read from /dev/urandom and /dev/random does not follow from the seed ({error}); \
                 run as root, or have the administrator run `chmod 0666 /dev/fuse`"
            ));
        }
        matches!(fuse, Some(Ok(_)))
    }

    fn serve_randomness(&mut self) -> anyhow::Result<()> {
        for (name, node) in &mut self.nodes {
            let Some(device) = node.random.take() else { continue };
            let (domain, seed) = (Arc::clone(&self.domain), seed_named(self.setup.seed, name));
            let served = Randomness::serve(device, domain, seed);
            self.random.push(served.with_context(|| format!("node `{name}`"))?);
        }
        Ok(())
    }

    /// Waits for other hosts, if there are some. Returns where.
    fn listen(&mut self) -> anyhow::Result<Option<SocketAddr>> {
        let Some(hosts) = &self.setup.hosts else { return Ok(None) };
        let listener = TcpListener::bind(hosts.listen).with_context(|| {
            let at = hosts.listen.ip();
            format!("cannot wait for other hosts at {at}: name as its `address` one that it has")
        })?;
        let address = listener.local_addr()?;
        self.listener = Some(listener);
        if hosts.sync == Sync::Granted {
            // Until they grant something.
            self.domain.let_run_until(VirtualTime::ZERO);
        }
        Ok(Some(address))
    }

    /// Starts the network, and waits until all other hosts are there.
    fn meet(&mut self, addresses: &[SocketAddr]) -> anyhow::Result<()> {
        let (hosts, listener) = (self.setup.hosts.as_ref(), self.listener.take());
        let (hosts, listener) = hosts.zip(listener).context("there are no other hosts")?;
        let count = hosts.placement.hosts();
        ensure!(
            [addresses.len(), hosts.names.len(), hosts.secrets.len()] == [count; 3]
                && hosts.me < count,
            "the runner names another number of hosts than it has placed parts on"
        );
        let peers = (0..count).map(|host| Peer {
            name: hosts.names[host].clone(),
            address: addresses[host],
            secret: PairSecret(hosts.secrets[host]),
        });
        let ((met, all_met), (faults, told)) = (mpsc::channel(), mpsc::channel::<Fault>());
        let (asks, asked) = mpsc::channel();
        let border = Border {
            me: hosts.me,
            placement: hosts.placement.clone(),
            sync: hosts.sync,
            listener,
            peers: peers.collect(),
            silence_longest: HostSpan::from_ns(hosts.silence_longest_ns),
            met,
            faults,
            asked: asks,
        };
        let (me, names) = (hosts.me, hosts.names.clone());
        self.start_network(Some(border))?;
        let network = self.network.as_ref();
        let between = network.and_then(|network| network.all_holds().zip(network.other_hosts()));
        let (holds, others) = between.context("the network has no border")?;
        let over = OverHosts { me, names, holds, others: Arc::clone(&others) };
        self.control.span_hosts(Arc::new(over));
        self.follow_bus()?;
        other_hosts::answer(asked, &self.control, &others)?;
        self.report_faults(told)?;
        ensure!(
            all_met.recv_timeout(MEET_LONGEST).is_ok(),
            "not all hosts were connected within {MEET_LONGEST:?}: see that they reach each other at the addresses \
             {addresses:?}"
        );
        if let Some(all) = self.free_holds() {
            // Until all begin; the clock of each runs by itself afterwards.
            all.hold().context("the network ended before the run began")?;
            self.points.hold_all_hosts(all);
        }
        Ok(())
    }

    fn follow_bus(&mut self) -> anyhow::Result<()> {
        let all = self.network.as_ref().and_then(Emulator::all_holds);
        let Some(((driver, watcher), all)) = self.bus.take().zip(all) else { return Ok(()) };
        let owner = Arc::clone(&self.owner);
        let tell = move |error| owner.warn(format!("the signal bus fails: {error}"));
        let ends: (Box<dyn Drives>, Box<dyn Watches>) = (Box::new(driver), Box::new(watcher));
        let following = Following::start(ends, all, Arc::clone(&self.domain), tell);
        self.following = Some(following.context("cannot follow the signal bus")?);
        Ok(())
    }

    /// Reports what other hosts are found to be, and ends this one if nothing comes of that: a runner that cannot be heard any
    /// more, or hears nothing, ends nothing, and it may be this host that is lost.
    fn report_faults(&self, told: mpsc::Receiver<Fault>) -> std::io::Result<()> {
        let (owner, programs) = (Arc::clone(&self.owner), Arc::clone(&self.programs));
        let lost = Arc::clone(&self.lost);
        thread::Builder::new().name("faults".into()).spawn(move || {
            for Fault { host, reason, is_wrong } in told {
                if programs.stopping.load(Ordering::Relaxed) {
                    continue;
                }
                owner.report(&Report::Lost { host, reason, wrong: is_wrong });
                if !lost.has_within(host, LOST_LONGEST) {
                    owner.hang_up();
                }
            }
        })?;
        Ok(())
    }

    /// Goes on without another host.
    fn lose(&self, lost: Lost) {
        self.lost.add(lost.host);
        if let Some(network) = &self.network {
            network.lose(lost);
        }
    }

    /// Where all hosts are held, if their clocks run by themselves.
    fn free_holds(&self) -> Option<Arc<AllHolds>> {
        let is_free = self.setup.hosts.as_ref().is_some_and(|hosts| hosts.sync == Sync::Free);
        self.network.as_ref().filter(|_| is_free)?.all_holds()
    }

    fn start_network(&mut self, border: Option<Border>) -> anyhow::Result<()> {
        let taps = self
            .nodes
            .iter_mut()
            .filter_map(|(name, node)| Some((name.clone(), node.tap.take()?)))
            .collect();
        let (domain, captures) = (Arc::clone(&self.domain), self.setup.captures.as_deref());
        let (plan, zero) = (&self.setup.network, VirtualTime::ZERO + self.setup.settle);
        let started = emulator::start(plan, taps, domain, zero, captures, &self.times, border);
        let network = started.context("cannot start the network")?;
        if let Some(turns) = network.turns() {
            self.points.take_turns(turns);
        }
        self.network = Some(network);
        Ok(())
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        let setup = &self.setup;
        for node in &setup.nodes {
            let (owner, domain) = (Arc::clone(&self.owner), Arc::clone(&self.domain));
            let (programs, events) = (Arc::clone(&self.programs), self.nodes[&node.name].events()?);
            let name = node.name.clone();
            let mut left: BTreeSet<String> =
                node.programs.iter().map(|program| program.name.clone()).collect();
            let mut new = left.clone();
            thread::Builder::new().name(format!("node-{name}")).spawn(move || {
                // What is said of others is nothing that this node could know.
                for event in events {
                    let is_known = event.program().is_some_and(|program| match &event {
                        FromNode::Started { .. } => new.remove(program),
                        _ => left.remove(program),
                    });
                    if is_known {
                        report_event(event, &owner, &domain, &programs);
                    }
                }
                node_died(&name, left.len(), &owner, &programs);
            })?;
        }
        for _ in setup.nodes.iter().flat_map(|node| &node.programs) {
            self.programs.started();
        }
        let starter = self.starter()?;
        let is_in_turn =
            setup.pace == Pace::Events && setup.order_of_nodes == Order::OneNodeAtATime;
        if is_in_turn {
            starter.begin_turns();
        } else {
            starter.start_all()?;
        }
        self.watch = Some(self.start_watch().context("cannot watch programs")?);
        let outlooks = self.network.iter().map(|network| {
            let outlook = outlook::Network::new(network.outlook(), Arc::clone(&self.domain));
            Arc::new(outlook) as Arc<dyn Outlook>
        });
        let jumper = Jumper::start(&self.domain, outlooks.collect(), setup.kernel_timers);
        self.jumper = jumper.context("cannot skip idle time")?;
        if self.domain.release_hold().is_none() {
            bail!("the domain was released by another process before it started");
        }
        if let Some(all) = self.free_holds() {
            all.release();
        }
        if is_in_turn {
            let owner = Arc::clone(&self.owner);
            thread::Builder::new().name("starter".into()).spawn(move || {
                if let Err(error) = starter.start_in_turn() {
                    owner.report(&Report::Failed { reason: format!("{error:#}") });
                }
            })?;
        }
        let (owner, domain) = (Arc::clone(&self.owner), Arc::clone(&self.domain));
        let end = VirtualTime::ZERO + setup.settle + setup.duration;
        thread::Builder::new().name("horizon".into()).spawn(move || {
            match domain.wait_until(end) {
                Ok(()) => owner.report(&Report::Arrived),
                Err(error) => owner.warn(format!("cannot wait for the end of the run: {error}")),
            }
        })?;
        Ok(())
    }

    fn starter(&self) -> std::io::Result<Starter> {
        let nodes = self.setup.nodes.iter().map(|node| {
            let handle = &self.nodes[&node.name];
            Ok(NodeToStart {
                name: node.name.clone(),
                orders: handle.orders()?,
                programs: node.programs.clone(),
                time: Arc::clone(&self.times[&node.name]),
            })
        });
        Ok(Starter {
            nodes: nodes.collect::<std::io::Result<_>>()?,
            environment: self.setup.environment.clone(),
            directory: self.setup.directory.clone(),
            domain: Arc::clone(&self.domain),
            owner: Arc::clone(&self.owner),
            outputs: Arc::clone(&self.outputs),
            watch: self.domain.watch()?,
        })
    }

    fn start_watch(&self) -> std::io::Result<Watch> {
        let nodes = self
            .nodes
            .iter()
            .map(|(name, node)| watch::Watched { name: name.clone(), process: node.process() });
        let setup = &self.setup;
        let programs = setup.nodes.iter().flat_map(|node| {
            node.programs.iter().map(|program| (program.name.clone(), node.name.clone()))
        });
        let (domain, owner) = (Arc::clone(&self.domain), Arc::clone(&self.owner));
        let reporting = (setup.delays_least_ns, !setup.network.links.is_empty());
        Watch::start(domain, nodes.collect(), programs.collect(), reporting, owner)
    }

    fn end(&mut self) -> FinalReport {
        // They are to hear that they shall end.
        self.freezer.disable();
        self.domain.assert_hold();
        self.jumper = None;
        let stalls = self.guard.take().map(|guard| {
            drop(guard);
            self.domain.stalls()
        });
        // What it says last is about the time up to now.
        self.watch = None;
        let status = self.control.status();
        self.warn_of_files();
        self.points.close();
        self.programs.stopping.store(true, Ordering::Relaxed);
        for kill in [false, true] {
            self.nodes.values().for_each(|node| node.stop(kill));
            if self.programs.wait(GRACE) {
                break;
            }
        }
        self.files.clear();
        self.random.clear();
        self.following = None;
        let network = self.network.take().map(Emulator::stop);
        self.nodes.values().for_each(NodeHandle::close);
        self.nodes.clear();
        self.freezer.close();
        let unheard = self.finish_outputs();
        let (access, agent_cpu_s) = (self.points.access(), own_cpu_s());
        FinalReport { status, network, stalls, access, agent_cpu_s, unheard }
    }

    /// Reports what was refused so far. That no more answers come from here on is no news.
    fn warn_of_files(&self) {
        for (node, server) in &self.files {
            for (reason, count) in server.stats().warnings {
                self.owner.warn(format!("files of node `{node}`: {reason} ({count} times)"));
            }
        }
    }

    /// Waits until what programs wrote last is reported. All who could hold a pipe open have ended
    /// with their nodes.
    ///
    /// Returns the programs of which that is not so.
    fn finish_outputs(&mut self) -> Vec<String> {
        let until = Instant::now() + OUTPUT_LONGEST;
        loop {
            let outputs = self.outputs.lock();
            let unheard = outputs.iter().filter(|(_, output)| !output.is_finished());
            let unheard: Vec<String> = unheard.map(|(program, _)| program.clone()).collect();
            drop(outputs);
            if unheard.is_empty() || Instant::now() >= until {
                return unheard;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Looks for all programs, so that none is missing once some have begun.
fn find_programs(setup: &mut Setup) -> anyhow::Result<()> {
    let folder = &setup.directory;
    ensure!(
        folder.is_dir(),
        "there is no folder {}, in which programs are to run; make it and put them there",
        folder.display()
    );
    let path = setup.environment.get("PATH").cloned().unwrap_or_default();
    for program in setup.nodes.iter_mut().flat_map(|node| &mut node.programs) {
        let Some(word) = program.command.first_mut() else { continue };
        let found = scenario::find_program(folder, path.as_ref(), word);
        let found = found.map_err(|fault| {
            let (name, folder) = (&program.name, folder.display());
            anyhow::anyhow!("program `{name}`, in {folder}: {}; {}", fault.what, fault.fix)
        })?;
        *word = found.into_os_string().into_string().map_err(|path| {
            anyhow::anyhow!("program `{}`: its path {} is not UTF-8", program.name, path.display())
        })?;
    }
    Ok(())
}

/// Reports to the runner what anybody does to the domain through its socket.
fn report_interventions(control: &Control, domain: &Arc<Domain>, owner: &Arc<Owner>) {
    let (domain, owner) = (Arc::clone(domain), Arc::clone(owner));
    let reported = Interventions::default();
    control.on_intervention(move |action, by| {
        if let Some(intervention) = reported.note(domain.now(), action, by) {
            owner.report(&Report::Intervention(intervention));
        }
    });
}

/// The processes of a node are gone, and this many of its programs with them.
fn node_died(name: &str, left: usize, owner: &Owner, programs: &Programs) {
    if !programs.stopping.load(Ordering::Relaxed) {
        let reason = format!("node `{name}` died: its first process was killed or ended");
        owner.report(&Report::Failed { reason });
    }
    (0..left).for_each(|_| programs.ended());
}

fn report_event(event: FromNode, owner: &Owner, domain: &Domain, programs: &Programs) {
    let at_ns = domain.now().as_ns();
    match event {
        FromNode::Made | FromNode::Failed { .. } => return,
        // One that was killed on its way looks the same, and nobody waits for it any more.
        FromNode::Started { .. } if programs.stopping.load(Ordering::Relaxed) => return,
        FromNode::Started { name } => {
            return owner.report(&Report::Started { program: name, at_ns });
        }
        // The runner knows that it has not seen it begin.
        FromNode::NotStarted { .. } if programs.stopping.load(Ordering::Relaxed) => {}
        FromNode::NotStarted { name, reason } => {
            owner.report(&Report::NotStarted { program: name, reason, at_ns });
        }
        FromNode::Exited { name, code, signal, cpu_s } => {
            let stopped = programs.stopping.load(Ordering::Relaxed);
            let program = name;
            owner.report(&Report::Exited(Exited { program, code, signal, cpu_s, at_ns, stopped }));
        }
    }
    programs.ended();
}

fn own_cpu_s() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}
