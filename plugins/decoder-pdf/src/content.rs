//! Reads the operators of a content stream (ISO 32000-2, 7.8.2).

/// Most operands of one operator, and most items of an array: more are left out.
const OPERANDS_MAX: usize = 100_000;
/// Deepest nesting of arrays and dictionaries.
const DEPTH_MAX: usize = 16;

/// An operand. Dictionaries are of interest only where they name a text: see [`Operand::Text`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A number.
    Number(f32),
    /// A string, decoded from its literal or hexadecimal form.
    Text(Vec<u8>),
    /// A name, without its slash.
    Name(Vec<u8>),
    /// An array.
    Array(Vec<Operand>),
    /// Keys and values of a dictionary.
    Dictionary(Vec<(Vec<u8>, Operand)>),
    /// `true`, `false` and `null`.
    Other,
}

impl Operand {
    /// The number, 0 for anything else.
    pub(crate) fn number(&self) -> f32 {
        match self {
            Self::Number(number) => *number,
            _ => 0.0,
        }
    }

    /// The value of a key, if it is a dictionary that has it.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Operand> {
        match self {
            Self::Dictionary(entries) => {
                let entry = entries.iter().find(|(name, _)| name == key);
                entry.map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

/// The operators of a content stream, one after the other.
#[derive(Debug)]
pub(crate) struct Operators<'a> {
    rest: &'a [u8],
    operands: Vec<Operand>,
}

impl<'a> Operators<'a> {
    pub(crate) fn of(stream: &'a [u8]) -> Self {
        Self {
            rest: stream,
            operands: Vec::new(),
        }
    }

    /// The next operator. Its operands are in [`Operators::operands`] until the call after.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        self.operands.clear();
        loop {
            self.skip_space();
            let first = *self.rest.first()?;
            if is_regular(first) && !matches!(first, b'0'..=b'9' | b'+' | b'-' | b'.') {
                let word = self.word();
                match word {
                    b"true" | b"false" | b"null" => self.push(Operand::Other),
                    b"BI" => self.skip_image(),
                    _ => return Some(word),
                }
                continue;
            }
            if let Some(operand) = self.operand(0) {
                self.push(operand);
            }
        }
    }

    /// The operands before the operator that was read last.
    pub(crate) fn operands(&self) -> &[Operand] {
        &self.operands
    }

    fn push(&mut self, operand: Operand) {
        if self.operands.len() < OPERANDS_MAX {
            self.operands.push(operand);
        }
    }

    /// Reads an operand. `None` for what is none; at least one byte is read.
    fn operand(&mut self, depth: usize) -> Option<Operand> {
        self.skip_space();
        let (&first, after) = self.rest.split_first()?;
        match first {
            b'(' => {
                self.rest = after;
                Some(Operand::Text(self.literal()))
            }
            b'<' if after.first() == Some(&b'<') => {
                self.rest = &after[1..];
                let mut items = self.items(depth, b'>').into_iter();
                let mut entries = Vec::new();
                while let (Some(Operand::Name(name)), Some(value)) = (items.next(), items.next()) {
                    entries.push((name, value));
                }
                self.rest = self.rest.strip_prefix(b">").unwrap_or(self.rest);
                Some(Operand::Dictionary(entries))
            }
            b'<' => {
                self.rest = after;
                Some(Operand::Text(self.hexadecimal()))
            }
            b'[' => {
                self.rest = after;
                Some(Operand::Array(self.items(depth, b']')))
            }
            b'/' => {
                self.rest = after;
                Some(Operand::Name(unescaped(self.word())))
            }
            b')' | b'>' | b']' | b'{' | b'}' => {
                self.rest = after;
                None
            }
            _ => {
                let word = self.word();
                let is_number = matches!(first, b'0'..=b'9' | b'+' | b'-' | b'.');
                Some(if is_number {
                    Operand::Number(number(word))
                } else {
                    Operand::Other
                })
            }
        }
    }

    /// The operands up to this closing bracket.
    fn items(&mut self, depth: usize, end: u8) -> Vec<Operand> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.rest.split_first() {
                None => return items,
                Some((&first, after)) if first == end => {
                    self.rest = after;
                    return items;
                }
                _ => {}
            }
            if depth >= DEPTH_MAX {
                self.rest = &self.rest[1..];
                continue;
            }
            if let Some(item) = self.operand(depth + 1)
                && items.len() < OPERANDS_MAX
            {
                items.push(item);
            }
        }
    }

    fn skip_space(&mut self) {
        while let Some((&first, after)) = self.rest.split_first() {
            if first == b'%' {
                let end = self
                    .rest
                    .iter()
                    .position(|byte| matches!(byte, b'\r' | b'\n'));
                self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
            } else if is_space(first) {
                self.rest = after;
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| !is_regular(byte));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn literal(&mut self) -> Vec<u8> {
        let (mut text, mut depth) = (Vec::new(), 0_usize);
        while let Some((&byte, after)) = self.rest.split_first() {
            self.rest = after;
            match byte {
                b'(' => depth += 1,
                b')' if depth == 0 => return text,
                b')' => depth -= 1,
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some((&byte, after)) = self.rest.split_first() else {
            return;
        };
        self.rest = after;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'\r' => self.rest = after.strip_prefix(b"\n").unwrap_or(after),
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    if let Some((&digit @ b'0'..=b'7', after)) = self.rest.split_first() {
                        code = code * 8 + u32::from(digit - b'0');
                        self.rest = after;
                    }
                }
                text.push((code & 0xFF) as u8);
            }
            other => text.push(other),
        }
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        let (mut text, mut high) = (Vec::new(), None);
        while let Some((&byte, after)) = self.rest.split_first() {
            self.rest = after;
            if byte == b'>' {
                break;
            }
            let Some(digit) = char::from(byte).to_digit(16) else {
                continue;
            };
            match high.take() {
                None => high = Some(digit),
                Some(first) => text.push((first * 16 + digit) as u8),
            }
        }
        text.extend(high.map(|digit| (digit * 16) as u8));
        text
    }

    /// Skips an inline image: its data ends at an `EI` between spaces.
    fn skip_image(&mut self) {
        let data = self
            .rest
            .windows(3)
            .position(|part| part[..2] == *b"ID" && is_space(part[2]));
        let from = data.map_or(self.rest.len(), |at| at + 3);
        let is_end = |part: &[u8]| {
            is_space(part[0]) && part[1..3] == *b"EI" && (is_space(part[3]) || part[3] == b'Q')
        };
        let end = self.rest[from.saturating_sub(1)..]
            .windows(4)
            .position(is_end);
        let at = end.map_or(self.rest.len(), |end| from.saturating_sub(1) + end + 3);
        self.rest = &self.rest[at..];
        self.operands.clear();
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_space(byte)
        && !matches!(
            byte,
            b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
        )
}

/// A number. What is damaged counts as far as it can be read.
fn number(word: &[u8]) -> f32 {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let text = text.trim_start_matches('+');
    let value = text.parse().unwrap_or_else(|_| {
        let digits = text.trim_start_matches('-');
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
        let value: f32 = digits[..end.unwrap_or(digits.len())].parse().unwrap_or(0.0);
        if text.starts_with('-') { -value } else { value }
    });
    if value.is_finite() {
        value.clamp(-1e7, 1e7)
    } else {
        0.0
    }
}

/// A name with its `#xx` resolved.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let (mut text, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digit = |at: usize| {
            after
                .get(at)
                .and_then(|&byte| char::from(byte).to_digit(16))
        };
        match (byte, digit(0), digit(1)) {
            (b'#', Some(high), Some(low)) => {
                text.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => text.push(byte),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Operand, Operators};

    fn read(stream: &[u8]) -> Vec<(String, Vec<Operand>)> {
        let mut operators = Operators::of(stream);
        let mut all = Vec::new();
        while let Some(operator) = operators.next() {
            let name = String::from_utf8_lossy(operator).into_owned();
            all.push((name, operators.operands().to_vec()));
        }
        all
    }

    #[test]
    fn operators_have_their_operands() {
        let all = read(b"% a comment\n/F1 12.5 Tf[(a\\(b\\051\\\n) -20 <4a4>]TJ -.5 +3 Td");
        assert_eq!(
            all[0].1,
            [Operand::Name(b"F1".to_vec()), Operand::Number(12.5)]
        );
        let shown = [
            Operand::Text(b"a(b)".to_vec()),
            Operand::Number(-20.0),
            Operand::Text(b"J@".to_vec()),
        ];
        assert_eq!(
            all[1],
            ("TJ".to_owned(), vec![Operand::Array(shown.to_vec())])
        );
        assert_eq!(all[2].1, [Operand::Number(-0.5), Operand::Number(3.0)]);
    }

    #[test]
    fn images_and_dictionaries_are_passed_over() {
        let all = read(b"/Span<</ActualText(x)/N[1 2]>>BDC BI /W 1 ID \x00(EIQ\xFF EI Q");
        assert_eq!(
            all[0].1[1].get(b"ActualText"),
            Some(&Operand::Text(b"x".to_vec()))
        );
        assert_eq!(all[1], ("Q".to_owned(), vec![]));
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn damage_ends() {
        for damaged in [
            &b"(("[..],
            b"<<<<<<",
            b"[[[[",
            b"BI",
            b"BI ID ",
            b"]>)",
            b"<</A",
        ] {
            assert!(read(damaged).len() <= 1, "{damaged:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes()).is_empty());
    }
}
