//! How long it takes at least, in virtual time, until what happens at one host can matter at another: the
//! lookahead of a conservative simulation (Chandy and Misra 1979; as a matrix of all pairs: Ayani 1989).
//!
//! A frame that leaves a host by a link arrives after the delay of the link and the time that the shortest
//! frame needs at its rate. It may go on from there at once, whatever links lie between within that host: nodes
//! of one host have other ways to each other (files, sockets) than links. So distances add up over hosts, and
//! there is one from a host to itself: what it sends can come back.

use vtime::VirtualSpan;

/// The distances between all hosts; [`VirtualSpan::MAX`] where there is no way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distances {
    /// By host where something happens, then by host where it may matter.
    rows: Vec<Vec<VirtualSpan>>,
}

impl Distances {
    /// Those between so many hosts. A way leads from a host to another one, and takes at least so long.
    ///
    /// # Panics
    /// If a way takes no time, which keeps all clocks from moving, or leads nowhere: refuse such scenarios.
    pub fn new(hosts: usize, ways: &[(usize, usize, VirtualSpan)]) -> Self {
        let mut rows = vec![vec![VirtualSpan::MAX; hosts]; hosts];
        for &(from, to, least) in ways {
            assert!(least > VirtualSpan::ZERO && from != to, "a way between hosts takes time");
            rows[from][to] = rows[from][to].min(least);
        }
        // Floyd 1962. The diagonal begins without a way: a host that nothing comes back to stays so.
        for via in 0..hosts {
            for from in 0..hosts {
                for to in 0..hosts {
                    let over = rows[from][via] + rows[via][to];
                    rows[from][to] = rows[from][to].min(over);
                }
            }
        }
        Self { rows }
    }

    /// How many hosts there are.
    pub const fn hosts(&self) -> usize {
        self.rows.len()
    }

    /// How long it takes at least from one host to another, or back to itself.
    pub fn between(&self, from: usize, to: usize) -> VirtualSpan {
        self.rows[from][to]
    }

    /// The least from a host to any other; [`VirtualSpan::MAX`] if it reaches none.
    pub fn least_from(&self, from: usize) -> VirtualSpan {
        let others = self.rows[from].iter().enumerate().filter(|(to, _)| *to != from);
        others.map(|(_, &least)| least).min().unwrap_or(VirtualSpan::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: i64) -> VirtualSpan {
        VirtualSpan::from_ns(us * 1000)
    }

    /// Three hosts in a row.
    fn row() -> Distances {
        Distances::new(3, &[(0, 1, us(2)), (1, 0, us(3)), (1, 2, us(10)), (2, 1, us(20))])
    }

    #[test]
    fn distances_add_up_over_hosts() {
        let row = row();
        assert_eq!((row.between(0, 2), row.between(2, 0)), (us(12), us(23)));
        assert_eq!((row.least_from(1), row.least_from(2)), (us(3), us(20)));
    }

    #[test]
    fn what_a_host_sends_comes_back_by_the_shortest_way() {
        let row = row();
        assert_eq!([0, 1, 2].map(|host| row.between(host, host)), [us(5), us(5), us(30)]);
    }

    #[test]
    fn of_several_links_the_shortest_counts() {
        let two = Distances::new(2, &[(0, 1, us(5)), (0, 1, us(2))]);
        assert_eq!(two.between(0, 1), us(2));
        assert_eq!((two.between(1, 0), two.between(0, 0)), (VirtualSpan::MAX, VirtualSpan::MAX));
    }
}
