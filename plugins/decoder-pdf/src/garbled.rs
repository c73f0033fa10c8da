//! Text that was UTF-8 and is printed as if each of its bytes were a character: `Ã©` for `é`.
//! People search for what was meant, and the outline of such a document often has it right.

use std::collections::HashSet;

use crate::page::{Glyph, Page};

/// How many broken characters a page must have, and of how many kinds, before its text is taken
/// for such a one.
const BROKEN_MIN: usize = 3;
const KINDS_MIN: usize = 2;
/// How far the second part of a character is from the first one at most, and how large it is at
/// most if it is a small digit or letter, in sizes of the font.
const GAP_MAX: f32 = 0.4;
const SMALL_MAX: f32 = 0.9;
/// The characters that the first byte of one of two bytes is printed as.
const LEADS: [char; 2] = ['Â', 'Ã'];
/// What windows-1252 has in place of the control characters from 0x80 on; a blank for none.
const WINDOWS_1252: [char; 32] = [
    '€', ' ', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', ' ', 'Ž', ' ', ' ', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', ' ', 'ž', 'Ÿ',
];

/// The pages of a document, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Garbled {
    /// Whether a page was garbled: then few broken characters are enough on the next ones.
    is_known: bool,
}

impl Garbled {
    /// Whether characters of a page were joined.
    pub(crate) fn is_mended(&self) -> bool {
        self.is_known
    }

    /// Joins the parts of broken characters if the page has more of them than chance.
    pub(crate) fn mend(&mut self, page: &mut Page) {
        if !page.text.contains(LEADS) || has_names_in_capitals(page) {
            return;
        }
        self.is_known |= is_garbled(page);
        if self.is_known {
            mend(page);
        }
    }
}

/// The first byte of a character of two bytes that is printed as one.
fn lead(text: &str) -> Option<u8> {
    match text {
        "Â" => Some(0xc2),
        "Ã" => Some(0xc3),
        _ => None,
    }
}

/// The second byte, if a glyph after the first one shows it.
fn second(page: &Page, first: &Glyph, next: &Glyph) -> Option<u8> {
    let is_near = first.direction == next.direction
        && (next.v - first.v).abs() < first.size
        && (next.u0 - first.u1).abs() < first.size * GAP_MAX;
    let mut characters = page.text_of(next).chars();
    let character = characters
        .next()
        .filter(|_| is_near && characters.next().is_none())?;
    // Fonts of TeX lack some, which are printed as raised digits and letters.
    let small = match character {
        '1' => 0xb9,
        '2' => 0xb2,
        '3' => 0xb3,
        'a' => 0xaa,
        'o' => 0xba,
        _ => 0,
    };
    match character {
        '\u{a0}'..='\u{bf}' => u8::try_from(u32::from(character)).ok(),
        'μ' => Some(0xb5),
        _ if small != 0 => (next.size < first.size * SMALL_MAX).then_some(small),
        _ => {
            let place = WINDOWS_1252.iter().position(|&it| it == character)?;
            u8::try_from(place).ok().map(|place| 0x80 + place)
        }
    }
}

fn is_garbled(page: &Page) -> bool {
    let (mut n_broken, mut kinds) = (0, HashSet::new());
    for pair in page.glyphs.windows(2) {
        if lead(page.text_of(&pair[0])).is_some()
            && let Some(byte) = second(page, &pair[0], &pair[1]).filter(|&byte| byte > 0xa0)
        {
            n_broken += 1;
            kinds.insert(byte);
        }
    }
    n_broken >= BROKEN_MIN && kinds.len() >= KINDS_MIN
}

/// Whether the letter is one of a word in capitals: `SÃO`.
fn has_names_in_capitals(page: &Page) -> bool {
    page.glyphs.windows(2).any(|pair| {
        lead(page.text_of(&pair[0])).is_some()
            && page
                .text_of(&pair[1])
                .starts_with(|c: char| c.is_ascii_uppercase())
            && (pair[1].u0 - pair[0].u1).abs() < pair[0].size * GAP_MAX
    })
}

fn mend(page: &mut Page) {
    let glyphs = std::mem::take(&mut page.glyphs);
    let mut glyphs = glyphs.into_iter().peekable();
    while let Some(mut glyph) = glyphs.next() {
        if let Some(lead) = lead(page.text_of(&glyph)) {
            let byte = glyphs.peek().and_then(|next| second(page, &glyph, next));
            if byte.is_some()
                && let Some(next) = glyphs.next()
            {
                glyph.u1 = glyph.u1.max(next.u1);
            }
            // What is not printed is a blank or a soft hyphen.
            let unseen = if lead == 0xc2 { 0xa0 } else { 0xad };
            let character = u32::from(lead & 0x1f) << 6 | u32::from(byte.unwrap_or(unseen) & 0x3f);
            let from = page.text.len();
            page.text.extend(char::from_u32(character));
            glyph.text = (from as u32, page.text.len() as u32);
        }
        page.glyphs.push(glyph);
    }
}

#[cfg(test)]
mod tests {
    use super::Garbled;
    use crate::page::{Glyph, Page, Style};

    /// A line of glyphs of one character each; raised ones are after a `^`.
    fn page(line: &str) -> Page {
        let mut page = Page::default();
        let (mut u, mut is_raised) = (0.0, false);
        for character in line.chars() {
            if character == '^' {
                is_raised = true;
                continue;
            }
            let from = page.text.len();
            page.text.push(character);
            page.glyphs.push(Glyph {
                u0: u,
                u1: u + 5.0,
                v: if is_raised { 97.0 } else { 100.0 },
                size: if is_raised { 7.0 } else { 10.0 },
                text: (from as u32, page.text.len() as u32),
                style: Style::default(),
                link: 0,
                direction: 0,
            });
            u += 5.0;
            is_raised = false;
        }
        page
    }

    fn mended(garbled: &mut Garbled, line: &str) -> String {
        let mut page = page(line);
        garbled.mend(&mut page);
        let texts = page.glyphs.iter().map(|glyph| page.text_of(glyph));
        texts.collect()
    }

    #[test]
    fn characters_of_two_bytes_are_joined() {
        let mut garbled = Garbled::default();
        let line =
            "Â¿QuÃ© es gestiÃ^3n bÃ¡sica, pÃ^oblica, mÃ^3dulos, seÃ±al, ÃšltimocaracterÃsticas";
        let expected = "¿Qué es gestión básica, pública, módulos, señal, Últimocaracterísticas";
        assert_eq!(mended(&mut garbled, line), expected);
        assert!(garbled.is_mended());
        // The next page needs less.
        assert_eq!(mended(&mut garbled, "mÃ¡s"), "más");
        assert_eq!(mended(&mut garbled, "SÃO mÃ¡s"), "SÃO mÃ¡s");
    }

    #[test]
    fn what_is_meant_so_stays() {
        for line in [
            "SÃO PAULO, IRMÃ^1, Ã¡ Ã© Ã±",
            "Ã© alone",
            "Ã¡ Ã¡ Ã¡ of one kind",
            "a long tÃte-à-tÃte Ã la carte",
        ] {
            let mut garbled = Garbled::default();
            assert_eq!(mended(&mut garbled, line), line.replace('^', ""));
            assert!(!garbled.is_mended(), "{line}");
        }
    }
}
