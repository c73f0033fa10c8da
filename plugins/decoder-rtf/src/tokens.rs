//! The tokens of a file: groups, control words and text.

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `\name` or `\name12`.
    Word(&'a str, Option<i32>),
    /// A backslash with a character that is no letter: `\*`, `\~`.
    Symbol(u8),
    /// `\'e4`: a byte in the character set of the font.
    Hex(u8),
    /// Bytes without backslash, brace and line break.
    Text(&'a [u8]),
}

/// Iterates over the tokens of a file. Binary data is skipped.
pub(crate) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What a backslash begins.
    fn control(&mut self) -> Option<Token<'a>> {
        let first = *self.rest.first()?;
        if first == b'\'' {
            let digits = self.rest.get(1..3).and_then(|it| str::from_utf8(it).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            self.skip(if byte.is_some() { 3 } else { 1 });
            return Some(byte.map_or(Token::Symbol(b'\''), Token::Hex));
        }
        if !first.is_ascii_alphabetic() {
            self.skip(1);
            return Some(Token::Symbol(first));
        }
        let name = self.take_while(u8::is_ascii_alphabetic);
        let is_negative = self.rest.first() == Some(&b'-');
        if is_negative {
            self.skip(1);
        }
        let digits = self.take_while(u8::is_ascii_digit);
        let number = digits.parse::<i32>().ok();
        let number = number.map(|number| if is_negative { -number } else { number });
        if self.rest.first() == Some(&b' ') {
            self.skip(1);
        }
        if name == "bin" {
            self.skip(number.and_then(|it| usize::try_from(it).ok()).unwrap_or(0));
        }
        Some(Token::Word(name, number))
    }

    /// Bytes of ASCII that match.
    fn take_while(&mut self, matches: fn(&u8) -> bool) -> &'a str {
        let end = self.rest.iter().position(|byte| !matches(byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        str::from_utf8(taken).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while let Some(b'\r' | b'\n') = self.rest.first() {
            self.skip(1);
        }
        match *self.rest.first()? {
            b'{' => {
                self.skip(1);
                Some(Token::Open)
            }
            b'}' => {
                self.skip(1);
                Some(Token::Close)
            }
            b'\\' => {
                self.skip(1);
                self.control()
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n');
                let end = self.rest.iter().position(ends);
                let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.rest = rest;
                Some(Token::Text(text))
            }
        }
    }
}
