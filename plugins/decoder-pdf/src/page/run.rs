//! A page that is being run: its graphics state, and what is drawn in it.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::{GLYPHS_MAX, Glyph, Page, STATES_MAX, Style};
use crate::fonts::Font;
use crate::geometry::{Area, Matrix};
use crate::lines::around;

/// Most rules of a page. A page with more is a drawing.
const RULES_MAX: usize = 20_000;
/// Sizes of the signs of items that are drawn as shapes, most shapes of a page, and how far a sign
/// is from its text at most, in sizes of the font.
const SIGN_SIZES: RangeInclusive<f32> = 1.5..=8.0;
const SHAPES_MAX: usize = 400;
const SIGN_GAP_MAX: f32 = 3.0;
/// A filled box as thin as this is a line.
const LINE_WIDTH_MAX: f32 = 3.0;

/// The graphics state, as far as texts and lines need it.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) matrix: Matrix,
    pub(super) font: Option<usize>,
    pub(super) size: f32,
    pub(super) character_space: f32,
    pub(super) word_space: f32,
    scale: f32,
    pub(super) leading: f32,
    rise: f32,
    line_width: f32,
}

/// A marked part of the content.
#[derive(Debug)]
pub(super) enum Mark {
    None,
    /// Not part of the text: a running header, a page number.
    Artifact,
    /// Stands for another text; whether that is written already.
    Actual(String, bool),
}

/// The page that is being run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) page: Page,
    pub(super) state: State,
    saved: Vec<State>,
    pub(super) text_matrix: Matrix,
    pub(super) line_matrix: Matrix,
    pub(super) marks: Vec<Mark>,
    path: Vec<Area>,
    /// The box around the path, and the small shapes that were filled.
    bounds: Option<Area>,
    shapes: Vec<Area>,
    at: (f32, f32),
    start: (f32, f32),
    pub(super) areas: Vec<Area>,
    seen: HashSet<(u32, i32, i32)>,
}

impl Run {
    pub(super) fn new(matrix: Matrix) -> Self {
        Self {
            page: Page::default(),
            state: State {
                matrix,
                font: None,
                size: 0.0,
                character_space: 0.0,
                word_space: 0.0,
                scale: 1.0,
                leading: 0.0,
                rise: 0.0,
                line_width: 1.0,
            },
            saved: Vec::new(),
            text_matrix: Matrix::IDENTITY,
            line_matrix: Matrix::IDENTITY,
            marks: Vec::new(),
            path: Vec::new(),
            bounds: None,
            shapes: Vec::new(),
            at: (0.0, 0.0),
            start: (0.0, 0.0),
            areas: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Operators that need nothing but numbers.
    pub(super) fn operator(&mut self, operator: &[u8], number: &dyn Fn(usize) -> f32) {
        match operator {
            b"q" if self.saved.len() < STATES_MAX => self.saved.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            b"cm" => {
                let matrix = Matrix([0, 1, 2, 3, 4, 5].map(number));
                self.state.matrix = matrix.then(self.state.matrix);
            }
            b"BT" => {
                self.text_matrix = Matrix::IDENTITY;
                self.line_matrix = Matrix::IDENTITY;
            }
            b"Tc" => self.state.character_space = number(0),
            b"Tw" => self.state.word_space = number(0),
            b"Tz" => self.state.scale = number(0) / 100.0,
            b"TL" => self.state.leading = number(0),
            b"Ts" => self.state.rise = number(0),
            b"Td" => self.next_line(number(0), number(1)),
            b"TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            b"Tm" => {
                self.line_matrix = Matrix([0, 1, 2, 3, 4, 5].map(number));
                self.text_matrix = self.line_matrix;
            }
            b"T*" => self.next_line(0.0, -self.state.leading),
            _ => self.draw(operator, number),
        }
    }

    /// Operators of paths.
    fn draw(&mut self, operator: &[u8], number: &dyn Fn(usize) -> f32) {
        match operator {
            b"w" => self.state.line_width = number(0),
            b"m" => {
                self.curve_to(self.state.matrix.apply(number(0), number(1)));
                self.start = self.at;
            }
            b"l" => self.line_to(self.state.matrix.apply(number(0), number(1))),
            b"c" | b"v" | b"y" => {
                let n_points = if operator == b"c" { 3 } else { 2 };
                for at in 0..n_points {
                    let (x, y) = (number(2 * at), number(2 * at + 1));
                    self.curve_to(self.state.matrix.apply(x, y));
                }
            }
            b"h" => self.line_to(self.start),
            b"re" => self.rectangle([0, 1, 2, 3].map(number)),
            b"s" | b"b" | b"b*" => {
                self.line_to(self.start);
                self.take_shape(operator != b"s");
                self.stroke();
            }
            b"S" => {
                self.take_dash();
                self.stroke();
            }
            b"B" | b"B*" => {
                self.take_shape(true);
                self.stroke();
            }
            b"f" | b"F" | b"f*" => {
                self.take_shape(true);
                self.fill();
            }
            b"n" => {
                self.path.clear();
                self.bounds = None;
            }
            _ => {}
        }
    }

    fn rectangle(&mut self, [x, y, width, height]: [f32; 4]) {
        let corner = |x, y| self.state.matrix.apply(x, y);
        let corners = [
            corner(x, y),
            corner(x + width, y),
            corner(x + width, y + height),
            corner(x, y + height),
        ];
        self.curve_to(corners[0]);
        self.start = self.at;
        for to in [corners[1], corners[2], corners[3], corners[0]] {
            self.line_to(to);
        }
    }

    fn line_to(&mut self, to: (f32, f32)) {
        if self.path.len() < RULES_MAX {
            self.path.push(Area {
                x0: self.at.0,
                y0: self.at.1,
                x1: to.0,
                y1: to.1,
            });
        }
        self.curve_to(to);
    }

    /// Moves on to a point of the path, without a straight line.
    fn curve_to(&mut self, to: (f32, f32)) {
        let point = Area::of(to.0, to.1, to.0, to.1);
        self.bounds = Some(self.bounds.map_or(point, |bounds| around(bounds, point)));
        self.at = to;
    }

    /// Keeps the path if it is one line that is about as long as it is wide: some programs draw
    /// boxes so.
    fn take_dash(&mut self) {
        self.bounds = None;
        let &[line] = self.path.as_slice() else {
            return;
        };
        let [a, b, ..] = self.state.matrix.0;
        let reach = self.state.line_width * a.hypot(b) / 2.0;
        let mut area = Area::of(line.x0, line.y0, line.x1, line.y1);
        if area.width() > area.height() {
            (area.y0, area.y1) = (area.y0 - reach, area.y1 + reach);
        } else {
            (area.x0, area.x1) = (area.x0 - reach, area.x1 + reach);
        }
        self.bounds = Some(area);
        self.take_shape(true);
    }

    /// Keeps the path if it is as small as the sign of an item.
    fn take_shape(&mut self, is_filled: bool) {
        let Some(shape) = self.bounds.take().filter(|_| is_filled) else {
            return;
        };
        let (width, height) = (shape.width(), shape.height());
        let is_sign = SIGN_SIZES.contains(&width) && (width - height).abs() < 0.4 * width;
        if is_sign && self.shapes.len() < SHAPES_MAX {
            self.shapes.push(shape);
        }
    }

    /// Small shapes before the first word of a line are the signs of items, as their text.
    pub(super) fn write_signs(&mut self) {
        for shape in std::mem::take(&mut self.shapes) {
            let page = &self.page;
            let (x, y) = (shape.x1, f32::midpoint(shape.y0, shape.y1));
            let is_beside = |glyph: &&Glyph| {
                glyph.direction == 0
                    && (glyph.v - 0.75 * glyph.size..glyph.v).contains(&y)
                    && shape.width() < 0.8 * glyph.size
                    && !page.text_of(glyph).trim().is_empty()
            };
            let line = || page.glyphs.iter().filter(is_beside);
            let gap = |glyph: &Glyph| glyph.u0 - x;
            let next =
                line().filter(|glyph| (0.0..SIGN_GAP_MAX * glyph.size).contains(&gap(glyph)));
            let Some(next) = next.min_by(|one, other| gap(one).total_cmp(&gap(other))) else {
                continue;
            };
            let is_before = |glyph: &Glyph| glyph.u0 < x && glyph.u1 > shape.x0 - 4.0 * glyph.size;
            if line().any(is_before) {
                continue;
            }
            let (v, size) = (next.v, next.size);
            self.glyph("•", (shape.x0, x, v), size, Style::default(), 0);
        }
    }

    /// Keeps the horizontal and vertical lines of the path.
    fn stroke(&mut self) {
        for line in std::mem::take(&mut self.path) {
            self.rule(Area::of(line.x0, line.y0, line.x1, line.y1));
        }
    }

    /// Keeps the path if it is a thin box: many programs draw lines so.
    fn fill(&mut self) {
        let path = std::mem::take(&mut self.path);
        for lines in path.chunks(4) {
            let mut area = Area::of(lines[0].x0, lines[0].y0, lines[0].x1, lines[0].y1);
            for line in lines {
                area.x0 = area.x0.min(line.x0).min(line.x1);
                area.x1 = area.x1.max(line.x0).max(line.x1);
                area.y0 = area.y0.min(line.y0).min(line.y1);
                area.y1 = area.y1.max(line.y0).max(line.y1);
            }
            self.rule(area);
        }
    }

    fn rule(&mut self, mut area: Area) {
        let (width, height) = (area.width(), area.height());
        if width.max(height) < 2.0 * LINE_WIDTH_MAX
            || width.min(height) > LINE_WIDTH_MAX
            || self.page.rules.len() >= RULES_MAX
        {
            return;
        }
        if width > height {
            let y = f32::midpoint(area.y0, area.y1);
            (area.y0, area.y1) = (y, y);
        } else {
            let x = f32::midpoint(area.x0, area.x1);
            (area.x0, area.x1) = (x, x);
        }
        self.page.rules.push(area);
    }

    pub(super) fn next_line(&mut self, x: f32, y: f32) {
        self.line_matrix = Matrix::translation(x, y).then(self.line_matrix);
        self.text_matrix = self.line_matrix;
    }

    /// Moves on by a distance in the text's own units.
    pub(super) fn advance(&mut self, distance: f32) {
        self.text_matrix =
            Matrix::translation(distance * self.state.scale, 0.0).then(self.text_matrix);
    }

    /// Shows a string.
    pub(super) fn show(&mut self, string: &[u8], font: &mut Font) {
        let style = Style {
            is_bold: font.is_bold,
            is_italic: font.is_italic,
            is_mono: font.is_mono,
            is_raised: false,
        };
        let em = font.em();
        font.characters(string, |character| {
            let (size, scale) = (self.state.size, self.state.scale);
            let matrix = self.text_matrix.then(self.state.matrix);
            let [a, b, c, d, ..] = matrix.0;
            let direction = match (a.abs() >= b.abs(), a >= 0.0, b >= 0.0) {
                (true, true, _) => 0,
                (false, _, true) => 1,
                (true, false, _) => 2,
                (false, _, false) => 3,
            };
            let turned = |(x, y): (f32, f32)| match direction {
                0 => (x, y),
                1 => (y, -x),
                2 => (-x, -y),
                _ => (-y, x),
            };
            let (u0, v) = turned(matrix.apply(0.0, self.state.rise));
            let (u1, _) = turned(matrix.apply(character.width * size * scale, self.state.rise));
            let shown = (size * c.hypot(d) * em).abs();
            let space = if character.is_space {
                self.state.word_space
            } else {
                0.0
            };
            self.advance(character.width * size + self.state.character_space + space);
            match character.text {
                _ if !shown.is_finite() || !u0.is_finite() || !v.is_finite() || shown < 0.5 => {}
                Some(text) => self.glyph(text, (u0, u1, v), shown, style, direction),
                None => self.page.n_unknown += 1,
            }
        });
    }

    /// Adds a glyph, unless it is marked as no part of the text or is drawn twice for emphasis.
    pub(super) fn glyph(
        &mut self,
        text: &str,
        (u0, u1, v): (f32, f32, f32),
        size: f32,
        style: Style,
        direction: u8,
    ) {
        if self.page.glyphs.len() >= GLYPHS_MAX {
            return;
        }
        let Some(text) = self.text_of(text, (u1, v), size) else {
            return;
        };
        if let Some(first) = text.chars().next().filter(|first| !first.is_whitespace()) {
            let place = (u32::from(first), (u0 * 1.5) as i32, (v * 1.5) as i32);
            if !self.seen.insert(place) {
                return;
            }
        }
        let from = self.page.text.len() as u32;
        self.page.text.push_str(&text);
        let link = match direction {
            0 => {
                let (x, y) = (f32::midpoint(u0, u1), v - size * 0.3);
                let at = self.areas.iter().position(|area| area.has(x, y));
                at.map_or(0, |at| at as u16 + 1)
            }
            _ => 0,
        };
        let (u0, u1) = (u0.min(u1), u0.max(u1));
        let text = (from, self.page.text.len() as u32);
        self.page.glyphs.push(Glyph {
            u0,
            u1,
            v,
            size,
            text,
            style,
            link,
            direction,
        });
    }

    /// The text that a glyph has by the marks around it. `None` if it has none, also because it is
    /// a part of a text that is written already: the glyph of that is as wide as all its parts.
    fn text_of(&mut self, text: &str, (u1, v): (f32, f32), size: f32) -> Option<String> {
        if self.marks.iter().any(|mark| matches!(mark, Mark::Artifact)) {
            return None;
        }
        let mut marks = self.marks.iter_mut().rev();
        let actual = marks.find(|mark| matches!(mark, Mark::Actual(..)));
        let Some(Mark::Actual(actual, is_written)) = actual else {
            return Some(text.replace('\u{AD}', "-"));
        };
        if *is_written {
            let last = self.page.glyphs.last_mut();
            if let Some(last) = last.filter(|last| (last.v - v).abs() < size) {
                last.u1 = last.u1.max(u1);
            }
            return None;
        }
        *is_written = true;
        Some(actual.replace('\u{AD}', "-"))
    }
}
