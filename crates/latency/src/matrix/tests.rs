//! Matrices as their authors meet them: built-in names, words of one's own, and mistakes.

use std::path::Path;

use super::*;
use probe::Cores;

fn problems(text: &str) -> String {
    read_text(text, Path::new("m.yaml")).unwrap_err().to_string()
}

const SMALL: &str = "\
matrix: small
duration: 2 min
platforms:
  native:
  box: {container: {cores: 0-1, sharing: exclusive, real_time: 400 ms}}
  board: {remote: {host: root@board, port: 2222, identity: /keys/id}}
profiles:
  tp3:
  mine:
    like: tp4
    priority: 0
    loads:
      - {run: [stress-ng, --cpu, '{cores}'], cores: probe, package: stress-ng}
  long: {period: 250 us, duration: 1 h, neighbours: {count: 2, loads: [{run: hackbench -g 1}]}}
skip:
  - {platform: native, profile: long}
limits:
  breaker: 2 ms
";

fn small() -> Matrix {
    read_text(SMALL, Path::new("m.yaml")).unwrap()
}

#[test]
fn names_alone_are_built_in_and_the_cells_are_all_pairs_but_those_left_out() {
    let matrix = small();
    let cells: Vec<String> = matrix.cells().map(|cell| cell.name()).collect();
    let all = [
        "native.tp3",
        "native.mine",
        "box.tp3",
        "box.mine",
        "box.long",
        "board.tp3",
        "board.mine",
        "board.long",
    ];
    assert_eq!(cells, all);
    let built_in = built_in_profiles();
    assert_eq!(matrix.profiles[0], *built_in.iter().find(|p| p.name == "tp3").unwrap());
    assert_eq!(matrix.limits, [("breaker".to_owned(), 2_000_000)]);
    assert_eq!(matrix.length_ns(), (6 * 121 + 2 * 3601) * 1_000_000_000);
}

#[test]
fn like_takes_the_values_of_another_for_what_is_not_given() {
    let matrix = small();
    let mine = &matrix.profiles[1];
    assert_eq!(
        (mine.plan.priority, mine.plan.pinned, mine.plan.period_ns),
        (None, true, 10_000_000)
    );
    assert_eq!(mine.loads.len(), 1);
    let built_in = built_in_profiles();
    let idle = built_in.iter().find(|profile| profile.name == "alonso-idle").unwrap();
    assert_eq!((idle.plan.priority, idle.loads.len()), (Some(95), 0));
}

#[test]
fn a_matrix_written_out_reads_as_itself() {
    let mut matrix = small();
    matrix.description = "a \"quoted\" \\ text\nin two lines\u{1}, µs: #1".to_owned();
    matrix.profiles.extend(built_in_profiles().into_iter().filter(|p| p.name != "tp3"));
    matrix.platforms.extend(built_in_platforms().into_iter().filter(|p| p.name != "native"));
    let text = matrix.text();
    let again = read_text(&text, Path::new("m.yaml"));
    assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}\n{text}")), matrix);
}

#[test]
fn a_profile_with_the_cores_of_a_platform_is_an_order() {
    let built_in = built_in_profiles();
    let order = |name: &str, cores: &str| {
        let cores: Cores = cores.parse().unwrap();
        let profile = built_in.iter().find(|profile| profile.name == name).unwrap();
        profile.order(&cores, 60_000_000_000, 1_000_000_000)
    };
    let plan = |name: &str, cores: &str| order(name, cores).unwrap().plan.unwrap();
    assert_eq!((plan("tp1", "0-3").cores, plan("tp1", "0-3").pinned), (vec![2, 3], false));
    assert_eq!(plan("tp2", "4").cores, [4]);
    assert_eq!(plan("schoenborn", "1-3").cores, [1, 2, 3]);
    assert_eq!(order("tp1", "0-1").unwrap().settle_ns, 0);

    let loaded = order("tp4", "0-3").unwrap();
    assert_eq!((loaded.settle_ns, loaded.loads[0].cores.as_slice()), (1_000_000_000, &[0, 1][..]));
    let words = loaded.loads[0].words.join(" ");
    assert!(words.contains("--cpu 2") && !words.contains('{'), "{words}");
    let error = order("tp4", "0").unwrap_err().to_string();
    assert!(error.contains("too few cores"), "{error}");

    let tp5 = built_in.iter().find(|profile| profile.name == "tp5").unwrap();
    let neighbour = tp5.neighbour(&"0-1".parse().unwrap()).unwrap().unwrap();
    assert!(neighbour.plan.is_none() && neighbour.loads[0].cores == [0, 1]);
    assert_eq!(tp5.programs().into_iter().collect::<Vec<_>>(), [("stress-ng", "stress-ng")]);
}

#[test]
fn each_mistake_is_reported_with_its_place_and_the_fix() {
    let text = "\
matrix: a b
duration: 30
platforms:
  nativ:
  box: {containr: {}}
  far: {remote: {host: -oProxyCommand=x, prot: 22}}
  wide: {native: {cores: half}}
profiles:
  tp7:
  one: {priority: 100, period: 1 us, cores: most, affinity: pined}
  two: {like: tp44, loads: [{run: ''}, {cores: probe}]}
skip:
  - {platform: native, profile: tp1}
";
    let said = problems(text);
    for wanted in [
        "m.yaml:1:9: matrix: `a b` ",
        "m.yaml:2:11: duration: `30` has no unit; write it as `30 s`",
        "m.yaml:4:3: platforms.nativ: `nativ` is not a built-in platform; did you mean `native`?",
        "m.yaml:5:8: platforms.box: ",
        "did you mean `container` by `containr`?",
        "platforms.far.remote.prot: ",
        "did you mean `port`?",
        "platforms.far.remote.host: `-oProxyCommand=x` is not a host name",
        "platforms.wide.native.cores: `half` has no meaning here; write `all`, or cores as",
        "m.yaml:9:3: profiles.tp7: `tp7` is not a built-in profile; did you mean `tp",
        "profiles.one.priority: `100` is not a whole number from 0 to 99",
        "profiles.one.period: `1 us` is shorter than a wake-up takes; give `10 us` or more",
        "profiles.one.cores: `most` is not a core",
        "profiles.one.affinity: `pined` is not one of the allowed words; did you mean `pinned`?",
        "profiles.two.like: `tp44` is not a built-in profile",
        "profiles.two.loads[0].run: no program is given",
        "profiles.two.loads[1]: `run` is missing",
    ] {
        assert!(said.contains(wanted), "no {wanted:?} in\n{said}");
    }
    let said = problems(&SMALL.replace("profile: long}", "profile: lung}"));
    assert!(said.contains("`lung` is not in this matrix; did you mean `long`?"), "{said}");
    let said = problems(&SMALL.replace("duration: 1 h", "duration: 100 us"));
    assert!(said.contains("profile long has a period longer than its duration"), "{said}");
    let said = problems("matrix: m\nplatforms: {}\nprofiles: {tp1: }\n");
    assert!(said.contains("platforms: there is nothing to measure; add some platforms"), "{said}");
    assert!(problems("").contains("write at least `matrix`, `platforms`, `profiles`"));
}

#[test]
fn probes_have_the_names_of_the_probe() {
    let names = <probe::Kind as strum::IntoEnumIterator>::iter().map(probe::Kind::name);
    assert_eq!(keys::PROBES, names.collect::<Vec<_>>());
}
