//! Labels that are not printed over each other. Those of events, above a chart, stand each in the first
//! lane where it is free. Those that find no room are left out of the picture; the list of events
//! below the charts has all of them. Those of bounds, in the chart, go below others that are in their
//! way. The script does the same at other widths.

/// Lanes above a picture: more would push the picture off the screen.
const LANES_MAX: usize = 5;
const CHARACTER: f64 = 6.9;
/// Between two labels of a lane.
const GAP: f64 = 10.0;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Label {
    /// Its text, cut to the room there is.
    pub(super) text: String,
    /// Whether it begins or ends at its event.
    pub(super) anchor: &'static str,
    /// Its lane, from below.
    pub(super) lane: usize,
}

/// Labels for texts at places `x` of a picture of this width, in the order given; and how many
/// lanes they take.
pub(super) fn arrange(texts: &[(f64, String)], width: f64) -> (Vec<Option<Label>>, usize) {
    let mut lanes: Vec<Vec<(f64, f64)>> = Vec::new();
    let labels = texts.iter().map(|(x, text)| place(&mut lanes, *x, text, width)).collect();
    (labels, lanes.len())
}

fn place(lanes: &mut Vec<Vec<(f64, f64)>>, x: f64, text: &str, width: f64) -> Option<Label> {
    let (shown, anchor) = fitted(text, x, width);
    let long = length(&shown) + GAP;
    let taken = if anchor == "start" { (x, x + long) } else { (x - long, x) };
    let is_free = |lane: &Vec<(f64, f64)>| {
        lane.iter().all(|(begin, end)| taken.1 <= *begin || *end <= taken.0)
    };
    let lane = match lanes.iter().position(is_free) {
        Some(lane) => lane,
        None if lanes.len() < LANES_MAX => {
            lanes.push(Vec::new());
            lanes.len() - 1
        }
        None => return None,
    };
    lanes[lane].push(taken);
    Some(Label { text: shown, anchor, lane })
}

const LINE: f64 = 13.0;

/// Where texts stand in a picture: begin, end and foot of each.
#[derive(Default)]
pub(super) struct Texts(Vec<(f64, f64, f64)>);

impl Texts {
    /// The foot of a text that begins at `x`: at `y`, or below others that are in its way.
    pub(super) fn place(&mut self, x: f64, y: f64, text: &str) -> f64 {
        let end = x + length(text);
        let mut foot = y;
        let beside = |of: &&(f64, f64, f64)| of.0 < end && x < of.1;
        let in_the_way = |foot: f64| {
            self.0.iter().filter(beside).find(|of| (of.2 - foot).abs() < LINE).map(|of| of.2)
        };
        while let Some(other) = in_the_way(foot) {
            foot = other + LINE;
        }
        self.0.push((x, end, foot));
        foot
    }
}

/// About as long as browsers draw it.
fn length(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// A text that begins, or ends, at `x`, on the side with more room, and cut to it.
fn fitted(text: &str, x: f64, width: f64) -> (String, &'static str) {
    let (before, after) = (x, width - x);
    let at_its_event = length(text) <= after || after > before;
    let (room, anchor) = if at_its_event { (after, "start") } else { (before, "end") };
    if length(text) <= room {
        return (text.to_owned(), anchor);
    }
    let cut: String = text.chars().take(((room / CHARACTER) as usize).saturating_sub(1)).collect();
    (format!("{cut}…"), anchor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_at_one_time_stand_above_each_other_and_the_last_ones_are_left_out() {
        let texts: Vec<_> = (0..7).map(|n| (100.0, format!("event {n}"))).collect();
        let (labels, lanes) = arrange(&texts, 960.0);
        assert_eq!(lanes, LANES_MAX);
        let shown: Vec<_> = labels.iter().map(|label| label.as_ref().map(|l| l.lane)).collect();
        assert_eq!(shown, [Some(0), Some(1), Some(2), Some(3), Some(4), None, None]);
    }

    #[test]
    fn events_far_apart_share_a_lane_and_long_ones_are_cut() {
        let texts = [(100.0, "one".to_owned()), (500.0, "two".to_owned())];
        assert_eq!(arrange(&texts, 960.0).1, 1);
        let (labels, _) = arrange(&[(900.0, "x".repeat(500))], 960.0);
        let label = labels[0].clone().unwrap();
        assert!(label.anchor == "end" && label.text.ends_with('…'), "{label:?}");
    }

    #[test]
    fn texts_of_bounds_at_one_place_stand_below_each_other() {
        let mut texts = Texts::default();
        assert_eq!(texts.place(50.0, 100.0, "first below 0"), 100.0);
        assert_eq!(texts.place(50.0, 102.0, "last below 0"), 113.0);
        assert_eq!(texts.place(60.0, 100.0, "last below 1"), 126.0);
        assert_eq!(texts.place(400.0, 100.0, "beside them"), 100.0);
        assert_eq!(texts.place(50.0, 60.0, "above them"), 60.0);
    }

    proptest! {
        #[test]
        fn no_two_labels_overlap(texts in prop::collection::vec((0.0..960.0, "[a-z ]{0,60}"), 0..40)) {
            let (labels, _) = arrange(&texts, 960.0);
            let mut boxes: Vec<(usize, f64, f64)> = Vec::new();
            for ((x, _), label) in texts.iter().zip(labels) {
                let Some(Label { text, anchor, lane }) = label else { continue };
                let long = length(&text);
                let (begin, end) = if anchor == "start" { (*x, x + long) } else { (x - long, *x) };
                for (of, from, to) in &boxes {
                    prop_assert!(*of != lane || end <= *from || *to <= begin);
                }
                boxes.push((lane, begin, end));
            }
        }
    }
}
