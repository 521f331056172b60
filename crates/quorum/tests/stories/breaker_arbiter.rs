//! The breaker node counts votes.

use super::*;

fn bench() -> BreakerBench {
    BreakerBench::new(Protocol::Arbiter)
}

/// One that has tripped by A and B at 100.2 ms.
fn tripped() -> BreakerBench {
    let mut breaker = bench();
    breaker.at(us(100_100)).hears(A, vote(A, attempt(Trip, 0), 100));
    assert_eq!(actions(&breaker.at(us(100_200)).hears(B, vote(B, attempt(Trip, 0), 100))), [Trip]);
    breaker
}

#[test]
fn two_distinct_nodes_move_it_and_one_does_not() {
    let mut breaker = bench();
    assert_eq!(actions(&breaker.hears(A, vote(A, attempt(Trip, 0), 100))), []);
    let effects = breaker.at(us(100_300)).hears(C, vote(C, attempt(Trip, 0), 100));
    assert_eq!(effects[0], Effect::Operate { action: Trip, generation: Gen(1) });
    let heard: Vec<Party> = sent(&effects).into_iter().map(|(to, _)| to).collect();
    assert_eq!(heard, NodeId::ALL.map(Party::Relay), "all hear of it, after the action");
    let remembered = breaker.breaker.remembered();
    assert_eq!((remembered.state, remembered.generation), (Trip, Gen(1)));
}

#[test]
fn one_node_counts_once() {
    let mut breaker = bench();
    for tick in [99, 100, 101] {
        assert_eq!(actions(&breaker.hears(D, vote(D, attempt(Trip, 0), tick))), []);
    }
}

#[test]
fn a_vote_counts_for_who_proved_it() {
    let mut breaker = bench();
    breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    // D passes on B's vote as its own.
    let effects = breaker.hears(D, vote(B, attempt(Trip, 0), 100));
    assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Wrong)));
    assert!(matches!(blamed(&effects)[0].misdeed, Misdeed::WrongProof { .. }));
    assert_eq!(blamed(&effects)[0].node, D);
}

#[test]
fn a_flipped_bit_is_blamed_and_moves_nothing() {
    let mut breaker = bench();
    breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    let effects = breaker.hears(D, broken(vote(D, attempt(Trip, 0), 100)));
    assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Wrong)));
    assert_eq!(blamed(&effects).len(), 1);
}

#[test]
fn a_withdrawn_vote_does_not_wait_for_a_hostile_one() {
    let mut breaker = bench();
    breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    // A has withdrawn. Its vote counts in tick 101 at last.
    let effects = breaker.at(us(102_000)).hears(D, vote(D, attempt(Trip, 0), 102));
    assert_eq!(actions(&effects), []);
    // Nor does it count when it comes late.
    let effects = breaker.hears(B, vote(B, attempt(Trip, 0), 100));
    assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Stale)));
}

#[test]
fn a_vote_counts_for_the_last_time_in_the_tick_after_its_own() {
    let mut breaker = bench();
    breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    let effects = breaker.at(us(101_999)).hears(B, vote(B, attempt(Trip, 0), 101));
    assert_eq!(actions(&effects), [Trip]);
}

#[test]
fn votes_from_the_future_are_refused_but_for_one_tick_of_clock_error() {
    let mut breaker = bench();
    let effects = breaker.hears(A, vote(A, attempt(Trip, 0), 102));
    assert_eq!(refused(&effects), Some(Refusal::Early));
    assert_eq!(refused(&breaker.hears(A, vote(A, attempt(Trip, 0), 101))), None);
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Trip, 0), 100))), [Trip]);
}

#[test]
fn a_gen_acts_once_and_then_is_over() {
    let mut breaker = tripped();
    let late = breaker.at(us(100_300)).hears(C, vote(C, attempt(Trip, 0), 100));
    assert_eq!((actions(&late), refused(&late)), (vec![], Some(Refusal::OldGen)));
    // It closes again, and the old trip is fresh by its tick but not by its gen.
    breaker.at(us(121_000)).hears(A, vote(A, attempt(Close, 1), 121));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Close, 1), 121))), [Close]);
    breaker.at(us(125_000));
    for node in [A, B, D] {
        let effects = breaker.hears(node, vote(node, attempt(Trip, 0), 125));
        assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::OldGen)));
    }
}

#[test]
fn what_is_impossible_in_a_gen_is_blamed() {
    let mut breaker = bench();
    for (attempt, why) in
        [(attempt(Close, 0), Refusal::Impossible), (attempt(Trip, 1), Refusal::FutureGen)]
    {
        let effects = breaker.hears(D, vote(D, attempt, 100));
        assert_eq!(refused(&effects), Some(why));
        let [evidence] = &blamed(&effects)[..] else { panic!("{effects:?}") };
        assert!(matches!(evidence.misdeed, Misdeed::Impossible { .. }));
    }
}

#[test]
fn a_breaker_node_whose_memory_was_lost_blames_nobody_and_says_whom_it_knows_less_than() {
    let mut breaker = bench();
    breaker.breaker = breaker.breaker.with_doubt();
    for (node, known) in [(A, None), (B, Some([true, true, false, false]))] {
        let effects = breaker.hears(node, vote(node, attempt(Trip, 12), 100));
        assert_eq!((refused(&effects), blamed(&effects).len()), (Some(Refusal::FutureGen), 0));
        assert_eq!(breaker.breaker.knows_less_than(), known);
    }
    // Nodes that were restarted believe it; those that were not are blamed no more than before.
    breaker.hears(C, vote(C, attempt(Trip, 0), 100));
    assert_eq!(actions(&breaker.hears(D, vote(D, attempt(Trip, 0), 100))), [Trip]);
    let effects = breaker.hears(A, vote(A, attempt(Trip, 12), 100));
    assert!(blamed(&effects).is_empty() && breaker.breaker.is_in_doubt());
}

#[test]
fn the_doubt_of_a_first_start_ends_with_its_first_action() {
    let mut breaker = bench();
    breaker.breaker = breaker.breaker.with_doubt();
    breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Trip, 0), 100))), [Trip]);
    assert!(!breaker.breaker.is_in_doubt());
    assert_eq!(blamed(&breaker.hears(D, vote(D, attempt(Close, 2), 100))).len(), 1);
}

#[test]
fn redundant_votes_do_not_move_the_time_of_an_action() {
    let mut breaker = tripped();
    let acted_at = breaker.breaker.remembered().acted_at;
    assert_eq!(acted_at, us(100_200));
    for (at, node) in [(100_900, C), (101_000, A), (101_100, D)] {
        breaker.at(us(at)).hears(node, vote(node, attempt(Trip, 0), at / 1000));
        assert_eq!(breaker.breaker.remembered().acted_at, acted_at);
    }
    // The dwell counts from the action.
    breaker.at(us(120_200)).hears(A, vote(A, attempt(Close, 1), 120));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Close, 1), 120))), [Close]);
}

#[test]
fn after_a_trip_the_breaker_dwells_before_it_closes() {
    let mut breaker = tripped();
    for at in [100_300, 120_199] {
        breaker.at(us(at)).hears(A, vote(A, attempt(Close, 1), at / 1000));
        let effects = breaker.hears(B, vote(B, attempt(Close, 1), at / 1000));
        assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Dwell)));
    }
    // What was said in the dwell is not remembered.
    let effects = breaker.at(us(120_200)).hears(B, vote(B, attempt(Close, 1), 120));
    assert_eq!(actions(&effects), []);
    assert_eq!(actions(&breaker.hears(A, vote(A, attempt(Close, 1), 120))), [Close]);
}

#[test]
fn a_trip_may_follow_a_close_within_a_quarter_cycle() {
    let mut breaker = tripped();
    breaker.at(us(130_000)).hears(A, vote(A, attempt(Close, 1), 130));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Close, 1), 130))), [Close]);
    breaker.at(us(132_999)).hears(A, vote(A, attempt(Trip, 2), 132));
    let effects = breaker.hears(B, vote(B, attempt(Trip, 2), 132));
    assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Dwell)));
    breaker.at(us(133_000)).hears(A, vote(A, attempt(Trip, 2), 133));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Trip, 2), 133))), [Trip]);
}

#[test]
fn a_flood_costs_two_checks_in_a_tick_and_nobody_else_anything() {
    let mut breaker = bench();
    for copies in [5, 50, 500] {
        breaker.at(breaker.now.plus(Duration::from_millis(1)));
        let tick = breaker.now.ns() / 1_000_000;
        let before = breaker.scheme.checks;
        for _ in 0..copies {
            breaker.hears(D, broken(vote(D, attempt(Trip, 0), tick)));
        }
        assert_eq!(breaker.scheme.checks - before, 2, "{copies} copies");
    }
    breaker.hears(A, vote(A, attempt(Trip, 0), 103));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Trip, 0), 103))), [Trip]);
}

#[test]
fn sound_votes_beyond_the_budget_are_not_looked_at() {
    let mut breaker = bench();
    let mut why = Vec::new();
    for tick in [99, 100, 101, 101] {
        why.push(refused(&breaker.hears(D, vote(D, attempt(Trip, 0), tick))));
    }
    assert_eq!(why, [None, None, Some(Refusal::Budget), Some(Refusal::Budget)]);
    assert_eq!(breaker.scheme.checks, 2);
}

#[test]
fn nothing_but_votes_questions_and_keys_is_for_it() {
    let mut breaker = bench();
    for message in [
        share(D, attempt(Trip, 0), 100),
        acknowledgement(Trip, 5, 100),
        Message::Noted { counter: 1, key: None },
    ] {
        let effects = breaker.hears(D, message);
        assert_eq!(refused(&effects), Some(Refusal::Misdirected));
        assert_eq!(breaker.breaker.remembered().generation, Gen(0));
    }
}

#[test]
fn a_reborn_node_starts_without_the_votes_of_its_old_key() {
    let mut breaker = bench();
    breaker.hears(D, vote(D, attempt(Trip, 0), 100));
    let key = WorkingKey::certified(D, 2);
    let effects = breaker.hears(D, Message::Announcement { key });
    assert_eq!(effects[0], Effect::Adopt { node: D, key, counter: 2 });
    let answer = Message::Noted { counter: 2, key: None };
    assert_eq!(sent(&effects), [(Party::Relay(D), answer)]);
    assert_eq!(actions(&breaker.hears(A, vote(A, attempt(Trip, 0), 100))), []);
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Trip, 0), 100))), [Trip]);
}

#[test]
fn old_keys_and_keys_of_others_are_refused() {
    let mut breaker = bench();
    let key = |counter| WorkingKey::certified(D, counter);
    let mut why = Vec::new();
    for (from, key) in [(D, key(5)), (D, key(4)), (D, key(5)), (D, key(6).broken()), (C, key(6))] {
        breaker.at(breaker.now.plus(Duration::from_millis(1)));
        why.push(refused(&breaker.hears(from, Message::Announcement { key })));
    }
    let wrong = Some(Refusal::Wrong);
    assert_eq!(why, [None, Some(Refusal::OldKey), None, wrong, wrong]);
    assert_eq!(breaker.breaker.remembered().counters.highest(), [1, 1, 1, 5]);
    // One look in a tick.
    let again = breaker.hears(C, Message::Announcement { key: key(7) });
    assert_eq!(refused(&again), Some(Refusal::Budget));
}

#[test]
fn who_repeats_an_old_announcement_does_not_keep_a_new_one_out() {
    let mut breaker = bench();
    for counter in [1, 2] {
        let key = WorkingKey::certified(D, counter);
        let answers = (0..500).map(|_| breaker.hears(D, Message::Announcement { key }));
        let answers = answers.filter(|effects| !sent(effects).is_empty()).count();
        assert_eq!(answers, 1, "one answer in a tick, to key {counter}");
    }
}

#[test]
fn it_tells_everybody_how_it_stands_less_and_less_often() {
    let mut breaker = tripped();
    let mut gaps = Vec::new();
    for _ in 0..11 {
        let next = breaker.breaker.next_deadline();
        gaps.push(next.since(breaker.now).as_millis());
        let heard = sent(&breaker.at(next).wakes());
        assert_eq!(heard.len(), NODES);
        for (_, message) in heard {
            let Message::Acknowledgement(heard) = message else { panic!("{message:?}") };
            assert_eq!((heard.state, heard.generation), (Trip, Gen(1)));
            assert_eq!(heard.acted_at, us(100_200));
        }
    }
    assert_eq!(gaps, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
}

#[test]
fn a_question_is_answered_once_in_a_tick() {
    let mut breaker = bench();
    breaker.wakes();
    let mut answers = 0;
    for _ in 0..500 {
        let effects = breaker.hears(D, Message::Query { tick: Tick(100) });
        answers += sent(&effects).len();
    }
    assert_eq!(answers, 1);
}

#[test]
fn after_a_restart_it_dwells_and_goes_on_where_it_was() {
    let mut breaker = tripped();
    let remembered = breaker.breaker.remembered();
    let subject = subject(Protocol::Arbiter);
    breaker.breaker = Breaker::new(us(200_000), subject, Parameters::default(), remembered);
    breaker.at(us(219_000)).hears(A, vote(A, attempt(Close, 1), 219));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Close, 1), 219))), []);
    breaker.at(us(220_000)).hears(A, vote(A, attempt(Close, 1), 220));
    assert_eq!(actions(&breaker.hears(B, vote(B, attempt(Close, 1), 220))), [Close]);
}
