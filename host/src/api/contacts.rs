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
use super::params::Query;
use super::post::Form;
use crate::billing::Account;
use crate::pipeline::domain_of;
use crate::store::{Contact, ContactWindow};

/// Contacts of one answer when the caller names no number, and the most it may name.
const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;

/// Which contacts are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ContactsQuery {
    /// Of this site alone: a domain, a host or an address.
    domain: Option<String>,
    /// Most contacts of an answer, 1 to 1,000; 100 when not set.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Which part, from 1.
    #[param(value_type = Option<u64>)]
    page: Option<String>,
}

/// Answer of `/data/contacts`.
#[derive(Serialize, ToSchema)]
#[schema(as = Contacts, example = json!({"count": 1, "data": [{
    "domain": "example.com", "kind": "email", "value": "info@example.com", "details": {"sources": ["mailto"]},
    "pages": ["https://example.com/contact"], "first_seen": "2026-01-31T10:20:30Z", "last_seen": "2026-01-31T10:20:30Z",
}]}))]
pub(super) struct ContactsAnswer {
    /// The contacts of the part, the last found first.
    data: Vec<ContactView>,
    /// How many there are in all parts.
    count: u64,
}

/// One contact.
#[derive(Serialize, ToSchema)]
#[schema(as = Contact)]
struct ContactView {
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
    params(ContactsQuery),
    responses(
        (status = 200, description = "A part of the contacts", body = ContactsAnswer),
        (status = 400, description = "A parameter is wrong; the text begins with its name"),
        (status = 401, description = "The key is missing or unknown", example = json!({"error": "invalid api key"})),
    ),
    security(("key" = []))
)]
pub(super) async fn contacts(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Query(query): Query<ContactsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = number("limit", query.limit.as_deref())?.unwrap_or(LIMIT_DEFAULT.into());
    let limit = u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
    let named = query.domain.as_deref().map(str::trim);
    let named = named.filter(|domain| !domain.is_empty());
    let domain = named.map(|domain| {
        domain_of(domain).ok_or_else(|| {
            ApiError::Invalid("domain: is neither a domain nor an address".to_owned())
        })
    });
    let domain = domain.transpose()?;
    let page = number("page", query.page.as_deref())?.unwrap_or(1);
    let window = ContactWindow {
        domain: domain.as_deref(),
        skip: (page - 1).saturating_mul(limit.into()),
        limit,
    };
    let found = api.service.pipelines().contacts(&account.id, window).await;
    let found = found.map_err(|error| {
        tracing::error!(error = %error, "contacts could not be read");
        ApiError::Internal
    })?;
    let answer = ContactsAnswer {
        data: found.contacts.into_iter().map(ContactView::from).collect(),
        count: found.count,
    };
    Form::of(&headers).one(&answer)
}

fn number(name: &str, text: Option<&str>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(ApiError::Invalid(format!(
            "{name}: write a whole number from 1 on"
        ))),
    }
}
