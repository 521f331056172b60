//! When a publisher sends: at once on a change, soon again in case that was lost, then less and
//! less often.

use std::time::Duration;

use crate::time::SampleTime;

/// Counters and time allowed to live of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    pub st_num: u32,
    pub sq_num: u32,
    pub time_allowed_to_live_ms: u32,
}

/// Decides when a message is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publisher {
    repeat_min: Duration,
    repeat_max: Duration,
    st_num: u32,
    sq_num: u32,
    /// From the last message to the next, and when that is.
    interval: Duration,
    next: Option<SampleTime>,
}

impl Publisher {
    /// Has sent nothing yet. After a change the message is repeated after `repeat_min` twice, then
    /// after twice as long each time, at last every `repeat_max`.
    #[must_use]
    pub const fn new(repeat_min: Duration, repeat_max: Duration) -> Self {
        Self { repeat_min, repeat_max, st_num: 0, sq_num: 0, interval: repeat_min, next: None }
    }

    /// The state has changed, or is there for the first time: this message is to be sent at once.
    pub fn change(&mut self, now: SampleTime) -> Message {
        self.st_num = after(self.st_num);
        self.sq_num = 0;
        self.interval = self.repeat_min;
        self.message(now)
    }

    /// The message to be sent now, if one is due. After a late call the next one is not early.
    pub fn poll(&mut self, now: SampleTime) -> Option<Message> {
        if self.next.is_none_or(|next| now < next) {
            return None;
        }
        // The first repetition comes as soon as the second.
        if self.sq_num > 0 {
            self.interval = self.following();
        }
        self.sq_num = after(self.sq_num);
        Some(self.message(now))
    }

    /// When the next message is due; nothing before the first change.
    #[must_use]
    pub const fn next(&self) -> Option<SampleTime> {
        self.next
    }

    fn message(&mut self, now: SampleTime) -> Message {
        self.next = Some(now.plus(self.interval));
        // The next message may get lost: the one after it is still in time.
        let live = (self.interval + self.following()) * 3 / 2;
        let time_allowed_to_live_ms =
            u32::try_from(live.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        Message { st_num: self.st_num, sq_num: self.sq_num, time_allowed_to_live_ms }
    }

    fn following(&self) -> Duration {
        (self.interval * 2).min(self.repeat_max).max(self.repeat_min)
    }
}

/// Counters go on with 1 at their end: 0 is for the first message of a state alone.
const fn after(number: u32) -> u32 {
    if number == u32::MAX { 1 } else { number + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    fn publisher() -> Publisher {
        Publisher::new(Duration::from_millis(2), Duration::from_millis(20))
    }

    #[test]
    fn a_change_is_sent_at_once_and_repeated_less_and_less_often() {
        let mut publisher = publisher();
        assert_eq!(publisher.poll(at(0)), None);
        let mut sent = vec![(0, publisher.change(at(0)))];
        let mut numbers = Vec::new();
        for ms in 1..75 {
            sent.extend(publisher.poll(at(ms)).map(|message| (ms, message)));
        }
        let times: Vec<u64> = sent.iter().map(|(ms, _)| *ms).collect();
        assert_eq!(times, [0, 2, 4, 8, 16, 32, 52, 72]);
        numbers.extend(sent.iter().map(|(_, message)| (message.st_num, message.sq_num)));
        assert_eq!(numbers, (0..8).map(|sq_num| (1, sq_num)).collect::<Vec<_>>());
        let changed = publisher.change(at(75));
        assert_eq!((changed.st_num, changed.sq_num), (2, 0));
        assert_eq!(publisher.next(), Some(at(77)));
    }

    #[test]
    fn numbers_go_on_with_one_at_their_end() {
        let mut publisher = publisher();
        publisher.change(at(0));
        publisher.sq_num = u32::MAX;
        assert_eq!(publisher.poll(at(2)).unwrap().sq_num, 1);
        publisher.st_num = u32::MAX;
        assert_eq!(publisher.change(at(3)).st_num, 1);
    }

    proptest! {
        #[test]
        fn a_subscriber_that_misses_one_message_still_hears_the_next_in_time(
            min_ms in 1u64..100, factor in 1u64..1000, lost in 1usize..20,
        ) {
            let repeat = |ms| Duration::from_millis(ms);
            let mut publisher = Publisher::new(repeat(min_ms), repeat(min_ms * factor));
            let mut sent = vec![(at(0), publisher.change(at(0)))];
            while sent.len() < 24 {
                let now = publisher.next().unwrap();
                sent.push((now, publisher.poll(now).unwrap()));
            }
            let (before, message) = sent[lost - 1];
            let live = Duration::from_millis(message.time_allowed_to_live_ms.into());
            prop_assert!(sent[lost + 1].0.since(before) < live);
        }
    }
}
