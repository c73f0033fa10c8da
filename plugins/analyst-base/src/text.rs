//! Small functions on words, prompts and scores.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::Serializer;

/// Maximum length of a caller's prompt in a question, in characters.
const PROMPT_CHARS_MAX: usize = 2_000;

/// A caller's prompt, if it says something, cut to the length that a question may have.
pub fn prompt_of(prompt: Option<&str>) -> Option<&str> {
    let prompt = prompt?.trim();
    let end = prompt.char_indices().nth(PROMPT_CHARS_MAX);
    let prompt = end.map_or(prompt, |(at, _)| &prompt[..at]);
    (!prompt.is_empty()).then_some(prompt)
}

/// Whether a list of words, separated by single spaces, has this word.
pub fn lists(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|own| own == word)
}

/// Rounds a score to three decimal places, within 0 to 1.
pub fn rounded(score: f32) -> f32 {
    (score.clamp(0.0, 1.0) * 1000.0).round() / 1000.0
}

/// Serialises a score with three decimal places, without `f32` noise.
///
/// # Errors
/// Those of the serialiser.
pub fn digits<S: Serializer>(score: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((f64::from(*score) * 1000.0).round() / 1000.0)
}

/// Percent-decodes a text; returned unchanged if the result is not UTF-8.
pub fn percent_decoded(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::{lists, percent_decoded, prompt_of, rounded};

    #[test]
    fn words_prompts_and_scores_are_read() {
        assert!(lists("tel fax", "fax") && !lists("tel fax", "fa") && !lists("tel  fax", ""));
        assert_eq!(prompt_of(Some("  tea ")), Some("tea"));
        assert_eq!((prompt_of(Some(" ")), prompt_of(None)), (None, None));
        let long = "é".repeat(3_000);
        assert_eq!(
            prompt_of(Some(&long)).map(|prompt| prompt.chars().count()),
            Some(2_000)
        );
        assert_eq!((rounded(0.12345), rounded(7.0)), (0.123, 1.0));
        assert_eq!(percent_decoded("a%40b%zz%C3%A9"), "a@b%zzé");
        assert_eq!(percent_decoded("%ff"), "%ff");
    }
}
