//! The browser settings of one page: what it may load, its window, and its headers.

use chromiumoxide::cdp::browser_protocol::emulation::{
    ScreenOrientation, ScreenOrientationType, SetDeviceMetricsOverrideParams,
};
use chromiumoxide::cdp::browser_protocol::fetch::{self, RequestPattern};
use chromiumoxide::cdp::browser_protocol::network::{self, ResourceType};
use chromiumoxide::cdp::browser_protocol::page::AddScriptToEvaluateOnNewDocumentParams;

use trawl_plan::{FetchPlan, RenderPlan};

use super::config::FILE_BYTES_MAX;

/// Name of the isolated world that the functions of `page.js` run in.
pub(super) const WORLD: &str = "trawl";
/// Notes when something was added to a document, for `look` of `page.js`, and when a long task of
/// its scripts (the Long Tasks standard: over 50 ms) ended, for `idle`.
const NOTE_WORK: &str = "new MutationObserver((changes) => {
  const adds = ({ type, addedNodes }) => type === 'characterData' || addedNodes.length > 0;
  if (changes.some(adds)) globalThis.trawlChanged = performance.now();
}).observe(document, { childList: true, characterData: true, subtree: true });
new PerformanceObserver((tasks) => {
  const ends = tasks.getEntries().map(({ startTime, duration }) => startTime + duration);
  globalThis.trawlWorked = Math.max(globalThis.trawlWorked ?? 0, ...ends);
}).observe({ type: 'longtask' });";

/// Pixels of the screen that a window is on, unless the window is larger.
const SCREEN: (i64, i64) = (1920, 1080);

/// URL patterns of widely used advertising and tracking services.
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

/// The requests that are intercepted: all of them if the caller has headers or cookies, otherwise
/// documents and these resource types.
pub(super) fn intercepted(fetch: &FetchPlan, blocked: &[&str]) -> fetch::EnableParams {
    let of = |kind: ResourceType| RequestPattern {
        url_pattern: None,
        resource_type: Some(kind),
        request_stage: None,
    };
    let patterns = if fetch.headers.is_empty() && fetch.cookies.is_empty() {
        // Documents are always intercepted: with the first one the proxy requests its password.
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
    } else {
        vec![RequestPattern {
            url_pattern: Some("*".to_owned()),
            resource_type: None,
            request_stage: None,
        }]
    };
    fetch::EnableParams {
        patterns: Some(patterns),
        handle_auth_requests: Some(true),
    }
}

/// What runs in the isolated world of every document before its first script.
pub(super) fn noting_work() -> AddScriptToEvaluateOnNewDocumentParams {
    let mut params = AddScriptToEvaluateOnNewDocumentParams::new(NOTE_WORK);
    params.world_name = Some(WORLD.to_owned());
    params
}

/// Network events: without the bodies of requests, and with room for the body of one file, the only
/// one that is read. The browser may keep it as UTF-16.
pub(super) fn network_events() -> network::EnableParams {
    let bytes = i64::try_from(2 * FILE_BYTES_MAX).unwrap_or(i64::MAX);
    network::EnableParams {
        max_total_buffer_size: Some(bytes),
        max_resource_buffer_size: Some(bytes),
        // 0 would be no limit.
        max_post_data_size: Some(1),
        ..network::EnableParams::default()
    }
}

/// The resource types that are blocked. Decision D60: audio, video and fonts are loaded only with
/// `full_resources`, fonts also for a screenshot.
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

/// The size and pixel density of the page's window.
pub(super) fn metrics(plan: &RenderPlan) -> SetDeviceMetricsOverrideParams {
    let window = plan.window;
    let (width, height) = if window.landscape && window.height > window.width {
        (window.height, window.width)
    } else {
        (window.width, window.height)
    };
    let (width, height) = (i64::from(width), i64::from(height));
    let mut params =
        SetDeviceMetricsOverrideParams::new(width, height, window.scale, window.mobile);
    // A phone's window is its screen; another one is on a screen that it fits.
    let (screen_width, screen_height) = match window.mobile {
        true => (width, height),
        false => (width.max(SCREEN.0), height.max(SCREEN.1)),
    };
    params.screen_width = Some(screen_width);
    params.screen_height = Some(screen_height);
    let (kind, angle) = match screen_height > screen_width {
        true => (ScreenOrientationType::PortraitPrimary, 0),
        false if window.mobile => (ScreenOrientationType::LandscapePrimary, 90),
        false => (ScreenOrientationType::LandscapePrimary, 0),
    };
    params.screen_orientation = Some(ScreenOrientation::new(kind, angle));
    params
}
