//! What characters are called in fonts (Adobe Glyph List), and how wide they are in the standard
//! fonts, which files need not describe (ISO 32000-2, 9.6.2.2).

use lopdf::{Dictionary, Document, Object};

/// Widths of `Helvetica` from the space to the tilde, in thousandths of the size.
const SANS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Widths of `Times-Roman`, likewise.
const SERIF: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500,
    500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611,
    556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722,
    722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500,
    278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
];
/// Width of every character of `Courier`.
const MONO: u16 = 600;
/// Width of the characters that the tables lack.
const OTHER: u16 = 556;

/// The width of a character in a standard font, in thousandths of the size.
pub(crate) fn standard_width(font: &str, character: char) -> u16 {
    if font.contains("Courier") {
        return MONO;
    }
    let table = if font.contains("Times") {
        &SERIF
    } else {
        &SANS
    };
    let at = (character as usize).checked_sub(0x20);
    at.and_then(|at| table.get(at)).copied().unwrap_or(OTHER)
}

/// The text that a glyph's name stands for; `None` for names that fonts made up.
pub(crate) fn text_of(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.split_once('.').map_or(name, |(base, _)| base);
    if let Some(text) = listed(name).or_else(|| by_number(name)) {
        return Some(text);
    }
    // The parts of a ligature: `f_f_i`.
    let parts: Option<Vec<String>> = name
        .split('_')
        .map(|part| listed(part).or_else(|| by_number(part)))
        .collect();
    parts
        .filter(|parts| parts.len() > 1)
        .map(|parts| parts.concat())
}

fn listed(name: &str) -> Option<String> {
    // Of one letter or digit is its own name; the rest of the list comes with the library, which
    // shows it through encodings alone.
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return only.is_ascii_alphabetic().then(|| only.to_string());
    }
    let mut differences = Dictionary::new();
    let names = vec![Object::Integer(0), Object::Name(name.as_bytes().to_vec())];
    differences.set("Differences", names);
    decoded(differences.into(), &[0])
}

/// What a byte means in an encoding: a name, or a dictionary with differences.
pub(crate) fn decoded(encoding: Object, bytes: &[u8]) -> Option<String> {
    let mut font = Dictionary::new();
    font.set("Type", "Font");
    font.set("Encoding", encoding);
    let none = Document::new();
    let text = font
        .get_font_encoding(&none)
        .ok()?
        .bytes_to_string(bytes)
        .ok()?;
    Some(text).filter(|text| !text.is_empty())
}

/// `uni0041`, `u1F600`.
fn by_number(name: &str) -> Option<String> {
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(digits) = name.strip_prefix("uni").filter(|digits| is_number(digits))
        && !digits.is_empty()
        && digits.len().is_multiple_of(4)
    {
        let unit = |at: usize| u16::from_str_radix(&digits[at..at + 4], 16).unwrap_or(0xFFFD);
        let units: Vec<u16> = (0..digits.len()).step_by(4).map(unit).collect();
        return String::from_utf16(&units).ok();
    }
    let digits = name.strip_prefix('u').filter(|digits| is_number(digits))?;
    let number = (4..=6)
        .contains(&digits.len())
        .then(|| u32::from_str_radix(digits, 16).ok())?;
    Some(char::from_u32(number?)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::{standard_width, text_of};

    #[test]
    fn names_have_their_texts() {
        for (name, text) in [
            ("A", "A"),
            ("eacute", "é"),
            ("ff", "\u{FB00}"),
            ("f_f_i", "\u{FB03}"),
            ("T_h", "Th"),
            ("uni00410042", "AB"),
            ("u1F600", "😀"),
            ("one.oldstyle", "1"),
        ] {
            assert_eq!(text_of(name.as_bytes()).as_deref(), Some(text), "{name}");
        }
        for name in ["g12", "", ".notdef", "uni00", "a_"] {
            assert_eq!(text_of(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn widths_are_those_of_the_standard_fonts() {
        assert_eq!(standard_width("Helvetica-Bold", '~'), 584);
        assert_eq!(standard_width("Times-Roman", 'W'), 944);
        assert_eq!(standard_width("Courier", 'i'), 600);
    }
}
