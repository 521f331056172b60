//! Platforms with the real probe in them: the same order everywhere, and nothing left behind.
//!
//! What this machine does not have (an engine of containers, the right to use it) is said and not
//! tested; what is there must work.

use crate::ssh_server;
use crate::static_probe;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};

use latency::cell::{Cell, Outcome};
use latency::matrix::{ContainerSpec, Engine, RemoteSpec};
use latency::platform::container::Container;
use latency::platform::native::Native;
use latency::platform::remote::Remote;
use latency::platform::{Platform, Refusal, Role};
use latency::profile::CoreChoice;
use probe::attend::{Load, Order};
use probe::{Cores, Plan};
use remote::Target;

/// Taken by tests with containers: where a kernel divides real time between groups, those of two tests would want more
/// than there is.
static REAL_TIME: Mutex<()> = Mutex::new(());

fn plan(cores: &Cores, priority: Option<i32>) -> Plan {
    Plan {
        cores: cores.iter().collect(),
        priority,
        period_ns: 1_000_000,
        duration_ns: 200_000_000,
        hold_awake: false,
        ..Plan::default()
    }
}

/// Prepares a platform; `None` with the reason on standard error where this machine cannot.
pub(crate) fn prepare(platform: &mut dyn Platform) -> Option<Cores> {
    match platform.prepare() {
        Ok(cores) => Some(cores),
        Err(Refusal::NotMeasured(why)) => {
            eprintln!("not tested: {why}");
            None
        }
        Err(Refusal::Failed(error)) => panic!("{error:#}"),
    }
}

/// Carries out an order.
fn cell(
    platform: &mut dyn Platform,
    order: &Order,
) -> (Cell, Result<Outcome, String>, Vec<String>) {
    let mut attended = match platform.attend(order, Role::Measured) {
        Ok(attended) => attended,
        Err(refusal) => panic!("{refusal:?}"),
    };
    let mut octets = Vec::new();
    attended.stream().read_to_end(&mut octets).unwrap();
    let ending = attended.finish();
    let measured = Cell::from_stream(octets.as_slice(), "here", "test");
    let measured = measured.unwrap_or_else(|error| panic!("{error}: {:?}", ending.said));
    (measured.cell, measured.ended, ending.said)
}

/// A platform measures with real-time priority, alone and beside a load, and the load is its own.
fn measures(platform: &mut dyn Platform) {
    let Some(cores) = prepare(platform) else { return };
    for loads in [vec![], vec![sleep_load()]] {
        let order = Order { plan: Some(plan(&cores, Some(80))), loads, settle_ns: 20_000_000 };
        let (cell, ended, said) = cell(platform, &order);
        assert_eq!(ended, Ok(Outcome::Finished), "{said:?}");
        assert_eq!(cell.method.priority, Some(80));
        assert_eq!(cell.threads.len(), cores.len());
        assert!(cell.count() > 0);
    }
    let missing = Load { words: vec!["no-such-load".to_owned()], cores: Vec::new() };
    let order =
        Order { plan: Some(plan(&cores, None)), loads: vec![missing], settle_ns: 60_000_000_000 };
    let mut attended = platform.attend(&order, Role::Measured).unwrap_or_else(|_| panic!());
    attended.stream().read_to_end(&mut Vec::new()).unwrap();
    let ending = attended.finish();
    assert!(ending.loads_missing()[0].starts_with("no-such-load"), "{ending:?}");
}

fn sleep_load() -> Load {
    Load { words: ["sleep", "1000"].map(str::to_owned).into(), cores: vec![0] }
}

fn container(engine: Engine) -> Container {
    let real_time_ns = 300_000_000;
    let spec = ContainerSpec { engine, cores: CoreChoice::All, exclusive: false, real_time_ns };
    Container::new(&spec, &static_probe::binary())
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn this_machine() {
    let mut native = Native::new(&CoreChoice::All, &static_probe::binary());
    measures(&mut native);
    assert_eq!(native.neighbour_cores(), None);
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn containers_of_each_engine() {
    let _share = REAL_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for engine in [Engine::Runc, Engine::Podman, Engine::Docker] {
        measures(&mut container(engine));
    }
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn neighbours_are_containers_too_and_end_with_the_last_word() {
    let _share = REAL_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut platform = container(Engine::Runc);
    let Some(cores) = prepare(&mut platform) else { return };
    let order = Order { plan: None, loads: vec![sleep_load()], settle_ns: 0 };
    let neighbours: Vec<_> = (0..2)
        .map(|number| platform.attend(&order, Role::Neighbour(number)).unwrap_or_else(|_| panic!()))
        .collect();
    let order = Order { plan: Some(plan(&cores, Some(80))), loads: vec![], settle_ns: 0 };
    let (cell, ended, said) = cell(&mut platform, &order);
    assert!(ended == Ok(Outcome::Finished) && cell.count() > 0, "{said:?}");
    for mut neighbour in neighbours {
        neighbour.stop();
        let ending = neighbour.finish();
        assert!(ending.status.unwrap().success(), "{ending:?}");
    }
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn a_machine_behind_ssh() {
    let Some(server) = ssh_server::Server::start() else { return };
    let target = Target {
        destination: "here".to_owned(),
        port: None,
        identity: None,
        config: Some(server.client_config()),
        folder: server.folder().display().to_string(),
    };
    let spec = RemoteSpec { target: target.clone(), cores: CoreChoice::All };
    measures(&mut Remote::new(&spec, &static_probe::binary()));
    // The programs are gone with their sessions; the last may be on its way.
    while std::fs::read_dir(server.folder()).unwrap().count() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let target = Target { destination: "nobody".to_owned(), ..target };
    let nobody = RemoteSpec { target, ..spec };
    let Err(Refusal::NotMeasured(why)) = Remote::new(&nobody, &static_probe::binary()).prepare()
    else {
        panic!("a machine that does not answer cannot be measured")
    };
    assert!(why.reason.contains("nobody") && why.fix.contains("ssh nobody"), "{why}");
}
