//! Tables of contents: titles with leaders to the number of their page, which is no part of the
//! text.

use crate::lines::{Line, Run, append};

/// Fewest points of a leader, and of a leader of ellipses.
const POINTS_MIN: usize = 4;
const ELLIPSES_MIN: usize = 2;
/// Fewest entries.
const ENTRIES_MIN: usize = 2;
/// Most entries without a leader in a row.
const UNLED_MAX: usize = 4;
/// Longest number of a page.
const NUMBER_MAX: usize = 6;

/// An entry: how far it is from the left, and its title.
pub(crate) type Entry = (f32, Vec<Run>);

/// The entries that these lines begin with, and how many lines they take; `None` if they are no
/// table of contents. Titles of chapters often have no leader: a few between others count.
pub(crate) fn entries(lines: &[Line]) -> Option<(Vec<Entry>, usize)> {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut n_certain, mut n_lines, mut at) = (0, 0, 0);
    while let Some(line) = lines.get(at).filter(|line| line.table().is_none()) {
        let is_near_led = entries.len() < n_certain + UNLED_MAX;
        let whole = led(line).map(|title| (title, 1));
        let whole = whole.or_else(|| divided(line, lines.get(at + 1)?).filter(|_| n_certain > 0));
        if let Some((title, n_own)) = whole {
            entries.push((line.area.x0, title));
            at += n_own;
            (n_certain, n_lines) = (entries.len(), at);
            continue;
        }
        let Some(title) = numbered(line).filter(|_| is_near_led) else {
            break;
        };
        entries.push((line.area.x0, title));
        at += 1;
    }
    entries.truncate(n_certain);
    (entries.len() >= ENTRIES_MIN).then_some((entries, n_lines))
}

/// The title of two lines of which the second has the leader.
fn divided(line: &Line, next: &Line) -> Option<(Vec<Run>, usize)> {
    let is_near = next.v - line.v < 1.7 * line.size && next.area.x0 >= line.area.x0;
    let rest = led(next).filter(|_| is_near && numbered(line).is_none())?;
    let mut title = line.runs();
    append(&mut title, rest);
    Some((title, 2))
}

/// The title of a line with a leader.
fn led(line: &Line) -> Option<Vec<Run>> {
    let text = line.text();
    let text = text.trim_end();
    let is_number = |c: char| c.is_ascii_digit() || "ivxlcIVXLC".contains(c);
    let rest = text.trim_end_matches(is_number);
    let n_number = text.len() - rest.len();
    let is_leader = |c: char| matches!(c, '.' | ' ' | '·' | '…' | '\u{2024}');
    let title = rest.trim_end_matches(is_leader);
    let leader = rest.get(title.len()..)?;
    let n_points = leader.chars().filter(|c| *c != ' ').count();
    let n_ellipses = leader.chars().filter(|c| *c == '…').count();
    let is_entry = (1..=NUMBER_MAX).contains(&n_number)
        && (n_points >= POINTS_MIN || n_ellipses >= ELLIPSES_MIN)
        && title.chars().any(char::is_alphanumeric);
    is_entry.then(|| start(line.runs(), title.chars().count()))
}

/// The title of a line whose last piece is a number.
fn numbered(line: &Line) -> Option<Vec<Run>> {
    let (last, before) = line.pieces.split_last()?;
    let number = last.text();
    let number = number.trim();
    let is_number = !number.is_empty()
        && number.len() <= NUMBER_MAX
        && number.bytes().all(|byte| byte.is_ascii_digit());
    if before.is_empty() || !is_number {
        return None;
    }
    let text = line.text();
    let title = text.trim_end().strip_suffix(number)?.trim_end();
    let has_letters = title.chars().any(char::is_alphabetic);
    has_letters.then(|| start(line.runs(), title.chars().count()))
}

/// The first characters of a text.
fn start(mut runs: Vec<Run>, mut n_characters: usize) -> Vec<Run> {
    for run in &mut runs {
        let end = run.text.char_indices().nth(n_characters);
        let own = run.text.chars().count().min(n_characters);
        if let Some((end, _)) = end {
            run.text.truncate(end);
        }
        n_characters -= own;
    }
    runs.retain(|run| !run.text.is_empty());
    runs
}
