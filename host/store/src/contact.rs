//! Contacts that pipelines found, as they are stored.

use trawl_model::clock::Timestamp;

/// Addresses of pages that a contact remembers: enough to find it again, and a bound for those that stand on every page of a site.
pub const CONTACT_PAGES_MAX: usize = 100;
/// Contacts of one account: at some kilobyte each, a gigabyte.
pub(super) const CONTACTS_MAX: u64 = 1_000_000;

/// A contact of one account. It is one by account, domain, kind and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Registered domain of the site on which it was found; the host where there is none.
    pub domain: String,
    /// `email`, `phone`, `social`, `person`, `address`, `business`, or another word of the analyst's.
    pub kind: String,
    /// What it is one by, among those of its kind.
    pub value: String,
    /// What else is known, a JSON object.
    pub details: String,
    /// Pages it was found on, at most [`CONTACT_PAGES_MAX`], in the order of finding.
    pub pages: Vec<String>,
    /// When it was found first.
    pub first_seen: Timestamp,
    /// When it was found last.
    pub last_seen: Timestamp,
}
