//! Runs a chunker on a text.

use serde_json::{Value, json};

use super::Random;
use crate::{Chunker, Failure, Span, options};

/// Runs a chunker, checks its spans as the host does, and returns the pieces of the text.
///
/// # Errors
/// The plugin's failure, or [`Failure::InvalidOptions`] if its options type rejects them.
///
/// # Panics
/// If the spans are out of order, overlap, or split a character.
pub fn chunk<C: Chunker>(text: &str, options: Value) -> Result<Vec<&str>, Failure> {
    let spans = C::chunk(text, options::read(&options.to_string())?)?;
    let mut last = 0;
    let piece = |Span { start, end }: Span| {
        assert!(
            last <= start && start <= end,
            "span {start}..{end} starts before {last}"
        );
        last = end;
        text.get(start as usize..end as usize)
            .unwrap_or_else(|| panic!("span {start}..{end} is not at character boundaries"))
    };
    Ok(spans.into_iter().map(piece).collect())
}

/// Runs a chunker with pieces of `value` units that must add up to the text.
///
/// # Panics
/// If the chunker fails, returns an empty piece, or the pieces are not the whole text.
pub fn pieces<C: Chunker>(text: &str, value: u32) -> Vec<&str> {
    let pieces = chunk::<C>(text, json!({"value": value})).expect("pieces");
    assert!(!pieces.contains(&""), "a piece is empty: {pieces:?}");
    assert!(pieces.concat() == text, "the pieces are not the whole text");
    pieces
}

/// Checks the rules for every chunker with the option `value`: an empty text has no pieces, a size
/// of zero is rejected by name, and the default size is the one in the schema.
///
/// # Panics
/// If a rule is violated.
pub fn check_size<C: Chunker>() {
    assert!(pieces::<C>("", 1).is_empty(), "an empty text has no pieces");

    let rejected = chunk::<C>("a", json!({"value": 0})).expect_err("a size of zero");
    assert!(rejected.to_string().contains("`value`"), "{rejected}");

    let schema: Value = serde_json::from_str(C::info().options_schema).expect("a JSON schema");
    let size = &schema["properties"]["value"]["default"];
    let text = "Some words.\n".repeat(1_000);
    let with_default = chunk::<C>(&text, json!({"value": size}));
    assert_eq!(
        chunk::<C>(&text, json!({})),
        with_default,
        "the default is {size}"
    );
}

/// Fragments that are difficult for chunkers: markup, fences, tables, combining characters, scripts
/// without spaces.
const PARTS: [&str; 50] = [
    "Some words of text. And some more, as usual! ",
    "# Heading\n",
    "Title\n=====\n",
    "```rust\n",
    "```\n",
    "~~~~~a\n~~~~\n",
    "> ```\n",
    "    code\n\n",
    "| a | b |\n|---|---|\n",
    "| a | b |\n",
    "a | b\n",
    "- item\n",
    "1. item\n",
    "> quote\n",
    "a",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\u{a0}",
    "\u{301}",
    "a\u{301}",
    "|",
    ">",
    "- ",
    ". ",
    ".(",
    ".](",
    ".[1]",
    "a. ",
    "(((((",
    "e.g. ",
    "日本語",
    "日。",
    "ประเทศไทย",
    "ภาษาไทย ไทย",
    "ฎ ",
    "က္",
    "क्",
    "👩\u{200d}",
    "👩\u{200d}👧",
    "🇩🇪",
    "\u{200d}",
    "…",
    "!",
    "*",
    "1.",
    "_",
    "\u{feff}",
];
/// Length of the texts that repeat one fragment, in bytes.
const LONG_BYTES: usize = 64 << 10;
/// Number of mixed texts, and the maximum number of fragments in each.
const MIXED_TEXTS: usize = 2_000;
const MIXED_PARTS: usize = 40;

/// Checks that the pieces of any text add up to it, with long repetitive texts and with random
/// mixtures. For chunkers with the option `value`.
///
/// # Panics
/// If the pieces of a text are not the whole text.
pub fn check_any_text<C: Chunker>() {
    for part in PARTS {
        let text = part.repeat(LONG_BYTES / part.len());
        for value in [1, 37, 300_000] {
            pieces::<C>(&text, value);
        }
    }
    let mut random = Random::new(1);
    for _ in 0..MIXED_TEXTS {
        let n_parts = random.below(MIXED_PARTS);
        let text = random.text(&PARTS, n_parts);
        pieces::<C>(&text, 1 + random.below(30) as u32);
    }
}
