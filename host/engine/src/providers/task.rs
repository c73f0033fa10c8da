//! What a page's plan means for a service.

use std::time::Duration;

use trawl_sdk::provider::{Abilities, Pool, Screenshot, Task, WaitFor};
use url::Url;

use trawl_net::fetch::{basic_authorization, without_userinfo};
use trawl_plan::PagePlan;
use trawl_plugins::Grant;

/// How a service is asked for a page.
pub struct AttemptContext<'a> {
    /// Whether scripts run.
    pub javascript: bool,
    /// Time for the whole conversation.
    pub time: Duration,
    /// What the operator set.
    pub grant: &'a Grant,
}

/// The task of an adapter: what the plan asks for, as far as the contract can say it.
pub fn task(plan: &PagePlan, url: &Url, engagement: &AttemptContext<'_>) -> Task {
    let fetch = &plan.fetch;
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in [
        ("user-agent", &fetch.user_agent),
        ("accept-language", &fetch.locale),
    ] {
        headers.extend(value.iter().map(|value| (name.to_owned(), value.clone())));
    }
    let password = basic_authorization(url);
    headers.extend(password.map(|value| ("authorization".to_owned(), text(&value))));
    let own = fetch.headers.iter();
    headers.extend(own.map(|(name, value)| (name.as_str().to_owned(), text(value))));
    let wishes = Wishes::of(plan, url);
    Task {
        headers,
        cookies: fetch.cookies.clone(),
        javascript: engagement.javascript,
        wait_ms: wishes.wait.map(millis),
        wait_for: wishes.wait_for,
        script: wishes.script,
        country: fetch.country_code.clone(),
        pool: match fetch.pool {
            trawl_plan::Pool::Residential | trawl_plan::Pool::Isp => Pool::Residential,
            trawl_plan::Pool::Standard | trawl_plan::Pool::Unlimited => Pool::Standard,
        },
        screenshot: wishes.screenshot,
        time_ms: millis(engagement.time),
        settings: engagement.grant.settings.to_string(),
        ..Task::new(sendable(url).as_str(), &engagement.grant.base)
    }
}

/// What a service must be able to do for a page. Without JavaScript only what needs none is asked.
pub(super) fn needs(plan: &PagePlan, url: &Url, javascript: bool) -> Abilities {
    let fetch = &plan.fetch;
    let wishes = Wishes::of(plan, url);
    let residential = matches!(
        fetch.pool,
        trawl_plan::Pool::Residential | trawl_plan::Pool::Isp
    );
    let country = match residential {
        // Through residential addresses either will do; `can` knows.
        true => Abilities::NOTHING,
        false => Abilities::COUNTRY,
    };
    let has_headers = !fetch.headers.is_empty()
        || fetch.user_agent.is_some()
        || fetch.locale.is_some()
        || basic_authorization(url).is_some();
    // Where a page was redirected to has to be known when not every place is allowed.
    let is_bound = fetch.gate.is_some() || fetch.respect_robots;
    let wanted = [
        (true, Abilities::SERVES),
        (has_headers, Abilities::HEADERS),
        (!fetch.cookies.is_empty(), Abilities::COOKIES),
        (fetch.country_code.is_some(), country),
        (residential, Abilities::RESIDENTIAL),
        (wishes.wait.is_some(), Abilities::FIXED_WAIT),
        (wishes.wait_for.is_some(), Abilities::WAIT_SELECTOR),
        (wishes.script.is_some(), Abilities::SCRIPT),
        (wishes.screenshot.is_some(), Abilities::SCREENSHOT),
        (wants_bytes(plan) && !javascript, Abilities::BINARY),
        (plan.output.headers, Abilities::TARGET_HEADERS),
        (plan.output.cookies, Abilities::TARGET_COOKIES),
        (is_bound, Abilities::FINAL_URL),
    ];
    let wanted = wanted.into_iter().filter(|(wanted, _)| *wanted);
    wanted.fold(Abilities::NOTHING, |all, (_, ability)| all | ability)
}

/// Whether the plan asks for something that no service can be asked for: steps of a browser, scripts before the page's own.
pub(super) fn is_beyond(plan: &PagePlan) -> bool {
    let render = &plan.render;
    let wait = &render.wait;
    render.before_load.is_some()
        || !render.automation.is_empty()
        || render.scroll.is_some()
        || wait.dom.is_some()
        || wait.navigation
        || render
            .screenshot
            .is_some_and(|picture| picture.clip.is_some())
}

/// The parts of a plan that a browser of the service would do.
struct Wishes {
    wait: Option<Duration>,
    wait_for: Option<WaitFor>,
    script: Option<String>,
    screenshot: Option<Screenshot>,
}

impl Wishes {
    fn of(plan: &PagePlan, url: &Url) -> Self {
        let render = &plan.render;
        let wait_for = render.wait.selector.as_ref();
        Self {
            wait: render.wait.delay,
            wait_for: wait_for.map(|(selector, time)| WaitFor {
                selector: selector.clone(),
                time_ms: millis(*time),
            }),
            script: render.scripts.find(url.path()).cloned(),
            screenshot: render.screenshot.map(|picture| match picture.full_page {
                true => Screenshot::FullPage,
                false => Screenshot::Window,
            }),
        }
    }
}

fn wants_bytes(plan: &PagePlan) -> bool {
    let mut formats = plan.output.formats.iter();
    formats
        .any(|choice| matches!(&choice.format, trawl_plan::Format::Plugin(name) if name == "bytes"))
}

/// The address as servers get it. A password in it is a header of its own.
fn sendable(url: &Url) -> Url {
    let mut url = without_userinfo(url.clone());
    url.set_fragment(None);
    url
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
