//! The kind of a page, told by what its elements, its data and its URL are like.
//!
//! `evidence` counts, and a linear model with a weight for each count and kind says how likely
//! each kind is. `plugins/filter-readability/train` learns the weights.

mod evidence;
mod page_kind;
mod weights;
mod words;

use trawl_sdk::Document;

pub use evidence::kind_evidence;
pub use page_kind::PageKind;

use evidence::N_COUNTS;
use page_kind::{KINDS, N_KINDS};
use weights::{BIASES, WEIGHTS};

/// The most likely kind of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindGuess {
    /// The kind.
    pub kind: PageKind,
    /// How likely it is, 0 to 1.
    pub confidence: f32,
    /// How likely each kind is, 0 to 1, in the order of [`PageKind`].
    pub shares: [f32; N_KINDS],
}

/// Fewest elements with text of a page whose kind is told.
const ELEMENTS_MIN: f32 = 5.0;

impl KindGuess {
    /// The most likely kind of a page; `None` if the page has hardly any text.
    pub fn of(document: &Document<'_>) -> Option<Self> {
        let evidence = evidence::Evidence::of(document);
        (evidence.n_texts >= ELEMENTS_MIN).then(|| Self::from_counts(&evidence.counts))
    }

    fn from_counts(counts: &[f32; N_COUNTS]) -> Self {
        let mut scores = BIASES;
        for (count, weights) in counts.iter().zip(&WEIGHTS) {
            for (score, weight) in scores.iter_mut().zip(weights) {
                *score += count * weight;
            }
        }
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares = scores.map(|score| (score - most).exp());
        let sum: f32 = shares.iter().sum();
        let shares = shares.map(|share| share / sum);
        let mut best = 0;
        for (at, share) in shares.iter().enumerate() {
            if *share > shares[best] {
                best = at;
            }
        }
        Self {
            kind: KINDS[best],
            confidence: shares[best],
            shares,
        }
    }

    /// The confidence with two decimals.
    pub(crate) fn rounded(&self) -> f64 {
        f64::from((self.confidence * 100.0).round()) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::{KINDS, KindGuess, PageKind};

    const TEXT: &str = "<p>The river had been rising for three days when the council met.</p>";

    #[track_caller]
    fn check(url: &str, html: &str, expected: PageKind) {
        let page = testkit::page(html).url(url);
        let guess = KindGuess::of(&page.document()).expect("a page with text");
        assert_eq!(guess.kind, expected, "{guess:?}");
        assert!(guess.confidence >= 1.0 / KINDS.len() as f32, "{guess:?}");
        let sum: f32 = guess.shares.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{guess:?}");
        let of_kind = KINDS.iter().position(|kind| *kind == expected);
        assert_eq!(of_kind.map(|at| guess.shares[at]), Some(guess.confidence));
    }

    #[test]
    fn pages_that_say_what_they_are_are_of_that_kind() {
        let text = TEXT.repeat(12);
        check(
            "https://news.example/2024/05/17/the-night-of-the-flood",
            &format!(
                "<meta property=og:type content=article><meta property=article:published_time content=2024-05-17>\
                 <script type=application/ld+json>{{\"@type\": \"NewsArticle\"}}</script>\
                 <article class=story><h1>The flood</h1><time>17 May</time>{text}</article>"
            ),
            PageKind::Article,
        );
        let sections = format!("<h2>Usage</h2>{TEXT}<pre><code>dam --open</code></pre>").repeat(6);
        check(
            "https://docs.example/manual/dam.html",
            &format!(
                "<meta name=generator content='Sphinx 7.2'><nav class=toc></nav><div class=markdown><h1>dam</h1>{sections}</div>"
            ),
            PageKind::Documentation,
        );
        let posts = format!(
            "<div class='post message' itemprop=comment><a class=author>ada</a><time>1</time>{TEXT}<a class=reply>Reply</a></div>"
        );
        check(
            "https://forum.example/thread/will-the-dam-hold-17",
            &format!(
                "<meta name=generator content='Discourse 3.2'><script type=application/ld+json>{{\"@type\": \"DiscussionForumPosting\"}}</script>\
                 <h1>Will the dam hold?</h1>{}",
                posts.repeat(8)
            ),
            PageKind::Forum,
        );
        check(
            "https://shop.example/products/lamp",
            &format!(
                "<meta property=og:type content=product><meta property=product:price:amount content=9>\
                 <script type=application/ld+json>{{\"@type\": \"Product\", \"offers\": {{\"@type\": \"Offer\"}}}}</script>\
                 <div class=product><h1 itemprop=name>Lamp</h1><span class=price>9</span><button class=add-to-cart>Buy</button>\
                 <div class=reviews><p>Good lamp.</p></div>{}</div>",
                TEXT.repeat(4)
            ),
            PageKind::Product,
        );
    }

    #[test]
    fn a_page_without_text_has_no_kind() {
        for html in ["", "<title>T</title>", "<h1>T</h1><p>One.</p>"] {
            let page = testkit::page(html);
            assert_eq!(KindGuess::of(&page.document()), None, "{html}");
        }
    }

    #[test]
    fn the_confidence_has_two_decimals() {
        let page = testkit::page(&TEXT.repeat(9));
        let guess = KindGuess::of(&page.document()).expect("a page with text");
        let hundredths = guess.rounded() * 100.0;
        assert!((hundredths - hundredths.round()).abs() < 1e-9, "{guess:?}");
        assert!((guess.rounded() - f64::from(guess.confidence)).abs() < 0.006);
    }
}
