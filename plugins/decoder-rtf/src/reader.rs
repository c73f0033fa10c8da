//! Runs the control words of a file. What they set holds until the end of their group.

use std::mem::take;
use std::rc::Rc;

use trawl_sdk::decoder::Failure;

use crate::blocks::{Block, Cell, Comment, Document, Paragraph, Run};
use crate::options::Options;
use crate::styles::{Styles, of_code_page};
use crate::tokens::{Token, Tokens};

/// Most levels of groups.
const DEPTH_MAX: usize = 1_000;
/// Most bytes of text.
const TEXT_BYTES_MAX: usize = 48 << 20;
/// Most blocks, and most cells of a row.
const BLOCKS_MAX: usize = 500_000;
const CELLS_MAX: usize = 1_000;
/// Most bytes of the name of a style, a value of the metadata, or the instruction of a field.
const NAME_BYTES_MAX: usize = 4_096;

/// Where text goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Destination {
    #[default]
    Body,
    /// Nowhere.
    Skipped,
    Fonts,
    /// The name of a style.
    Style,
    /// The document's own metadata, of which each is a group inside.
    Info,
    InfoValue,
    /// The number or bullet of a list item.
    Label,
    /// What a field does.
    Instruction,
    /// Who wrote the comment that follows.
    CommentAuthor,
}

/// What holds within a group.
#[derive(Clone, Debug, Default)]
struct Group {
    destination: Destination,
    is_bold: bool,
    is_italic: bool,
    is_deleted: bool,
    is_hidden: bool,
    font: Option<i32>,
    style: i32,
    /// The level of `\outlinelevel`, from 0.
    outline: Option<i32>,
    is_in_table: bool,
    link: Option<Rc<str>>,
    /// Characters for readers without Unicode that follow `\u`.
    substitutes: usize,
    /// Whether a footnote ends with it.
    ends_note: bool,
    /// Whether a comment ends with it.
    ends_comment: bool,
    /// Whether a field ends with it.
    ends_field: bool,
}

/// A document that is being read.
#[derive(Default)]
struct Reader {
    document: Document,
    styles: Styles,
    group: Group,
    outer: Vec<Group>,
    /// Bytes whose characters are not decoded yet.
    bytes: Vec<u8>,
    /// The first half of a character outside of the basic plane.
    high: Option<u16>,
    /// Characters to skip after `\u`.
    to_skip: usize,
    /// Whether `\*` came last: an unknown destination is skipped.
    is_optional: bool,
    runs: Vec<Run>,
    label: Option<String>,
    cell: Vec<Paragraph>,
    row: Vec<Cell>,
    /// The cells of rows as they are defined, without paragraphs, and the one that comes next.
    defined: Vec<Cell>,
    next: Cell,
    options: Options,
    /// Author of the comment that comes next.
    author: String,
    /// Text around the footnotes and comments that are open.
    around: Vec<Vec<Run>>,
    /// Instructions of the fields that are open.
    fields: Vec<String>,
    /// Text of the name or value that is being read, and its key.
    name: String,
    key: String,
    text_bytes: usize,
}

/// Reads a document. One that is cut off is read as far as it goes.
pub(crate) fn read(bytes: &[u8], options: Options) -> Result<Document, Failure> {
    let mut reader = Reader {
        options,
        ..Reader::default()
    };
    reader.group.substitutes = 1;
    for token in Tokens::of(bytes) {
        reader.run(token)?;
    }
    reader.flush();
    reader.document.is_cut = !reader.outer.is_empty();
    while !reader.outer.is_empty() {
        reader.close();
    }
    reader.end_paragraph();
    reader.end_row();
    Ok(reader.document)
}

impl Reader {
    fn run(&mut self, token: Token<'_>) -> Result<(), Failure> {
        if self.to_skip > 0 && self.is_substitute(token) {
            return Ok(());
        }
        match token {
            Token::Hex(byte) => self.bytes.push(byte),
            Token::Text(text) => self.bytes.extend_from_slice(text),
            Token::Open => {
                self.flush();
                self.open()?;
            }
            Token::Close => {
                self.flush();
                self.close();
            }
            Token::Symbol(symbol) => {
                self.flush();
                self.symbol(symbol);
            }
            Token::Word(name, number) => {
                self.flush();
                let is_optional = take(&mut self.is_optional);
                self.word(name, number, is_optional);
            }
        }
        let n_bytes = self.text_bytes + self.bytes.len();
        let document = &self.document;
        let n_notes = document.notes.len() + document.comments.len();
        let n_blocks = document.blocks.len() + self.cell.len() + n_notes;
        if n_bytes > TEXT_BYTES_MAX || n_blocks > BLOCKS_MAX {
            let mib = TEXT_BYTES_MAX >> 20;
            return Err(Failure::Limit(format!(
                "it has more than {mib} MiB of text or {BLOCKS_MAX} paragraphs"
            )));
        }
        Ok(())
    }

    /// Whether a token only stands in for the character of `\u` before it. What is left of a text
    /// is read.
    fn is_substitute(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::Hex(_) | Token::Symbol(_) => {
                self.to_skip -= 1;
                true
            }
            Token::Text(text) => {
                let skipped = text.len().min(self.to_skip);
                self.to_skip -= skipped;
                self.bytes.extend_from_slice(&text[skipped..]);
                true
            }
            Token::Open | Token::Close | Token::Word(..) => {
                self.to_skip = 0;
                false
            }
        }
    }

    fn open(&mut self) -> Result<(), Failure> {
        if self.outer.len() == DEPTH_MAX {
            let reason = format!("groups are more than {DEPTH_MAX} levels deep");
            return Err(Failure::Limit(reason));
        }
        let inner = Group {
            ends_note: false,
            ends_comment: false,
            ends_field: false,
            ..self.group.clone()
        };
        self.outer.push(std::mem::replace(&mut self.group, inner));
        Ok(())
    }

    fn close(&mut self) {
        let Some(outer) = self.outer.pop() else {
            return;
        };
        let inner = std::mem::replace(&mut self.group, outer);
        match inner.destination {
            Destination::Style => {
                let name = take(&mut self.name);
                self.styles.set_style(inner.style, &name);
            }
            Destination::InfoValue => {
                let value = take(&mut self.name);
                self.document
                    .info
                    .entry(take(&mut self.key))
                    .or_insert(value);
            }
            Destination::CommentAuthor => self.author = take(&mut self.name),
            _ => {}
        }
        if inner.ends_comment {
            let around = self.around.pop().unwrap_or_default();
            let runs = std::mem::replace(&mut self.runs, around);
            let author = take(&mut self.author).trim().to_owned();
            self.document.comments.push(Comment { author, runs });
        }
        if inner.ends_note {
            let around = self.around.pop().unwrap_or_default();
            let note = std::mem::replace(&mut self.runs, around);
            self.document.notes.push(note);
            let number = self.document.notes.len();
            self.runs.push(Run {
                note: Some(number),
                ..Run::default()
            });
        }
        if inner.ends_field {
            self.fields.pop();
        }
    }

    /// Decodes the bytes that have come.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = take(&mut self.bytes);
        let encoding = self.styles.encoding(self.group.font);
        let (text, _) = encoding.decode_without_bom_handling(&bytes);
        self.text(&text);
    }

    fn text(&mut self, text: &str) {
        let group = &self.group;
        let name = match group.destination {
            Destination::Body if group.is_deleted || group.is_hidden => return,
            Destination::Body => {
                self.text_bytes += text.len();
                let run = Run {
                    text: text.to_owned(),
                    is_bold: group.is_bold,
                    is_italic: group.is_italic,
                    link: group.link.clone(),
                    note: None,
                };
                return self.add(run);
            }
            Destination::Skipped | Destination::Fonts | Destination::Info => return,
            Destination::Style | Destination::InfoValue | Destination::CommentAuthor => {
                &mut self.name
            }
            Destination::Label => self.label.get_or_insert_default(),
            Destination::Instruction => match self.fields.last_mut() {
                Some(field) => field,
                None => return,
            },
        };
        if name.len() + text.len() <= NAME_BYTES_MAX {
            name.push_str(text);
        }
    }

    /// Adds text to the paragraph, to the run before it if that looks the same.
    fn add(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last)
                if (last.is_bold, last.is_italic) == (run.is_bold, run.is_italic)
                    && last.link == run.link
                    && last.note.is_none() =>
            {
                last.text.push_str(&run.text);
            }
            _ => self.runs.push(run),
        }
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'*' => self.is_optional = true,
            b'~' => self.text("\u{A0}"),
            b'_' => self.text("\u{2011}"),
            b'\\' | b'{' | b'}' => self.text(char::from(symbol).encode_utf8(&mut [0; 4])),
            b'\r' | b'\n' => self.end_paragraph(),
            _ => {}
        }
    }

    fn word(&mut self, name: &str, number: Option<i32>, is_optional: bool) {
        let is_on = number != Some(0);
        match name {
            "b" => self.group.is_bold = is_on,
            "i" => self.group.is_italic = is_on,
            "deleted" => self.group.is_deleted = is_on,
            "v" => self.group.is_hidden = is_on,
            "plain" => {
                let group = &mut self.group;
                (group.is_bold, group.is_italic, group.is_hidden) = (false, false, false);
                group.is_deleted = false;
                group.font = None;
            }
            "f" => self.group.font = number,
            "fcharset" if self.group.destination == Destination::Fonts => {
                if let (Some(font), Some(charset)) = (self.group.font, number) {
                    self.styles.set_charset(font, charset);
                }
            }
            "ansicpg" => {
                let encoding = number.and_then(of_code_page);
                self.styles.default = encoding.unwrap_or(self.styles.default);
            }
            "uc" => self.group.substitutes = usize::try_from(number.unwrap_or(1)).unwrap_or(1),
            "u" => {
                self.unit(number.unwrap_or(0));
                self.to_skip = self.group.substitutes;
            }
            "pard" => {
                let group = &mut self.group;
                (group.style, group.outline, group.is_in_table) = (0, None, false);
            }
            "s" => self.group.style = number.unwrap_or(0),
            "outlinelevel" => self.group.outline = number,
            "intbl" => self.group.is_in_table = is_on,
            "par" | "sect" | "page" | "nestcell" => self.end_paragraph(),
            "cell" => self.end_cell(),
            "row" => self.end_row(),
            "trowd" => (self.defined, self.next) = (Vec::new(), Cell::default()),
            "clmrg" => self.next.is_after = true,
            "clvmrg" => self.next.is_below = true,
            "cellx" => {
                self.next.edge = number;
                let cell = take(&mut self.next);
                if self.defined.len() < CELLS_MAX {
                    self.defined.push(cell);
                }
            }
            "line" => self.text("\n"),
            "tab" => self.text("\t"),
            _ => match sign(name) {
                Some(text) => self.text(text),
                None => self.destination(name, is_optional),
            },
        }
    }

    /// A control word that says where the text of its group goes, or one that is not used.
    fn destination(&mut self, name: &str, is_optional: bool) {
        let destination = match name {
            "fonttbl" => Destination::Fonts,
            "info" => Destination::Info,
            "title" | "author" | "subject" | "keywords"
                if self.group.destination == Destination::Info =>
            {
                self.key = name.to_owned();
                self.name.clear();
                Destination::InfoValue
            }
            "stylesheet" => {
                self.name.clear();
                Destination::Style
            }
            "listtext" | "pntext" => {
                self.label = Some(String::new());
                Destination::Label
            }
            "field" if !self.group.ends_field => {
                self.fields.push(String::new());
                self.group.ends_field = true;
                return;
            }
            "fldinst" => Destination::Instruction,
            "fldrslt" => {
                let url = self.fields.last().and_then(|field| url(field));
                if let Some(url) = url {
                    self.group.link = Some(Rc::from(url));
                }
                return;
            }
            "footnote" if self.group.destination == Destination::Body && !self.group.ends_note => {
                self.around.push(take(&mut self.runs));
                self.group.ends_note = true;
                return;
            }
            "atnauthor" if self.options.comments => {
                self.name.clear();
                Destination::CommentAuthor
            }
            "annotation"
                if self.options.comments
                    && self.group.destination == Destination::Body
                    && !self.group.ends_comment =>
            {
                self.around.push(take(&mut self.runs));
                self.group.ends_comment = true;
                return;
            }
            _ if is_optional || SKIPPED.contains(&name) => Destination::Skipped,
            _ => return,
        };
        // What is inside of something that is skipped is skipped, too.
        if self.group.destination != Destination::Skipped {
            self.group.destination = destination;
        }
    }

    /// A unit of UTF-16, which may be written as a negative number.
    fn unit(&mut self, number: i32) {
        let unit = (number & 0xFFFF) as u16;
        let units = match self.high.take() {
            Some(high) => vec![high, unit],
            None if (0xD800..0xDC00).contains(&unit) => {
                self.high = Some(unit);
                return;
            }
            None => vec![unit],
        };
        let text = String::from_utf16_lossy(&units);
        self.text(&text);
    }

    /// Ends a paragraph; in a footnote it is a line.
    fn end_paragraph(&mut self) {
        if !self.around.is_empty() {
            return self.text("\n");
        }
        if !matches!(self.group.destination, Destination::Body) {
            return;
        }
        let outline = self.group.outline.filter(|level| (0..9).contains(level));
        let outline = outline.map(|level| (level as u8 + 1).min(6));
        let paragraph = Paragraph {
            runs: take(&mut self.runs),
            level: outline.or_else(|| self.styles.level(self.group.style)),
            label: self.label.take(),
        };
        if paragraph.is_blank() {
            return;
        }
        match self.group.is_in_table {
            true => self.cell.push(paragraph),
            false => {
                self.end_row();
                self.document.blocks.push(Block::Paragraph(paragraph));
            }
        }
    }

    fn end_cell(&mut self) {
        self.group.is_in_table = true;
        self.end_paragraph();
        let paragraphs = take(&mut self.cell);
        if self.row.len() < CELLS_MAX {
            self.row.push(Cell {
                paragraphs,
                ..Cell::default()
            });
        }
    }

    fn end_row(&mut self) {
        let mut row = take(&mut self.row);
        if !self.cell.is_empty() {
            row.push(Cell {
                paragraphs: take(&mut self.cell),
                ..Cell::default()
            });
        }
        // The definition may stand before the cells, after them, or only before the first row.
        if row.len() == self.defined.len() {
            for (cell, defined) in row.iter_mut().zip(&self.defined) {
                cell.edge = defined.edge;
                (cell.is_after, cell.is_below) = (defined.is_after, defined.is_below);
            }
        }
        if !row.is_empty() {
            self.document.blocks.push(Block::Row(row));
        }
    }
}

/// Groups whose text is not part of the document's.
#[rustfmt::skip]
const SKIPPED: [&str; 26] = [
    "annotation", "atnauthor", "atnid", "bkmkend", "bkmkstart", "colortbl", "datastore", "filetbl",
    "footer", "footerf", "footerl", "footerr", "header", "headerf", "headerl", "headerr",
    "latentstyles", "listoverridetable", "listtable", "nonshppict", "objdata", "pict", "revtbl",
    "tc", "themedata", "xe",
];

/// The character of a control word that stands for one.
fn sign(name: &str) -> Option<&'static str> {
    Some(match name {
        "emdash" => "\u{2014}",
        "endash" => "\u{2013}",
        "lquote" => "\u{2018}",
        "rquote" => "\u{2019}",
        "ldblquote" => "\u{201C}",
        "rdblquote" => "\u{201D}",
        "bullet" => "\u{2022}",
        "emspace" | "enspace" | "qmspace" => " ",
        _ => return None,
    })
}

/// The URL of the instruction `HYPERLINK "https://…"`.
fn url(instruction: &str) -> Option<&str> {
    let rest = instruction.trim_start().strip_prefix("HYPERLINK")?;
    let (_, quoted) = rest.split_once('"')?;
    let (url, _) = quoted.split_once('"')?;
    let is_inside = rest.trim_start().starts_with("\\l");
    (!is_inside && !url.is_empty()).then_some(url)
}
