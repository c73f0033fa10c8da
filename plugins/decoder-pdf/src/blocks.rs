//! Lines become headings, paragraphs, items of lists, code and tables.

use crate::contents;
use crate::furniture::PageLines;
use crate::lines::{Line, Piece, Run, append, is_without_spaces, joined, order};
use crate::looks::{Looks, Space};
use crate::notes;
use crate::tables::{self, Aligned, Table};

/// How far what is said of a term is right of it at least, in sizes of the font.
const TERM_INDENT: f32 = 1.9;
/// How far apart the numbers of a list are at most, from side to side, in points.
const NUMBERS_APART: f32 = 7.0;
/// Most blocks of an item of a list before the next.
const ITEM_BLOCKS_MAX: usize = 40;
/// Signs that begin an item of a list, and those that do so only with a space after them.
const BULLETS: &str = "•◦▪‣·○●■□➢✓◆►∙⁃";
const DASHES: &str = "–—-*";

/// A part of a page.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Heading(u8, Vec<Run>),
    /// A paragraph, with how far it is from the left.
    Paragraph(f32, Vec<Run>),
    /// An item of a list, with its places and the number before it.
    Item(Places, Option<String>, Vec<Run>),
    /// Code, with how far it is from the left.
    Code(f32, String),
    Table(Table),
    /// Terms, each with the text beside it.
    Terms(Vec<[Vec<Run>; 2]>),
    /// A footnote: its number or sign, and its text.
    Note(String, Vec<Run>),
    /// A table of contents.
    Contents(Vec<contents::Entry>),
}

/// How far an item of a list is from the left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pub(crate) sign: f32,
    pub(crate) text: f32,
}

impl Places {
    /// The places of the item of these lines, whose sign has so many characters.
    fn of(lines: &[Line], n_sign: usize) -> Self {
        let first = &lines[0];
        let sign = first.area.x0;
        let n_first = first.pieces.first().map_or(0, Piece::n_characters);
        let text = match (lines.get(1), first.pieces.get(1)) {
            (_, Some(piece)) if n_first <= n_sign => piece.area.x0,
            (Some(line), _) if line.area.x0 > sign => line.area.x0,
            _ => sign + first.size,
        };
        Self { sign, text }
    }
}

/// How far a numbered item is from the left, and its number.
pub(crate) type Counted = (f32, u16);

/// The last numbered item of these blocks below their last heading; if they have neither, that of
/// an earlier page.
pub(crate) fn counted(blocks: &[Block], earlier: Option<Counted>) -> Option<Counted> {
    for block in blocks.iter().rev().take(ITEM_BLOCKS_MAX) {
        match block {
            Block::Heading(..) => return None,
            Block::Item(places, Some(label), _) => {
                if let Ok(number) = label.parse() {
                    return Some((places.sign, number));
                }
            }
            _ => {}
        }
    }
    earlier
}

/// The blocks of a page, in reading order, after one whose last numbered item is known.
pub(crate) fn of(page: &PageLines, looks: &Looks, earlier: Option<Counted>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for column in &page.columns {
        let from = blocks.len();
        let n_right = column.iter().filter(|line| line.is_right_to_left).count();
        match 2 * n_right > column.len() {
            true => {
                let mirrored: Vec<Line> = column.iter().map(Line::mirrored).collect();
                let set = Column::of(&mirrored, page, looks, earlier);
                read(&mirrored, page, &set, &mut blocks);
            }
            false => {
                let set = Column::of(column, page, looks, earlier);
                read(column, page, &set, &mut blocks);
            }
        }
        // A sentence may go on in the next column.
        let before = blocks[..from].iter().rposition(|block| !is_note(block));
        if let Some(before) = before
            && blocks.len() > from
            && continues(&blocks[before], &blocks[from])
        {
            let next = blocks.remove(from);
            join(&mut blocks[before], next);
        }
    }
    blocks
}

fn read(lines: &[Line], page: &PageLines, column: &Column<'_>, blocks: &mut Vec<Block>) {
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        if let Some((block, n_lines)) = column.set_apart(rest, page) {
            blocks.push(block);
            at += n_lines;
            continue;
        }
        let line = &lines[at];
        let n_code = rest.iter().take_while(|line| is_code(line)).count();
        if n_code > 0 && (n_code > 1 || line.text().split_whitespace().count() > 1) {
            let code = code(&rest[..n_code], column.leading);
            match blocks.last_mut() {
                Some(Block::Code(_, before)) if at == 0 => *before += &format!("\n{code}"),
                _ => blocks.push(Block::Code(left(&rest[..n_code]), code)),
            }
            at += n_code;
            continue;
        }
        let before: &[Block] = match at {
            0 => &[],
            _ => blocks.as_slice(),
        };
        let marker = marker(line, column, before);
        let end = at + column.n_joined(rest, marker.is_some());
        let part = &lines[at..end];
        let runs = joined(part);
        let level = column.looks.level(part, column.space(lines, at, end));
        let block = match (level, marker) {
            (Some(level), marker) if marker.as_ref().is_none_or(|(label, _)| label.is_some()) => {
                Block::Heading(level, runs)
            }
            (_, Some((label, n_marker))) => {
                let text = without(runs, n_marker);
                match label {
                    Some(label) if column.is_endnote(&label, &text, before) => {
                        Block::Note(label, text)
                    }
                    label => Block::Item(Places::of(part, n_marker), label, text),
                }
            }
            _ => Block::Paragraph(left(part), runs),
        };
        push(blocks, block);
        at = end;
    }
}

/// Appends a block. A heading below the number of its chapter is one with it.
fn push(blocks: &mut Vec<Block>, block: Block) {
    if let Block::Heading(own, title) = &block
        && let Some(Block::Heading(level, number)) = blocks.last_mut()
        && is_number(number)
        && !is_number(title)
    {
        *level = (*own).min(*level);
        append(number, title.clone());
        return;
    }
    blocks.push(block);
}

/// Whether a heading is the number of a chapter and nothing else: `Chapter 1`, `Part II`.
fn is_number(runs: &[Run]) -> bool {
    let text: String = runs.iter().map(|run| run.text.as_str()).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[word, number] = words.as_slice() else {
        return false;
    };
    let number = number.trim_end_matches(['.', ':']);
    let is_counted = number.bytes().all(|byte| byte.is_ascii_digit())
        || number.bytes().all(|byte| b"IVXLC".contains(&byte))
        || number.chars().count() == 1 && number.chars().all(char::is_uppercase);
    let is_word = word.chars().count() > 2 && word.chars().all(char::is_alphabetic);
    is_word && !number.is_empty() && number.len() <= 4 && is_counted
}

/// How the lines of a column are set.
struct Column<'a> {
    left: f32,
    right: f32,
    /// The usual distance between lines.
    leading: f32,
    /// The height of the page.
    height: f32,
    /// The size of the title, on the first page; 0 on others.
    title: f32,
    looks: &'a Looks,
    /// The last numbered item of the pages before.
    earlier: Option<Counted>,
}

impl<'a> Column<'a> {
    fn of(lines: &[Line], page: &PageLines, looks: &'a Looks, earlier: Option<Counted>) -> Self {
        let texts = lines.iter().filter(|line| line.table().is_none());
        let front = page.columns.iter().flatten().filter(|_| page.number == 1);
        let sizes = front.map(|line| line.size);
        let lefts = lines.iter().map(|line| line.area.x0);
        Self {
            left: lefts.fold(f32::INFINITY, f32::min),
            right: texts.map(|line| line.area.x1).fold(0.0, f32::max),
            leading: leading(lines),
            height: page.height,
            title: sizes.fold(0.0, f32::max),
            looks,
            earlier,
        }
    }

    /// The table, footnote or table of contents that begins at the first of these lines, and how
    /// many lines it takes.
    fn set_apart(&self, lines: &[Line], page: &PageLines) -> Option<(Block, usize)> {
        let first = lines.first()?;
        if let Some(table) = first.table().and_then(|number| page.tables.get(number)) {
            return Some((Block::Table(table.clone()), 1));
        }
        if let Some(label) = self.note(first) {
            let n_lines = notes::n_lines(lines, self.height, self.looks.body);
            let mut text = without(joined(&lines[..n_lines]), label.chars().count());
            text.retain(|run| !(run.style.is_raised && run.text.trim().is_empty()));
            return Some((Block::Note(label, text), n_lines));
        }
        if let Some((entries, n_lines)) = contents::entries(lines) {
            return Some((Block::Contents(entries), n_lines));
        }
        let is_divided = first.pieces.len() > 1;
        let (aligned, n_lines) = is_divided.then(|| tables::aligned(lines)).flatten()?;
        let block = match aligned {
            Aligned::Table(table) => Block::Table(table),
            Aligned::Terms(terms) => Block::Terms(terms),
        };
        Some((block, n_lines))
    }

    /// The number or sign of the footnote that begins at a line.
    fn note(&self, line: &Line) -> Option<String> {
        notes::label(line, self.height, self.looks.body)
    }

    /// Whether an item is a note at the end of a document: raised numbers refer to it, and it is an
    /// address or follows a note.
    fn is_endnote(&self, label: &str, text: &[Run], before: &[Block]) -> bool {
        let shown: String = text.iter().map(|run| run.text.as_str()).collect();
        let is_address = !shown.trim().contains(char::is_whitespace)
            && (shown.contains("://") || shown.contains("mailto:"));
        let follows = match (before.last(), label.parse::<u16>()) {
            (Some(Block::Note(last, _)), Ok(number)) => {
                last.parse().ok().and_then(|last: u16| last.checked_add(1)) == Some(number)
            }
            _ => false,
        };
        self.looks.refers(label) && (is_address || follows)
    }

    /// How the part of these lines between two of them stands apart.
    fn space(&self, lines: &[Line], from: usize, to: usize) -> Space {
        let gap = |at: usize| lines[at].v - lines[at - 1].v;
        let place = |at: usize| match at == 0 || at == lines.len() {
            true => f32::INFINITY,
            false => gap(at) / self.leading,
        };
        // The titles of manual pages stand left of all text, and terms do not.
        let (x, size) = (lines[from].area.x0, lines[from].size);
        let is_inside = x > self.left + 0.5 * size;
        Space {
            above: place(from),
            below: place(to),
            title: self.title,
            is_term: lines
                .get(to)
                .is_some_and(|below| is_inside && below.area.x0 > x + TERM_INDENT * size),
        }
    }

    /// How many of these lines are one paragraph, or one item of a list.
    fn n_joined(&self, lines: &[Line], is_item: bool) -> usize {
        let first = &lines[0];
        let item = [Block::Item(Places::default(), None, Vec::new())];
        let mut end = 1;
        while let Some(line) = lines.get(end) {
            let is_more = line.table().is_none()
                && !self.breaks(&lines[end - 1], line, first, is_item)
                && marker(line, self, &item).is_none()
                && (line.pieces.len() < 2 || tables::aligned(&lines[end..]).is_none())
                && self.note(line).is_none()
                && !self.begins_code(&lines[end - 1], line, first);
            if !is_more {
                break;
            }
            end += 1;
        }
        end
    }

    /// Whether code begins after a line of a paragraph that began with `first`.
    fn begins_code(&self, before: &Line, line: &Line, first: &Line) -> bool {
        let is_set_apart = line.v - before.v > 1.15 * self.leading || ends_sentence(before);
        is_code(line) && !is_code(first) && is_set_apart
    }

    /// Whether a paragraph that began with `first` ends between two lines.
    fn breaks(&self, before: &Line, line: &Line, first: &Line, is_item: bool) -> bool {
        let gap = line.v - before.v;
        let size = before.size.max(line.size);
        let is_title = self.looks.is_large(before.size.min(line.size));
        let usual = if is_title {
            size * 1.25
        } else if before.size > 1.1 * first.size.min(self.leading) {
            size * 1.5
        } else {
            self.leading.max(size * 0.9)
        };
        if gap > 1.35 * usual.min(size * 1.9) || before.size.min(line.size) < 0.88 * size {
            return true;
        }
        let is_bold = |line: &Line| line.is_all(|style| style.is_bold);
        if is_bold(before) != is_bold(line) && is_bold(first) {
            return true;
        }
        // The second line of a heading stands below its first word, its number, or in the middle.
        if is_title {
            return self.looks.is_listed(&before.text()) && self.looks.is_listed(&line.text());
        }
        let indent = line.area.x0 - before.area.x0;
        if is_item {
            // Text of the item stands right of its sign.
            return line.area.x0 < first.area.x0 - 0.5 * size;
        }
        let is_indented = indent > 0.8 * size
            && indent < 6.0 * size
            && before.area.x0 <= first.area.x0 + size
            && self.right - before.area.x1 < 3.0 * size
            || indent.abs() > 0.8 * size
                && std::ptr::from_ref(before).addr() != std::ptr::from_ref(first).addr();
        if is_indented {
            return true;
        }
        // The next word would have had room on the line before.
        let text = line.text();
        let n_first = text
            .split_whitespace()
            .next()
            .map_or(0, |word| word.chars().count());
        let width = line.area.width() * n_first as f32 / text.chars().count().max(1) as f32;
        let room = self.right - before.area.x1;
        let is_short = room > 0.25 * (self.right - before.area.x0);
        room > width + 1.5 * size && (ends_sentence(before) || is_short)
    }
}

/// The usual distance between lines.
fn leading(lines: &[Line]) -> f32 {
    let distances = lines
        .windows(2)
        .filter(|pair| (pair[0].size - pair[1].size).abs() < 0.5);
    let mut distances: Vec<f32> = distances
        .map(|pair| pair[1].v - pair[0].v)
        .filter(|gap| *gap > 1.0)
        .collect();
    distances.sort_by(|one, other| order(*one, *other));
    distances.get(distances.len() / 3).copied().unwrap_or(14.0)
}

/// Whether a line ends as sentences do, or as what introduces code.
fn ends_sentence(line: &Line) -> bool {
    let text = line.text();
    text.trim_end()
        .ends_with(['.', ':', '!', '?', '"', '”', '。', '؟'])
}

fn is_code(line: &Line) -> bool {
    line.table().is_none() && line.is_code()
}

/// How far the lines are from the left.
fn left(lines: &[Line]) -> f32 {
    let lefts = lines.iter().map(|line| line.area.x0);
    lefts.fold(f32::INFINITY, f32::min)
}

/// Lines in a font of one width, with their indentation and blank lines.
fn code(lines: &[Line], leading: f32) -> String {
    let pieces = lines.iter().flat_map(|line| &line.pieces);
    let left = pieces
        .map(|piece| piece.area.x0)
        .fold(f32::INFINITY, f32::min);
    let mut code = String::new();
    let mut before: Option<&Line> = None;
    for line in lines {
        if let Some(before) = before {
            let gap = line.v - before.v;
            code.push('\n');
            if gap > 1.6 * leading.min(line.size * 1.6) {
                code.push('\n');
            }
        }
        let width = line.size * 0.6;
        let mut column = 0;
        for piece in &line.pieces {
            let place = ((piece.area.x0 - left) / width).round().max(0.0) as usize;
            let n_spaces = place
                .saturating_sub(column)
                .max(usize::from(column > 0))
                .min(200);
            code.push_str(&" ".repeat(n_spaces));
            code.push_str(&piece.text());
            column += n_spaces + piece.n_characters();
        }
        before = Some(line);
    }
    code
}

/// The number of an item, `None` for a bullet, and how many characters the marker has.
fn marker(line: &Line, column: &Column<'_>, before: &[Block]) -> Option<(Option<String>, usize)> {
    let text = line.text();
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    let has_space = rest.starts_with(' ');
    // No space is read before scripts without spaces.
    let is_before_text = has_space || first == '–' && rest.starts_with(is_without_spaces);
    let is_dash = DASHES.contains(first) && is_before_text && !has_dashes_in_a_row(&text, first);
    if BULLETS.contains(first) || is_dash {
        return (!rest.trim().is_empty()).then(|| (None, 1 + usize::from(has_space)));
    }
    let (word, rest) = text.split_once(' ')?;
    if rest.trim().is_empty() {
        return None;
    }
    let n_characters = word.chars().count();
    // Some programs set numbers far from their items in place of a point.
    let is_apart = line.pieces.len() == 2 && line.pieces[0].text() == word;
    let is_bare = is_apart && word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.strip_suffix(['.', ')']).or(is_bare.then_some(word))?;
    let number = number.strip_prefix('(').unwrap_or(number);
    let is_number =
        !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_in_list = line.area.x0 > column.left + 0.5 * line.size
        || matches!(before.last(), Some(Block::Item(..) | Block::Note(..)))
        || number == "1"
        || counts_on(number, line.area.x0, counted(before, column.earlier));
    ((is_number || is_letter) && is_in_list).then(|| (Some(number.to_owned()), n_characters + 1))
}

/// Whether a dash stands for what is not there, as in the cells of a table: two follow each other.
fn has_dashes_in_a_row(text: &str, dash: char) -> bool {
    let is_dash = |word: &str| word.strip_prefix(dash) == Some("");
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .windows(2)
        .any(|pair| is_dash(pair[0]) && is_dash(pair[1]))
}

/// Whether a number follows that of the last item, which stands as far from the left.
fn counts_on(number: &str, x: f32, last: Option<Counted>) -> bool {
    let number = number.parse::<u16>().ok();
    last.is_some_and(|(sign, last)| {
        (sign - x).abs() < NUMBERS_APART && number.is_some() && number == last.checked_add(1)
    })
}

/// Runs without their first characters.
fn without(mut runs: Vec<Run>, mut n_characters: usize) -> Vec<Run> {
    for run in &mut runs {
        let own = run.text.chars().count().min(n_characters);
        run.text = run.text.chars().skip(own).collect();
        n_characters -= own;
        if n_characters == 0 {
            break;
        }
    }
    runs.retain(|run| !run.text.is_empty());
    runs
}

/// Whether a paragraph or a table goes on in the next block, in another column or on another page.
pub(crate) fn continues(block: &Block, next: &Block) -> bool {
    if let (Block::Table(table), Block::Table(next)) = (block, next) {
        return table.is_continued_in(next);
    }
    let (Block::Paragraph(_, runs) | Block::Item(_, _, runs), Block::Paragraph(_, more)) =
        (block, next)
    else {
        return false;
    };
    let end = runs
        .last()
        .and_then(|run| run.text.trim_end().chars().next_back());
    let start = more.first().and_then(|run| run.text.chars().next());
    let is_open =
        end.is_some_and(|end| end.is_alphanumeric() || matches!(end, ',' | '-' | '\u{2010}'));
    is_open && start.is_some_and(char::is_lowercase)
}

/// All texts of a block but those of contents.
pub(crate) fn texts(block: &mut Block) -> Vec<&mut Vec<Run>> {
    match block {
        Block::Heading(_, runs)
        | Block::Paragraph(_, runs)
        | Block::Item(_, _, runs)
        | Block::Note(_, runs) => vec![runs],
        Block::Terms(terms) => terms.iter_mut().flatten().collect(),
        Block::Table(table) => {
            let cells = table.rows.iter_mut().flatten();
            cells.map(|cell| &mut cell.runs).collect()
        }
        Block::Code(..) | Block::Contents(_) => Vec::new(),
    }
}

fn is_note(block: &Block) -> bool {
    matches!(block, Block::Note(..))
}

/// The last block of a page that is no footnote.
pub(crate) fn last_text(blocks: &mut [Block]) -> Option<&mut Block> {
    blocks.iter_mut().rev().find(|block| !is_note(block))
}

/// Appends a block that continues another.
pub(crate) fn join(block: &mut Block, next: Block) {
    match (block, next) {
        (Block::Paragraph(_, runs) | Block::Item(_, _, runs), Block::Paragraph(_, more)) => {
            append(runs, more)
        }
        (Block::Table(table), Block::Table(rest)) => table.append(rest),
        _ => {}
    }
}
