//! Stop words by language.

use std::sync::LazyLock;

/// A language a line: its tag and its stop words, sorted by bytes. The order of languages breaks
/// ties between guesses.
const LINES: &str = include_str!("stop_words.txt");

/// The tags of the languages with their stop words, sorted.
pub(super) static STOP_WORDS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let lines = LINES.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(tag, words)| (tag, words.split(' ').collect()))
        .collect()
});
