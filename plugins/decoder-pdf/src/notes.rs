//! Footnotes: small text at the bottom of a page that begins with a raised number or sign.

use crate::lines::Line;

/// The part of a page's height in which no footnotes begin.
const TEXT_PART: f32 = 0.4;
/// How much smaller than the text of the document a footnote is, at least.
const SIZE: f32 = 0.96;
/// Longest number of a footnote.
const NUMBER_MAX: usize = 3;
/// Signs in place of numbers.
const SIGNS: &str = "*†‡§¶";

/// The number or sign of a footnote that begins at a line of a page of this height; `None` if none
/// does. `body` is the size of the document's text.
pub(crate) fn label(line: &Line, height: f32, body: f32) -> Option<String> {
    let first = line.pieces.first()?;
    let is_raised = first.runs.iter().all(|run| run.style.is_raised);
    let is_note = is_raised
        && line.pieces.len() > 1
        && line.size < SIZE * body
        && line.v > TEXT_PART * height;
    let label = first.text();
    let label = label.trim();
    let is_number = label.len() <= NUMBER_MAX && label.bytes().all(|byte| byte.is_ascii_digit());
    let is_sign = label.chars().count() == 1 && SIGNS.contains(label);
    (is_note && !label.is_empty() && (is_number || is_sign)).then(|| label.to_owned())
}

/// How many lines belong to the footnote that begins at the first of these.
pub(crate) fn n_lines(lines: &[Line], height: f32, body: f32) -> usize {
    let more = lines.windows(2).take_while(|pair| {
        let (before, line) = (&pair[0], &pair[1]);
        line.table().is_none()
            && (line.size - before.size).abs() < 0.1 * before.size
            && line.v - before.v < 1.8 * before.size
            && label(line, height, body).is_none()
    });
    1 + more.count()
}
