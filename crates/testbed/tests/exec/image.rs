//! The filter lets calls pass by where they are made, so no program may put anything there, and
//! what comes of a jump into the image is followed as everything else.

use crate::common::guests::{In, Link, c, command, qcycle, run};

fn address() -> String {
    format!("{:#x}", vtime::image::IMAGE)
}

#[test]
fn no_program_takes_the_image_away_or_puts_anything_in_its_place() {
    for link in [Link::Dynamic, Link::Static] {
        let arguments = ["replace", &address()];
        let printed = run(&mut command(In::Virtual("1"), c("image", link), &arguments));
        assert_eq!(printed.end, 0, "{}", printed.out);
        let lines: Vec<&str> = printed.out.lines().collect();
        assert_eq!(lines.len(), 13, "{lines:?}");
        assert!(lines[..10].iter().all(|line| line.ends_with(" EPERM")), "{lines:?}");
        // The kernel's word for memory that is neither writable nor to be copied.
        assert!(lines[10..12].iter().all(|line| line.ends_with(" EIO")), "{lines:?}");
        assert_eq!(lines[12], "clock 0");
    }
}

#[test]
fn there_is_no_room_beside_the_image_for_code_of_a_program_s_own() {
    let arguments = ["room", &address()];
    let printed = run(&mut command(In::Virtual("1"), c("image", Link::Static), &arguments));
    assert_eq!((printed.out.as_str(), printed.end), ("room for 0 pages\nclock 0\n", 0));
}

/// The program that was begun so must see the domain's time, like any other.
#[test]
fn an_exec_out_of_the_image_is_followed() {
    let programs = c("programs", Link::Static);
    let mut exec = qcycle(&["exec", "--start", "2001-01-01T00:00:00Z", "--"]);
    exec.arg(c("image", Link::Static)).args(["jump", &address()]).arg(&programs).arg("say");
    let printed = run(&mut exec);
    assert_eq!((printed.out.as_str(), printed.end), ("virtual\n", 0), "{}", printed.err);
}
