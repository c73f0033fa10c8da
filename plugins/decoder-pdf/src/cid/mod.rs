//! The characters of Adobe's collections for Chinese, Japanese and Korean, by their numbers (CID):
//! Adobe Technical Notes 5078 (Japan1), 5079 (GB1), 5080 (CNS1) and 5093 (Korea1). Fonts that are
//! not embedded name their characters so, and nothing else says which they are.

use std::sync::OnceLock;

/// What stands for a number without a character.
const NONE: char = '\u{FFFD}';

/// The characters of a collection in the order of their numbers.
pub(crate) type Collection = &'static [char];

/// The collection that the ordering in a font's system information names; `None` for collections of
/// a font's own.
pub(crate) fn collection(ordering: &[u8]) -> Option<Collection> {
    static READ: [OnceLock<Vec<char>>; 4] = [const { OnceLock::new() }; 4];
    let (n, text) = match ordering {
        b"Japan1" => (0, include_str!("japan1.txt")),
        b"GB1" => (1, include_str!("gb1.txt")),
        b"CNS1" => (2, include_str!("cns1.txt")),
        b"Korea1" => (3, include_str!("korea1.txt")),
        _ => return None,
    };
    // Lines have no meaning.
    Some(READ[n].get_or_init(|| text.chars().filter(|c| *c != '\n').collect()))
}

/// The character of a collection with a number.
pub(crate) fn character(collection: Collection, number: u32) -> Option<char> {
    let character = collection.get(usize::try_from(number).ok()?);
    character.copied().filter(|c| *c != NONE)
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
