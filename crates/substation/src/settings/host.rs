//! Reads `host`: where and how a relay runs. What it decides does not depend on any of it.

use super::cursor::Map;

/// Where a relay runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Interface of the process bus.
    pub interface: Option<String>,
    /// Interface for GOOSE, where it is another one.
    pub station_interface: Option<String>,
    /// The thread that receives.
    pub receive: Thread,
    /// The protection task.
    pub task: Thread,
    /// Priority of the thread that measures what the host takes away, on the core of the task.
    pub canary_priority: i32,
    /// Whether to refuse to run without what real-time threads need.
    pub require_realtime: bool,
    /// Address and port where metrics are served; none for nowhere.
    pub metrics: Option<std::net::SocketAddr>,
    /// File for the sequence of events and windows of measurements, one JSON object a line.
    pub records: Option<String>,
}

/// A real-time thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// The core that it is bound to.
    pub core: Option<usize>,
    /// Its priority of SCHED_FIFO.
    pub priority: i32,
}

/// Priorities without settings: the kernel's own interrupt threads have 50.
const RECEIVE_PRIORITY: i32 = 80;
const TASK_PRIORITY: i32 = 75;
const CANARY_PRIORITY: i32 = 90;

pub(super) fn read(top: &Map<'_>) -> Host {
    let mut host = Host {
        interface: None,
        station_interface: None,
        receive: Thread { core: None, priority: RECEIVE_PRIORITY },
        task: Thread { core: None, priority: TASK_PRIORITY },
        canary_priority: CANARY_PRIORITY,
        require_realtime: false,
        metrics: None,
        records: None,
    };
    let Some(map) = top.map("host") else { return host };
    host.interface = map.optional_text("interface").map(str::to_owned);
    host.station_interface = map.optional_text("station_interface").map(str::to_owned);
    host.receive = thread(&map, ["receive_core", "receive_priority"], RECEIVE_PRIORITY);
    host.task = thread(&map, ["task_core", "task_priority"], TASK_PRIORITY);
    host.canary_priority = priority(&map, "canary_priority", CANARY_PRIORITY);
    if host.canary_priority <= host.task.priority {
        let what = "a canary that does not come before the task sees nothing";
        map.wrong("canary_priority", what, format!("give more than {}", host.task.priority));
    }
    host.require_realtime = map.optional_choice("require_realtime", &["yes", "no"]) == Some("yes");
    host.metrics = map.optional_text("metrics").and_then(|text| {
        let address = text.parse().ok();
        if address.is_none() {
            let what = format!("`{text}` is no address with a port");
            map.wrong("metrics", what, "write it as `127.0.0.1:9462`");
        }
        address
    });
    host.records = map.optional_text("records").map(str::to_owned);
    map.finish();
    host
}

fn thread(map: &Map<'_>, [core, priority_key]: [&str; 2], priority_default: i32) -> Thread {
    let core = map.optional_whole(core, 0..=1023).map(|core| core as usize);
    Thread { core, priority: priority(map, priority_key, priority_default) }
}

fn priority(map: &Map<'_>, key: &str, default: i32) -> i32 {
    map.optional_whole(key, 1..=98).map_or(default, |priority| priority as i32)
}
