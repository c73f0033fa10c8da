//! `GET /data/contacts`: what `/pipeline/extract-contacts` found and kept.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::error::ApiError;
use super::paging::{Page, Paging};
use super::params::Query;
use super::post::Form;
use trawl_billing::Account;
use trawl_crawl::pipeline::domain_of;
use trawl_store::Contact;

/// Whose contacts are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SiteQuery {
    /// Of this site alone: a domain, a host or an address.
    domain: Option<String>,
}

/// One contact.
#[derive(Serialize, ToSchema)]
#[schema(as = Contact)]
pub(super) struct ContactView {
    /// Registered domain of the site on which it was found.
    domain: String,
    /// `email`, `phone`, `social`, `person`, `address` or `business`.
    kind: String,
    /// What it is one by.
    value: String,
    /// What else is known.
    #[schema(value_type = Object)]
    details: Box<RawValue>,
    /// Pages it stands on, at most 100.
    pages: Vec<String>,
    /// When it was found first.
    first_seen: String,
    /// When it was found last.
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
    description = "Contacts that `/pipeline/extract-contacts` found, each once a site.",
    params(SiteQuery, Paging),
    responses(
        (status = 200, description = "A part of the contacts, the last found first", body = Page<ContactView>,
            example = json!({"count": 1, "data": [{
                "domain": "example.com", "kind": "email", "value": "info@example.com", "details": {"sources": ["mailto"]},
                "pages": ["https://example.com/contact"], "first_seen": "2026-01-31T10:20:30Z", "last_seen": "2026-01-31T10:20:30Z",
            }]})),
    ),
    security(("key" = []))
)]
pub(super) async fn contacts(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Query(site): Query<SiteQuery>,
    Query(paging): Query<Paging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cut = paging.cut()?;
    let named = site.domain.as_deref().map(str::trim);
    let named = named.filter(|domain| !domain.is_empty());
    let domain = named.map(|domain| {
        domain_of(domain).ok_or_else(|| {
            ApiError::Invalid("domain: is neither a domain nor an address".to_owned())
        })
    });
    let domain = domain.transpose()?;
    let pipelines = api.service.pipelines();
    let found = pipelines
        .contacts(&account.id, domain.as_deref(), cut)
        .await;
    let found = found.map_err(|error| {
        tracing::error!(error = %error, "contacts could not be read");
        ApiError::Internal
    })?;
    Form::of(&headers).one(&Page {
        data: found.rows.into_iter().map(ContactView::from).collect(),
        count: found.count,
    })
}
