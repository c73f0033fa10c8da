//! Generates the vocabularies of published tokenizers, as tables that are searched where they lie,
//! and the character classes by which they split a text. tiktoken-rs brings both with it; reading
//! them anew for each text takes it a tenth of a second.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use regex_syntax::hir::{Class, HirKind};
use tiktoken_rs::CoreBPE;

/// Classes of characters, as a regular expression writes them.
const CLASSES: [(&str, &str); 4] = [
    ("LETTER", r"\p{L}"),
    ("NUMBER", r"\p{N}"),
    ("UPPER", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
    ("LOWER", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
];

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo passes the output directory to a build script in `OUT_DIR`"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets `OUT_DIR`")?;
    let folder = Path::new(&folder);
    let mut source = String::new();
    for (name, class) in CLASSES {
        writeln!(
            source,
            "const {name}: CharClass = CharClass(&{:?});",
            ranges(class)?
        )?;
    }
    fs::write(folder.join("classes.rs"), source)?;
    write_vocabulary(folder, "cl100k_base", &tiktoken_rs::cl100k_base()?)?;
    write_vocabulary(folder, "o200k_base", &tiktoken_rs::o200k_base()?)?;
    Ok(())
}

/// First and last characters of the ranges of a class.
fn ranges(class: &str) -> Result<Vec<(char, char)>, Box<dyn Error>> {
    let parsed = regex_syntax::parse(class)?;
    match parsed.kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect()),
        _ => Err("not a class of characters".into()),
    }
}

/// Writes `NAME.tokens`, all tokens by their length and then in order; `NAME.ranks`, the rank of
/// each in three bytes; and `NAME.rs`, of each length the number of tokens that are shorter.
fn write_vocabulary(folder: &Path, name: &str, tokenizer: &CoreBPE) -> Result<(), Box<dyn Error>> {
    let mut tokens: Vec<(Vec<u8>, u32)> = Vec::new();
    while let Ok(token) = tokenizer.decode_bytes(&[tokens.len() as u32]) {
        tokens.push((token, tokens.len() as u32));
    }
    tokens.sort_unstable_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let longest = tokens.last().map_or(0, |(token, _)| token.len());
    let shorter: Vec<usize> = (0..=longest + 1)
        .map(|len| tokens.partition_point(|(token, _)| token.len() < len))
        .collect();
    let bytes: Vec<u8> = tokens
        .iter()
        .flat_map(|(token, _)| token.iter().copied())
        .collect();
    let ranks: Vec<u8> = tokens
        .iter()
        .flat_map(|(_, rank)| rank.to_le_bytes().into_iter().take(3))
        .collect();
    fs::write(folder.join(format!("{name}.tokens")), bytes)?;
    fs::write(folder.join(format!("{name}.ranks")), ranks)?;
    fs::write(folder.join(format!("{name}.rs")), format!("&{shorter:?}"))?;
    Ok(())
}
