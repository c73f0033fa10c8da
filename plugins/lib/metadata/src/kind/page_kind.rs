//! The kinds of pages.

use serde::Serialize;

/// What a page is, for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PageKind {
    /// A text by an author: news, a blog post, an essay.
    Article,
    /// A page of a manual, a reference, an encyclopedia.
    Documentation,
    /// What an organisation offers: its home page, a service, a price list.
    Service,
    /// A thread of posts, a question with its answers.
    Forum,
    /// Groups of entries under headings: a category, a portal, a gallery.
    Collection,
    /// A list of entries that are alike: search results, jobs, events.
    Listing,
    /// One product.
    Product,
}

/// Number of kinds.
pub(super) const N_KINDS: usize = 7;

/// All kinds, in the order of the weights.
pub(super) const KINDS: [PageKind; N_KINDS] = [
    PageKind::Article,
    PageKind::Documentation,
    PageKind::Service,
    PageKind::Forum,
    PageKind::Collection,
    PageKind::Listing,
    PageKind::Product,
];
