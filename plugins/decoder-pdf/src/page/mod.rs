//! Runs the content of a page (ISO 32000-2, 8 and 9) and keeps what is of interest: glyphs with
//! their places, the lines that rule tables, links, and the values of form fields.

mod run;

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Object, ObjectId, Stream, decode_text_string};
use trawl_sdk::decoder::Failure;

use crate::content::{Operand, Operators};
use crate::fonts::Font;
use crate::geometry::{Area, Matrix};
use run::{Mark, Run};

/// Most bytes of a page's content, decompressed.
const CONTENT_BYTES_MAX: usize = 64 << 20;
/// Most bytes of all that is run: many pages may share one content.
const ALL_BYTES_MAX: usize = 512 << 20;
/// Most glyphs of a page, a page of small print has ten thousand.
const GLYPHS_MAX: usize = 200_000;
/// Most operators of a document.
const OPERATORS_MAX: u64 = 40_000_000;
/// Deepest nesting of forms and of saved graphics states.
const FORMS_MAX: usize = 12;
const STATES_MAX: usize = 256;
/// The flag of a field that is a button without a value (ISO 32000-2, 12.7.5.2).
const PUSH_BUTTON: i64 = 1 << 16;
/// Most links of a page.
const LINKS_MAX: usize = 5_000;

/// How a text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Style {
    pub(crate) is_bold: bool,
    pub(crate) is_italic: bool,
    pub(crate) is_mono: bool,
    /// Whether it is small and above the line: the number of a footnote, an exponent.
    pub(crate) is_raised: bool,
}

/// A glyph. `u` grows along its line, `v` from line to line.
#[derive(Clone, Debug)]
pub(crate) struct Glyph {
    pub(crate) u0: f32,
    pub(crate) u1: f32,
    /// The base line.
    pub(crate) v: f32,
    pub(crate) size: f32,
    /// Where its text is in [`Page::text`].
    pub(crate) text: (u32, u32),
    pub(crate) style: Style,
    /// Which link it belongs to; 0 for none, otherwise counted from 1.
    pub(crate) link: u16,
    /// Which way its line runs: right, down, left, up.
    pub(crate) direction: u8,
}

/// What is on a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) glyphs: Vec<Glyph>,
    /// Texts of all glyphs.
    pub(crate) text: String,
    /// Horizontal and vertical lines, in the coordinates of direction 0.
    pub(crate) rules: Vec<Area>,
    /// Targets of links.
    pub(crate) links: Vec<String>,
    pub(crate) height: f32,
    /// Number of glyphs whose text the file does not say.
    pub(crate) n_unknown: usize,
    /// Number of images.
    pub(crate) n_images: usize,
}

impl Page {
    pub(crate) fn text_of(&self, glyph: &Glyph) -> &str {
        let (from, to) = glyph.text;
        self.text
            .get(from as usize..to as usize)
            .unwrap_or_default()
    }
}

/// Reads the pages of a document.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    document: &'a Document,
    /// Fonts by the address of their dictionary, which the document keeps where it is.
    fonts: HashMap<usize, usize>,
    all_fonts: Vec<Font>,
    n_operators: u64,
    /// Bytes of content that were run.
    n_bytes: usize,
}

impl<'a> Pages<'a> {
    pub(crate) fn of(document: &'a Document) -> Self {
        Self {
            document,
            fonts: HashMap::new(),
            all_fonts: Vec::new(),
            n_operators: 0,
            n_bytes: 0,
        }
    }

    /// Reads a page.
    ///
    /// # Errors
    /// [`Failure::Limit`] if the page or the document is too large.
    pub(crate) fn read(&mut self, id: ObjectId) -> Result<Page, Failure> {
        let document = self.document;
        let Ok(dictionary) = document.get_dictionary(id) else {
            return Ok(Page::default());
        };
        let inherited = |key: &[u8]| inherited(document, dictionary, key);
        let area = inherited(b"CropBox").or_else(|| inherited(b"MediaBox"));
        let area = area.and_then(|area| self.area(area));
        let area = area.unwrap_or(Area {
            x0: 0.0,
            y0: 0.0,
            x1: 612.0,
            y1: 792.0,
        });
        let rotation = inherited(b"Rotate")
            .and_then(|it| it.as_i64().ok())
            .unwrap_or(0);
        let matrix = Matrix::of_page(area, rotation);
        let mut run = Run::new(matrix);
        run.page.height = area.transformed(matrix).height();
        self.read_links(id, matrix, &mut run);
        let content = self
            .document
            .get_page_content_with_limit(id, CONTENT_BYTES_MAX);
        let resources = inherited(b"Resources").and_then(|it| it.as_dict().ok());
        let content = content.map_err(|_| {
            Failure::Limit(format!(
                "a page has more than {} MiB",
                CONTENT_BYTES_MAX >> 20
            ))
        })?;
        self.run(&content, resources, 0, &mut run)?;
        run.write_signs();
        Ok(run.page)
    }

    fn area(&self, object: &Object) -> Option<Area> {
        let numbers = object.as_array().ok()?;
        let number = |at: usize| {
            let (_, number) = self.document.dereference(numbers.get(at)?).ok()?;
            number.as_float().ok().filter(|number| number.is_finite())
        };
        let area = Area::of(number(0)?, number(1)?, number(2)?, number(3)?);
        (area.width() > 1.0 && area.height() > 1.0).then_some(area)
    }

    /// Links to the web, and the texts of form fields.
    fn read_links(&self, id: ObjectId, matrix: Matrix, run: &mut Run) {
        let annotations = self.document.get_page_annotations(id).unwrap_or_default();
        for annotation in annotations.into_iter().take(LINKS_MAX) {
            let area = annotation.get_deref(b"Rect", self.document).ok();
            let Some(area) = area.and_then(|area| self.area(area)) else {
                continue;
            };
            let area = area.transformed(matrix);
            match annotation.get(b"Subtype").and_then(Object::as_name) {
                Ok(b"Link") => {
                    let action = annotation
                        .get_deref(b"A", self.document)
                        .and_then(Object::as_dict);
                    let target = action.and_then(|action| action.get_deref(b"URI", self.document));
                    if let Ok(Ok(target)) = target.map(Object::as_str) {
                        run.areas.push(area);
                        run.page
                            .links
                            .push(String::from_utf8_lossy(target).into_owned());
                    }
                }
                Ok(b"Widget") => {
                    let text = self.field_text(annotation);
                    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                        let size = (area.height() * 0.7).clamp(1.0, 10.0);
                        run.glyph(
                            text.trim(),
                            (area.x0, area.x1, area.y1 - size * 0.4),
                            size,
                            Style::default(),
                            0,
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// What a form field holds: its text, the chosen values, or a box that is ticked or not.
    fn field_text(&self, field: &Dictionary) -> Option<String> {
        let parent = field.get_deref(b"Parent", self.document);
        let parent = parent.and_then(Object::as_dict).ok();
        let get = |key: &[u8]| {
            let own = field.get_deref(key, self.document).ok();
            own.or_else(|| parent?.get_deref(key, self.document).ok())
        };
        let kind = get(b"FT").and_then(|kind| kind.as_name().ok());
        if kind.is_some_and(|kind| kind == b"Btn") {
            let flags = get(b"Ff").and_then(|flags| flags.as_i64().ok());
            let state = field.get(b"AS").and_then(Object::as_name);
            let sign = match state.unwrap_or(b"Off") {
                b"Off" => "☐",
                _ => "☑",
            };
            return (flags.unwrap_or(0) & PUSH_BUTTON == 0).then(|| sign.to_owned());
        }
        match get(b"V")? {
            Object::Array(values) => {
                let values = values
                    .iter()
                    .filter_map(|value| decode_text_string(value).ok());
                Some(values.collect::<Vec<String>>().join(", "))
            }
            value => decode_text_string(value).ok(),
        }
    }

    fn run(
        &mut self,
        content: &[u8],
        resources: Option<&Dictionary>,
        depth: usize,
        run: &mut Run,
    ) -> Result<(), Failure> {
        self.n_bytes += content.len();
        if self.n_bytes > ALL_BYTES_MAX {
            let reason = format!("its pages have more than {} MiB", ALL_BYTES_MAX >> 20);
            return Err(Failure::Limit(reason));
        }
        let document = self.document;
        let mut operators = Operators::of(content);
        let n_marks = run.marks.len();
        while let Some(operator) = operators.next() {
            self.count(run)?;
            let operands = operators.operands();
            let number = |at: usize| operands.get(at).map_or(0.0, Operand::number);
            let name: &[u8] = match operands.first() {
                Some(Operand::Name(name)) => name.as_slice(),
                _ => b"",
            };
            let named = |kind: &[u8]| named_in(document, resources, kind, name);
            match operator {
                b"Tf" => {
                    run.state.size = number(1);
                    run.state.font = named(b"Font").and_then(|font| self.font(font));
                }
                b"gs" => {
                    if let Some(state) = named(b"ExtGState") {
                        self.set_state(state, run);
                    }
                }
                b"Tj" | b"'" | b"\"" | b"TJ" => self.show(operator, operands, run),
                b"Do" => {
                    if let Some(Ok(stream)) = named(b"XObject").map(Object::as_stream) {
                        self.draw(stream, resources, depth, run)?;
                    }
                }
                b"BMC" | b"BDC" if run.marks.len() < STATES_MAX => {
                    let mark = mark(document, name, operands.get(1), resources);
                    run.marks.push(mark);
                }
                b"EMC" if run.marks.len() > n_marks => {
                    run.marks.pop();
                }
                _ => run.operator(operator, &number),
            }
        }
        run.marks.truncate(n_marks);
        Ok(())
    }

    /// Counts an operator.
    fn count(&mut self, run: &Run) -> Result<(), Failure> {
        self.n_operators += 1;
        if self.n_operators > OPERATORS_MAX {
            let reason = format!("it has more than {OPERATORS_MAX} drawing operators");
            return Err(Failure::Limit(reason));
        }
        if run.page.glyphs.len() >= GLYPHS_MAX {
            let reason = format!("a page has more than {GLYPHS_MAX} characters");
            return Err(Failure::Limit(reason));
        }
        Ok(())
    }

    /// Takes the font of a graphics state, if it has one.
    fn set_state(&mut self, state: &Object, run: &mut Run) {
        let document = self.document;
        let font = state.as_dict().ok().and_then(|state| {
            let font = state.get_deref(b"Font", document);
            font.and_then(Object::as_array).ok()
        });
        if let Some([font, size]) = font.map(Vec::as_slice) {
            run.state.size = size.as_float().unwrap_or(run.state.size);
            let font = document.dereference(font).ok().map(|(_, font)| font);
            run.state.font = font.and_then(|font| self.font(font));
        }
    }

    /// Shows a string, or several with distances between them.
    fn show(&mut self, operator: &[u8], operands: &[Operand], run: &mut Run) {
        if operator == b"\"" {
            let number = |at: usize| operands.get(at).map_or(0.0, Operand::number);
            run.state.word_space = number(0);
            run.state.character_space = number(1);
        }
        if operator != b"Tj" && operator != b"TJ" {
            run.next_line(0.0, -run.state.leading);
        }
        let font = run.state.font.and_then(|font| self.all_fonts.get_mut(font));
        match (operands.last(), font) {
            (Some(Operand::Text(text)), Some(font)) => run.show(text, font),
            (Some(Operand::Array(items)), Some(font)) => {
                for item in items {
                    match item {
                        Operand::Text(text) => run.show(text, font),
                        item => run.advance(-item.number() / 1000.0 * run.state.size),
                    }
                }
            }
            _ => {}
        }
    }

    /// Runs a form, or counts an image.
    fn draw(
        &mut self,
        stream: &Stream,
        resources: Option<&Dictionary>,
        depth: usize,
        run: &mut Run,
    ) -> Result<(), Failure> {
        let document = self.document;
        match stream.dict.get(b"Subtype").and_then(Object::as_name) {
            Ok(b"Image") => run.page.n_images += 1,
            Ok(b"Form") if depth < FORMS_MAX => {
                let content = stream.decompressed_content_with_limit(CONTENT_BYTES_MAX);
                let content =
                    content.or_else(|_| stream.get_plain_content_with_limit(CONTENT_BYTES_MAX));
                let Ok(content) = content else {
                    return Ok(());
                };
                let own = stream.dict.get_deref(b"Resources", document);
                let own = own.and_then(Object::as_dict).ok().or(resources);
                let outer = (run.state.clone(), run.text_matrix, run.line_matrix);
                let matrix = stream.dict.get_deref(b"Matrix", document);
                if let Ok([a, b, c, d, e, f]) = matrix.and_then(Object::as_array).map(Vec::as_slice)
                {
                    let numbers = [a, b, c, d, e, f].map(|it| it.as_float().unwrap_or(0.0));
                    run.state.matrix = Matrix(numbers).then(run.state.matrix);
                }
                self.run(&content, own, depth + 1, run)?;
                (run.state, run.text_matrix, run.line_matrix) = outer;
            }
            _ => {}
        }
        Ok(())
    }

    /// The font with this dictionary, read once.
    fn font(&mut self, font: &Object) -> Option<usize> {
        let dictionary = font.as_dict().ok()?;
        let address = std::ptr::from_ref(dictionary).addr();
        if let Some(&known) = self.fonts.get(&address) {
            return Some(known);
        }
        self.all_fonts.push(Font::of(dictionary, self.document));
        let at = self.all_fonts.len() - 1;
        self.fonts.insert(address, at);
        Some(at)
    }
}

/// The mark of a part of the content: what it stands for by its properties, which are written there
/// or a resource.
fn mark(
    document: &Document,
    name: &[u8],
    properties: Option<&Operand>,
    resources: Option<&Dictionary>,
) -> Mark {
    if name == b"Artifact" {
        return Mark::Artifact;
    }
    let actual = match properties {
        Some(Operand::Name(name)) => {
            let properties = named_in(document, resources, b"Properties", name);
            let properties = properties.and_then(|it| it.as_dict().ok());
            let text = properties.and_then(|it| it.get_deref(b"ActualText", document).ok());
            text.and_then(|text| decode_text_string(text).ok())
        }
        Some(direct) => match direct.get(b"ActualText") {
            Some(Operand::Text(text)) => {
                let text = Object::string_literal(text.clone());
                decode_text_string(&text).ok()
            }
            _ => None,
        },
        None => None,
    };
    actual.map_or(Mark::None, |text| Mark::Actual(text, false))
}

/// The value of a key of a page, or of the nodes above it.
fn inherited<'a>(document: &'a Document, page: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    let mut node = page;
    for _ in 0..64 {
        if let Ok(value) = node.get_deref(key, document) {
            return Some(value);
        }
        node = node
            .get_deref(b"Parent", document)
            .and_then(Object::as_dict)
            .ok()?;
    }
    None
}

/// A resource by its kind and name.
fn named_in<'a>(
    document: &'a Document,
    resources: Option<&'a Dictionary>,
    kind: &[u8],
    name: &[u8],
) -> Option<&'a Object> {
    let kind = resources?
        .get_deref(kind, document)
        .and_then(Object::as_dict)
        .ok()?;
    kind.get_deref(name, document).ok()
}
