//! Pictures as SVG, as far as all have it in common: a frame with grid, numbers, axes and names, and
//! texts. Pictures are drawn without scripts, so that they are there on paper too.

use std::fmt::Write as _;

use maud::{Markup, html};

/// Width of each picture; browsers scale it to the page.
pub const WIDTH: f64 = 960.0;
/// Height of the room below the values, for numbers and the name of the axis.
pub const BELOW: f64 = 36.0;

/// The rectangle of pixels in which values are drawn: to the right of the numbers, above the axis.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// The picture, with what it shows as a text for those who cannot see it.
    pub fn picture(&self, label: &str, content: &Markup) -> Markup {
        let size = format!("0 0 {WIDTH} {}", self.bottom + BELOW);
        html! { svg.plot viewBox=(size) role="img" aria-label=(label) { (content) } }
    }

    /// A line of the grid from left to right, with its number.
    pub fn level(&self, y: f64, number: &str) -> Markup {
        html! {
            (path("grid", format_args!("M{} {y:.1}H{}", self.left, self.right)))
            (text("tick", self.left - 7.0, y + 4.0, "end", number))
        }
    }

    /// A line of this class from top to bottom.
    pub fn upright(&self, class: &str, x: f64) -> Markup {
        path(class, format_args!("M{x:.1} {}V{}", self.top, self.bottom))
    }

    /// A number below the picture.
    pub fn number(&self, x: f64, number: &str) -> Markup {
        text("tick", x, self.bottom + 16.0, "middle", number)
    }

    /// The axis at the left and the one below, with the name of the latter.
    pub fn axes(&self, name: &str) -> Markup {
        let Self { left, right, top, bottom } = self;
        html! {
            (path("axis", format_args!("M{left} {top}V{bottom}H{right}")))
            (text("name", f64::midpoint(*left, *right), bottom + BELOW - 4.0, "middle", name))
        }
    }

    /// The name of the axis at the left.
    pub fn name_at_left(&self, name: &str) -> Markup {
        let middle = f64::midpoint(self.top, self.bottom);
        let place = format!("translate(12 {middle:.1}) rotate(-90)");
        html! { text.name transform=(place) text-anchor="middle" { (name) } }
    }
}

/// A path of a class.
pub fn path(class: &str, d: std::fmt::Arguments<'_>) -> Markup {
    html! { path class=(class) d=(d) {} }
}

/// A text whose anchor (`start`, `middle`, `end`) is at `x`, and its foot at `y`.
pub fn text(class: &str, x: f64, y: f64, anchor: &str, words: &str) -> Markup {
    html! {
        text class=(class) x=(format_args!("{x:.1}")) y=(format_args!("{y:.1}")) text-anchor=(anchor) { (words) }
    }
}

/// A rectangle of a class that explains itself where the pointer rests.
pub fn rect(class: &str, [x, y, width, height]: [f64; 4], title: &str) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(|pixels| format!("{pixels:.1}"));
    html! {
        rect class=[(!class.is_empty()).then_some(class)] x=(x) y=(y) width=(width) height=(height) {
            @if !title.is_empty() { title { (title) } }
        }
    }
}

/// The line through these points, as the data of a path; a point that is `None` breaks it.
pub fn line(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let (mut line, mut letter) = (String::new(), 'M');
    for point in points {
        if let Some((x, y)) = point {
            let _ = write!(line, "{letter}{x:.1} {y:.1}");
        }
        letter = if point.is_some() { 'L' } else { 'M' };
    }
    line
}
