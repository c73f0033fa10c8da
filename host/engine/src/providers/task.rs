//! The task of an adapter for a page's plan.

use std::time::Duration;

use trawl_contract::provider::{Abilities, Pool, Screenshot, Task, WaitFor};
use trawl_plan::PagePlan;
use trawl_plan::address::without_fragment;
use trawl_plan::render::Window;
use trawl_plugins::Grant;

use super::unfit::Needs;

/// What a task needs in addition to the plan.
pub struct AttemptContext<'a> {
    /// Whether scripts run.
    pub javascript: bool,
    /// Time for the whole conversation.
    pub time: Duration,
    /// What the operator set.
    pub grant: &'a Grant,
}

/// The task of an adapter: the part of the page's plan that the contract can express.
pub fn task(plan: &PagePlan, attempt: &AttemptContext<'_>) -> Task {
    Task {
        time_ms: millis(attempt.time),
        base: attempt.grant.base.clone(),
        settings: attempt.grant.settings.to_string(),
        ..of_plan(plan, attempt.javascript)
    }
}

/// The task without what the operator set and what the attempt may take.
fn of_plan(plan: &PagePlan, javascript: bool) -> Task {
    let url = &plan.url;
    let fetch = &plan.fetch;
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in [
        ("user-agent", &fetch.user_agent),
        ("accept-language", &fetch.locale),
    ] {
        headers.extend(value.iter().map(|value| (name.to_owned(), value.clone())));
    }
    let own = fetch.headers.iter();
    headers.extend(own.map(|(name, value)| (name.as_str().to_owned(), text(value))));
    let browser = BrowserTask::of(plan);
    let request = plan.router.request.clone().unwrap_or_default();
    Task {
        method: request.method,
        body: request.body,
        headers,
        cookies: fetch.cookies.clone(),
        javascript,
        wait_ms: browser.wait.map(millis),
        wait_for: browser.wait_for,
        script: browser.script,
        country: fetch.country_code.clone(),
        pool: match fetch.pool {
            trawl_plan::Pool::Residential | trawl_plan::Pool::Isp => Pool::Residential,
            trawl_plan::Pool::Standard | trawl_plan::Pool::Unlimited => Pool::Standard,
        },
        screenshot: browser.screenshot,
        ..Task::new(without_fragment(url).as_str(), "")
    }
}

/// What a page needs of a provider.
pub(super) fn needs(plan: &PagePlan, javascript: bool) -> Needs {
    Needs::of_task(&of_plan(plan, javascript))
        .and(needs_bytes(plan) && !javascript, Abilities::BINARY)
        .and(plan.output.headers, Abilities::TARGET_HEADERS)
        .and(plan.output.cookies, Abilities::TARGET_COOKIES)
}

/// The parameters that ask for something that the contract cannot express: browser steps, scripts
/// before the page's own, another window.
pub(super) fn beyond(plan: &PagePlan, javascript: bool) -> Vec<&'static str> {
    let render = &plan.render;
    let wait = &render.wait;
    let is_clipped = render
        .screenshot
        .is_some_and(|picture| picture.clip.is_some());
    let is_transparent = render
        .screenshot
        .is_some_and(|picture| picture.omit_background);
    let has_window = javascript && render.window != Window::default();
    let asked = [
        (render.before_load.is_some(), "evaluate_on_new_document"),
        (!render.automation.is_empty(), "automation_scripts"),
        (render.scroll.is_some(), "scroll"),
        (wait.idle.is_some(), "wait_for.idle_network"),
        (wait.almost_idle.is_some(), "wait_for.almost_idle_network0"),
        (wait.dom.is_some(), "wait_for.dom"),
        (wait.navigation, "wait_for.page_navigations"),
        (has_window, "viewport"),
        (is_clipped, "clip"),
        (is_transparent, "omit_background"),
    ];
    let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
    asked.map(|(_, name)| name).collect()
}

/// The parts of a plan for the provider's browser.
struct BrowserTask {
    wait: Option<Duration>,
    wait_for: Option<WaitFor>,
    script: Option<String>,
    screenshot: Option<Screenshot>,
}

impl BrowserTask {
    fn of(plan: &PagePlan) -> Self {
        let render = &plan.render;
        let wait_for = render.wait.selector.as_ref();
        Self {
            wait: render.wait.delay,
            wait_for: wait_for.map(|(selector, time)| WaitFor {
                selector: selector.clone(),
                time_ms: millis(*time),
            }),
            script: render.scripts.find_at(&plan.url, &plan.url).cloned(),
            screenshot: render.screenshot.map(|picture| {
                if picture.full_page {
                    Screenshot::FullPage
                } else {
                    Screenshot::Window
                }
            }),
        }
    }
}

fn needs_bytes(plan: &PagePlan) -> bool {
    let mut formats = plan.output.formats.iter();
    formats
        .any(|choice| matches!(&choice.format, trawl_plan::Format::Plugin(name) if name == "bytes"))
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
