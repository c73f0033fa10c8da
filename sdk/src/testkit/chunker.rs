//! Runs a chunker on a text.

use serde_json::{Value, json};

use crate::{Chunker, Failure, Span, options};

/// Calls a chunker and checks its spans as the host does; the pieces of the text.
///
/// # Errors
/// What the plugin answered, or [`Failure::InvalidOptions`] when its options type does not take them.
///
/// # Panics
/// The spans are out of order, overlap, or cut a character.
pub fn chunk<C: Chunker>(text: &str, options: Value) -> Result<Vec<&str>, Failure> {
    let spans = C::chunk(text, options::read(&options.to_string())?)?;
    let mut last = 0;
    let piece = |Span { start, end }: Span| {
        assert!(
            last <= start && start <= end,
            "span {start}..{end} after {last}"
        );
        last = end;
        text.get(start as usize..end as usize)
            .unwrap_or_else(|| panic!("span {start}..{end} is not at character boundaries"))
    };
    Ok(spans.into_iter().map(piece).collect())
}

/// Calls a chunker whose pieces have `value` units and are the whole text.
///
/// # Panics
/// The chunker failed, gave an empty piece, or the pieces are not the text.
pub fn pieces<C: Chunker>(text: &str, value: u32) -> Vec<&str> {
    let pieces = chunk::<C>(text, json!({"value": value})).expect("pieces");
    assert!(!pieces.contains(&""), "a piece is empty: {pieces:?}");
    assert!(pieces.concat() == text, "the pieces are not the text");
    pieces
}

/// Checks what holds for every chunker with the option `value`: nothing gives no piece, a size of zero is refused by name, and the
/// size when none is given is the one that the schema tells.
///
/// # Panics
/// One of these does not hold.
pub fn check_size<C: Chunker>() {
    assert!(pieces::<C>("", 1).is_empty(), "nothing gives no piece");

    let refused = chunk::<C>("a", json!({"value": 0})).expect_err("a size of zero");
    assert!(refused.to_string().contains("`value`"), "{refused}");

    let schema: Value = serde_json::from_str(C::info().options_schema).expect("a JSON schema");
    let size = &schema["properties"]["value"]["default"];
    let text = "Some words.\n".repeat(1_000);
    let told = chunk::<C>(&text, json!({"value": size}));
    assert_eq!(chunk::<C>(&text, json!({})), told, "the default is {size}");
}

/// Parts of texts that chunkers trip over: marks, fences, tables, joined characters, scripts without spaces.
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
/// Length of the texts made of one part, in bytes.
const LONG_BYTES: usize = 64 << 10;
/// Texts of several parts, and the most parts of one.
const MIXED_TEXTS: u64 = 2_000;
const MIXED_PARTS: u64 = 40;

/// Checks that the pieces of any text are the text: long texts of one thing, and mixtures. For chunkers with the option `value`.
///
/// # Panics
/// The pieces of one of them are not the text.
pub fn check_any_text<C: Chunker>() {
    for part in PARTS {
        let text = part.repeat(LONG_BYTES / part.len());
        for value in [1, 37, 300_000] {
            pieces::<C>(&text, value);
        }
    }
    // A generator of numbers that are random enough (xorshift64), the same ones every time.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % end
    };
    for _ in 0..MIXED_TEXTS {
        let n_parts = below(MIXED_PARTS);
        let text: String = (0..n_parts)
            .map(|_| PARTS[below(PARTS.len() as u64) as usize])
            .collect();
        pieces::<C>(&text, 1 + below(30) as u32);
    }
}
