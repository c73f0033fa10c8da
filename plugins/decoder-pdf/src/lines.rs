//! Glyphs become pieces of lines, pieces become lines, lines are put in reading order.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::geometry::Area;
use crate::page::{Glyph, Page, Style};

/// A hyphen at the end of a line that stays when the line is joined to the next.
pub(crate) const KEPT_HYPHEN: char = '\u{2011}';
/// A gap within a line that divides pieces: cells of a table, columns. In sizes of the font.
const PIECE_GAP: f32 = 1.2;
/// Likewise, where this many other pieces start.
const ALIGNED_GAP: f32 = 0.75;
const ALIGNED_MIN: usize = 3;
/// A gap between glyphs that is a space, in sizes of the font, if the letters of a word touch.
const SPACE_GAP: f32 = 0.15;
/// The widest gap between letters of a word that are set apart, likewise.
const LETTER_GAP_MAX: f32 = 0.25;
/// How a comment in code begins.
const COMMENTS: [&str; 3] = ["#", "//", "/*"];
/// How small a raised piece is, and how far above the line, in sizes of the line.
const RAISED_SIZE: f32 = 0.8;
const RAISED_BY: f32 = 0.15;

/// Text in one style, with one target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) text: String,
    pub(crate) style: Style,
    /// URL that it links to. Empty if it shows one that is linked elsewhere.
    pub(crate) link: Option<String>,
}

/// A part of a line without a wide gap.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) area: Area,
    /// The base line.
    pub(crate) v: f32,
    pub(crate) size: f32,
    pub(crate) runs: Vec<Run>,
    /// The ruled table that stands here, by its number.
    pub(crate) table: Option<usize>,
}

/// A line of text within its column.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// From left to right.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) area: Area,
    pub(crate) v: f32,
    pub(crate) size: f32,
    /// Whether it is read from right to left.
    pub(crate) is_right_to_left: bool,
}

impl Piece {
    pub(crate) fn text(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect()
    }

    pub(crate) fn n_characters(&self) -> usize {
        self.runs.iter().map(|run| run.text.chars().count()).sum()
    }
}

impl Line {
    fn of(mut pieces: Vec<Piece>) -> Self {
        pieces.sort_by(|one, other| order(one.area.x0, other.area.x0));
        let mut area = pieces[0].area;
        for piece in &pieces {
            area = around(area, piece.area);
        }
        let main = pieces.iter().max_by_key(|piece| piece.n_characters());
        let (v, size) = main.map_or((area.y1, 1.0), |piece| (piece.v, piece.size));
        for piece in &mut pieces {
            if piece.size < RAISED_SIZE * size && piece.v < v - RAISED_BY * size {
                piece
                    .runs
                    .iter_mut()
                    .for_each(|run| run.style.is_raised = true);
            }
        }
        let texts = pieces.iter().flat_map(|piece| &piece.runs);
        let is_right_to_left = is_mostly_right_to_left(texts.map(|run| run.text.as_str()));
        Self {
            pieces,
            area,
            v,
            size,
            is_right_to_left,
        }
    }

    /// The line as if the page were seen in a mirror, for what asks where a line begins.
    pub(crate) fn mirrored(&self) -> Self {
        let mut line = self.clone();
        (line.area.x0, line.area.x1) = (-self.area.x1, -self.area.x0);
        line
    }

    pub(crate) fn text(&self) -> String {
        let texts: Vec<String> = self.runs().into_iter().map(|run| run.text).collect();
        texts.concat()
    }

    /// The runs of all pieces as they are read, with spaces between those that stand apart.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut before: Option<Area> = None;
        let mut pieces: Vec<&Piece> = self.pieces.iter().collect();
        if self.is_right_to_left {
            pieces.reverse();
        }
        for piece in pieces {
            let gap =
                before.map(|before| (piece.area.x0 - before.x1).max(before.x0 - piece.area.x1));
            let is_apart = gap.is_some_and(|gap| gap > SPACE_GAP * piece.size);
            if is_apart && let Some(last) = runs.last_mut() {
                last.text.push(' ');
            }
            runs.extend(piece.runs.iter().cloned());
            before = Some(piece.area);
        }
        runs
    }

    pub(crate) fn is_all(&self, is: impl Fn(Style) -> bool) -> bool {
        let mut runs = self.pieces.iter().flat_map(|piece| &piece.runs);
        runs.all(|run| is(run.style) || run.text.trim().is_empty())
    }

    /// Whether it is in a font of one width, but for a comment at its end.
    pub(crate) fn is_code(&self) -> bool {
        let mut code = String::new();
        for run in self.pieces.iter().flat_map(|piece| &piece.runs) {
            if run.style.is_mono || run.text.trim().is_empty() {
                code.push_str(&run.text);
                code.push(' ');
                continue;
            }
            let last = code.split_whitespace().last();
            let is_comment =
                |sign: &&str| last == Some(*sign) || run.text.trim_start().starts_with(*sign);
            return last.is_some() && COMMENTS.iter().any(is_comment);
        }
        true
    }

    pub(crate) fn table(&self) -> Option<usize> {
        self.pieces.iter().find_map(|piece| piece.table)
    }
}

pub(crate) fn order(one: f32, other: f32) -> Ordering {
    one.total_cmp(&other)
}

/// The box around two.
pub(crate) fn around(one: Area, other: Area) -> Area {
    Area {
        x0: one.x0.min(other.x0),
        y0: one.y0.min(other.y0),
        x1: one.x1.max(other.x1),
        y1: one.y1.max(other.y1),
    }
}

/// The pieces of the lines that run in a direction, in the order in which they are drawn.
pub(crate) fn pieces(page: &Page, direction: u8) -> Vec<Piece> {
    let mut divided = divide(page, direction, &HashMap::new());
    let mut starts: HashMap<i32, usize> = HashMap::new();
    for glyphs in &divided {
        let letters = glyphs.iter().filter(|glyph| !is_space(page, glyph));
        if let Some(x) = letters.map(|glyph| glyph.u0).reduce(f32::min) {
            *starts.entry(place(x)).or_default() += 1;
        }
    }
    starts.retain(|_, count| *count >= ALIGNED_MIN);
    if !starts.is_empty() {
        divided = divide(page, direction, &starts);
    }
    let pieces = divided.iter().filter_map(|glyphs| piece(page, glyphs));
    pieces.collect()
}

fn is_space(page: &Page, glyph: &Glyph) -> bool {
    page.text_of(glyph).trim().is_empty()
}

/// A place in half points.
fn place(x: f32) -> i32 {
    (x * 2.0).round() as i32
}

/// The glyphs of each piece of the lines that run in a direction. A gap that is hardly wider than a
/// space divides them where others start.
fn divide<'p>(page: &'p Page, direction: u8, starts: &HashMap<i32, usize>) -> Vec<Vec<&'p Glyph>> {
    let mut divided = Vec::new();
    let is_start = |x: f32| (-1..=1).any(|by| starts.contains_key(&(place(x) + by)));
    let mut open: Vec<&Glyph> = Vec::new();
    let dividers = dividers(page, direction);
    let is_divided = |from: f32, to: f32, y: f32| {
        let first = dividers.partition_point(|rule| rule.x0 < from - 0.5);
        let mut between = dividers[first..]
            .iter()
            .take_while(|rule| rule.x0 <= to + 0.5);
        between.any(|rule| rule.y0 <= y && y <= rule.y1)
    };
    let (mut u0, mut u1) = (0.0_f32, 0.0_f32);
    for glyph in page
        .glyphs
        .iter()
        .filter(|glyph| glyph.direction == direction)
    {
        let text = page.text_of(glyph);
        if text.trim().is_empty() {
            if !open.is_empty() {
                open.push(glyph);
            }
            continue;
        }
        let is_more = open
            .iter()
            .rev()
            .find(|last| !is_space(page, last))
            .is_some_and(|last| {
                let size = last.size.max(glyph.size);
                let gap = if is_right_to_left(text) {
                    (glyph.u0 - u1).max(u0 - glyph.u1)
                } else {
                    glyph.u0 - u1
                };
                (last.v - glyph.v).abs() < 0.12 * size
                    && last.size.min(glyph.size) > 0.55 * size
                    && (-0.6 * size..PIECE_GAP * size).contains(&gap)
                    && !(gap > ALIGNED_GAP * size && is_start(glyph.u0))
                    && !(gap > SPACE_GAP * size && is_divided(u1, glyph.u0, glyph.v - 0.3 * size))
            });
        if !is_more {
            divided.push(std::mem::take(&mut open));
            (u0, u1) = (glyph.u0, glyph.u1);
        }
        (u0, u1) = (u0.min(glyph.u0), u1.max(glyph.u1));
        open.push(glyph);
    }
    divided.push(open);
    divided
}

/// The vertical lines of a page from left to right, which divide cells.
fn dividers(page: &Page, direction: u8) -> Vec<Area> {
    let is_vertical = |rule: &&Area| direction == 0 && rule.width() == 0.0;
    let mut dividers: Vec<Area> = page.rules.iter().filter(is_vertical).copied().collect();
    dividers.sort_by(|one, other| order(one.x0, other.x0));
    dividers
}

fn piece(page: &Page, glyphs: &[&Glyph]) -> Option<Piece> {
    let end = glyphs.iter().rposition(|glyph| !is_space(page, glyph))?;
    let mut glyphs = glyphs[..=end].to_vec();
    if glyphs
        .iter()
        .any(|glyph| is_right_to_left(page.text_of(glyph)))
    {
        glyphs = logical(page, glyphs);
    }
    let size = glyphs
        .iter()
        .map(|glyph| glyph.size)
        .max_by(|one, other| order(*one, *other))?;
    let v = glyphs.iter().find(|glyph| glyph.size >= size)?.v;
    let gap = SPACE_GAP + letter_gap(page, &glyphs) / size;
    let letters = glyphs.iter().filter(|glyph| !is_space(page, glyph));
    Some(Piece {
        area: letters.map(|glyph| area_of(glyph)).reduce(around)?,
        v,
        size,
        runs: runs_of(page, &glyphs, gap * size),
        table: None,
    })
}

/// The usual gap between the letters of words. Some programs draw all spaces and set letters apart,
/// others draw a few of the spaces or none. The points of a leader say nothing of words.
fn letter_gap(page: &Page, glyphs: &[&Glyph]) -> f32 {
    let is_letter = |glyph: &Glyph| !matches!(page.text_of(glyph).trim(), "" | "." | "·" | "…");
    let pairs = glyphs
        .windows(2)
        .filter(|pair| is_letter(pair[0]) && is_letter(pair[1]));
    let mut gaps: Vec<f32> = pairs.map(|pair| between(pair[0], pair[1])).collect();
    gaps.sort_by(|one, other| order(*one, *other));
    let (Some(usual), Some(glyph)) = (gaps.get(gaps.len() / 2), glyphs.first()) else {
        return 0.0;
    };
    usual.clamp(0.0, LETTER_GAP_MAX * glyph.size)
}

/// The gap between two glyphs, whichever is on the left.
fn between(one: &Glyph, other: &Glyph) -> f32 {
    (other.u0 - one.u1).max(one.u0 - other.u1)
}

/// The area of a glyph, with what is above and below letters.
fn area_of(glyph: &Glyph) -> Area {
    Area {
        x0: glyph.u0,
        x1: glyph.u1,
        y0: glyph.v - 0.75 * glyph.size,
        y1: glyph.v + 0.22 * glyph.size,
    }
}

/// The texts of glyphs, with a space where one is drawn, and where a gap is wider than `gap`.
fn runs_of(page: &Page, glyphs: &[&Glyph], gap: f32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut last, mut has_space): (Option<&Glyph>, bool) = (None, false);
    for &glyph in glyphs {
        let text = page.text_of(glyph);
        if text.trim().is_empty() {
            has_space = true;
            continue;
        }
        let between = last.map_or(0.0, |last| between(last, glyph));
        let is_cjk = text.chars().next().is_some_and(is_without_spaces);
        let needs_space = last.is_some() && (has_space || (between > gap && !is_cjk));
        let link = (glyph.link > 0)
            .then(|| page.links.get(usize::from(glyph.link) - 1))
            .flatten();
        match runs.last_mut() {
            Some(run) if run.style == glyph.style && run.link.as_ref() == link => {
                if needs_space {
                    run.text.push(' ');
                }
                run.text.push_str(text);
            }
            before => {
                if let Some(before) = before.filter(|_| needs_space) {
                    before.text.push(' ');
                }
                runs.push(Run {
                    text: text.to_owned(),
                    style: glyph.style,
                    link: link.cloned(),
                });
            }
        }
        (last, has_space) = (Some(glyph), false);
    }
    runs
}

/// Whether the text begins with a letter of a script that is written from right to left.
fn is_right_to_left(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|first| matches!(first, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'))
}

/// Whether more letters of these texts are written from right to left than the other way.
pub(crate) fn is_mostly_right_to_left<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let letters = texts.flat_map(str::chars).filter(|c| c.is_alphabetic());
    let (mut n_right, mut n_left) = (0_usize, 0_usize);
    for letter in letters {
        match is_right_to_left(letter.encode_utf8(&mut [0; 4])) {
            true => n_right += 1,
            false => n_left += 1,
        }
    }
    n_right > n_left
}

/// Whether words of this character's script have no spaces between them.
pub(crate) fn is_without_spaces(character: char) -> bool {
    matches!(character, '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}' | '\u{E00}'..='\u{EFF}')
}

/// Glyphs as they are read: from right to left, but numbers and words of other scripts from left to
/// right.
fn logical<'a>(page: &Page, mut glyphs: Vec<&'a Glyph>) -> Vec<&'a Glyph> {
    glyphs.sort_by(|one, other| order(other.u0, one.u0));
    let is_left = |glyph: &&Glyph| {
        let first = page.text_of(glyph).chars().next();
        first.is_some_and(|first| first.is_alphanumeric() && !is_right_to_left(page.text_of(glyph)))
    };
    let mut at = 0;
    while at < glyphs.len() {
        if !is_left(&glyphs[at]) {
            at += 1;
            continue;
        }
        let run = glyphs[at..]
            .iter()
            .position(|glyph| is_right_to_left(page.text_of(glyph)));
        let run = &glyphs[at..run.map_or(glyphs.len(), |run| at + run)];
        let end = at + run.iter().rposition(is_left).unwrap_or(0) + 1;
        glyphs[at..end].reverse();
        at = end;
    }
    glyphs
}

/// The runs of lines that are one text: words that are divided at the end of a line are whole.
pub(crate) fn joined(lines: &[Line]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for line in lines {
        append(&mut runs, line.runs());
    }
    runs
}

/// Appends what stands on the next line.
pub(crate) fn append(runs: &mut Vec<Run>, more: Vec<Run>) {
    let first = more.first().and_then(|run| run.text.chars().next());
    let is_url_divided = is_url_divided(runs, &more);
    if let (Some(last), Some(first)) = (runs.last_mut(), first) {
        let mut end = last.text.chars().rev();
        match (end.next(), end.next()) {
            _ if is_url_divided => {}
            (Some(KEPT_HYPHEN), _) => {
                last.text.pop();
                last.text.push('-');
            }
            // Names and options in code are not divided.
            (Some('-'), Some(_)) if last.style.is_mono => {}
            (Some('-' | '\u{2010}'), Some(before))
                if before.is_alphabetic() && first.is_lowercase() =>
            {
                last.text.pop();
            }
            (Some('-' | '\u{2010}' | '/'), Some(before)) if before.is_alphanumeric() => {}
            (Some(end), _) if is_without_spaces(end) && is_without_spaces(first) => {}
            (Some(' '), _) => {}
            _ => last.text.push(' '),
        }
    }
    for run in more {
        match runs.last_mut() {
            Some(last) if last.style == run.style && last.link == run.link => {
                last.text.push_str(&run.text)
            }
            _ => runs.push(run),
        }
    }
}

/// Whether a URL goes on in the next line: both parts look the same, as other words do not.
fn is_url_divided(runs: &[Run], more: &[Run]) -> bool {
    let (Some(last), Some(first)) = (runs.last(), more.first()) else {
        return false;
    };
    let end = last
        .text
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    if end.ends_with("http:") || end.ends_with("https:") {
        return first.text.starts_with("//");
    }
    let is_one = last.link.is_some() && last.link == first.link;
    let is_same = is_one || last.link.is_none() && last.style.is_mono && first.style.is_mono;
    let is_open = |c: char| c.is_ascii_alphanumeric() || "/?&=#%_~-.".contains(c);
    end.contains("://") && is_same && end.ends_with(is_open) && first.text.starts_with(is_open)
}

/// Joins pieces to lines, from top to bottom.
pub(crate) fn lines(mut pieces: Vec<Piece>) -> Vec<Line> {
    pieces.sort_by(|one, other| order(one.area.y0, other.area.y0));
    let mut lines: Vec<Line> = Vec::new();
    let (mut open, mut area): (Vec<Piece>, Option<Area>) = (Vec::new(), None);
    for piece in pieces {
        let is_same = area.is_some_and(|area| {
            let shared = area.y1.min(piece.area.y1) - area.y0.max(piece.area.y0);
            shared > 0.5 * area.height().min(piece.area.height())
        });
        if !is_same && !open.is_empty() {
            lines.push(Line::of(std::mem::take(&mut open)));
            area = None;
        }
        area = Some(area.map_or(piece.area, |area| around(area, piece.area)));
        open.push(piece);
    }
    if !open.is_empty() {
        lines.push(Line::of(open));
    }
    lines
}
