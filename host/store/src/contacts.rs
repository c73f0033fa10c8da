//! The store behind pipelines: the contacts that they extracted.

use std::fmt;

use trawl_model::clock::Timestamp;

use crate::account::AccountId;
use crate::future::StoreFuture;
use crate::paging::{PageRange, RowBytes, Rows};

/// URLs stored per contact: enough to find it again, and a bound for contacts in a site's footer.
pub const CONTACT_PAGES_MAX: usize = 100;
/// Contacts per account: at about a kilobyte each, a gigabyte.
pub(crate) const CONTACTS_MAX: u64 = 1_000_000;

/// Contacts. Operations are durable once their future returns `Ok`.
pub trait ContactStore: fmt::Debug + Send + Sync + 'static {
    /// Adds contacts, or merges the details, pages and times into existing ones. Returns the number
    /// dropped because the account has reached its maximum.
    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64>;

    /// Contacts of an account, of one domain if given; most recently seen first.
    fn contacts<'a>(
        &'a self,
        account: &'a AccountId,
        domain: Option<&'a str>,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<Contact>>;
}

/// A contact of one account, identified by account, domain, kind and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Registered domain of the site; the host if there is none.
    pub domain: String,
    /// `email`, `phone`, `social`, `person`, `address`, `business`, or another kind that the
    /// analyst defines.
    pub kind: String,
    /// Identifies the contact within its kind.
    pub value: String,
    /// Other attributes, a JSON object.
    pub details: String,
    /// URLs it was found on, at most [`CONTACT_PAGES_MAX`], first found first.
    pub pages: Vec<String>,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

impl RowBytes for Contact {
    fn bytes(&self) -> usize {
        let texts = [&self.domain, &self.kind, &self.value, &self.details];
        let pages = self
            .pages
            .iter()
            .map(|url| size_of::<String>() + url.capacity());
        let texts = texts.map(String::capacity).into_iter();
        size_of::<Self>() + texts.chain(pages).sum::<usize>()
    }
}

/// The pages of a contact as the column has them.
pub(crate) fn pages_json(pages: &[String]) -> String {
    serde_json::json!(&pages[..pages.len().min(CONTACT_PAGES_MAX)]).to_string()
}
