//! What cyclictest, oslat and jitterdebugger write as JSON.
//!
//! cyclictest writes no count of what its histogram did not reach, but the cycles of each thread:
//! what the bins lack, lay beyond them. oslat puts it into the last bin.

use serde_json::{Map, Value};

use super::{BadImport, bad, by, counted, ns, with_last_bin};
use crate::cell::{Cell, Method, Thread};

/// A file of JSON, known by its keys.
pub(super) fn read(text: &str) -> Result<Cell, BadImport> {
    let all: Value = match serde_json::from_str(text) {
        Ok(all) => all,
        Err(error) => return bad(format!("it starts like JSON but is not valid: {error}")),
    };
    if let Some(cpus) = all.get("cpu").and_then(Value::as_object) {
        return jitterdebugger(&all, cpus);
    }
    let Some(threads) = all.get("thread").and_then(Value::as_object) else {
        return bad(
            "JSON of an unknown tool: cyclictest and oslat have a key `thread`, jitterdebugger \
             `cpu`",
        );
    };
    let is_cyclictest = threads.values().all(|thread| thread.get("cycles").is_some());
    if is_cyclictest { cyclictest(&all, threads) } else { oslat(&all, threads) }
}

fn cyclictest(all: &Value, of: &Map<String, Value>) -> Result<Cell, BadImport> {
    // Only with an option of its own does it count in nanoseconds.
    let unit =
        if all.get("resolution_in_ns").and_then(Value::as_u64) == Some(1) { 1.0 } else { 1e3 };
    let mut marks = Vec::new();
    let threads = threads(of, |number, thread| {
        let total = thread.get("cycles").and_then(Value::as_u64);
        Ok(counted(number, cpu(thread), bins(thread, unit)?, total, max(thread, unit), &mut marks))
    })?;
    let line = all.get("cmdline:").or_else(|| all.get("cmdline")).and_then(Value::as_str);
    let line = line.unwrap_or_default();
    let priority = option(line, "-p").or(option(line, "--priority="));
    let interval_us = option(line, "-i").or(option(line, "--interval="));
    let method = Method {
        priority: priority.and_then(|number| i32::try_from(number).ok()),
        period_ns: interval_us.and_then(|us| us.checked_mul(1_000)),
        pinned: ["-a", "-S", "--smp", "--affinity"].iter().any(|flag| line.contains(flag)),
        ..by("cyclictest")
    };
    Ok(Cell { method, threads, marks, facts: facts(all), ..Cell::default() })
}

/// The number behind an option of a command line, also with a blank between: `-p80`, `-i 1000`.
fn option(line: &str, name: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix(name) {
            let value = if rest.is_empty() { words.next()? } else { rest };
            if let Ok(number) = value.parse() {
                return Some(number);
            }
        }
    }
    None
}

fn oslat(all: &Value, of: &Map<String, Value>) -> Result<Cell, BadImport> {
    let mut marks = Vec::new();
    let threads = threads(of, |number, thread| {
        let bins = bins(thread, 1e3)?;
        Ok(with_last_bin(number, cpu(thread), bins, max(thread, 1e3), &mut marks))
    })?;
    let method = Method { pinned: true, ..by("oslat") };
    Ok(Cell { method, threads, marks, facts: facts(all), ..Cell::default() })
}

fn jitterdebugger(all: &Value, of: &Map<String, Value>) -> Result<Cell, BadImport> {
    let unit = all.pointer("/sysinfo/resolution_in_ns").and_then(Value::as_f64);
    let unit = unit.filter(|unit| *unit > 0.0).unwrap_or(1e3);
    let mut marks = Vec::new();
    let threads = threads(of, |number, thread| {
        let total = thread.get("count").and_then(Value::as_u64);
        // Its threads are called by their cores.
        let core = i32::try_from(number).ok();
        Ok(counted(number, core, bins(thread, unit)?, total, max(thread, unit), &mut marks))
    })?;
    let method = Method { pinned: true, ..by("jitterdebugger") };
    Ok(Cell { method, threads, marks, facts: facts(all), ..Cell::default() })
}

/// Threads by their numbers, which are the keys.
fn threads(
    of: &Map<String, Value>,
    mut thread: impl FnMut(usize, &Value) -> Result<Thread, BadImport>,
) -> Result<Vec<Thread>, BadImport> {
    let mut threads = Vec::new();
    for (key, value) in of {
        let Ok(number) = key.parse() else { return bad(format!("a thread with the name `{key}`")) };
        threads.push(thread(number, value)?);
    }
    threads.sort_by_key(|thread| thread.number);
    Ok(threads)
}

fn bins(thread: &Value, unit_ns: f64) -> Result<Vec<(u32, u64)>, BadImport> {
    let Some(histogram) = thread.get("histogram").and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    let bin = |(key, count): (&String, &Value)| match (key.parse::<f64>(), count.as_u64()) {
        (Ok(value), Some(count)) if value.is_finite() => Ok((ns(value * unit_ns), count)),
        _ => bad(format!("a bin `{key}` with the count {count}")),
    };
    histogram.iter().map(bin).collect()
}

fn cpu(thread: &Value) -> Option<i32> {
    thread.get("cpu").and_then(Value::as_i64).and_then(|core| i32::try_from(core).ok())
}

fn max(thread: &Value, unit_ns: f64) -> Option<u32> {
    thread.get("max").and_then(Value::as_f64).map(|max| ns(max * unit_ns))
}

/// What the tool tells about the machine.
fn facts(all: &Value) -> Value {
    let said = |key: &str| {
        all.get(key).cloned().map(|value| (key.trim_end_matches(':').to_owned(), value))
    };
    let mut facts: Map<String, Value> = ["cmdline:", "start_time", "end_time", "rt_test_version:"]
        .into_iter()
        .filter_map(said)
        .collect();
    if let Some(system) = all.get("sysinfo").and_then(Value::as_object) {
        facts.extend(system.clone());
        if let Some(release) = system.get("release") {
            facts.insert("kernel_release".to_owned(), release.clone());
        }
    }
    Value::Object(facts)
}
