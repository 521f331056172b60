//! Files that are no SCL, or mean harm, are refused. What becomes of others: `scl` in the tests of
//! `substation`.

use iec61850::scl::{self, Station};

#[test]
fn what_is_no_scl_or_means_harm_is_refused() {
    let laughs = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><SCL>&b;</SCL>";
    let outside = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><SCL>&a;</SCL>";
    let deep = format!("{}{}", "<SCL>".repeat(300_000), "</SCL>".repeat(300_000));
    let open = "<SCL>".repeat(300_000);
    for text in ["", "SCL", "<SCL>", "<html/>", laughs, outside, &open] {
        assert!(scl::read(text).is_err(), "{}", &text[..text.len().min(60)]);
    }
    assert_eq!(scl::read(&deep), Ok(Station::default()), "depth alone costs nothing");
    let long = format!("<SCL>{}</SCL>", " ".repeat(scl::OCTETS_MAX));
    assert!(scl::read(&long).is_err_and(|error| error.to_string().contains("give one of at most")));
}
