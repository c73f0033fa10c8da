//! The word lists of `data/languages`, compiled in as static tables.

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// A list of words: sorted, unless the build script keeps the order of the file.
#[derive(Debug)]
pub(crate) struct Words(&'static [&'static str]);

impl Words {
    pub(crate) const fn new(words: &'static [&'static str]) -> Self {
        Self(words)
    }

    /// Whether the word is in the list, which must be sorted.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// The rest of the word after each entry that it starts with; the list must be sorted.
    pub(crate) fn rests<'w>(&self, word: &'w str) -> impl Iterator<Item = &'w str> {
        // The entries that start with the part of the word read so far are a range of the sorted
        // list; the entry that equals this part is the first of them.
        let mut entries = self.0;
        word.bytes()
            .enumerate()
            .map_while(move |(at, byte)| {
                let byte_of = |entry: &&str| entry.as_bytes().get(at).copied();
                let first = entries.partition_point(|entry| byte_of(entry) < Some(byte));
                entries = &entries[first..];
                let n_entries = entries.partition_point(|entry| byte_of(entry) == Some(byte));
                entries = &entries[..n_entries];
                let entry = entries.first()?;
                Some((entry.len() == at + 1).then(|| &word[at + 1..]))
            })
            .flatten()
    }

    /// Whether the word starts with an entry; the list must be sorted.
    pub(crate) fn starts(&self, word: &str) -> bool {
        self.rests(word).next().is_some()
    }

    /// Whether the word ends with an entry.
    pub(crate) fn ends(&self, word: &str) -> bool {
        self.iter().any(|entry| word.ends_with(entry))
    }

    /// Whether the text contains an entry.
    pub(crate) fn is_part_of(&self, text: &str) -> bool {
        self.iter().any(|entry| text.contains(entry))
    }

    /// Whether an entry contains the character: some lists are runs of characters.
    pub(crate) fn has_character(&self, character: char) -> bool {
        self.iter().any(|entry| entry.contains(character))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_looked_up() {
        let words = Words::new(&["ab", "abc", "b", "ж", "жа"]);
        assert!(words.has("abc") && words.has("жа") && !words.has("a") && !words.has(""));
        assert_eq!(words.rests("abcd").collect::<Vec<_>>(), ["cd", "d"]);
        assert_eq!(words.rests("жар").collect::<Vec<_>>(), ["ар", "р"]);
        assert_eq!(words.rests("c").count() + words.rests("").count(), 0);
        assert!(words.ends("xab") && words.is_part_of("xжx") && words.has_character('c'));
    }

    #[test]
    fn no_entry_is_empty() {
        for words in [&NAME_STOP_WORDS, &OCCUPATION_STEMS, &TITLES, &UNITS] {
            assert!(words.iter().all(|word| !word.trim().is_empty()));
        }
    }
}
