//! Whether the interfaces of a relay are still there: a socket on one that went down tells so once
//! and is silent from then on, and silence is also what a quiet bus sounds like.
//!
//! An interface that is down, or whose cable is out, may come again and the socket then goes on by
//! itself; so that is an alarm, or the end where settings say so. One that was deleted never comes
//! again, not even under the same name: the relay ends, and what watches it restarts it.

use os::packet::Link;
use substation::settings::WhenDown;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Watched {
    pub(crate) interface: String,
    when_down: WhenDown,
    link: Option<Link>,
    was_up: bool,
}

impl Watched {
    pub(crate) fn new(interface: &str, when_down: WhenDown) -> Self {
        Self { interface: interface.to_owned(), when_down, link: None, was_up: false }
    }

    /// Its link is this one now: returns it if it is another one than at the last look, and why the
    /// relay ends, if it does. One that was never up is waited for in any case.
    pub(crate) fn look(&mut self, link: Link) -> (Option<Link>, Option<String>) {
        let changed = (self.link.replace(link) != Some(link)).then_some(link);
        self.was_up |= link == Link::Up;
        let interface = &self.interface;
        let failure = match link {
            Link::Up => None,
            Link::Gone => Some(format!(
                "interface {interface} has disappeared: start the relay again when it is back"
            )),
            Link::NoCarrier | Link::Down => {
                let state = link.name();
                (self.was_up && self.when_down == WhenDown::End).then(|| {
                    format!(
                        "interface {interface} is {state}: fix it and start the relay again, or \
                         set `interface_down: alarm` in `host` to wait for it"
                    )
                })
            }
        };
        (changed, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_comes_again_is_an_alarm_and_told_once_each_time() {
        let mut watched = Watched::new("west", WhenDown::Alarm);
        let links = [Link::NoCarrier, Link::Up, Link::Up, Link::Down, Link::Down, Link::Up];
        let said: Vec<Option<Link>> = links.iter().map(|link| watched.look(*link).0).collect();
        let [carrier, up, down] = [Link::NoCarrier, Link::Up, Link::Down].map(Some);
        assert_eq!(said, [carrier, up, None, down, None, up]);
        assert_eq!(watched.look(Link::NoCarrier).1, None);
        assert!(
            watched.look(Link::Gone).1.is_some_and(|said| said.contains("west has disappeared"))
        );
    }

    #[test]
    fn where_settings_say_so_one_that_was_up_ends_the_relay() {
        let mut watched = Watched::new("west", WhenDown::End);
        assert_eq!(watched.look(Link::Down).1, None);
        assert_eq!(watched.look(Link::Up).1, None);
        for link in [Link::Down, Link::NoCarrier] {
            assert!(watched.look(link).1.is_some_and(|said| said.contains(link.name())));
        }
    }
}
