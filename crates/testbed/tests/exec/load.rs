//! Many programs with timers in one domain, held and released again and again: nothing is lost,
//! nobody is stuck.

use runtime::agent::protocol::Call;

use crate::common::guests::{Domain, In, Link, Running, c, sleep_ms};

/// What the full bench does with 1000 programs and 1000 holds.
const PROGRAMS: &str = "40";
const HOLDS: u32 = 60;

#[test]
fn many_programs_with_timers_lose_nothing_over_many_holds() {
    let arguments = [PROGRAMS, "20", "100"];
    let (options, guest) = (["--freeze", "1 ms"], c("load", Link::Static));
    let mut guest = Running::frozen(&options, In::Virtual("1"), "load", &guest, &arguments).ready();
    let mut domain = Domain::of("load");
    for hold in 0..HOLDS {
        domain.ask(Call::Hold);
        sleep_ms(u64::from(hold % 4));
        domain.ask(Call::Release);
        sleep_ms(2);
    }
    let status = domain.ask(Call::Status);
    assert_eq!(status.freeze.incomplete, 0, "{:?}", status.freeze);
    guest.say("end");
    let printed = guest.finish();
    println!("{}", printed.out);
    assert_eq!(printed.end, 0, "{}", printed.out);
}
