//! The characters of Adobe's collections for Chinese, Japanese and Korean, by their numbers (CID).
//! Fonts that are not embedded name their characters so, and nothing else says which they are.

/// What stands for a number without a character.
const NONE: char = '\u{FFFD}';

/// The characters of a collection in the order of their numbers, by the ordering that a font's
/// system information names; lines have no meaning. `None` for collections of a font's own.
pub(crate) fn collection(ordering: &[u8]) -> Option<&'static str> {
    match ordering {
        b"Japan1" => Some(include_str!("japan1.txt")),
        b"GB1" => Some(include_str!("gb1.txt")),
        b"CNS1" => Some(include_str!("cns1.txt")),
        b"Korea1" => Some(include_str!("korea1.txt")),
        _ => None,
    }
}

/// The character of a collection with a number.
pub(crate) fn character(collection: &str, number: u32) -> Option<char> {
    let mut characters = collection.chars().filter(|c| *c != '\n');
    let character = characters.nth(usize::try_from(number).ok()?);
    character.filter(|c| *c != NONE)
}

#[cfg(test)]
mod tests {
    use super::{character, collection};

    #[test]
    fn numbers_are_characters() {
        for (ordering, number, expected) in [
            (&b"Japan1"[..], 1, Some(' ')),
            (b"Japan1", 34, Some('A')),
            (b"Japan1", 843, Some('あ')),
            (b"Japan1", 1125, Some('亜')),
            (b"GB1", 34, Some('A')),
            (b"CNS1", 34, Some('A')),
            (b"Korea1", 34, Some('A')),
            (b"Japan1", 0, None),
            (b"Japan1", 60_000, None),
        ] {
            let characters = collection(ordering).expect("a collection");
            assert_eq!(character(characters, number), expected, "{number}");
        }
        assert_eq!(collection(b"Identity"), None);
    }
}
