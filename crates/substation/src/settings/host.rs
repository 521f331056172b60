//! Reads `host`: where and how a relay runs. What it decides does not depend on any of it.

use std::time::Duration;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;

use super::texts::socket;

/// Where a relay runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    pub interface: Option<String>,
    pub station_interface: Option<String>,
    pub receive: Thread,
    pub task: Thread,
    pub canary_priority: i32,
    pub cache_group: Option<String>,
    pub when_down: WhenDown,
    pub require_realtime: bool,
    pub metrics: Option<std::net::SocketAddr>,
    pub mms: Option<std::net::SocketAddr>,
    pub records: Option<String>,
    pub rotation: Rotation,
    /// Where this host's users see and change the active setting group.
    pub control: Option<String>,
}

/// What a relay does when an interface that was up is down, or has nobody at its other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenDown {
    /// It says so and waits.
    Alarm,
    /// It ends, with exit code 12.
    End,
}

/// When a file of records is put aside and a new one begun, and how many of them are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rotation {
    pub size_octets_max: u64,
    pub age_max: Duration,
    pub keep: u64,
}

/// Core and priority of a real-time thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    pub core: Option<usize>,
    pub priority: i32,
}

pub(super) fn read(top: &Mapping<'_>) -> Option<Host> {
    let map = top.mapping_or_empty("host")?;
    let task = thread(&map, "task_core", "task_priority")?;
    let text = |key| Some(map.text(key)?.value);
    Some(Host {
        interface: text("interface"),
        station_interface: text("station_interface"),
        receive: thread(&map, "receive_core", "receive_priority")?,
        canary_priority: canary_priority(&map, task, "task")?,
        task,
        cache_group: text("cache_group"),
        when_down: if map.is("interface_down", "end") { WhenDown::End } else { WhenDown::Alarm },
        require_realtime: map.is("require_realtime", "yes"),
        metrics: map.parse("metrics", socket).map(|address| address.value),
        mms: map.parse("mms", socket).map(|address| address.value),
        records: text("records"),
        rotation: rotation(&map)?,
        control: text("control"),
    })
}

pub(super) fn rotation(map: &Mapping<'_>) -> Option<Rotation> {
    Some(Rotation {
        size_octets_max: map.quantity("records_size_max")? as u64,
        age_max: map.time("records_age_max")?,
        keep: map.whole("records_keep")?.value,
    })
}

pub(super) fn thread(map: &Mapping<'_>, core: &str, priority: &str) -> Option<Thread> {
    let core = map.whole(core).map(|core| core.value as usize);
    Some(Thread { core, priority: map.whole(priority)?.value as i32 })
}

/// The priority of the canary, which must be above that of the thread beside it.
pub(super) fn canary_priority(map: &Mapping<'_>, beside: Thread, what: &str) -> Option<i32> {
    let priority = map.whole("canary_priority")?.value as i32;
    if priority <= beside.priority {
        let what = format!("a canary that does not run before the {what} detects nothing");
        map.wrong("canary_priority", what, format!("give more than {}", beside.priority));
    }
    Some(priority)
}

/// The name of one folder.
pub(super) fn cache_group(text: &str) -> Result<(), Fault> {
    if matches!(text, "" | "." | "..") || text.contains('/') {
        let fix = "give a folder of /sys/fs/resctrl, without a path";
        return Err(Fault::new(format!("{} is not a group", quoted(text)), fix));
    }
    Ok(())
}
