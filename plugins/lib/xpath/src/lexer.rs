//! Tokenises expressions (XPath 1.0, 3.7 "Lexical Structure").

use super::XPathError;

/// Maximum length of an expression, in bytes.
pub(super) const LENGTH_MAX: usize = 10_000;

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Byte offset in the expression.
    pub(super) at: usize,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A name without a prefix: a node test, function, axis or node type.
    Name(&'a str),
    /// A quoted string, without its quotes.
    Literal(&'a str),
    Number(f64),
    /// Punctuation, or a word used as an operator.
    Mark(&'static str),
    /// An asterisk as a node test; as an operator it is a [`Kind::Mark`].
    Star,
    End,
}

/// Punctuation, longer tokens before their prefixes.
const MARKS: [&str; 20] = [
    "//", "::", "..", "!=", "<=", ">=", "/", ".", "(", ")", "[", "]", "@", ",", "|", "+", "-", "=",
    "<", ">",
];

const OPERATOR_WORDS: [&str; 4] = ["and", "or", "mod", "div"];

/// Splits an expression into tokens; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, XPathError> {
    if text.len() > LENGTH_MAX {
        let reason = format!("the expression is longer than {LENGTH_MAX} bytes");
        return Err(XPathError::new(reason));
    }
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start_matches(is_space).len();
        let after_operand = tokens.last().is_some_and(|last| ends_operand(last.kind));
        let (kind, length) = token(text, at, after_operand)?;
        tokens.push(Token { kind, at });
        if kind == Kind::End {
            return Ok(tokens);
        }
        at += length;
    }
}

/// White space as defined by XML.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Whether an operator, rather than a name or a node test, follows this token.
fn ends_operand(last: Kind<'_>) -> bool {
    match last {
        Kind::Mark(mark) => matches!(mark, ")" | "]" | "." | ".."),
        _ => true,
    }
}

fn token(text: &str, at: usize, after_operand: bool) -> Result<(Kind<'_>, usize), XPathError> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return Ok((Kind::End, 0));
    };
    let second_is_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    match first {
        '"' | '\'' => {
            let Some(length) = rest[1..].find(first) else {
                return Err(XPathError::at(text, at, "unterminated string"));
            };
            Ok((Kind::Literal(&rest[1..=length]), length + 2))
        }
        '0'..='9' => Ok(number(rest)),
        '.' if second_is_digit => Ok(number(rest)),
        '$' => Err(XPathError::at(text, at, "variables are not supported")),
        '*' if after_operand => Ok((Kind::Mark("*"), 1)),
        '*' => Ok((Kind::Star, 1)),
        _ if is_name_start(first) => name(text, at, after_operand),
        _ => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            Some(mark) => Ok((Kind::Mark(mark), mark.len())),
            None => {
                let reason = format!("unexpected character `{first}`");
                Err(XPathError::at(text, at, reason))
            }
        },
    }
}

fn number(rest: &str) -> (Kind<'_>, usize) {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + digits(&rest[length + 1..]);
    }
    let value = rest[..length].parse().unwrap_or(f64::NAN);
    (Kind::Number(value), length)
}

fn name(text: &str, at: usize, after_operand: bool) -> Result<(Kind<'_>, usize), XPathError> {
    let rest = &text[at..];
    let length = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(length);
    if after_operand {
        return match OPERATOR_WORDS.iter().find(|word| **word == name) {
            Some(word) => Ok((Kind::Mark(word), length)),
            None => {
                let reason = format!("expected an operator or the end, found `{name}`");
                Err(XPathError::at(text, at, reason))
            }
        };
    }
    if after.starts_with(':') && !after.starts_with("::") {
        let reason = format!("the namespace prefix `{name}` is not declared: HTML has none");
        return Err(XPathError::at(text, at, reason));
    }
    Ok((Kind::Name(name), length))
}

/// `NameStartChar` of XML without the colon.
fn is_name_start(character: char) -> bool {
    matches!(character,
        'A'..='Z' | 'a'..='z' | '_' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// `NameChar` of XML without the colon.
fn is_name_part(character: char) -> bool {
    is_name_start(character)
        || matches!(character, '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}
