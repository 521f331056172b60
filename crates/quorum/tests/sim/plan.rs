//! What a seed decides before a run: who lies and how, what the network does, how far clocks are
//! off.

use quorum::{NODES, NodeId, Parameters, Protocol};

use random::Random;

/// What is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Any fault at all: nothing bad happens.
    Safety,
    /// Faults within the budget: what is wanted happens in time.
    Liveness,
}

/// How the hostile node goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Anything,
    /// Completes whatever one correct node attempts, as early and as late as it can.
    Pump,
    /// The right type, one bit flipped, in so many copies.
    Corrupt {
        copies: u64,
    },
    /// One thing to one peer, another to the next.
    Equivocate,
    /// What a correct node would say, in each tick and before anybody else.
    Agree,
    /// What it has heard, long ago or just now.
    Replay,
    /// Two correct instances of one identity, each with its own relay and its own audience.
    Twins,
    Silent,
}

const STYLES: [Style; 11] = [
    Style::Anything,
    Style::Anything,
    Style::Pump,
    Style::Pump,
    Style::Corrupt { copies: 5 },
    Style::Corrupt { copies: 50 },
    Style::Corrupt { copies: 500 },
    Style::Equivocate,
    Style::Agree,
    Style::Replay,
    Style::Twins,
];

/// What the network does to a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub(crate) delay_min_ns: u64,
    pub(crate) delay_max_ns: u64,
    /// How many of a thousand take up to [`Network::late_ns`] longer.
    pub(crate) late: u64,
    pub(crate) late_ns: u64,
    /// How many of a thousand are lost.
    pub(crate) lost: u64,
    /// How many of a thousand come again, up to three seconds later.
    pub(crate) repeated: u64,
    /// By how much a node wakes up late.
    pub(crate) wake_ns: u64,
}

/// All that a seed decides beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) protocol: Protocol,
    pub(crate) parameters: Parameters,
    /// What each clock shows more than the time; the breaker node's is the last.
    pub(crate) clock_ns: [i64; NODES + 1],
    pub(crate) hostile: Option<(NodeId, Style)>,
    /// Whether the hostile node keeps its key from the breaker node, to which all that is certified with
    /// it is then worth nothing.
    pub(crate) tells_peers_only: bool,
    pub(crate) network: Network,
    /// Whether nodes are destroyed and reborn, one at a time.
    pub(crate) rebirths: bool,
    /// Whether nodes, and the breaker node, die and start again at any time.
    pub(crate) crashes: bool,
    /// Whether correct relays decide what others do not.
    pub(crate) disagreement: bool,
    pub(crate) duration_ns: u64,
}

impl Plan {
    pub(crate) fn of(mode: Mode, random: &mut Random) -> Self {
        let protocol = random.pick(&[Protocol::Arbiter, Protocol::Peer]);
        let clock_ns = std::array::from_fn(|_| clock(random));
        let style = if random.chance(50) { Style::Silent } else { random.pick(&STYLES) };
        let hostile = random.chance(900).then(|| (random.pick(&NodeId::ALL), style));
        let flood = matches!(style, Style::Corrupt { copies: 500 });
        let safety = mode == Mode::Safety;
        let network = if safety { any_network(random) } else { good_network(random) };
        Self {
            protocol,
            parameters: Parameters::default(),
            clock_ns,
            hostile,
            tells_peers_only: random.chance(if style == Style::Agree { 800 } else { 200 }),
            network,
            rebirths: random.chance(500),
            crashes: safety && random.chance(500),
            disagreement: safety || random.chance(300),
            duration_ns: if flood { 200_000_000 } else { 1_000_000_000 },
        }
    }
}

/// Within half a millisecond, often at the very limit, where ticks differ.
fn clock(random: &mut Random) -> i64 {
    match random.below(4) {
        0 => 500_000,
        1 => -500_000,
        _ => random.below(1_000_001) as i64 - 500_000,
    }
}

fn any_network(random: &mut Random) -> Network {
    let delay_min_ns = random.within(10_000, 200_000);
    Network {
        delay_min_ns,
        delay_max_ns: delay_min_ns + random.below(1_500_000),
        late: random.pick(&[0, 10, 200]),
        late_ns: random.pick(&[2_000_000, 50_000_000]),
        lost: random.pick(&[0, 10, 300]),
        repeated: random.pick(&[0, 20, 200]),
        wake_ns: random.pick(&[0, 50_000, 5_000_000]),
    }
}

/// Everything arrives, at most as late as bounds of progress allow.
fn good_network(random: &mut Random) -> Network {
    let delay_min_ns = random.within(1_000, 200_000);
    Network {
        delay_min_ns,
        delay_max_ns: delay_min_ns + random.below(200_000),
        late: 0,
        late_ns: 0,
        lost: 0,
        repeated: random.pick(&[0, 20, 200]),
        wake_ns: random.pick(&[0, 20_000]),
    }
}
