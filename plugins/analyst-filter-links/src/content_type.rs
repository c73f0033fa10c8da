//! Types of the pages that links lead to.

use serde::Serialize;

/// Type of the page a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentType {
    /// A news item or post.
    Article,
    /// Something for sale.
    Product,
    /// Contact details.
    Contact,
    /// About a person or organisation.
    About,
    /// Manuals, references, help.
    Documentation,
    /// A list of other pages: a category, search results, pagination.
    Listing,
    /// Terms, privacy policy, imprint.
    Legal,
    /// Sign-in, sign-up, account, cart.
    Login,
    /// An image, video or audio file.
    Media,
    /// A file to download.
    Download,
    /// Anything else.
    Other,
}

/// The types by their names in answers.
pub(crate) const ALL: [(&str, ContentType); 11] = [
    ("article", ContentType::Article),
    ("product", ContentType::Product),
    ("contact", ContentType::Contact),
    ("about", ContentType::About),
    ("documentation", ContentType::Documentation),
    ("listing", ContentType::Listing),
    ("legal", ContentType::Legal),
    ("login", ContentType::Login),
    ("media", ContentType::Media),
    ("download", ContentType::Download),
    ("other", ContentType::Other),
];

impl ContentType {
    /// Its name in answers.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter()
            .find(|(_, own)| *own == self)
            .map_or("other", |(name, _)| name)
    }
}
