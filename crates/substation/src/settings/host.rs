//! Reads `host`: where and how a relay runs. What it decides does not depend on any of it.

use super::cursor::Map;
use super::problems::quoted;

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
    /// Group of the kernel's resctrl that the real-time threads join, for a share of the cache.
    pub cache_group: Option<String>,
    /// What to do when an interface that was up is down.
    pub when_down: WhenDown,
    /// Whether to refuse to run without what real-time threads need.
    pub require_realtime: bool,
    /// Address and port where metrics are served; none for nowhere.
    pub metrics: Option<std::net::SocketAddr>,
    /// File for the sequence of events and windows of measurements, one JSON object a line.
    pub records: Option<String>,
}

/// What a relay does when an interface that was up is down, or has nobody at its other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenDown {
    /// It says so and waits.
    Alarm,
    /// It ends.
    End,
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

impl Default for Host {
    /// What holds without settings.
    fn default() -> Self {
        Self {
            interface: None,
            station_interface: None,
            receive: Thread { core: None, priority: RECEIVE_PRIORITY },
            task: Thread { core: None, priority: TASK_PRIORITY },
            canary_priority: CANARY_PRIORITY,
            cache_group: None,
            when_down: WhenDown::Alarm,
            require_realtime: false,
            metrics: None,
            records: None,
        }
    }
}

pub(super) fn read(top: &Map<'_>) -> Host {
    let mut host = Host::default();
    let Some(map) = top.map("host") else { return host };
    host.interface = map.optional_text("interface").map(str::to_owned);
    host.station_interface = map.optional_text("station_interface").map(str::to_owned);
    host.receive = thread(&map, ["receive_core", "receive_priority"], RECEIVE_PRIORITY);
    host.task = thread(&map, ["task_core", "task_priority"], TASK_PRIORITY);
    host.canary_priority = priority(&map, "canary_priority", CANARY_PRIORITY);
    if host.canary_priority <= host.task.priority {
        let what = "a canary that does not run before the task detects nothing";
        map.wrong("canary_priority", what, format!("give more than {}", host.task.priority));
    }
    host.cache_group = cache_group(&map);
    if map.optional_choice("interface_down", &["alarm", "end"]) == Some("end") {
        host.when_down = WhenDown::End;
    }
    host.require_realtime = map.optional_choice("require_realtime", &["yes", "no"]) == Some("yes");
    host.metrics = map.optional_text("metrics").and_then(|text| {
        let address = text.parse().ok();
        if address.is_none() {
            let what = format!("`{text}` is not an address with a port");
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

/// The name of one folder.
fn cache_group(map: &Map<'_>) -> Option<String> {
    let group = map.optional_text("cache_group")?;
    let is_name = group != "." && group != ".." && !group.contains('/');
    if !is_name {
        let way_out = "give a folder of /sys/fs/resctrl, without a path";
        map.wrong("cache_group", format!("{} is not a group", quoted(group)), way_out);
    }
    is_name.then(|| group.to_owned())
}
