//! A tokenizer for JavaScript, as far as string expressions need one.

/// Maximum number of tokens of a script.
const TOKENS_MAX: usize = 20_000;

/// A token of JavaScript.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Text(String),
    Number(f64),
    Name(String),
    /// The body of a regular expression.
    Pattern(String),
    Sign(char),
}

/// Splits a script into tokens without its comments.
pub(super) fn tokens(script: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = script;
    while let Some(character) = rest.chars().next()
        && tokens.len() < TOKENS_MAX
    {
        let length = match character {
            '"' | '\'' | '`' => {
                let (text, length) = text(rest, character);
                tokens.push(Token::Text(text));
                length
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '/' if matches!(
                tokens.last(),
                None | Some(Token::Sign('(' | ',' | '=' | ':'))
            ) =>
            {
                let (body, length) = pattern(rest);
                tokens.push(Token::Pattern(body));
                length
            }
            '<' if rest.starts_with("<!--") => rest.find('\n').unwrap_or(rest.len()),
            _ if character.is_ascii_digit() => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                let digits = &rest[..end];
                let number = match digits.strip_prefix("0x") {
                    Some(hex) => i64::from_str_radix(hex, 16)
                        .map(|number| number as f64)
                        .ok(),
                    None => digits.parse().ok(),
                };
                tokens.push(Token::Number(number.unwrap_or(f64::NAN)));
                end
            }
            _ if is_name(character) => {
                let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                tokens.push(Token::Name(rest[..end].to_owned()));
                end
            }
            _ => {
                if !character.is_whitespace() {
                    tokens.push(Token::Sign(character));
                }
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// A string literal with its escapes decoded, and its length in the source.
fn text(rest: &str, quote: char) -> (String, usize) {
    let mut out = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return (out, at + 1);
        }
        if character != '\\' {
            out.push(character);
            continue;
        }
        let Some((at, escaped)) = characters.next() else {
            break;
        };
        let n_digits = match escaped {
            'x' => 2,
            'u' => 4,
            _ => {
                out.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
                continue;
            }
        };
        let hex = rest.get(at + 1..at + 1 + n_digits);
        let decoded = hex
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32);
        if let Some(decoded) = decoded {
            out.push(decoded);
            characters.nth(n_digits - 1);
        }
    }
    (out, rest.len())
}

fn pattern(rest: &str) -> (String, usize) {
    let mut is_class = false;
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => {
                let flags = rest[at + 1..]
                    .bytes()
                    .take_while(u8::is_ascii_alphabetic)
                    .count();
                return (rest[1..at].to_owned(), at + 1 + flags);
            }
            '\n' => break,
            _ => {}
        }
    }
    (String::new(), 1)
}
