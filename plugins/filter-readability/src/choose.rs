//! Selects the blocks to keep, given the probability that each belongs to the main content.

use crate::blocks::{FAR, Page};
use crate::lexicon::Hint;

/// A selection of blocks.
pub(crate) struct Choice {
    /// For each block whether it is kept.
    pub(crate) is_chosen: Vec<bool>,
    /// Expected word F1, 0 to 1.
    f1: f32,
}

impl Choice {
    /// Whether the whole page without its boilerplate is likely a better choice.
    pub(crate) fn is_weak(&self) -> bool {
        self.f1 < 0.25
    }
}

/// The selection with the best expected word F1.
///
/// With blocks sorted by probability, the best selection is a prefix. Its length depends on the
/// expected content of the rest: words that are likely missed cost recall.
///
/// `caution` is a factor on the expected content: [`CAUTION`], or [`CAUTION_OF_BODY`].
pub(crate) fn choose(page: &Page<'_>, probabilities: &[f32], caution: f32) -> Choice {
    let units = |at: usize| page.blocks[at].stats.units;
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_unstable_by(|&a, &b| {
        probabilities[b]
            .total_cmp(&probabilities[a])
            .then(a.cmp(&b))
    });
    let expected: f32 = order.iter().map(|&at| units(at) * probabilities[at]).sum();
    let (mut hit, mut taken) = (0.0, 0.0);
    let (mut best, mut n_best) = (0.0, order.len());
    for (n, &at) in order.iter().enumerate() {
        hit += units(at) * probabilities[at];
        taken += units(at);
        let f1 = 2.0 * hit / (taken + expected * caution).max(f32::MIN_POSITIVE);
        if f1 > best {
            (best, n_best) = (f1, n + 1);
        }
    }
    let mut is_chosen = vec![false; order.len()];
    for &at in &order[..n_best] {
        is_chosen[at] = true;
    }
    Choice {
        is_chosen,
        f1: best,
    }
}

/// Smallest share of the text of a bare page that is expected in its main content.
const BARE_SHARE_MIN: f32 = 0.2;
/// Probability from which on a block of such a page is kept.
const BARE_TRUST: f32 = 0.13;

/// Adds what is likely enough on a page without scripts, styles and hidden elements: it was written
/// so, or has been filtered before, and most of what is there is there on purpose. The features
/// are relative to the page: once the boilerplate is gone, the least likely of the rest would look
/// like it.
pub(crate) fn complete(
    page: &Page<'_>,
    probabilities: &[f32],
    mut is_chosen: Vec<bool>,
) -> Vec<bool> {
    let root = &page.regions[0];
    let blocks = page.blocks.iter().zip(probabilities);
    let expected: f32 = blocks
        .map(|(block, probability)| block.stats.units * probability)
        .sum();
    if root.n_unseen == 0 && expected >= root.stats.units * BARE_SHARE_MIN {
        for (is_chosen, &probability) in is_chosen.iter_mut().zip(probabilities) {
            *is_chosen |= probability >= BARE_TRUST;
        }
    }
    is_chosen
}

/// Factor on the expected size of the main content. It is above 1 because the blocks of a page are
/// correlated.
pub(crate) const CAUTION: f32 = 1.2;
/// The same for the text of an article alone: what is doubtful there is a teaser more often than a
/// part of the text.
pub(crate) const CAUTION_OF_BODY: f32 = 0.8;

/// Lowers the probability of consent notices: they read like prose, and are too rare for the model
/// to learn. A page about cookies consists mostly of such words and is left alone.
pub(crate) fn discount_consent(page: &Page<'_>, probabilities: &mut [f32]) {
    const SHARE_MAX: f32 = 0.7;
    const CONSENT_FACTOR: f32 = 0.05;
    let is_consent: Vec<bool> = page
        .blocks
        .iter()
        .map(|block| page.regions[block.region as usize].near[Hint::CookieWord as usize] < FAR)
        .collect();
    let consent = page
        .blocks
        .iter()
        .zip(&is_consent)
        .filter(|&(_, &is_consent)| is_consent);
    let units: f32 = consent.map(|(block, _)| block.stats.units).sum();
    if units < page.regions[0].stats.units * SHARE_MAX {
        for (probability, _) in probabilities
            .iter_mut()
            .zip(is_consent)
            .filter(|&(_, is_consent)| is_consent)
        {
            *probability *= CONSENT_FACTOR;
        }
    }
}
