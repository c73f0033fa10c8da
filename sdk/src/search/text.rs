//! Texts of results, which services mark up.

use super::Hit;

/// Character references that services write in titles and snippets.
const REFERENCES: [(&str, char); 7] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("hellip", '…'),
];
/// Longest character reference between `&` and `;`.
const REFERENCE_BYTES_MAX: usize = 8;

/// A result whose title and snippet are [marked up](plain_text), without a date and the name of its
/// site.
pub fn marked_up_hit(url: String, title: &str, snippet: Option<&str>) -> Hit {
    Hit {
        url,
        title: plain_text(title),
        snippet: plain_text(snippet.unwrap_or_default()),
        ..Hit::default()
    }
}

/// A title or snippet without the tags with which services mark the words that match, with its
/// character references resolved and its white space folded. A `<` that begins no tag is text.
pub fn plain_text(marked_up: &str) -> String {
    let mut text = String::with_capacity(marked_up.len());
    let mut rest = marked_up;
    while let Some(start) = rest.find(['<', '&']) {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let after = match rest.starts_with('<') {
            true => tag_end(rest),
            false => reference(rest).map(|(letter, end)| {
                text.push(letter);
                end
            }),
        };
        let end = after.unwrap_or_else(|| {
            text.push_str(&rest[..1]);
            1
        });
        rest = &rest[end..];
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the tag ends with which a text begins; `None` if it is no tag.
fn tag_end(text: &str) -> Option<usize> {
    let name = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    let is_tag = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let end = text.find('>').filter(|_| is_tag)?;
    Some(end + 1)
}

/// The character of the reference with which a text begins, and where it ends.
fn reference(text: &str) -> Option<(char, usize)> {
    let end = text
        .find(';')
        .filter(|end| *end <= REFERENCE_BYTES_MAX + 1)?;
    let name = &text[1..end];
    let letter = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => {
            let mut known = REFERENCES.iter();
            known.find(|(known, _)| *known == name)?.1
        }
    };
    Some((letter, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_removed_and_other_text_stays() {
        let check = |marked: &str, expected: &str| assert_eq!(plain_text(marked), expected);
        check("the <strong>tide</strong> tables", "the tide tables");
        check("Q&amp;A &#x27;now&#39; &lt;b&gt;", "Q&A 'now' <b>");
        check(
            "a < b & c; <3 &unknown; &#xffffffff;",
            "a < b & c; <3 &unknown; &#xffffffff;",
        );
        check("  two\n lines &nbsp; here ", "two lines here");
        check("<a href='x'>ü", "ü");
        check("<unclosed ü", "<unclosed ü");
        check("&ü;", "&ü;");
        check("", "");
    }

    #[test]
    fn a_hit_has_plain_texts() {
        let hit =
            |snippet| marked_up_hit("https://a.example/?b&amp;".to_owned(), "<b>A</b>", snippet);
        let expected = |snippet: &str| Hit {
            url: "https://a.example/?b&amp;".to_owned(),
            title: "A".to_owned(),
            snippet: snippet.to_owned(),
            date: None,
            site_name: None,
        };
        assert_eq!(hit(Some("b &lt; <i>c</i>")), expected("b < c"));
        assert_eq!(hit(None), expected(""));
    }
}
