//! The body of news articles alone: no headline, byline, date, caption, related links.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use crate::transformer::Transformer;

/// Goal for the F1 of shingles.
const F1: f64 = 0.96;
/// Words of a shingle.
const WORDS: usize = 4;

/// Prints precision, recall and F1 of the shingles of `news` below `data`, if it is there.
pub(super) fn run(transformer: &Transformer, data: &Path) -> anyhow::Result<()> {
    let folder = data.join("news");
    let Ok(truths) = std::fs::read(folder.join("ground-truth.json")) else {
        println!("bodies of news skipped: `--data` has no news/ground-truth.json");
        return Ok(());
    };
    let truths: Map<String, Value> = serde_json::from_slice(&truths)?;
    let asked = json!({"return_format": "text", "readability": {"only": "body"}});
    let plan = transformer.plan(asked)?;
    let (mut precisions, mut recalls) = (Vec::new(), Vec::new());
    for (id, truth) in &truths {
        let file = folder.join(format!("html/{id}.html.gz"));
        let file = std::fs::File::open(&file)
            .with_context(|| format!("cannot open `{}`", file.display()))?;
        let mut html = Vec::new();
        GzDecoder::new(file).read_to_end(&mut html)?;
        let url = truth["url"].as_str().unwrap_or_default();
        let (text, _) = transformer.text(url, &html, &plan)?;
        let wanted = shingles(truth["articleBody"].as_str().unwrap_or_default());
        let found = shingles(&text);
        let hit = common(&wanted, &found);
        precisions.extend(share(hit, total(&found)));
        recalls.extend(share(hit, total(&wanted)));
    }
    let (precision, recall) = (mean(&precisions), mean(&recalls));
    let f1 = 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE);
    let verdict = if f1 < F1 { ", MISSED" } else { "" };
    println!(
        "bodies of {} pages of news: shingle F1 {f1:.3}, precision {precision:.3}, \
         recall {recall:.3}   goal: F1 at least {F1}{verdict}",
        truths.len()
    );
    Ok(())
}

/// How often each run of [`WORDS`] words is in a text; of a shorter text, all of it.
fn shingles(text: &str) -> HashMap<Vec<&str>, u32> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut counts = HashMap::new();
    if words.is_empty() {
        return counts;
    }
    for shingle in words.windows(WORDS.min(words.len())) {
        *counts.entry(shingle.to_vec()).or_default() += 1;
    }
    counts
}

fn common(a: &HashMap<Vec<&str>, u32>, b: &HashMap<Vec<&str>, u32>) -> u32 {
    let shared = a.iter().map(|(shingle, n)| {
        let other = b.get(shingle).copied().unwrap_or(0);
        other.min(*n)
    });
    shared.sum()
}

fn total(counts: &HashMap<Vec<&str>, u32>) -> u32 {
    counts.values().sum()
}

/// A share of something; `None` of nothing.
fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{common, shingles, total};

    #[test]
    fn shingles_are_counted_as_often_as_they_are_there() {
        let wanted = shingles("a b c d a b c d");
        let found = shingles("x a b c d, a b c d");
        assert_eq!((total(&wanted), total(&found)), (5, 6));
        assert_eq!(common(&wanted, &found), 5);
        assert_eq!(total(&shingles("one two")), 1);
        assert_eq!(total(&shingles(" - ")), 0);
    }
}
