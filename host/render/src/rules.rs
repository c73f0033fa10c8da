//! What a page may load, and what its errors mean.

use chromiumoxide::cdp::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use chromiumoxide::cdp::browser_protocol::fetch::{self, RequestPattern};
use chromiumoxide::cdp::browser_protocol::network::ResourceType;
use chromiumoxide::cdp::js_protocol::runtime::ExceptionDetails;
use url::Url;

use super::RenderError;
use trawl_model::failure::status;
use trawl_net::egress::Refusal;
use trawl_plan::{FetchPlan, RenderPlan};

/// Address patterns of widely used advertising and tracking services.
pub(super) const ADS: &[&str] = &[
    "*://*.doubleclick.net/*",
    "*://*.googlesyndication.com/*",
    "*://*.googleadservices.com/*",
    "*://*.google-analytics.com/*",
    "*://*.googletagmanager.com/*",
    "*://*.googletagservices.com/*",
    "*://*.adnxs.com/*",
    "*://*.amazon-adsystem.com/*",
    "*://*.criteo.com/*",
    "*://*.criteo.net/*",
    "*://*.taboola.com/*",
    "*://*.outbrain.com/*",
    "*://*.scorecardresearch.com/*",
    "*://*.quantserve.com/*",
    "*://*.rubiconproject.com/*",
    "*://*.pubmatic.com/*",
    "*://*.openx.net/*",
    "*://*.casalemedia.com/*",
    "*://*.moatads.com/*",
    "*://*.adsrvr.org/*",
    "*://*.hotjar.com/*",
    "*://*.mixpanel.com/*",
    "*://*.segment.io/*",
    "*://connect.facebook.net/*",
    "*://bat.bing.com/*",
];

pub(super) fn intercepted(fetch: &FetchPlan, plan: &RenderPlan) -> fetch::EnableParams {
    let of = |kind: ResourceType| RequestPattern {
        url_pattern: None,
        resource_type: Some(kind),
        request_stage: None,
    };
    let patterns = match fetch.headers.is_empty() {
        // Documents are always looked at: the first one is where the proxy asks for its password.
        true => {
            let blocked = blocked(plan);
            let kinds = [
                (ResourceType::Image, "Image"),
                (ResourceType::Stylesheet, "Stylesheet"),
                (ResourceType::Media, "Media"),
                (ResourceType::Font, "Font"),
            ];
            let kinds = kinds.into_iter().filter(|(_, name)| blocked.contains(name));
            kinds
                .map(|(kind, _)| of(kind))
                .chain([of(ResourceType::Document)])
                .collect()
        }
        false => vec![RequestPattern {
            url_pattern: Some("*".to_owned()),
            resource_type: None,
            request_stage: None,
        }],
    };
    fetch::EnableParams {
        patterns: Some(patterns),
        handle_auth_requests: Some(true),
    }
}

/// Decision D60: sound, video and fonts are loaded for `full_resources` only, fonts for a picture
/// too.
pub(super) fn blocked(plan: &RenderPlan) -> Vec<&'static str> {
    let load = plan.load;
    let kinds = [
        ("Image", load.block_images),
        ("Stylesheet", load.block_stylesheets),
        ("Media", !load.full),
        ("Font", !load.full && plan.screenshot.is_none()),
    ];
    kinds
        .into_iter()
        .filter(|(_, is_blocked)| *is_blocked)
        .map(|(kind, _)| kind)
        .collect()
}

pub(super) fn metrics(plan: &RenderPlan) -> SetDeviceMetricsOverrideParams {
    let window = plan.window;
    let (width, height) = match window.landscape && window.height > window.width {
        true => (window.height, window.width),
        false => (window.width, window.height),
    };
    SetDeviceMetricsOverrideParams::new(
        i64::from(width),
        i64::from(height),
        window.scale,
        window.mobile,
    )
}

pub(super) fn text_headers(fetch: &FetchPlan) -> Vec<(String, String)> {
    let headers = fetch.headers.iter();
    let headers = headers
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    headers.collect()
}

pub(super) fn thrown(details: ExceptionDetails) -> String {
    let description = details
        .exception
        .and_then(|exception| exception.description);
    description.unwrap_or(details.text)
}

/// Why egress refused the page's own URL.
pub(super) fn refusal(refused: &[Refusal], url: &Url) -> Option<RenderError> {
    let host = url.host_str()?;
    let port = url.port_or_known_default()?;
    let destination = format!("{host}:{port}");
    let found = refused
        .iter()
        .rev()
        .find(|refused| refused.destination == destination)?;
    Some(RenderError::Load(found.status, found.reason.clone()))
}

/// What an error of the browser's network stack means.
pub(super) fn load_error(error: &str, is_answered: bool) -> RenderError {
    let code = match error.trim_start_matches("net::") {
        "ERR_ABORTED" if is_answered => {
            let text = "the address is a download, not a page; ask for `request: \"http\"`";
            return RenderError::Load(status::BROWSER_FAILED, text.to_owned());
        }
        "ERR_NAME_NOT_RESOLVED" => status::NAME_NOT_RESOLVED,
        "ERR_CONNECTION_REFUSED" => status::CONNECTION_REFUSED,
        "ERR_CONNECTION_RESET" => status::RESET,
        "ERR_TIMED_OUT" | "ERR_CONNECTION_TIMED_OUT" => status::TIMED_OUT,
        "ERR_TOO_MANY_REDIRECTS" => status::TOO_MANY_REDIRECTS,
        "ERR_CONNECTION_CLOSED"
        | "ERR_EMPTY_RESPONSE"
        | "ERR_ABORTED"
        | "ERR_INVALID_HTTP_RESPONSE" => status::ABORTED,
        _ => status::UNREACHABLE_OR_REFUSED,
    };
    RenderError::Load(code, format!("the page cannot be loaded: {error}"))
}
