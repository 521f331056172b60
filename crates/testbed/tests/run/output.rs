//! Programs that write much, or in ways that nobody expects: it is all recorded, and nobody
//! else has to wait for it.

use std::time::Duration;

use crate::run::harness::{Place, eventually};

fn scenario(writer: &str) -> String {
    format!(
        "scenario: output
duration: 4 s
settle: 200 ms
plant:
  circuit: grid.dss
  record: {{every: 10 ms, points: [bus.680.v1]}}
nodes:
  meter:
    files:
      - {{point: generator.wind.kW}}
      - {{point: storage.es.kW, access: write}}
    programs:
      - name: reader
        run: python3 reader.py /plant/generator.wind.kW /plant/storage.es.kW 0.05
      - {{name: writer, run: {writer}, on_exit: ignore}}
"
    )
}

/// Largest resident size of a process so far, in MiB.
fn memory_mib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn a_flood_of_output_takes_no_memory_and_stops_nobody() {
    let flood =
        "[sh, -c, yes 0123456789abcdef0123456789abcdef | head -c 100000000; echo; echo end]";
    let Some(place) = Place::for_root(&scenario(flood).replace("duration: 4 s", "duration: 30 s"))
    else {
        return;
    };
    let mut run = place.start(&[]);
    let agent = run.begun().agent_pid;
    let log = place.runs()[0].join("programs/writer.log");
    let mut largest = (0, 0);
    let mut size = 0;
    while size < 100_000_000 {
        largest = (memory_mib(run.process()), memory_mib(agent));
        let grown = std::fs::metadata(&log).map_or(0, |file| file.len());
        eventually("the output stalls", || {
            size = std::fs::metadata(&log).map_or(0, |file| file.len());
            size > grown || size > 100_000_000
        });
    }
    let passed = run.begun().clock.virtual_ns;
    run.signal_group(libc::SIGINT);
    let run = run.finish_within(Duration::from_secs(10)).expect(130);
    eprintln!(
        "100 MB of output within {:.1} s virtual: at most {} MiB in the runner, {} MiB in the agent",
        passed as f64 / 1e9,
        largest.0,
        largest.1
    );
    assert!(largest.0 < 300 && largest.1 < 60, "{largest:?} MiB");
    let reads = run.record().wall.unwrap().reads.unwrap().count;
    assert!(reads > 20, "the reader had {reads} turns only");
}

#[test]
fn output_without_a_line_end_is_cut_into_lines() {
    let Some(place) = Place::for_root(&scenario("python3 long_line.py")) else { return };
    let run = place.run(&["--duration", "3 s"]).expect(0);
    let lines = run.lines("writer");
    let whole: usize = lines.iter().map(|line| line.matches('x').count()).sum();
    assert_eq!(whole, 1_000_000);
    assert!(lines.iter().all(|line| line.len() <= 16 * 1024));
    // What never ended in a line is there as well.
    assert!(lines.last().unwrap().ends_with("half a line"), "{:?}", lines.last());
    // When it came, and not when its program ended.
    let log = run.log("writer");
    let last_s: f64 =
        log.lines().last().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    assert!((0.5..2.9).contains(&last_s), "{last_s} s of 3 s");
}

#[test]
fn the_last_words_of_a_program_are_taken_down() {
    let Some(place) = Place::for_root(&scenario("python3 farewell.py")) else { return };
    let run = place.run(&["--duration", "2 s"]).expect(0);
    assert_eq!(run.lines("writer"), ["ready", "farewell"]);
}

/// Both directions between runner and agent at once, as full as they get: nodes that ask for
/// points without a pause, beside programs that write without a pause.
#[test]
fn questions_and_output_from_everywhere_do_not_stall() {
    const ASKS: &str =
        "n=0; while read v < /plant/bus.680.v1; do n=$((n+1)); [ $n != 20 ] || echo twenty; done";
    let mut text = "scenario: rush
duration: 60 s
settle: 0 s
plant:
  circuit: grid.dss
  record: {every: 10 ms, points: [bus.680.v1]}
nodes:
"
    .to_owned();
    for node in 1..=6 {
        text += &format!(
            "  n{node}:
    files:
      - {{point: bus.680.v1}}
    programs:
      - {{name: asks{node}, run: [sh, -c, '{ASKS}']}}
      - {{name: says{node}, run: [sh, -c, yes an ordinary line of output]}}
"
        );
    }
    let Some(place) = Place::for_root(&text) else { return };
    let mut run = place.start(&[]);
    run.let_pass(Duration::from_millis(300));
    let folder = place.runs().remove(0).join("programs");
    let is_longer = |name: String, octets| {
        std::fs::metadata(folder.join(format!("{name}.log"))).is_ok_and(|log| log.len() > octets)
    };
    eventually("somebody is kept from asking, or from writing", || {
        (1..=6).all(|node| is_longer(format!("asks{node}"), 0))
            && (1..=6).all(|node| is_longer(format!("says{node}"), 10_000))
    });
    run.signal_group(libc::SIGINT);
    let run = run.finish_within(Duration::from_secs(10)).expect(130);
    let record = run.record();
    let reads = record.wall.unwrap().reads.unwrap();
    eprintln!("six nodes that ask and write without a pause: {reads:?}");
    assert!(reads.count >= 6 * 20, "{reads:?}");
    assert!((1..=6).all(|node| run.lines(&format!("asks{node}")) == ["twenty"]));
    // Twelve programs that never wait are more than most machines have processors.
    let disturbed = |warning: &String| warning.starts_with("disturbed");
    assert!(record.warnings.iter().all(disturbed), "{:?}", record.warnings);
}
