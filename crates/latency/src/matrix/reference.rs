//! The reference page of matrices and profiles, drawn from the tables that the reader goes by. Its
//! example is a matrix, which is read.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::keys::{
    CONTAINER_OPTIONS, LOAD, MATRIX, NATIVE_OPTIONS, NEIGHBOURS, PLATFORMS, PROFILE,
    REMOTE_OPTIONS, SKIP, VM_OPTIONS, WIRED,
};
use super::{built_in_platforms, built_in_profiles, read_text};
use settings::reference::{write_forms, write_table};
use settings::table::Table;

const INTRODUCTION: &str = "\
# qcycle latency

`qcycle latency` measures how late a platform lets programs act, and judges whether that is early enough. Without options it measures this machine with the first four of the profiles below, for two minutes, or for two and a half on fewer than four cores, where a verdict takes longer. \
`--matrix FILE` measures any number of platforms with any number of profiles, unattended, and writes one report. `--list` shows the built-in platforms and profiles and the cells that would be measured.

```
qcycle latency
qcycle latency --profile tp3 --duration 8h
qcycle latency --platform native --platform container
qcycle latency --matrix matrix.yaml --output runs/host-7
qcycle latency --resume runs/host-7
```

Results are on disk within about a second. Ctrl-C or SIGTERM ends the current cell cleanly and writes the report of the results so far; a second one ends immediately. `--resume` measures the cells that are not complete, even after a kill or a crash of the machine. A cell that was cut short is measured again, and the longer of the two results is kept.

The probe is `qcprobe`, beside `qcycle` or at the path in `QCYCLE_PROBE`. In containers, in guests and \
on other machines it is a static program: `make probe` builds it.

## Exit codes

The limits of the matrix decide if there are any, otherwise those of power grids.

| Code | |
|---|---|
| 0 | all limits are kept |
| 10 | a limit is not kept |
| 11 | a limit could not be judged, or a cell could not be measured; the report gives the reason |
| 12 | a cell failed |
| 64, 65 | the command line or the matrix is invalid; nothing was measured |
| 69 | something is missing on this machine |
| 130 | interrupted; measured data are kept |

## The folder of a run

| File | |
|---|---|
| `matrix.yaml` | the matrix with all defaults written out; it can be used for another run as it is |
| `run.json` | this machine, warnings, and each cell: done, cut, failed, not measured and why |
| `cells/<platform>.<profile>/` | a cell: every sample, every stall, and the marks that qualify its figures |
| `report.html`, `cells.csv`, `cells.parquet` | the results of all cells |

## A matrix

All errors in the file are reported at once, each as `file:line:column: key: what is wrong; the fix`. \
Times are a decimal number and `ns`, `us`, `ms`, `s`, `min` or `h`. For built-in platforms and profiles the name alone is enough.

```yaml
";

const EXAMPLE: &str = "\
matrix: substation-host
description: May the protection move into containers on this host?
duration: 10 min
settle: 2 s
platforms:
  native:
  container:
  pinned:
    container: {engine: runc, cores: 1, sharing: exclusive, real_time: 400 ms}
  cores-2-3:
    native: {cores: 2-3}
  guest:
    vm:
      kernel: rt
      accelerator: auto
      cores: 2
      memory_mb: 512
      host_cores: 0-1
      priority: 80
      huge_pages: no
      lock_memory: yes
  bay-controller:
    remote: {host: root@192.0.2.7, port: 22, identity: keys/bay, config: ssh_config, folder: /run, cores: all}
profiles:
  tp1:
  tp4:
  schoenborn:
  task:
    like: tp4
    description: The protection task, each millisecond, beside the network load of the station.
    source: our own
    probe: timer
    priority: 80
    period: 1 ms
    cores: half
    affinity: pinned
    lock_memory: yes
    hold_awake: yes
    stall_meter: no
    split: no
    loads:
      - {run: 'hackbench --loops 10000', cores: others, package: rt-tests}
    neighbours:
      count: 2
      loads:
        - {run: [stress-ng, --cpu, '{cores}', --timeout, '0']}
    duration: 1 h
  contact:
    like: tp4
    probe: gpio
    cores: '1'
    gpio: {chip: gpiochip0, output: 17, input: 27}
skip:
  - {platform: native, profile: task}
limits:
  protection task: 200 us
";

/// What the sections of platforms and profiles are about.
const PLATFORMS_TEXT: &str = "\
Each platform is of one kind. On all of them the same program does the work: `qcprobe attend` starts the loads, measures, and ends everything it has started when its standard input closes. So nothing keeps running when `qcycle` is killed; leftover folders are removed by the next run or by `qcycle clean`.

- *native*: has no neighbours, so `tp5` and `tp6` are not measured there.
- *container*: a root file system that contains only the probe; if the profile has loads, also the programs of this host, read-only. It has the capabilities `CAP_SYS_NICE` and \
`CAP_IPC_LOCK` and no others. Where control groups divide real time (version 1 with real-time \
group scheduling), a new group cannot use SCHED_FIFO until it has a share: `real_time`. Docker and Podman get the same root file system as an image that is built for the run, without a registry, and removed afterwards.
- *vm*: times of an emulated processor are not real times: they are marked everywhere, and there is no verdict.
- *remote*: the probe is copied through ssh, which must not ask for a password, and is removed at the end of the session. It has no neighbours.
";

const PROFILES_TEXT: &str = "\
A profile sets the conditions of a measurement. `{cores}` in the arguments of a load is the number of its cores. A load that ends successfully is started again; if a load cannot run, it is named and the cell is not measured.
";

const BUILT_IN_TEXT: &str = "\
`tp1` to `tp6` are **reconstructed**: of Queiroz, Cruz, Simões (2023) only the figures were available, not the definitions of the testing profiles. What can be inferred from them is noted beside each profile in `profiles.yaml` of the module `latency::matrix`. The priority (80) and the programs of \
the load are ours. Compare your own rows with each other first, and with the published ones only with this reservation.
";

/// The page, in Markdown.
fn reference() -> String {
    let mut page = format!("{INTRODUCTION}{EXAMPLE}```\n");
    write_table(&mut page, &MATRIX);
    write_part(&mut page, "skip", &SKIP);
    let _ = write!(page, "\n## Platforms\n\n{PLATFORMS_TEXT}");
    write_forms(&mut page, &PLATFORMS);
    write_part(&mut page, "native", &NATIVE_OPTIONS);
    write_part(&mut page, "container", &CONTAINER_OPTIONS);
    write_part(&mut page, "vm", &VM_OPTIONS);
    write_part(&mut page, "remote", &REMOTE_OPTIONS);
    let _ = write!(page, "\n## Profiles\n\n{PROFILES_TEXT}");
    write_table(&mut page, &PROFILE);
    write_part(&mut page, "loads", &LOAD);
    write_part(&mut page, "gpio", &WIRED);
    write_part(&mut page, "neighbours", &NEIGHBOURS);
    let _ = write!(page, "\n## What is built in\n\n{BUILT_IN_TEXT}");
    page.push_str("\n| Platform | |\n|---|---|\n");
    for platform in built_in_platforms() {
        let _ = writeln!(page, "| `{}` | {} |", platform.name, platform.kind);
    }
    page.push_str("\n| Profile | Source | |\n|---|---|---|\n");
    for profile in built_in_profiles() {
        let (name, source, description) = (profile.name, profile.source, profile.description);
        let _ = writeln!(page, "| `{name}` | {source} | {description} |");
    }
    page
}

/// The keys of a mapping that stands below another one.
fn write_part(page: &mut String, name: &str, table: &Table) {
    let _ = write!(page, "\n### {name}\n");
    write_table(page, table);
}

#[test]
fn the_reference_page_is_the_one_of_the_reader() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let file = folder.join("latency.md");
    if std::env::var_os("QCYCLE_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, reference()).unwrap();
    }
    let published = fs::read_to_string(&file).unwrap_or_default();
    assert!(published == reference(), "run this test with QCYCLE_BLESS=1");
}

#[test]
fn the_example_is_a_matrix_that_shows_each_key() {
    let matrix = read_text(EXAMPLE, Path::new("m.yaml"));
    let matrix = matrix.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(matrix.cells().count(), 29);
    let tables: [&Table; 10] = [
        &MATRIX,
        &SKIP,
        &PROFILE,
        &LOAD,
        &NEIGHBOURS,
        &WIRED,
        &NATIVE_OPTIONS,
        &CONTAINER_OPTIONS,
        &VM_OPTIONS,
        &REMOTE_OPTIONS,
    ];
    for key in tables.iter().flat_map(|table| table.names()) {
        assert!(EXAMPLE.contains(&format!("{key}:")), "no example shows `{key}`");
    }
}
