//! What is said of a host of which nothing is heard. One that was never heard is most likely there, and somebody has named
//! an address at which others do not reach it: so it is said which one that is, and where to set it.

use std::net::SocketAddr;

/// Where a connection between this host and another one is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'n> {
    /// This one connects to that one, of this name.
    There { name: &'n str, at: SocketAddr },
    /// That one connects to this one, of this name.
    Here { name: &'n str, at: SocketAddr },
}

/// Of a host that was heard before, behind its name.
pub(super) fn after_a_meeting(ms: i64) -> String {
    format!("has not answered for {ms} ms")
}

/// Of a host that was never heard, behind its name.
pub(super) fn before_a_meeting(ms: i64, way: Way<'_>) -> String {
    let (what, name) = match way {
        Way::There { name, at } => (format!("was not reached at {at} within {ms} ms"), name),
        Way::Here { name, at } => {
            (format!("has not connected to `{name}` at {at} within {ms} ms"), name)
        }
    };
    format!(
        "{what}: set the `address` of host `{name}` to one at which the other hosts reach it, and let TCP pass to any port there"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_was_tried_is_named_with_the_host_that_it_is_set_for() {
        let at = "127.0.0.1:4711".parse().unwrap();
        let fix = ": set the `address` of host `h1` to one at which the other hosts reach it, and let TCP pass to any port there";
        assert_eq!(
            before_a_meeting(4000, Way::There { name: "h1", at }),
            format!("was not reached at 127.0.0.1:4711 within 4000 ms{fix}")
        );
        assert_eq!(
            before_a_meeting(4000, Way::Here { name: "h1", at }),
            format!("has not connected to `h1` at 127.0.0.1:4711 within 4000 ms{fix}")
        );
    }
}
