//! Fonts of a document: what their codes mean, how wide their characters are and how they look
//! (ISO 32000-2, 9.5 to 9.10).

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use crate::{cid, names, type1};

/// Most bytes of a `ToUnicode` map, decompressed.
const MAP_BYTES_MAX: usize = 8 << 20;
/// Most widths of a font.
const WIDTHS_MAX: usize = 70_000;

/// A character of a font.
#[derive(Clone, Debug)]
pub(crate) struct Character<'a> {
    /// Its text; `None` if the file does not say it.
    pub(crate) text: Option<&'a str>,
    /// Its width, as a part of the font's size.
    pub(crate) width: f32,
    /// Whether its code is the single byte 32, which word spacing widens.
    pub(crate) is_space: bool,
}

/// A font.
#[derive(Debug)]
pub(crate) struct Font {
    codes: Codes,
    /// Texts of codes that were seen, by code.
    texts: HashMap<u32, Option<Box<str>>>,
    widths: HashMap<u32, f32>,
    default_width: f32,
    /// Name of a font without widths, whose characters are those of a standard font.
    standard: Option<String>,
    /// What a size of 1 is high: Type 3 fonts have units of their own.
    em: f32,
    pub(crate) is_bold: bool,
    pub(crate) is_italic: bool,
    pub(crate) is_mono: bool,
}

/// What the codes of a font are.
#[derive(Debug)]
enum Codes {
    /// One byte each.
    Bytes {
        map: Option<Encoding<'static>>,
        names: HashMap<u8, Vec<u8>>,
        base: &'static str,
    },
    /// Two bytes each.
    Pairs {
        map: Option<Encoding<'static>>,
        is_utf16: bool,
        /// The characters of its collection, if its codes are their numbers.
        collection: Option<cid::Collection>,
    },
}

impl Font {
    /// Reads a font's dictionary.
    pub(crate) fn of(font: &Dictionary, document: &Document) -> Self {
        let get =
            |dictionary: &Dictionary, key: &[u8]| dictionary.get_deref(key, document).ok().cloned();
        let subtype = font
            .get(b"Subtype")
            .and_then(Object::as_name)
            .unwrap_or(b"");
        let name = font
            .get(b"BaseFont")
            .and_then(Object::as_name)
            .unwrap_or(b"");
        let name = String::from_utf8_lossy(name).into_owned();
        let map = map_of(font, document);
        let descendant = get(font, b"DescendantFonts").and_then(|fonts| {
            let first = fonts.as_array().ok()?.first()?.clone();
            let (_, first) = document.dereference(&first).ok()?;
            first.as_dict().ok().cloned()
        });
        let described = descendant.as_ref().unwrap_or(font);
        let descriptor =
            get(described, b"FontDescriptor").and_then(|it| it.as_dict().ok().cloned());
        let number = |key: &[u8]| {
            let value = descriptor.as_ref()?.get_deref(key, document).ok()?;
            value.as_float().ok()
        };
        let flags = number(b"Flags").unwrap_or(0.0) as u32;
        let [is_bold, is_italic, is_mono] = looks(&name, flags, number(b"FontWeight"));
        let mut font = Self {
            codes: match &descendant {
                Some(descendant) => pairs(font, map, descendant, document),
                None => bytes(font, map, descriptor.as_ref(), document),
            },
            texts: HashMap::new(),
            widths: HashMap::new(),
            default_width: 0.0,
            standard: None,
            em: 1.0,
            is_bold,
            is_italic,
            is_mono,
        };
        match &descendant {
            Some(descendant) => font.read_pair_widths(descendant, document),
            None => font.read_widths(
                described_widths(described, document),
                subtype,
                &name,
                number(b"MissingWidth"),
            ),
        }
        font
    }

    /// The characters of a string that is shown, one after the other.
    pub(crate) fn characters(&mut self, string: &[u8], mut take: impl FnMut(Character<'_>)) {
        let size = match self.codes {
            Codes::Bytes { .. } => 1,
            Codes::Pairs { .. } => 2,
        };
        for code in string.chunks(size) {
            let number = code
                .iter()
                .fold(0, |number, &byte| number << 8 | u32::from(byte));
            let codes = &self.codes;
            let text = self
                .texts
                .entry(number)
                .or_insert_with(|| codes.text(number));
            let width = self.widths.get(&number).copied();
            let width = width.unwrap_or_else(|| match (&self.standard, text.as_deref()) {
                (Some(name), Some(text)) => {
                    let first = text.chars().next().unwrap_or(' ');
                    f32::from(names::standard_width(name, first)) / 1000.0
                }
                _ => self.default_width,
            });
            take(Character {
                text: text.as_deref(),
                width,
                is_space: size == 1 && number == 32,
            });
        }
    }

    fn read_widths(
        &mut self,
        widths: Option<(u32, Vec<f32>, f32)>,
        subtype: &[u8],
        name: &str,
        missing: Option<f32>,
    ) {
        let Some((first, widths, type_3_scale)) = widths else {
            self.standard = Some(name.to_owned());
            return;
        };
        let scale = if subtype == b"Type3" {
            type_3_scale
        } else {
            0.001
        };
        self.default_width = missing.unwrap_or(0.0) * scale;
        let scaled = widths
            .iter()
            .map(|width| (width * scale).clamp(-10.0, 10.0));
        self.widths = (first..).zip(scaled).take(256).collect();
        self.is_mono |= has_one_width(&self.widths);
        if subtype == b"Type3" {
            // A character is about half as wide as it is high.
            let shown = self.widths.values().filter(|width| **width > 0.0);
            let (sum, count) = shown.fold((0.0, 0.0_f32), |(sum, count), width| {
                (sum + width, count + 1.0)
            });
            self.em = 2.0 * sum / count.max(1.0);
        }
    }

    /// The height of a line of size 1, about.
    pub(crate) fn em(&self) -> f32 {
        self.em
    }

    /// Reads `W` and `DW` (9.7.4.3).
    fn read_pair_widths(&mut self, font: &Dictionary, document: &Document) {
        let default = font.get_deref(b"DW", document).and_then(Object::as_float);
        self.default_width = default.unwrap_or(1000.0) / 1000.0;
        let Ok(items) = font.get_deref(b"W", document).and_then(Object::as_array) else {
            return;
        };
        let number = |item: Option<&Object>| {
            let (_, item) = document.dereference(item?).ok()?;
            item.as_float().ok()
        };
        let mut at = 0;
        while let Some(first) = number(items.get(at)) {
            let Some(next) = items.get(at + 1) else { break };
            let list = document
                .dereference(next)
                .ok()
                .and_then(|(_, it)| it.as_array().ok());
            let first = first.max(0.0) as u32;
            if let Some(list) = list {
                for (code, width) in (first..).zip(list) {
                    self.insert_width(code, number(Some(width)).unwrap_or(0.0));
                }
                at += 2;
            } else {
                let last = number(Some(next)).unwrap_or(0.0).clamp(0.0, 65_535.0) as u32;
                let width = number(items.get(at + 2)).unwrap_or(0.0);
                for code in first..=last {
                    self.insert_width(code, width);
                }
                at += 3;
            }
            if self.widths.len() >= WIDTHS_MAX {
                break;
            }
        }
    }

    fn insert_width(&mut self, code: u32, width: f32) {
        if self.widths.len() < WIDTHS_MAX {
            self.widths
                .insert(code, (width / 1000.0).clamp(-10.0, 10.0));
        }
    }
}

impl Codes {
    fn text(&self, code: u32) -> Option<Box<str>> {
        let (map, lengths) = match self {
            Self::Bytes { map, .. } => (map, [1, 2]),
            Self::Pairs { map, .. } => (map, [2, 1]),
        };
        if let Some(Encoding::UnicodeMapEncoding(map)) = map {
            let units = lengths.iter().find_map(|&length| map.get(code, length));
            let text = units.map(|units| readable(&String::from_utf16_lossy(&units)));
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                return Some(text.into());
            }
        }
        let text = match self {
            Self::Bytes { names, base, .. } => {
                let code = code as u8;
                match names.get(&code) {
                    Some(name) => names::text_of(name),
                    None => names::decoded(Object::Name(base.as_bytes().to_vec()), &[code]),
                }
            }
            Self::Pairs {
                is_utf16,
                collection,
                ..
            } => {
                let unit = match is_utf16 {
                    true => char::from_u32(code),
                    false => collection.and_then(|characters| cid::character(characters, code)),
                };
                unit.map(|unit| unit.to_string())
            }
        };
        let text = readable(&text?);
        (!text.is_empty()).then(|| text.into())
    }
}

/// Whether narrow and wide letters are of one width, by the widths of their codes.
fn has_one_width(widths: &HashMap<u32, f32>) -> bool {
    let of = |letters: &[u8]| -> Vec<f32> {
        let known = letters.iter().filter_map(|it| widths.get(&u32::from(*it)));
        known.copied().filter(|width| *width > 0.0).collect()
    };
    let (narrow, wide) = (of(b"fijlrtI"), of(b"mwMOQW"));
    let (Some(one), false) = (narrow.first(), wide.is_empty()) else {
        return false;
    };
    let mut all = narrow.iter().chain(&wide);
    all.all(|width| (width - one).abs() < 0.001)
}

/// Whether a font is bold, italic and of one width: by its name, its flags and its weight.
fn looks(name: &str, flags: u32, weight: Option<f32>) -> [bool; 3] {
    const BOLD: [&str; 11] = [
        "Bold", "Black", "Heavy", "Semibold", "Demi", "CMB", "cmb", "SFBX", "-Bd", "9L-Medi",
        "xbtt",
    ];
    const ITALIC: [&str; 6] = ["Italic", "Oblique", "CMTI", "CMSL", "SFTI", "-It"];
    const MONO: [&str; 10] = [
        "Courier",
        "Mono",
        "Consol",
        "CMTT",
        "CMSLTT",
        "SFTT",
        "Typewriter",
        "Menlo",
        "NimbusMon",
        "xtt",
    ];
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_heavy = weight.is_some_and(|weight| weight >= 600.0);
    [
        has(&BOLD) || flags & 1 << 18 != 0 || is_heavy,
        has(&ITALIC) || flags & 1 << 6 != 0,
        has(&MONO) || flags & 1 != 0,
    ]
}

/// Ligatures as their letters, bullets of symbol fonts as bullets, nothing for what only the font
/// knows and for control characters.
fn readable(text: &str) -> String {
    let mut readable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{FB00}' => readable.push_str("ff"),
            '\u{FB01}' => readable.push_str("fi"),
            '\u{FB02}' => readable.push_str("fl"),
            '\u{FB03}' => readable.push_str("ffi"),
            '\u{FB04}' => readable.push_str("ffl"),
            '\u{FB05}' | '\u{FB06}' => readable.push_str("st"),
            '\u{F0B7}' | '\u{F0A7}' | '\u{F0D8}' | '\u{F076}' => readable.push('•'),
            '\u{A0}' | '\t' | '\n' | '\r' | '\u{2002}'..='\u{200A}' => readable.push(' '),
            '\u{AD}' => readable.push('-'),
            '\u{E000}'..='\u{F8FF}' | '\u{FFFD}' => {}
            other if other.is_control() => {}
            other => readable.push(other),
        }
    }
    readable
}

/// The `ToUnicode` map of a font.
fn map_of(font: &Dictionary, document: &Document) -> Option<Encoding<'static>> {
    let mut only = Dictionary::new();
    only.set("Type", "Font");
    only.set("ToUnicode", font.get(b"ToUnicode").ok()?.clone());
    match only.get_font_encoding_with_limit(document, MAP_BYTES_MAX) {
        Ok(Encoding::UnicodeMapEncoding(map)) => Some(Encoding::UnicodeMapEncoding(map)),
        _ => None,
    }
}

/// The codes of a font of two bytes: of UTF-16, or the numbers of a collection's characters.
fn pairs(
    font: &Dictionary,
    map: Option<Encoding<'static>>,
    descendant: &Dictionary,
    document: &Document,
) -> Codes {
    let encoding = font
        .get_deref(b"Encoding", document)
        .and_then(Object::as_name);
    let encoding = String::from_utf8_lossy(encoding.unwrap_or(b""));
    let system = descendant
        .get_deref(b"CIDSystemInfo", document)
        .and_then(Object::as_dict);
    let ordering = system.and_then(|it| it.get_deref(b"Ordering", document));
    let ordering = ordering.and_then(Object::as_str).unwrap_or(b"");
    Codes::Pairs {
        map,
        is_utf16: encoding.contains("UCS2") || encoding.contains("UTF16"),
        collection: cid::collection(ordering).filter(|_| encoding.starts_with("Identity")),
    }
}

/// The codes of a font of single bytes. The names that its own program has count where its
/// dictionary names no encoding.
fn bytes(
    font: &Dictionary,
    map: Option<Encoding<'static>>,
    descriptor: Option<&Dictionary>,
    document: &Document,
) -> Codes {
    let known = |name: Option<&[u8]>| match name {
        Some(b"WinAnsiEncoding") => Some("WinAnsiEncoding"),
        Some(b"MacRomanEncoding") => Some("MacRomanEncoding"),
        Some(b"MacExpertEncoding") => Some("MacExpertEncoding"),
        _ => None,
    };
    let subtype = font.get(b"Subtype").and_then(Object::as_name);
    let fallback = match subtype {
        Ok(b"TrueType") => "WinAnsiEncoding",
        _ => "StandardEncoding",
    };
    let encoding = font.get_deref(b"Encoding", document).ok();
    let (base, mut names) = match encoding {
        Some(Object::Name(name)) => (known(Some(name)), HashMap::new()),
        Some(Object::Dictionary(dictionary)) => {
            let base = dictionary.get(b"BaseEncoding").and_then(Object::as_name);
            (known(base.ok()), differences(dictionary, document))
        }
        _ => (None, HashMap::new()),
    };
    if base.is_none() {
        let own = descriptor.map(|descriptor| type1::names(descriptor, document));
        for (code, name) in own.into_iter().flatten() {
            names.entry(code).or_insert(name);
        }
    }
    Codes::Bytes {
        map,
        names,
        base: base.unwrap_or(fallback),
    }
}

/// The names of codes by the differences of an encoding.
fn differences(encoding: &Dictionary, document: &Document) -> HashMap<u8, Vec<u8>> {
    let mut names = HashMap::new();
    let differences = encoding.get_deref(b"Differences", document);
    let mut code = 0_i64;
    for item in differences.and_then(Object::as_array).into_iter().flatten() {
        match item {
            Object::Integer(number) => code = *number,
            Object::Name(name) => {
                if let Ok(code) = u8::try_from(code) {
                    names.insert(code, name.clone());
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    names
}

/// The first code with a width, the widths, and the scale of a Type 3 font.
fn described_widths(font: &Dictionary, document: &Document) -> Option<(u32, Vec<f32>, f32)> {
    let widths = font
        .get_deref(b"Widths", document)
        .and_then(Object::as_array)
        .ok()?;
    let number = |item: &Object| {
        let value = document
            .dereference(item)
            .ok()
            .and_then(|(_, it)| it.as_float().ok());
        value.unwrap_or(0.0)
    };
    let first = font
        .get_deref(b"FirstChar", document)
        .and_then(Object::as_i64)
        .unwrap_or(0);
    let matrix = font
        .get_deref(b"FontMatrix", document)
        .and_then(Object::as_array);
    let scale = matrix
        .ok()
        .and_then(|matrix| matrix.first())
        .map_or(0.001, number);
    let widths = widths.iter().take(256).map(number).collect();
    Some((u32::try_from(first).unwrap_or(0), widths, scale))
}
