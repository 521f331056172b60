//! The reference pages of settings are those of the readers: their examples are read, and each key
//! that a reader knows is on its page.

use ::settings::Problems;
use substation::settings::{self, merging_unit};

const RELAY: &str = include_str!("../../../docs/reference/relay.md");
const MERGING_UNIT: &str = include_str!("../../../docs/reference/merging-unit.md");

fn example(page: &'static str) -> &'static str {
    let (_, rest) = page.split_once("```yaml\n").expect("there is an example");
    rest.split_once("```").expect("it ends").0
}

#[test]
fn the_examples_are_read() {
    let relay = settings::read("relay.yaml", example(RELAY)).expect("the example is good");
    assert_eq!(relay.subscriptions["breaker"].entries.len(), 4);
    assert_eq!(relay.subscriptions["neighbour"].entries.len(), 4);
    assert_eq!(relay.host.task.core, Some(3));
    let unit =
        merging_unit::read("unit.yaml", example(MERGING_UNIT)).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!((unit.sources.len(), unit.streams.len(), unit.disturbances.len()), (4, 1, 1));
    assert!(unit.breaker.is_some());
}

/// Puts a key that nobody knows before each of these lines, and looks for the keys that the reader
/// then lists.
fn keys_are_on<T>(
    page: &'static str,
    read: impl Fn(&str, &str) -> Result<T, Problems>,
    lines: &[&str],
) {
    for line in lines {
        let blanks = &line[..line.len() - line.trim_start_matches([' ', '\n']).len()];
        let text = format!("\n{}", example(page));
        assert!(text.contains(line), "{line}");
        let text = text.replacen(line, &format!("{blanks}unheard: of{}{line}", newline(line)), 1);
        let Err(problems) = read("a.yaml", &text) else { panic!("`unheard` is read at {line}") };
        let said = problems.to_string();
        let (_, keys) = said.split_once("the keys are: ").expect("it lists the keys");
        for key in keys.lines().next().unwrap_or_default().split(", ") {
            assert!(page.contains(&format!("`{key}`")), "`{key}` is not on the page");
        }
    }
}

/// What ends the line that is put before another.
fn newline(line: &str) -> &'static str {
    if line.starts_with('\n') { "" } else { "\n" }
}

#[test]
fn each_key_of_a_relay_is_on_its_page() {
    let lines = [
        "\nrelay: ",
        "    sv_id: ",
        "  pulse_min: ",
        "    go_id: ",
        "    entries: ",
        "  interface: ",
    ];
    keys_are_on(RELAY, |file, text| settings::read(file, text), &lines);
}

#[test]
fn each_key_of_a_merging_unit_is_on_its_page() {
    let lines = [
        "\nmerging_unit: ",
        "    voltage: ",
        "      phases: ",
        "      ratio: ",
        "    configuration: ",
        "    file: ",
        "    bus: ",
        "    asdus: ",
        "    share: ",
        "  opening: ",
    ];
    keys_are_on(MERGING_UNIT, |file, text| merging_unit::read(file, text), &lines);
}
