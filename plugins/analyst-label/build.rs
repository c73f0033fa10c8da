//! Generates the table of topics and industries from `taxonomy/*.txt`, sorted for binary search, so
//! that no call has to build it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs, io};

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo passes the output directory to a build script in `OUT_DIR`"
)]
fn main() -> io::Result<()> {
    let mut out =
        String::from("/// All labels, topics first.\npub(super) static LABELS: &[Label] = &[\n");
    // For each term the labels it is evidence for, with weights.
    let mut terms: BTreeMap<String, Vec<(usize, u8)>> = BTreeMap::new();
    let mut n_labels = 0;
    for (file, kind) in [("topics", "Topic"), ("industries", "Industry")] {
        let path = format!("taxonomy/{file}.txt");
        println!("cargo::rerun-if-changed={path}");
        for line in fs::read_to_string(&path)?
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let mut parts = line.split('|').map(str::trim);
            let mut part = || {
                parts.next().ok_or_else(|| {
                    io::Error::other(format!("{path}: a label needs three parts: {line}"))
                })
            };
            let (name, types, list) = (part()?, part()?, part()?);
            let types: Vec<&str> = types
                .split(',')
                .map(str::trim)
                .filter(|own| !own.is_empty())
                .collect();
            let _ = writeln!(
                out,
                "    Label {{ name: {name:?}, kind: Kind::{kind}, types: &{types:?} }},"
            );
            for term in list.split(',').map(str::trim) {
                let (weight, term) = match term.as_bytes().first() {
                    Some(b'!') => (STRONG, &term[1..]),
                    Some(b'~') => (WEAK, &term[1..]),
                    _ => (USUAL, term),
                };
                let labels = terms.entry(as_read(term)).or_default();
                if labels.last().is_none_or(|(last, _)| *last != n_labels) {
                    labels.push((n_labels, weight));
                }
            }
            n_labels += 1;
        }
    }
    out.push_str("];\n");
    write_terms(&mut out, &terms);
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(format!("{folder}/taxonomy.rs"), out)
}

/// Term weights in tenths.
const STRONG: u8 = 30;
const USUAL: u8 = 12;
const WEAK: u8 = 4;

/// A term as the tokenizer produces it, without an elided article.
fn as_read(term: &str) -> String {
    let words = term
        .split_whitespace()
        .map(|word| word.split_once('\'').map_or(word, |(_, rest)| rest));
    words.collect::<Vec<_>>().join(" ")
}

fn write_terms(out: &mut String, terms: &BTreeMap<String, Vec<(usize, u8)>>) {
    let (mut words, mut stems, mut phrases) = (Vec::new(), Vec::new(), Vec::new());
    out.push_str("/// All terms: the labels each is evidence for, with its weight in tenths.\npub(super) static TERMS: &[&[(u16, u8)]] = &[\n");
    for (at, (term, labels)) in terms.iter().enumerate() {
        let _ = writeln!(out, "    &{labels:?},");
        match (term.split_once(' '), term.strip_suffix('*')) {
            (Some((first, rest)), _) => phrases.push((first.to_owned(), rest.to_owned(), at)),
            (None, Some(stem)) => stems.push((stem.to_owned(), at)),
            (None, None) => words.push((term.clone(), at)),
        }
    }
    out.push_str("];\n");
    words.sort();
    stems.sort();
    phrases.sort();
    let _ = writeln!(
        out,
        "/// Terms of one word, sorted.\npub(super) static WORDS: &[(&str, u16)] = &{words:?};"
    );
    let _ = writeln!(
        out,
        "/// Word prefixes, sorted.\npub(super) static STEMS: &[(&str, u16)] = &{stems:?};"
    );
    let _ = writeln!(
        out,
        "/// Terms of several words: the first, the rest, sorted.\npub(super) static PHRASES: &[(&str, &str, u16)] = &{phrases:?};"
    );
}
