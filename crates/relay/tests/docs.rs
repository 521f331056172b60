//! The reference page of settings is that of the reader: its example is read, and each key that
//! the reader knows is on it.

use substation::settings;

const PAGE: &str = include_str!("../../../docs/reference/relay.md");

fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```yaml\n").expect("there is an example");
    rest.split_once("```").expect("it ends").0
}

#[test]
fn the_example_is_read() {
    let relay = settings::read(example()).expect("the example is good");
    assert_eq!(relay.subscriptions["breaker"].entries.len(), 4);
    assert_eq!(relay.host.task.core, Some(3));
}

#[test]
fn each_key_is_on_the_page() {
    for (place, key) in [
        ("\nrelay: ", "\nunheard: of\nrelay: "),
        ("    sv_id: ", "    unheard: of\n    sv_id: "),
        ("  pulse_min: ", "  unheard: of\n  pulse_min: "),
        ("    go_id: ", "    unheard: of\n    go_id: "),
        ("    entries: ", "    unheard: of\n    entries: "),
        ("  interface: ", "  unheard: of\n  interface: "),
    ] {
        let text = format!("\n{}", example()).replacen(place, key, 1);
        let said = settings::read(&text).expect_err(place).to_string();
        let (_, keys) = said.split_once("there are: ").expect("it lists the keys");
        for key in keys.trim().split(", ") {
            assert!(PAGE.contains(&format!("`{key}`")), "`{key}` is not on the page");
        }
    }
}
