//! Words of paths and of the texts of links.

/// Letters that two words must have in common to be forms of one: `install`, `installation`.
const STEM_MIN: usize = 4;

/// The words of a text, lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Whether two words are the same, or one begins with the other, which has at least four letters.
pub(super) fn are_forms(one: &str, other: &str) -> bool {
    let (short, long) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    one == other || long.starts_with(short) && short.chars().nth(STEM_MIN - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_begin_with_it() {
        for (one, other, expected) in [
            ("install", "installation", true),
            ("guides", "guide", true),
            ("faq", "faq", true),
            ("in", "install", false),
            ("cat", "category", false),
            ("form", "from", false),
        ] {
            assert_eq!(are_forms(one, other), expected, "{one} {other}");
        }
        let found: Vec<String> = words("How-to: Straße 7").collect();
        assert_eq!(found, ["how", "to", "straße", "7"]);
    }
}
