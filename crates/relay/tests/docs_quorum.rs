//! The reference page of relays that act as one is that of the readers: its examples are read, and
//! each key that a reader knows is on it.

use substation::settings::quorum::{read_breaker, read_node, read_rejuvenation};

const PAGE: &str = include_str!("../../../docs/reference/quorum.md");

fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```yaml\n").skip(1);
    blocks.map(|block| block.split_once("```").expect("it ends").0).collect()
}

#[test]
fn the_examples_are_read() {
    let examples = examples();
    assert_eq!(examples.len(), 3);
    read_node("a.yaml", examples[0]).expect("a node");
    read_breaker("a.yaml", examples[1]).expect("a breaker node");
    read_rejuvenation("a.yaml", examples[2]).expect("a rejuvenator");
}

#[test]
fn each_key_is_on_the_page() {
    let examples = examples();
    let node = |text: &str| read_node("a.yaml", text).expect_err("a key is unheard of").to_string();
    let breaker =
        |text: &str| read_breaker("a.yaml", text).expect_err("a key is unheard of").to_string();
    let rejuvenation = |text: &str| {
        read_rejuvenation("a.yaml", text).expect_err("a key is unheard of").to_string()
    };
    let said = [
        node(&format!("unheard: of\n{}", examples[0])),
        node(&examples[0].replace("  by: ", "  unheard: of\n  by: ")),
        node(&examples[0].replace("  protocol: ", "  unheard: of\n  protocol: ")),
        node(&examples[0].replace("  core: ", "  unheard: of\n  core: ")),
        breaker(&format!("unheard: of\n{}", examples[1])),
        rejuvenation(&format!("unheard: of\n{}", examples[2])),
    ];
    for said in said {
        let (_, keys) = said.split_once("the keys are: ").expect("it lists the keys");
        for key in keys.trim().split(", ") {
            let forms = [format!("`{key}`"), format!("\n{key}: "), format!("\n{key}:\n")];
            assert!(forms.iter().any(|form| PAGE.contains(form)), "{key} is not on the page");
        }
    }
}
