//! What cyclictest, oslat and Xenomai's latency print, and tables of numbers.

use super::{BadImport, Hints, bad, by, counted, ns, with_last_bin};
use crate::cell::{Cell, Mark, MarkKind, Method, Samples, Thread, Times};
use report_kit::statistics::Distribution;

/// At a sample each nanosecond these are 52 days.
const COUNT_MAX: f64 = 4_503_599_627_370_496.0;
/// More columns than this are no threads.
const COLUMNS_MAX: usize = 4096;

/// A text, known by what is in it.
pub(super) fn read(text: &str, hints: Hints) -> Result<Cell, BadImport> {
    if text.contains("# Histogram") {
        return cyclictest_histogram(text);
    }
    if text.contains("Counter Freq") {
        return oslat(text);
    }
    if text.contains("RTD|") || text.contains("RTS|") {
        return xenomai(text);
    }
    if text.lines().any(|line| line.starts_with("T:") && line.contains("Max:")) {
        return Ok(Cell { method: by("cyclictest"), ..Cell::default() });
    }
    cyclictest_verbose(text).map_or_else(|| table(text, hints), Ok)
}

/// `cyclictest --histogram`: a row for each microsecond, a column for each thread, and what lies
/// beyond at the end.
fn cyclictest_histogram(text: &str) -> Result<Cell, BadImport> {
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("T:") {
            continue;
        }
        let row: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match row {
            Ok(row) if row.len() > 1 && row.len() <= COLUMNS_MAX => rows.push(row),
            _ => return bad(format!("line {}: `{line}` is not a histogram row", number + 1)),
        }
    }
    let column = |name: &str, thread: usize| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(thread)?.parse().ok()
    };
    let mut marks = Vec::new();
    let threads = rows.iter().map(Vec::len).min().unwrap_or(1) - 1;
    let end_us = rows.iter().map(|row| row[0]).max().unwrap_or(0);
    let thread = |thread| {
        let beyond = column("# Histogram Overflows:", thread).unwrap_or(0);
        let max_us = column("# Max Latencies:", thread);
        if let Some(max_us) = max_us.filter(|max_us| beyond > 0 && *max_us < end_us) {
            return bad(format!(
                "thread {thread} has {beyond} samples beyond {end_us} us and a maximum of \
                 {max_us} us, which contradict each other; was the file edited, or does it \
                 contain two runs?"
            ));
        }
        let bins: Vec<(u32, u64)> =
            rows.iter().map(|row| (ns(row[0] as f64 * 1e3), row[thread + 1])).collect();
        let in_bins = bins.iter().fold(0_u64, |sum, bin| sum.saturating_add(bin.1));
        let max_ns = max_us.map(|us| ns(us as f64 * 1e3));
        let total = Some(in_bins.saturating_add(beyond));
        Ok(counted(thread, None, bins, total, max_ns, &mut marks))
    };
    let threads = (0..threads).map(thread).collect::<Result<_, _>>()?;
    Ok(Cell { method: by("cyclictest"), threads, marks, ..Cell::default() })
}

/// `cyclictest --verbose`: `thread: cycle: latency`, one line for each sample. The time at which one
/// was due is its cycle times the interval that the thread announced.
fn cyclictest_verbose(text: &str) -> Option<Cell> {
    let mut samples: Vec<(Times, Vec<u32>)> = Vec::new();
    let interval_ns = |thread: usize| -> i64 {
        let name = format!("Thread {thread} Interval:");
        let said = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
        let us: i64 = said.and_then(|us| us.trim().parse().ok()).unwrap_or(1_000);
        us.clamp(1, 1 << 40) * 1_000
    };
    let mut intervals_ns: Vec<i64> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let [thread, cycle, latency] = fields.as_slice() else { continue };
        let thread: usize = thread.parse().ok().filter(|thread| *thread < COLUMNS_MAX)?;
        let (cycle, us): (i64, f64) = (cycle.parse().ok()?, latency.parse().ok()?);
        while samples.len() <= thread {
            intervals_ns.push(interval_ns(samples.len()));
            samples.push((Times::default(), Vec::new()));
        }
        let (at, latency_ns) = &mut samples[thread];
        if at.push(cycle.saturating_mul(intervals_ns[thread])) {
            latency_ns.push(ns(us * 1e3));
        }
    }
    let period_ns = intervals_ns.first().copied()?;
    let thread = |(number, (at, latency_ns)): (i32, (Times, Vec<u32>))| Thread {
        number,
        samples: Samples::Kept { at, latency_ns },
        ..Thread::default()
    };
    let threads = (0..).zip(samples).map(thread).collect();
    let method = Method { period_ns: Some(period_ns), ..by("cyclictest") };
    Some(Cell { method, threads, ..Cell::default() })
}

/// `oslat`: a row `003 (us): 28 57` for each bin with a column for each core; the last bin holds
/// what lies beyond.
fn oslat(text: &str) -> Result<Cell, BadImport> {
    let numbers = |line: &str| -> Vec<u64> {
        line.split_whitespace().map_while(|field| field.parse().ok()).take(COLUMNS_MAX).collect()
    };
    let named = |name: &str| {
        let line = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix(name));
        line.map(numbers).unwrap_or_default()
    };
    let cores = named("Core:");
    let maxima = named("Maximum:");
    let mut bins: Vec<Vec<(u32, u64)>> = vec![Vec::new(); cores.len()];
    for line in text.lines() {
        let Some((us, counts)) = line.split_once("(us):") else { continue };
        let Ok(us) = us.trim().parse::<u32>() else { continue };
        let counts =
            counts.split(|c: char| c.is_whitespace()).filter_map(|field| field.parse().ok());
        for (bin, count) in bins.iter_mut().zip(counts) {
            bin.push((us.saturating_mul(1_000), count));
        }
    }
    let mut marks = Vec::new();
    let threads = bins
        .into_iter()
        .enumerate()
        .map(|(number, bins)| {
            let core = cores.get(number).and_then(|core| i32::try_from(*core).ok());
            let max_ns = maxima.get(number).map(|us| ns(*us as f64 * 1e3));
            let bins = bins.into_iter().filter(|bin| bin.1 > 0).collect();
            with_last_bin(number, core, bins, max_ns, &mut marks)
        })
        .collect();
    let method = Method { pinned: true, ..by("oslat") };
    Ok(Cell { method, threads, marks, ..Cell::default() })
}

/// Xenomai's `latency`: a line `RTD| min| avg| max| ...` for each second, in µs. Only the maxima say
/// how late it can be, so these are the samples.
fn xenomai(text: &str) -> Result<Cell, BadImport> {
    let mut latency_ns = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(fields) = line.trim_start().strip_prefix("RTD|") else { continue };
        let max = fields.split('|').nth(2).and_then(|max| max.trim().parse::<f64>().ok());
        let Some(max) = max.filter(|max| max.is_finite()) else {
            return bad(format!("line {}: no maximum in `{line}`", number + 1));
        };
        latency_ns.push(ns(max * 1e3));
    }
    // `RTS|` is the summary, which holds no maxima that the lines above do not.
    Ok(Cell {
        method: by("xenomai latency"),
        threads: vec![Samples::periodic(1_000_000_000, latency_ns).into()],
        marks: vec![Mark::new(MarkKind::MaximaOnly, "each second")],
        ..Cell::default()
    })
}

/// Numbers in columns, apart by blanks or commas: one column holds samples; two or more hold a
/// latency and how often each thread had it. Lines that begin with `#` say nothing, and the first
/// one may be a head.
fn table(text: &str, hints: Hints) -> Result<Cell, BadImport> {
    // One row behind the other: a list may have tens of millions of them.
    let (mut values, mut width) = (Vec::new(), None);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    for (place, (number, line)) in lines.enumerate() {
        let before = values.len();
        let fields = line.split([' ', '\t', ',', ';']).filter(|field| !field.is_empty());
        let number_in = |field: &str| field.parse().ok().filter(|value: &f64| value.is_finite());
        values.extend(fields.clone().map_while(number_in));
        let fields = fields.count();
        let found = values.len() - before;
        match fields == found {
            true if *width.get_or_insert(found) == found && found <= COLUMNS_MAX => {}
            false if place == 0 => values.clear(),
            _ => {
                return bad(format!(
                    "line {number}: `{line}` is not in a known format (cyclictest, oslat, \
                     jitterdebugger, Xenomai's latency, one sample per line, or a latency and its \
                     count per line)"
                ));
            }
        }
    }
    let Some(width) = width.filter(|width| *width > 0) else {
        return bad(
            "it contains no numbers; give one sample per line, or a latency and its count per line",
        );
    };
    let unit_ns = hints.unit.ns();
    let below = values.iter().step_by(width).filter(|latency| **latency < 0.0).count();
    let mut marks = Vec::new();
    if below > 0 {
        marks.push(Mark::new(MarkKind::BelowZero, format!("{below} of {}", values.len() / width)));
    }
    if width == 1 {
        let latency_ns: Vec<u32> = values.iter().map(|value| ns(value * unit_ns)).collect();
        let samples = match hints.period_ns {
            Some(period_ns) => Samples::periodic(period_ns, latency_ns),
            None => Samples::Counted(Distribution::of(&latency_ns)),
        };
        let method = Method { period_ns: hints.period_ns, ..by("list of samples") };
        return Ok(Cell { method, threads: vec![samples.into()], marks, ..Cell::default() });
    }
    let counts = values.chunks_exact(width).flat_map(|row| &row[1..]);
    if let Some(count) = counts.copied().find(|count| !(0.0..COUNT_MAX).contains(count)) {
        return bad(format!("{count} is not a plausible number of samples"));
    }
    let threads = (1..width)
        .map(|column| {
            let rows = values.chunks_exact(width);
            let bins = rows.map(|row| (ns(row[0] * unit_ns), row[column] as u64)).collect();
            counted(column - 1, None, bins, None, None, &mut marks)
        })
        .collect();
    Ok(Cell { method: by("histogram"), threads, marks, ..Cell::default() })
}
