//! Pictures of type tests as SVG files: lines, bands, marks and coloured cells in panels, drawn on the
//! frames of all reports, with a style of their own because they stand alone.

use maud::{Markup, PreEscaped, html};
use report_kit::axis::ticks;
use report_kit::plot::{Frame, line, text};

/// Colours of lines, by number: those of reports.
const COLOURS: [&str; 6] = ["#1b5fae", "#d1480f", "#178a63", "#5b636d", "#8b46ab", "#a07a00"];
const STYLE: &str = "text{font:12px system-ui,'Liberation Sans',Arial,sans-serif;fill:#5b636d}\
                     .name,.title{fill:#1a1d21}.title{font-weight:600}\
                     path{fill:none}.grid{stroke:#e7eaee}.axis{stroke:#5b636d}";
/// Of a panel, in pixels, and of the room around its frame.
const PANEL: [f64; 2] = [320.0, 270.0];
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 42.0;

/// The form of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Circle,
    Cross,
    Square,
}

impl Mark {
    /// One for each of three groups.
    pub const ALL: [Self; 3] = [Self::Circle, Self::Cross, Self::Square];
}

/// A panel: axes and what is drawn in them.
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    names: [String; 2],
    x: [f64; 2],
    y: [f64; 2],
    content: Vec<Markup>,
    legend: Vec<(usize, String)>,
    /// Names along the left and below in place of numbers, for cells.
    rows: Vec<String>,
    columns: Vec<String>,
}

impl Figure {
    /// An empty panel from the names of its axes and what they span.
    #[must_use]
    pub fn new(x_name: &str, y_name: &str, x: [f64; 2], y: [f64; 2]) -> Self {
        Self {
            title: String::new(),
            names: [x_name.to_owned(), y_name.to_owned()],
            x,
            y,
            content: Vec::new(),
            legend: Vec::new(),
            rows: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// A title above the panel.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        Self { title: title.to_owned(), ..self }
    }

    /// A panel of cells: rows from the bottom up, columns from left to right.
    #[must_use]
    pub fn cells(x_name: &str, y_name: &str, columns: Vec<String>, rows: Vec<String>) -> Self {
        let (width, height) = (columns.len() as f64, rows.len() as f64);
        Self { rows, columns, ..Self::new(x_name, y_name, [0.0, width], [0.0, height]) }
    }

    fn frame() -> Frame {
        Frame { left: LEFT, right: PANEL[0] - RIGHT, top: TOP, bottom: PANEL[1] - BOTTOM }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let frame = Self::frame();
        let share = |value: f64, [low, high]: [f64; 2]| (value - low) / (high - low);
        (
            frame.left + (frame.right - frame.left) * share(x, self.x).clamp(0.0, 1.0),
            frame.bottom - (frame.bottom - frame.top) * share(y, self.y).clamp(0.0, 1.0),
        )
    }

    /// A line of the colour of this number.
    pub fn line(&mut self, colour: usize, points: &[(f64, f64)]) {
        let d = line(points.iter().map(|point| Some(self.place(*point))));
        let colour = COLOURS[colour];
        self.content.push(html! { path d=(d) stroke=(colour) stroke-width="1.6" {} });
    }

    /// What lies between two lines over the same places: place, lower and upper value.
    pub fn band(&mut self, colour: usize, points: &[(f64, f64, f64)]) {
        let lower = points.iter().map(|(x, low, _)| (*x, *low));
        let upper = points.iter().rev().map(|(x, _, high)| (*x, *high));
        let d = line(lower.chain(upper).map(|point| Some(self.place(point))));
        let style = format!("fill:{};fill-opacity:.2", COLOURS[colour]);
        self.content.push(html! { path d={ (d) "Z" } style=(style) {} });
    }

    /// A mark at a point.
    pub fn mark(&mut self, colour: usize, mark: Mark, point: (f64, f64)) {
        let ((x, y), colour) = (self.place(point), COLOURS[colour]);
        self.content.push(match mark {
            Mark::Circle => {
                html! { circle cx=(px(x)) cy=(px(y)) r="4" fill="none" stroke=(colour) stroke-width="1.4" {} }
            }
            Mark::Cross => {
                let d = format!("M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5);
                html! { path d=(d) stroke=(colour) stroke-width="1.4" {} }
            }
            Mark::Square => {
                let d = format!("M{:.1} {:.1}h4v4h-4z", x - 2.0, y - 2.0);
                html! { path d=(d) style={ "fill:" (colour) } {} }
            }
        });
    }

    /// A cell with its value as a text; `share` from 0 to 1 is its colour.
    pub fn cell(&mut self, row: usize, column: usize, share: f64, value: &str) {
        let (left, top) = self.place((column as f64, row as f64 + 1.0));
        let (right, bottom) = self.place((column as f64 + 1.0, row as f64));
        let share = share.clamp(0.0, 1.0);
        let mix = |light: f64, dark: f64| (light + (dark - light) * share) as u8;
        let fill =
            format!("#{:02x}{:02x}{:02x}", mix(255.0, 22.0), mix(250.0, 75.0), mix(225.0, 140.0));
        let ink = if share > 0.55 { "fill:#ffffff" } else { "fill:#1a1d21" };
        let (x, y) = (f64::midpoint(left, right), f64::midpoint(top, bottom) + 4.0);
        self.content.push(html! {
            rect x=(px(left)) y=(px(top)) width=(px(right - left)) height=(px(bottom - top)) fill=(fill) stroke="#ffffff" {}
            text x=(px(x)) y=(px(y)) text-anchor="middle" style={ (ink) ";font-size:10px" } { (value) }
        });
    }

    /// What a colour means.
    pub fn legend(&mut self, colour: usize, name: &str) {
        self.legend.push((colour, name.to_owned()));
    }

    fn panel(&self) -> Markup {
        let frame = Self::frame();
        let has_cells = !self.rows.is_empty();
        let numbers =
            |span: [f64; 2]| if has_cells { Vec::new() } else { ticks(span[0], span[1], 6.0) };
        let (across, up) = (numbers(self.x), numbers(self.y));
        html! {
            (text("title", LEFT, 14.0, "start", &self.title))
            @for (value, number) in &across {
                @let x = self.place((*value, self.y[0])).0;
                (frame.upright("grid", x))
                (frame.number(x, number))
            }
            @for (value, number) in &up { (frame.level(self.place((self.x[0], *value)).1, number)) }
            @for (row, name) in self.rows.iter().enumerate() {
                @let y = self.place((self.x[0], row as f64 + 0.5)).1;
                (text("tick", LEFT - 7.0, y + 4.0, "end", name))
            }
            @for (column, name) in self.columns.iter().enumerate() {
                (frame.number(self.place((column as f64 + 0.5, self.y[0])).0, name))
            }
            @for part in &self.content { (part) }
            (frame.axes(&self.names[0]))
            (frame.name_at_left(&self.names[1]))
            @for (number, (colour, name)) in self.legend.iter().enumerate() {
                @let y = TOP + 10.0 + 16.0 * number as f64;
                @let right = PANEL[0] - RIGHT - 6.0;
                path d=(format!("M{:.1} {:.1}h-14", right, y - 4.0)) stroke=(COLOURS[*colour]) stroke-width="3" {}
                (text("name", right - 20.0, y, "end", name))
            }
        }
    }

    /// Panels in rows of so many, as a file; `label` says what they show to those who cannot see it.
    #[must_use]
    pub fn panels(figures: &[Self], columns: usize, label: &str) -> String {
        let rows = figures.len().div_ceil(columns);
        let (width, height) = (PANEL[0] * columns as f64, PANEL[1] * rows as f64);
        let size = format!("0 0 {width} {height}");
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(size) width=(width) height=(height) role="img" aria-label=(label) {
                style { (PreEscaped(STYLE)) }
                rect width="100%" height="100%" fill="#ffffff" {}
                @for (number, figure) in figures.iter().enumerate() {
                    @let x = PANEL[0] * (number % columns) as f64;
                    @let y = PANEL[1] * (number / columns) as f64;
                    g transform=(format!("translate({x} {y})")) { (figure.panel()) }
                }
            }
        };
        // One element a line, so that a change of a picture is a change of lines.
        picture.into_string().replace("><", ">\n<") + "\n"
    }
}

fn px(pixels: f64) -> String {
    format!("{pixels:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_lies_within_its_frame_and_foreign_text_is_no_markup() {
        let mut figure = Figure::new("<x>", "y", [0.0, 10.0], [0.0, 1.0]).titled("a & b");
        figure.line(0, &[(0.0, 0.0), (5.0, 0.5), (20.0, -3.0)]);
        figure.band(1, &[(0.0, 0.1, 0.2), (10.0, 0.3, 0.4)]);
        figure.mark(2, Mark::Square, (10.0, 1.0));
        figure.legend(0, "line");
        let mut cells = Figure::cells("x", "y", vec!["a".to_owned()], vec!["b".to_owned()]);
        cells.cell(0, 0, 2.0, "17");
        let picture = Figure::panels(&[figure, cells], 2, "a picture");
        let frame = Figure::frame();
        let line = format!(
            "M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}",
            frame.left,
            frame.bottom,
            f64::midpoint(frame.left, frame.right),
            f64::midpoint(frame.top, frame.bottom),
            frame.right,
            frame.bottom
        );
        assert!(picture.contains(&line), "{line}\n{picture}");
        assert!(picture.contains("&lt;x&gt;") && picture.contains("a &amp; b"));
        assert!(picture.contains(">17<") && !picture.contains("NaN"));
    }
}
