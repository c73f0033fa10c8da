//! Fuzzing of content codings.

use http::HeaderValue;
use trawl_fuzz::Recipe;

use super::tests::{br, decode_in, deflate, gzip, zstd};
use super::*;

/// Limits of a body.
const LIMITS: [usize; 4] = [0, 100, 10_000, 1 << 20];
/// Sizes of the pieces that a body arrives in.
const PIECES: [usize; 5] = [1, 2, 7, 1_000, usize::MAX];
const NAMES: [&str; 7] = [
    "gzip", "x-gzip", "deflate", "br", "zstd", "identity", "GZip",
];

/// The input chooses codings, a limit and pieces; the rest is a body: as it is, encoded, or encoded
/// and then damaged.
#[test]
fn codings() {
    trawl_fuzz::fuzz!("codings", check);
}

/// Anything as the header's value.
#[test]
fn content_encoding() {
    trawl_fuzz::fuzz!("content_encoding", |value| {
        let Ok(value) = HeaderValue::from_bytes(value) else {
            return;
        };
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, value)]);
        match Decoder::new(&headers, 100) {
            Ok(_) | Err(CodingError::TooMany) => {}
            Err(other) => panic!("{other:?} of a header alone"),
        }
    });
}

fn check(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let codings: Vec<&str> = (0..=recipe.below(CODINGS_MAX))
        .map(|_| *recipe.one_of(&NAMES))
        .collect();
    let (limit, pieces) = (*recipe.one_of(&LIMITS), *recipe.one_of(&PIECES));
    let (action, damage) = (
        recipe.below(3),
        (recipe.byte(), recipe.byte(), recipe.byte()),
    );
    let plain = &input[input.len().min(codings.len() + 7)..];
    let header = codings.join(", ");
    if action == 0 {
        check_consistent(&header, plain, limit, pieces);
        return;
    }
    let mut encoded = codings.iter().fold(plain.to_vec(), encode);
    if action == 1 {
        // What is encoded twice may be longer in between.
        let room = if codings.len() == 1 { 0 } else { 1 << 16 };
        let whole = decode_in(pieces, &header, &encoded, plain.len() + room);
        assert_eq!(
            whole.as_deref(),
            Ok(plain),
            "{header} of {} bytes",
            encoded.len()
        );
    } else if let Some(last) = encoded.len().checked_sub(1) {
        let at = usize::from(damage.0) * 256 + usize::from(damage.1);
        encoded[at.min(last)] ^= damage.2;
    }
    check_consistent(&header, &encoded, limit, pieces);
}

/// A body is the same in one piece and in many, and never above its limit.
fn check_consistent(header: &str, encoded: &[u8], limit: usize, pieces: usize) {
    let whole = decode_in(usize::MAX, header, encoded, limit);
    let parts = decode_in(pieces, header, encoded, limit);
    assert_eq!(
        whole.is_ok(),
        parts.is_ok(),
        "{header}: {whole:?}, {parts:?}"
    );
    if let (Ok(whole), Ok(parts)) = (&whole, &parts) {
        assert!(whole == parts && whole.len() <= limit, "{header}");
    }
    if let Err(error) = whole {
        assert!(!error.to_string().is_empty());
    }
}

fn encode(body: Vec<u8>, coding: &&str) -> Vec<u8> {
    match *coding {
        "br" => br(&body),
        "deflate" => deflate(&body, body.len().is_multiple_of(2)),
        "zstd" => zstd(&body),
        "identity" => body,
        _ => gzip(&body),
    }
}
