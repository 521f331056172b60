//! Reading scenarios: what is right gives the model, what overrides change, and no file makes
//! the reader panic.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use network::plan;
use plant::name::PointName;
use proptest::prelude::*;
use scenario::model::{Happening, MeasureKind, OnExit, Window};
use scenario::{Options, read, variants};
use vtime::{Tdf, VirtualSpan};

fn voltage_stability() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/voltage-stability")
}

fn variant(name: &str) -> Options {
    Options { variant: Some(name.into()), ..Options::default() }
}

/// A folder with a scenario in it.
fn folder_with(text: impl AsRef<[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    fs::write(folder.path().join("scenario.yaml"), text).expect("there is room for a file");
    folder
}

#[test]
fn the_voltage_stability_scenario_is_read_as_written() {
    let scenario = read(&voltage_stability(), &variant("denial-of-service")).unwrap();
    assert_eq!(scenario.name, "voltage-stability");
    assert_eq!(scenario.variant.as_deref(), Some("denial-of-service"));
    assert_eq!(scenario.duration, VirtualSpan::from_s(90));
    assert_eq!(scenario.settle, VirtualSpan::from_s(3));
    assert_eq!(scenario.realtime_ns, Some(1_559_563_200_000_000_000));
    assert!(scenario.directory.is_absolute() && scenario.file.is_file());

    let plant = scenario.plant.unwrap();
    let ms = VirtualSpan::from_ms;
    assert_eq!(plant.circuit, scenario.directory.join("vt13.dss"));
    assert_eq!((plant.step, plant.record_every), (ms(1), ms(10)));
    assert_eq!(plant.profiles[1].columns["d652"], PointName("load.d652.kW".into()));
    assert_eq!(plant.record.len(), 7);

    let sensor = &scenario.nodes[0];
    assert_eq!(sensor.address, Some((Ipv4Addr::new(10, 0, 0, 4), 24)));
    assert!(!sensor.files[0].writable && scenario.nodes[1].files[0].writable);
    assert_eq!(sensor.files[0].latency, VirtualSpan::ZERO);
    assert!(Path::new(&sensor.programs[0].command[0]).is_absolute());
    assert_eq!(sensor.programs[0].command[1], "sensor.py");
    assert_eq!(sensor.programs[0].on_exit, OnExit::Fail);

    assert_eq!(scenario.network.switches, ["s1", "s2", "s3", "s4"]);
    assert_eq!(scenario.network.links[1].delay, ms(2));
    assert_eq!(scenario.network.links[1].rate_bps, Some(100_000_000));
    assert_eq!(scenario.events[0].at, ms(22_500));
    let poison = Happening::Network(plan::EventKind::ArpPoison {
        attacker: "mallory".into(),
        victims: ["sensor".into(), "controller".into()],
    });
    assert_eq!(scenario.events[0].what, poison);
    assert_eq!(scenario.requirements.len(), 3);
    assert_eq!(scenario.requirements[2].at_most, Some(2330.0));
}

#[test]
fn a_variant_has_its_own_events_and_requirements() {
    let scenario = read(&voltage_stability().join("scenario.yaml"), &variant("normal")).unwrap();
    assert!(scenario.events.is_empty());
    assert_eq!(scenario.requirements.len(), 5);
    let first = &scenario.requirements[0];
    assert_eq!((first.at_least, first.at_most), (Some(17.6), Some(18.2)));
    let until_30_s = Window { from: None, to: Some(VirtualSpan::from_s(30)) };
    let second = &scenario.requirements[1].measure;
    assert!(matches!(second.kind, MeasureKind::LastBelow { value: 0.0, .. }), "{second:?}");
    assert_eq!(second.window, until_30_s);
    assert_eq!(scenario.requirements[4].at_most, Some(130.0));
    assert_eq!(variants(&voltage_stability()).unwrap(), ["normal", "denial-of-service"]);
}

#[test]
fn a_scenario_with_variants_needs_one() {
    let said = |options: &Options| read(&voltage_stability(), options).unwrap_err().to_string();
    assert!(said(&Options::default()).ends_with(
        "variants: a run needs one variant, and none is selected; the variants are: normal, \
         denial-of-service"
    ));
    let misspelt = said(&variant("norml"));
    assert!(misspelt.ends_with("there is no variant `norml`; did you mean `normal`?"));
    let folder = folder_with("{scenario: a, duration: 1 s}");
    let said = read(folder.path(), &variant("normal")).unwrap_err().to_string();
    assert!(said.ends_with("there is no variant `normal`; there are no variants"), "{said}");
}

#[test]
fn a_shorter_run_drops_later_events_and_keeps_requirements() {
    let shortened = |s| Options {
        duration: Some(VirtualSpan::from_s(s)),
        seed: Some(7),
        tdf: Some(Tdf::MAX),
        ..variant("denial-of-service")
    };
    let scenario = read(&voltage_stability(), &shortened(22)).unwrap();
    assert!(scenario.events.is_empty());
    assert_eq!(scenario.requirements.len(), 3);
    assert_eq!((scenario.seed, scenario.tdf), (7, Tdf::MAX));
    assert_eq!(scenario.duration, VirtualSpan::from_s(22));
    assert_eq!(read(&voltage_stability(), &shortened(23)).unwrap().events.len(), 1);
    assert!(read(&voltage_stability(), &shortened(0)).is_err());
}

#[test]
fn programs_alone_are_a_scenario() {
    let folder = folder_with(
        "scenario: alone\nduration: 1 s\nnodes:\n  here:\n    programs:\n      \
         - {name: p, run: sh -c 'exit 0'}\n",
    );
    let scenario = read(folder.path(), &Options::default()).unwrap();
    assert!(scenario.plant.is_none() && scenario.network.links.is_empty());
    let program = &scenario.nodes[0].programs[0];
    assert!(program.command[0].ends_with("/sh"));
    assert_eq!(program.command[1..], ["-c", "exit 0"]);
    assert_eq!(scenario.settle, VirtualSpan::from_s(3));
    assert_eq!(scenario.tdf, Tdf::ONE);
    assert_eq!(variants(folder.path()).unwrap(), Vec::<String>::new());
}

#[test]
fn events_of_all_variants_and_of_one_are_sorted_by_time() {
    let folder = folder_with(
        "scenario: sorted\nduration: 10 s\nswitches: [a, b]\nlinks: [{from: a, to: b}]\n\
         events:\n  - {at: 5 s, link: [b, a], state: down}\n\
         variants:\n  one:\n    events: [{at: 2 s, link: [a, b], state: up}]\n  two:\n",
    );
    let scenario = read(folder.path(), &variant("one")).unwrap();
    let times: Vec<_> = scenario.events.iter().map(|event| event.at.as_ns()).collect();
    assert_eq!(times, [2_000_000_000, 5_000_000_000]);
    let down = plan::EventKind::Link { from: "a".into(), to: "b".into(), up: false };
    let down = Happening::Network(down);
    assert_eq!(scenario.events[1].what, down);
    assert_eq!(read(folder.path(), &variant("two")).unwrap().events.len(), 1);
}

#[test]
fn what_is_no_scenario_file_is_refused() {
    let folder = folder_with(b"scenario: a\nb: \xff\n");
    let said = read(folder.path(), &Options::default()).unwrap_err().to_string();
    assert!(said.ends_with("scenario.yaml: line 2 is not UTF-8; save the file as UTF-8"), "{said}");
    let missing = folder.path().join("other.yaml");
    let said = read(&missing, &Options::default()).unwrap_err().to_string();
    assert!(said.contains("other.yaml: the scenario cannot be read"), "{said}");
    let folder = folder_with(" ".repeat((1 << 20) + 1));
    let said = read(folder.path(), &Options::default()).unwrap_err().to_string();
    assert!(said.contains("has more than 1048576 octets"), "{said}");
}

/// Pieces that scenarios are made of, to be put together at random.
fn piece() -> impl Strategy<Value = &'static str> {
    const PIECES: &str = "scenario|duration|plant|nodes|links|events|variants|requirements|switches|\
        attackers|from|to|delay|rate|point|files|programs|run|measure|minimum|at_least|link|set|attack|\
        between|by|record|every|: |: |: |\n|\n  |\n    |\n- |- |{|}|[|]|, |12 ms|5 kW|bus.680.v1|'|a";
    proptest::sample::select(PIECES.split('|').collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn no_octets_make_the_reader_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = folder_with(octets);
        let _ = read(folder.path(), &Options::default());
        let _ = variants(folder.path());
    }

    #[test]
    fn no_yaml_makes_the_reader_panic(text in r#"[-a:{}\[\],&*!|>'"%@#?\\ \n\t0]{0,60}"#) {
        let folder = folder_with(text);
        let _ = read(folder.path(), &Options::default());
    }

    #[test]
    fn no_pieces_of_a_scenario_make_the_reader_panic(
        pieces in proptest::collection::vec(piece(), 0..60),
    ) {
        let folder = folder_with(format!("scenario: a\nduration: 9 s\n{}", pieces.concat()));
        let _ = read(folder.path(), &Options::default());
    }

    /// A right scenario with a stretch of it replaced reaches deeper than random text.
    #[test]
    fn no_damage_to_a_scenario_makes_the_reader_panic(
        at in 0usize..4000,
        length in 0usize..40,
        piece in piece(),
    ) {
        let mut text = fs::read(voltage_stability().join("scenario.yaml")).unwrap();
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        text.splice(at..end, piece.bytes());
        let folder = folder_with(text);
        let _ = read(folder.path(), &Options::default());
    }
}
