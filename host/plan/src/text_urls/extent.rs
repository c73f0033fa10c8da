//! Where a URL ends: at a character that no URL has, at a bracket or quote that was opened before
//! it, or before the punctuation of the surrounding sentence.

use std::borrow::Cow;

use super::host;

/// Sentence marks and quotes of scripts without spaces, which follow a URL directly.
const MARKS: &[char] = &[
    '。', '，', '、', '；', '：', '！', '？', '「', '」', '『', '』', '（', '）', '《', '》', '〈',
    '〉', '【', '】', '〔', '〕', '“', '”', '‘', '’', '„', '‚', '«', '»', '‹', '›', '…', '․', '·',
    '｡', '､', '｢', '｣', '\u{feff}', '\u{200b}', '\u{200e}', '\u{200f}', '।', '۔', '،', '؛',
];
/// Punctuation that belongs to the sentence if it is at the end.
const TRAILING: &[char] = &['.', ',', ';', ':', '!', '?', '\'', '*'];
/// Characters of URLs that markdown escapes with a backslash.
const ESCAPED: &[u8] = b"_*()[]~#&-.!";
/// HTML character references that are decoded. Longest name with its semicolon, in bytes.
const REFERENCE_BYTES_MAX: usize = 10;

/// Most bytes of a host in other scripts, with user and password before it.
const AUTHORITY_BYTES_MAX: usize = 512;

/// What directly precedes a URL.
#[derive(Clone, Copy)]
pub(super) struct Around(Option<char>);

impl Around {
    pub(super) fn before(text: &str, start: usize) -> Self {
        Self(text[..start].chars().next_back())
    }
}

/// A URL as written in the text, and without the escapes of HTML and markdown.
pub(super) struct Extent<'a> {
    pub(super) end: usize,
    pub(super) url: Cow<'a, str>,
}

/// Where the characters of a discarded URL end: at white space, a quote or an angle bracket.
pub(super) fn raw_end(text: &str, start: usize, around: Around) -> usize {
    let rest = &text[start..];
    let ends = |character: char| {
        is_end(character)
            || character == '\'' && around.0 == Some('\'')
            || character == ')' && around.0 == Some('(')
    };
    rest.find(ends).map_or(text.len(), |length| start + length)
}

fn is_end(character: char) -> bool {
    if character.is_ascii() {
        character <= ' '
            || matches!(
                character,
                '<' | '>' | '"' | '`' | '{' | '}' | '|' | '^' | '\u{7f}'
            )
    } else {
        character.is_whitespace() || MARKS.contains(&character)
    }
}

/// Reads the URL that begins at `start` and whose host begins at `authority`.
pub(super) fn read(text: &str, start: usize, authority: usize, around: Around) -> Extent<'_> {
    let mut reader = Reader {
        text,
        at: authority,
        authority,
        round: 0,
        square: 0,
        in_authority: true,
        around,
        pieces: Vec::new(),
    };
    reader.run();
    let Reader { at, pieces, .. } = reader;
    let end = authority + trimmed(&text[authority..at], around).len();
    let end = without_prose(text, authority, end);
    // Punctuation written as a reference or with a backslash is removed as a whole.
    let cut = pieces
        .iter()
        .find(|piece| piece.start < end && end < piece.end);
    let end = cut.map_or(end, |piece| piece.start);
    Extent {
        end,
        url: decoded(text, start, end, &pieces),
    }
}

/// Bytes that continue a URL in any context.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte] = matches!(byte as u8, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%')
            || matches!(byte as u8, b'=' | b'+' | b':' | b'@' | b'!' | b'$' | b'*');
        byte += 1;
    }
    plain
};

/// A part of the text that encodes one character.
struct Piece {
    start: usize,
    end: usize,
    character: char,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    authority: usize,
    /// Brackets opened within the URL.
    round: u32,
    square: u32,
    in_authority: bool,
    around: Around,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            let plain = bytes[self.at..].iter();
            self.at += plain.take_while(|byte| PLAIN[usize::from(**byte)]).count();
            let Some(&byte) = bytes.get(self.at) else {
                return;
            };
            let goes_on = match byte {
                b'(' => bump(&mut self.round),
                b')' => drop_one(&mut self.round),
                b'[' => bump(&mut self.square),
                b']' => drop_one(&mut self.square),
                b'\'' => self.around.0 != Some('\''),
                b',' | b';' => !self.another_follows(),
                b'/' | b'?' | b'#' => {
                    self.in_authority = false;
                    true
                }
                b'&' => {
                    self.in_authority = false;
                    if self.reference() {
                        continue;
                    }
                    !self.closing_reference()
                }
                b'\\' => {
                    if self.escape() {
                        continue;
                    }
                    false
                }
                byte if byte.is_ascii() => !is_end(char::from(byte)),
                _ => {
                    let Some(character) = self.text[self.at..].chars().next() else {
                        return;
                    };
                    if is_end(character) || self.in_authority && self.is_prose(character) {
                        return;
                    }
                    self.at += character.len_utf8();
                    continue;
                }
            };
            if !goes_on {
                return;
            }
            self.at += 1;
        }
    }

    /// Whether a character ends the host: one of a script without spaces directly after Latin
    /// letters, or one of a host that exceeds the length limit, which would otherwise be read again
    /// for each part of it.
    fn is_prose(&self, character: char) -> bool {
        let before = self.text.as_bytes()[..self.at].last();
        let is_behind_latin = before.is_some_and(u8::is_ascii_alphanumeric);
        is_behind_latin && character >= host::FIRST_IDEOGRAPH
            || self.at - self.authority > AUTHORITY_BYTES_MAX
    }

    /// Whether a comma or semicolon separates this URL from the next one.
    fn another_follows(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let begins = |known: &[u8]| {
            rest.len() >= known.len() && rest[..known.len()].eq_ignore_ascii_case(known)
        };
        begins(b"http://") || begins(b"https://") || begins(b"www.")
    }

    /// Skips a character reference for a character of a URL.
    fn reference(&mut self) -> bool {
        let Some((length, character)) = reference(&self.text[self.at..]) else {
            return false;
        };
        if is_end(character) || character == '\'' {
            return false;
        }
        let (start, end) = (self.at, self.at + length);
        self.pieces.push(Piece {
            start,
            end,
            character,
        });
        self.at = end;
        true
    }

    /// Whether a reference here ends the URL: a quote, an angle bracket or white space.
    fn closing_reference(&self) -> bool {
        reference(&self.text[self.at..]).is_some()
    }

    fn escape(&mut self) -> bool {
        let next = self.text.as_bytes().get(self.at + 1).copied();
        let Some(next) = next.filter(|next| !self.in_authority && ESCAPED.contains(next)) else {
            return false;
        };
        self.pieces.push(Piece {
            start: self.at,
            end: self.at + 2,
            character: char::from(next),
        });
        self.at += 2;
        true
    }
}

fn bump(depth: &mut u32) -> bool {
    *depth += 1;
    true
}

fn drop_one(depth: &mut u32) -> bool {
    match depth.checked_sub(1) {
        Some(left) => {
            *depth = left;
            true
        }
        None => false,
    }
}

/// A character reference with its semicolon at the front of a text: its length and the character.
/// Only those that occur in and around URLs. Source: WHATWG HTML, "Named character references".
fn reference(text: &str) -> Option<(usize, char)> {
    let head = &text.as_bytes()[1..text.len().min(1 + REFERENCE_BYTES_MAX)];
    let semicolon = memchr::memchr(b';', head)?;
    let name = std::str::from_utf8(&head[..semicolon]).ok()?;
    let character = match name {
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "quot" | "QUOT" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "sol" => '/',
        "colon" => ':',
        "quest" => '?',
        "equals" => '=',
        "num" => '#',
        "lpar" => '(',
        "rpar" => ')',
        numeric => {
            let digits = numeric.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    };
    Some((semicolon + 2, character))
}

/// Removes the punctuation of the surrounding sentence. A bracket at the end is balanced: the
/// reader stopped before any other, but the last one opened may be unclosed.
fn trimmed(url: &str, around: Around) -> &str {
    let is_trailing = |last: char| {
        TRAILING.contains(&last)
            || matches!(last, '(' | '[')
            || matches!(last, '_' | '~') && around.0 == Some(last)
    };
    url.trim_end_matches(is_trailing)
}

/// Cuts prose that follows the host without a space if the host has no path.
fn without_prose(text: &str, authority: usize, end: usize) -> usize {
    let url = &text[authority..end];
    if url.is_ascii() || url.contains(['/', '?', '#']) {
        end
    } else {
        authority + host::without_prose(url).len()
    }
}

fn decoded<'a>(text: &'a str, start: usize, end: usize, pieces: &[Piece]) -> Cow<'a, str> {
    let within = pieces.partition_point(|piece| piece.end <= end);
    if within == 0 {
        return Cow::Borrowed(&text[start..end]);
    }
    let mut url = String::with_capacity(end - start);
    let mut at = start;
    for piece in &pieces[..within] {
        url.push_str(&text[at..piece.start]);
        url.push(piece.character);
        at = piece.end;
    }
    url.push_str(&text[at..end]);
    Cow::Owned(url)
}
