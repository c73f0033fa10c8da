//! The `pdf` decoder: PDF documents (ISO 32000-2) as headings, paragraphs, lists, tables and code,
//! in the order in which people read them.
//!
//! A page's operators are run, and what remains are glyphs with their places. Glyphs make lines,
//! lines make columns and blocks; sizes, the document's outline and drawn lines say what they are.
//! What repeats on every page is left out. Text in images is not read.

mod blocks;
mod cid;
mod columns;
mod content;
mod contents;
mod fonts;
mod furniture;
mod garbled;
mod geometry;
mod hyphens;
mod lines;
mod looks;
mod metadata;
mod names;
mod notes;
mod page;
mod repeats;
mod tables;
mod type1;
mod urls;
mod write;

use lopdf::{Document, Error, LoadOptions};
use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

use blocks::Block;
use furniture::PageLines;
use garbled::Garbled;
use geometry::Area;
use lines::Piece;
use looks::Looks;
use page::{Page, Pages};

/// Most pages of a document.
const PAGES_MAX: usize = 20_000;
/// Most bytes of text of a document.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Most bytes of a stream with objects or their places, decompressed.
const OBJECTS_BYTES_MAX: usize = 128 << 20;

/// Decodes PDF documents.
pub struct Pdf;

trawl_sdk::export!(decoder: Pdf);

impl Decoder for Pdf {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "pdf",
            env!("CARGO_PKG_VERSION"),
            "PDF: text in reading order with headings, lists, tables and links",
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        let document = open(&file.body)?;
        let ids: Vec<_> = document.page_iter().take(PAGES_MAX + 1).collect();
        if ids.is_empty() {
            return Err(Failure::Damaged("it has no pages".to_owned()));
        }
        let wanted = (1..)
            .zip(&ids)
            .filter(|(number, _)| file.wants_page(*number));
        let wanted: Vec<(u32, _)> = wanted.collect();
        if wanted.len() > PAGES_MAX {
            return Err(Failure::Limit(format!(
                "it has more than {PAGES_MAX} pages"
            )));
        }
        let mut reader = Pages::of(&document);
        let (mut pages, mut n_bytes, mut n_unknown, mut n_scanned) = (Vec::new(), 0, 0, 0);
        let mut garbled = Garbled::default();
        for (number, id) in wanted {
            let mut page = reader.read(*id)?;
            garbled.mend(&mut page);
            n_bytes += page.text.len();
            if n_bytes > TEXT_BYTES_MAX {
                let reason = format!("it has more than {} MiB of text", TEXT_BYTES_MAX >> 20);
                return Err(Failure::Limit(reason));
            }
            n_unknown += page.n_unknown;
            n_scanned += usize::from(page.glyphs.is_empty() && page.n_images > 0);
            pages.push(laid_out(&page, number));
        }
        furniture::remove(&mut pages);
        let outline = metadata::outline(&document);
        hyphens::keep(&mut pages, outline.iter().map(|(title, _)| title.as_str()));
        let looks = Looks::of(&pages, outline);
        let info = metadata::of(&document);
        let title = match info.title() {
            Some(title) => title,
            None => file.name().unwrap_or_default(),
        };
        let mut html = Html::new(title, info.language());
        let (page_count, n_read) = (ids.len(), pages.len());
        write_pages(&mut html, &pages, &looks);
        let mut decoded = Decoded::new(html.finish());
        decoded.page_count = u32::try_from(page_count).ok();
        decoded = info.add_to(decoded).with("title", title);
        let shortcomings = Shortcomings {
            n_scanned,
            n_read,
            n_unknown,
            is_mended: garbled.is_mended(),
            is_rebuilt: document.xref_recovery.is_some(),
        };
        Ok(shortcomings.add_to(decoded))
    }
}

/// What a document lacks, or had to be guessed.
struct Shortcomings {
    /// Pages that are images, of those that were read.
    n_scanned: usize,
    n_read: usize,
    /// Characters that the fonts do not tell.
    n_unknown: usize,
    /// Whether characters were printed byte by byte.
    is_mended: bool,
    /// Whether the table of objects was rebuilt.
    is_rebuilt: bool,
}

impl Shortcomings {
    /// Warns of them.
    fn add_to(&self, mut decoded: Decoded) -> Decoded {
        if self.n_scanned > 0 {
            let pages = match self.n_scanned == self.n_read {
                true => "all pages are images".to_owned(),
                false => counted(self.n_scanned, "page is an image", "pages are images"),
            };
            decoded = decoded.warn(format!("{pages} without text"));
        }
        if self.n_unknown > 0 {
            let characters = counted(self.n_unknown, "character is", "characters are");
            decoded = decoded.warn(format!(
                "{characters} left out: the fonts do not say which they are"
            ));
        }
        if self.is_mended {
            decoded = decoded.warn("characters printed byte by byte, as UTF-8, were joined");
        }
        if self.is_rebuilt {
            decoded = decoded.warn("the table of objects is damaged; it was rebuilt");
        }
        decoded
    }
}

/// Reads the objects of a document. An empty password opens what has no other.
fn open(body: &[u8]) -> Result<Document, Failure> {
    let head = &body[..body.len().min(1024)];
    if !head.windows(5).any(|part| part == b"%PDF-") {
        return Err(Failure::Unsupported(
            "it does not begin with `%PDF-`".to_owned(),
        ));
    }
    let options = LoadOptions::with_max_decompressed_size(OBJECTS_BYTES_MAX);
    let document = Document::load_mem_with_options(body, options).map_err(|error| match error {
        Error::Decryption(_) | Error::InvalidPassword => needs_password(),
        Error::Decompress(_) => Failure::Limit(format!(
            "a stream has more than {} MiB",
            OBJECTS_BYTES_MAX >> 20
        )),
        error => Failure::Damaged(error.to_string()),
    })?;
    if document.is_encrypted() && !document.was_encrypted() {
        return Err(needs_password());
    }
    Ok(document)
}

fn needs_password() -> Failure {
    Failure::Encrypted("it needs a password".to_owned())
}

/// The lines of a page in reading order, and its drawn tables.
fn laid_out(page: &Page, number: u32) -> PageLines {
    let mut laid_out = PageLines {
        number,
        height: page.height,
        ..PageLines::default()
    };
    let mut n_glyphs = [0_usize; 4];
    for glyph in &page.glyphs {
        n_glyphs[usize::from(glyph.direction & 3)] += 1;
    }
    let mut directions = [0_u8, 1, 2, 3];
    directions.sort_by_key(|direction| std::cmp::Reverse(n_glyphs[usize::from(*direction)]));
    for direction in directions {
        let mut pieces = lines::pieces(page, direction);
        if direction == 0 {
            take_tables(&page.rules, &mut pieces, &mut laid_out);
        }
        laid_out.columns.extend(columns::of(pieces));
    }
    laid_out
}

/// Takes what is inside of drawn grids out of the text. A piece stands where a table was.
fn take_tables(rules: &[Area], pieces: &mut Vec<Piece>, page: &mut PageLines) {
    for grid in tables::grids(rules) {
        let is_inside = |piece: &&Piece| {
            let (x, y) = (
                f32::midpoint(piece.area.x0, piece.area.x1),
                f32::midpoint(piece.area.y0, piece.area.y1),
            );
            piece.table.is_none() && grid.area.has(x, y)
        };
        let inside: Vec<Piece> = pieces.iter().filter(is_inside).cloned().collect();
        if let Some(table) = grid.table(inside) {
            pieces.retain(|piece| !is_inside(&piece));
            pieces.push(Piece {
                area: grid.area,
                v: grid.area.y1,
                size: 1.0,
                runs: Vec::new(),
                table: Some(page.tables.len()),
            });
            page.tables.push(table);
        }
    }
}

/// Writes all pages. A sentence that goes on is written where it begins.
fn write_pages(html: &mut Html, pages: &[PageLines], looks: &Looks) {
    let mut before: Option<(u32, Vec<Block>)> = None;
    let mut counted = None;
    for page in pages {
        let mut blocks = blocks::of(page, looks, counted);
        counted = blocks::counted(&blocks, counted);
        if let Some((number, mut written)) = before.take() {
            if let (Some(last), Some(next)) = (blocks::last_text(&mut written), blocks.first())
                && blocks::continues(last, next)
            {
                blocks::join(last, blocks.remove(0));
            }
            write_page(html, number, written);
        }
        before = Some((page.number, blocks));
    }
    if let Some((number, blocks)) = before {
        write_page(html, number, blocks);
    }
}

fn write_page(html: &mut Html, number: u32, mut blocks: Vec<Block>) {
    hyphens::restore(&mut blocks);
    repeats::remove(&mut blocks);
    write::page(html, number, &blocks);
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
