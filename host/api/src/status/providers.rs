//! `GET /providers`: the third-party providers, for callers and for the operator.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};

use super::documented::ProviderList;
use crate::Api;
use crate::http::auth;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;

#[utoipa::path(
    get,
    path = "/providers",
    summary = "List the providers",
    description = "Lists the third-party providers that `router` can name, in the order of preference. \
        With an account's key: each with its vendor, its abilities, its prices and the credentials that it takes. \
        With the admin key: each with its grant and prices, and its calls, failures by class, latency, cost and charges since the server started.",
    responses(
        (
            status = 200, description = "An object with `providers`, in the order of preference", body = ProviderList,
            example = json!({"providers": [{
                "name": "provider_2", "vendor": "scrapingbee", "label": "ScrapingBee (HTML API)",
                "plain": ["serves", "headers"], "rendered": ["serves", "script"],
                "credentials": ["PROVIDER2_API_KEY"], "takes_own_key": true, "is_pooled": false,
                "prices": {"credit": "0.000196"}, "most": "0.0147",
            }]}),
        ),
    ),
    security(("key" = []), ("admin" = []))
)]
pub(crate) async fn providers(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = ResponseFormat::of(&headers);
    if auth::is_admin(&api, &headers) {
        return format.object(&api.service.providers());
    }
    let of_account = || {
        let offered = format.object(&api.service.offered_providers());
        offered.unwrap_or_else(IntoResponse::into_response)
    };
    let answer = auth::answer_account(&api, &headers, uri.path(), of_account);
    answer.ok_or_else(|| auth::refused(&api, &headers, auth::KeyAccess::Accounts))
}
