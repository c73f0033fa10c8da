//! JavaScript tokens that may contain brackets: strings, templates, comments, regular expressions.

/// Maximum length of a regular expression, in bytes. If none ends by then, the slash was a
/// division.
const EXPRESSION_BYTES_MAX: usize = 256;

/// Maximum white space to skip backwards before a slash, in bytes.
const BLANKS_MAX: usize = 32;

/// Whether the byte can be part of a JavaScript identifier. All non-ASCII bytes count.
pub const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

/// End of the string, template, comment or regular expression that starts at `at`; `None` if none
/// starts there. The preceding token decides whether a slash divides or starts a regular
/// expression. An unterminated token ends with its line; a template or a block comment ends with
/// the text. Takes time linear in the length of the token.
pub fn after_token(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(at)? {
        quote @ (b'"' | b'\'') => Some(after_quoted(bytes, at, *quote, true)),
        b'`' => Some(after_quoted(bytes, at, b'`', false)),
        b'/' => match bytes.get(at + 1) {
            Some(b'/') => Some(after_line(bytes, at)),
            Some(b'*') => Some(after_block(text, at + 2)),
            _ if begins_expression(bytes, at) => Some(after_expression(bytes, at)),
            _ => None,
        },
        _ => None,
    }
}

/// End of the bracketed group at `at`.
pub fn after_group(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut end, mut depth) = (at, 0_usize);
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        end = after_token(text, end).unwrap_or(end + 1);
        if depth == 0 {
            break;
        }
    }
    end
}

/// End of the line that contains `at`.
pub(super) fn after_line(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    at + length.unwrap_or(rest.len())
}

/// End of the block comment whose content starts at `inside`.
pub(super) fn after_block(text: &str, inside: usize) -> usize {
    let rest = &text.as_bytes()[inside.min(text.len())..];
    let length = rest.windows(2).position(|pair| pair == b"*/");
    length.map_or(text.len(), |length| inside + length + 2)
}

fn after_quoted(bytes: &[u8], at: usize, quote: u8, is_one_line: bool) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 1,
            b'\n' if is_one_line => return end,
            _ if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

/// Whether a slash at `at` is in a position where a value may start.
fn begins_expression(bytes: &[u8], at: usize) -> bool {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
    let before = &bytes[at.saturating_sub(BLANKS_MAX)..at];
    let n_blanks = before.iter().rev().take_while(is_blank).count();
    let before = &before[..before.len() - n_blanks];
    match before.last() {
        None => true,
        Some(b')' | b']' | b'}' | b'"' | b'\'' | b'`') => false,
        Some(&last) if is_word_byte(last) => {
            let n_word = before
                .iter()
                .rev()
                .take_while(|&&b| is_word_byte(b))
                .count();
            let word = &before[before.len() - n_word..];
            matches!(word, b"return" | b"typeof" | b"case" | b"in" | b"of")
        }
        Some(_) => true,
    }
}

/// End of a regular expression; if it is unterminated or too long, the position where that is
/// noticed.
fn after_expression(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut is_in_class) = (at + 1, false);
    while end < bytes.len() && end - at < EXPRESSION_BYTES_MAX {
        match bytes[end] {
            b'\\' => end += 1,
            b'\n' | b'\r' => return end,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => return end + 1,
            _ => {}
        }
        end += 1;
    }
    end.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::after_token;

    #[track_caller]
    fn check(before: &str, token: &str) {
        let text = format!("{before}{token} rest");
        let end = after_token(&text, before.len());
        assert_eq!(end, Some(before.len() + token.len()), "{text}");
    }

    #[test]
    fn strings_templates_comments_and_expressions_are_one_token() {
        check("", r#""a\"b}""#);
        check("x = ", "'{'");
        check("x = ", "`a\n${b}{`");
        check("x ", "/* { */");
        check("x = ", "/[/}\"]\\//");
        check("return ", "/}/");
    }

    #[test]
    fn a_slash_after_a_value_divides() {
        assert_eq!(after_token("a / b / c", 2), None);
        assert_eq!(after_token("(a) / b / c", 4), None);
    }

    #[test]
    fn unterminated_tokens_end_with_line_or_text() {
        assert_eq!(after_token("'ab\n'", 0), Some(3));
        assert_eq!(after_token("`ab\nc", 0), Some(5));
        assert_eq!(after_token("/* ab\nc", 0), Some(7));
        assert_eq!(after_token("// ab\nc", 0), Some(5));
        assert_eq!(after_token("x = /b\n/", 4), Some(6));
        assert_eq!(after_token("\"\\", 0), Some(2));
    }
}
