//! `GET /data/contacts`: the contacts that `/pipeline/extract-contacts` has stored.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use trawl_billing::Account;
use trawl_crawl::pipeline::domain_of;
use trawl_model::memory::MemoryShare;
use trawl_store::Contact;

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::{LongPaging, Page};
use crate::http::params::Query;
use crate::http::queries::{CONTACT_BYTES_LIKELY, memory_for};

/// Which contacts to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContactsQuery {
    /// Only contacts of this site: a domain, a host or a URL.
    domain: Option<String>,
    /// Page size. Default 100; a larger one than 1,000 counts as 1,000.
    #[param(value_type = Option<u64>)]
    limit: Option<String>,
    /// Page number, starting at 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
    /// `next_cursor` of the page before, in place of `page`. Needed beyond the first 100,000 rows.
    cursor: Option<String>,
}

/// One contact.
#[derive(Serialize, ToSchema)]
#[schema(as = Contact)]
pub(crate) struct ContactView {
    /// Registered domain of the site where it was found.
    domain: String,
    /// `email`, `phone`, `social`, `person`, `address` or `business`.
    kind: String,
    /// The contact: the e-mail address, the number, the profile URL, the name.
    value: String,
    /// Further details.
    #[schema(value_type = Object)]
    details: Box<RawValue>,
    /// URLs of the pages it was found on, at most 100.
    pages: Vec<String>,
    /// When it was first found.
    first_seen: String,
    /// When it was last found.
    last_seen: String,
}

impl From<Contact> for ContactView {
    fn from(contact: Contact) -> Self {
        Self {
            domain: contact.domain,
            kind: contact.kind,
            value: contact.value,
            details: RawValue::from_string(contact.details).unwrap_or_default(),
            pages: contact.pages,
            first_seen: contact.first_seen.to_string(),
            last_seen: contact.last_seen.to_string(),
        }
    }
}

#[utoipa::path(
    get,
    path = "/data/contacts",
    summary = "List contacts",
    description = "Lists the contacts that `/pipeline/extract-contacts` has stored, each once per site.",
    params(ContactsQuery),
    responses(
        (status = 200, description = "A page of the contacts, the most recently found first", body = Page<ContactView>,
            example = json!({"count": 1, "data": [{
                "domain": "example.com", "kind": "email", "value": "info@example.com", "details": {"sources": ["mailto"]},
                "pages": ["https://example.com/contact"], "first_seen": "2026-01-31T10:20:30Z", "last_seen": "2026-01-31T10:20:30Z",
            }]})),
    ),
    security(("key" = []))
)]
pub(crate) async fn contacts(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Extension(memory): Extension<MemoryShare>,
    Query(query): Query<ContactsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let range = LongPaging::new(query.limit, query.page, query.cursor).range()?;
    let site = query.domain.as_deref().map(str::trim);
    let site = site.filter(|site| !site.is_empty());
    let domain = site.map(|site| {
        domain_of(site)
            .ok_or_else(|| ApiError::Invalid("domain: must be a domain or a URL".to_owned()))
    });
    let domain = domain.transpose()?;
    let pipelines = &api.rooms.pipelines;
    let _permit = api.queries.take(&account.id).await?;
    let mut lease = memory_for(&memory, range.limit, CONTACT_BYTES_LIKELY).await?;
    let found = pipelines
        .contacts(&account.id, domain.as_deref(), range)
        .await?;
    let page = Page::of(found, &mut lease, ContactView::from);
    ResponseFormat::of(&headers).held_object(&page, lease)
}
