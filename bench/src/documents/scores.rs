//! Scores of what was read against what is there.

use std::collections::HashMap;
use std::hash::Hash;

use super::structure::Structure;
use super::words::words;

/// Words in a row that are compared: their order counts, and where columns and pages meet.
const GRAM: usize = 4;

/// How many kinds of content are scored.
pub(super) const N_KINDS: usize = 5;

/// What is scored, in the order of [`Scores`].
pub(super) const KINDS: [&str; N_KINDS] = ["text", "headings", "tables", "links", "lists"];

/// F1 of each of [`KINDS`], from 0 to 1; `None` for what a document does not have.
pub(super) type Scores = [Option<f64>; N_KINDS];

/// Scores what was found.
pub(super) fn of(truth: &Structure, found: &Structure) -> Scores {
    let some = |truth: &[String], found: &[String]| (!truth.is_empty()).then(|| f1(truth, found));
    [
        Some(of_text(&truth.text, &found.text)),
        some(&truth.headings, &found.headings),
        some(&truth.cells, &found.cells),
        (!truth.links.is_empty()).then(|| of_links(truth, &found.links)),
        some(&truth.items, &found.items),
    ]
}

/// F1 of the runs of [`GRAM`] words of two texts.
fn of_text(truth: &str, found: &str) -> f64 {
    let (truth, found) = (words(truth), words(found));
    let length = GRAM.min(truth.len()).min(found.len());
    if length == 0 {
        return if truth.len() == found.len() { 1.0 } else { 0.0 };
    }
    let truth: Vec<&[String]> = truth.windows(length).collect();
    let found: Vec<&[String]> = found.windows(length).collect();
    f1(&truth, &found)
}

/// F1 of links. One to an address that the text shows without a link counts for nothing: whoever
/// links it has read it.
fn of_links(truth: &Structure, found: &[String]) -> f64 {
    let mut bags: [HashMap<&String, usize>; 2] = [HashMap::new(), HashMap::new()];
    for (bag, targets) in bags.iter_mut().zip([&truth.links, &truth.shown]) {
        for target in targets {
            *bag.entry(target).or_default() += 1;
        }
    }
    let [links, shown] = &mut bags;
    let take = |bag: &mut HashMap<&String, usize>, target: &String| {
        let count = bag.get_mut(target).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    };
    let (mut n_common, mut n_found) = (0_usize, 0_usize);
    for target in found {
        if take(links, target) {
            (n_common, n_found) = (n_common + 1, n_found + 1);
        } else if !take(shown, target) {
            n_found += 1;
        }
    }
    2.0 * n_common as f64 / (truth.links.len() + n_found).max(1) as f64
}

/// F1 of two bags.
fn f1<T: Eq + Hash>(truth: &[T], found: &[T]) -> f64 {
    let mut left: HashMap<&T, usize> = HashMap::new();
    for item in truth {
        *left.entry(item).or_default() += 1;
    }
    let mut n_common = 0_usize;
    for item in found {
        if let Some(count) = left.get_mut(item).filter(|count| **count > 0) {
            *count -= 1;
            n_common += 1;
        }
    }
    2.0 * n_common as f64 / (truth.len() + found.len()).max(1) as f64
}

/// The scores of a program over documents.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    sums: [f64; N_KINDS],
    counts: [usize; N_KINDS],
}

impl Tally {
    /// Adds a document. What a program did not read of it counts as 0.
    pub(super) fn add(&mut self, scores: &Scores) {
        for ((sum, count), score) in self.sums.iter_mut().zip(&mut self.counts).zip(scores) {
            if let Some(score) = score {
                *sum += score;
                *count += 1;
            }
        }
    }

    /// Means over the documents that have something of a kind.
    pub(super) fn means(&self) -> Scores {
        let mut means = [None; N_KINDS];
        for ((mean, sum), count) in means.iter_mut().zip(self.sums).zip(self.counts) {
            *mean = (count > 0).then(|| sum / count as f64);
        }
        means
    }

    /// Over how many documents the means are.
    pub(super) fn counts(&self) -> [usize; N_KINDS] {
        self.counts
    }
}

/// Scores side by side.
pub(super) fn line(scores: &Scores) -> String {
    let cells = scores.map(|score| match score {
        Some(score) => format!("{score:>9.3}"),
        None => format!("{:>9}", "–"),
    });
    cells.concat()
}

#[cfg(test)]
mod tests {
    use super::{Structure, Tally, line, of};

    fn structure(text: &str, headings: &[&str]) -> Structure {
        Structure {
            text: text.to_owned(),
            headings: headings.iter().map(|text| (*text).to_owned()).collect(),
            ..Structure::default()
        }
    }

    #[test]
    fn the_order_of_words_counts() {
        let truth = structure("one two three four five six", &["a", "b"]);
        let same = of(&truth, &structure("One two three, four five six", &["b"]));
        assert_eq!(same[0], Some(1.0));
        assert_eq!(same[1], Some(2.0 / 3.0));
        assert_eq!(same[2], None);
        let turned = of(&truth, &structure("four five six one two three", &[]));
        assert_eq!((turned[0], turned[1]), (Some(0.0), Some(0.0)));
        let none = of(&truth, &structure("", &[]));
        assert_eq!(none[0], Some(0.0));
    }

    #[test]
    fn links_to_addresses_that_are_shown_alone_count_for_nothing() {
        let links = |links: &[&str]| Structure {
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            ..Structure::default()
        };
        let mut truth = links(&["a", "b"]);
        truth.shown = vec!["c".to_owned()];
        let score = |found: &[&str]| of(&truth, &links(found))[3];
        assert_eq!(score(&["a", "b"]), Some(1.0));
        assert_eq!(score(&["a", "b", "c"]), Some(1.0));
        assert_eq!(score(&["a", "b", "c", "c"]), Some(0.8));
        assert_eq!(score(&["c"]), Some(0.0));
    }

    #[test]
    fn means_are_of_the_documents_that_have_something() {
        let mut tally = Tally::default();
        tally.add(&[Some(1.0), None, Some(0.5), None, None]);
        tally.add(&[Some(0.0), None, None, None, None]);
        assert_eq!(tally.means(), [Some(0.5), None, Some(0.5), None, None]);
    }

    #[test]
    fn what_is_not_there_is_a_dash() {
        assert_eq!(
            line(&[Some(0.5), None, None, None, Some(1.0)]),
            "    0.500        –        –        –    1.000"
        );
    }
}
