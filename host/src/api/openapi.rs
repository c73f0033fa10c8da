//! `GET /openapi.json`: the interface in OpenAPI 3.1.

use std::sync::LazyLock;

use axum::response::Response;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::post::Form;
use super::{credits, health, links, plugins, scrape, transform};

/// The documented endpoints. Each is served at `/x` and at `/v1/x`.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trawl",
        description = "Fetches web pages and returns them in formats made by plugins. Every path is also served below `/v1`. \
            Errors are objects with one field, `error`."
    ),
    paths(
        scrape::scrape,
        links::links,
        transform::transform,
        credits::credits,
        plugins::plugins,
        health::health,
    ),
    modifiers(&KeyScheme)
)]
struct Interface;

struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme(
            "key",
            SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
        );
    }
}

pub(super) async fn openapi() -> Response {
    static DOCUMENT: LazyLock<String> =
        LazyLock::new(|| Interface::openapi().to_json().unwrap_or_default());
    Form::Json.response(DOCUMENT.as_str())
}
