//! What a browser does with a page: scripts, steps, waits, window, and what it does not load.

mod read;

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::PlanError;
use super::address::{is_same_site, site_origins};
use read::{Wrong, by_path, steps, wait, window};

pub use read::{STEP_NAMES, step_name};

/// Longest single wait. Decision D58.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time of one wait that names none.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// Steps of one chain: bounds what a small request makes the browser do.
pub const STEPS_MAX: usize = 1_000;
/// Chains or scripts of one request.
pub const PATHS_MAX: usize = 100;
/// CSS pixels along one side of the window: four times a large screen.
pub const WINDOW_SIDE_MAX: u32 = 7_680;
/// Most pixels of the window, `device_scale_factor` applied to both sides: bounds a screenshot.
pub const WINDOW_PIXELS_MAX: f64 = 40_000_000.0;

/// What a browser does with a page. By default: load it and wait until it is idle.
#[derive(Clone, Default, PartialEq)]
pub struct RenderPlan {
    /// Script run before the page's own, in documents of
    /// [these origins](Self::before_load_origins).
    pub before_load: Option<String>,
    /// Scripts run after load, by path.
    pub scripts: ByPath<String>,
    /// Steps taken after load, by path.
    pub automation: ByPath<Vec<Step>>,
    /// What to wait for.
    pub wait: WaitPlan,
    /// How long to scroll down.
    pub scroll: Option<Duration>,
    /// The window.
    pub window: Window,
    /// What is loaded.
    pub load: LoadPlan,
    /// The screenshot to take, if any.
    pub screenshot: Option<ScreenshotPlan>,
}

impl fmt::Debug for RenderPlan {
    /// Without scripts and steps: they may contain a caller's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderPlan")
            .field("wait", &self.wait)
            .field("scroll", &self.scroll)
            .field("window", &self.window)
            .field("load", &self.load)
            .field("screenshot", &self.screenshot)
            .finish_non_exhaustive()
    }
}

/// Values by path: `*`, an exact path, or a prefix of one. A key that is a URL matches the paths
/// below it on another site.
#[derive(Clone, PartialEq)]
pub struct ByPath<T>(Vec<(String, T)>);

impl<T> fmt::Debug for ByPath<T> {
    /// The paths alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(path, _)| path))
            .finish()
    }
}

impl<T: Clone> ByPath<T> {
    /// The values for other sites alone.
    fn of_others(&self) -> Self {
        let named = self.0.iter().filter(|(key, _)| url_of(key).is_some());
        Self(named.cloned().collect())
    }
}

impl<T> Default for ByPath<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByPath<T> {
    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that match none of these paths: their values are not used. Decision D259.
    pub fn unused(&self, paths: &[&str]) -> Vec<&str> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        // The first path that does not sort before a key begins with it if any does.
        let fits_one = |key: &str| {
            let at = paths.partition_point(|path| *path < key);
            let first = if key == "*" {
                paths.first()
            } else {
                paths.get(at)
            };
            first.is_some_and(|path| fits(key, path))
        };
        let keys = self.0.iter().map(|(key, _)| key.as_str());
        // Where a page will redirect to is not known.
        keys.filter(|key| !fits_one(key) && url_of(key).is_none())
            .collect()
    }

    /// The keys that fit no path at all: every path begins with a slash. Decision D259.
    pub fn unusable(&self) -> Vec<&str> {
        let keys = self.0.iter().map(|(key, _)| key.as_str());
        let is_usable =
            |key: &str| key.starts_with('/') || matches!(key, "" | "*") || url_of(key).is_some();
        keys.filter(|key| !is_usable(key)).collect()
    }

    /// The value for the page that was requested at one URL and is at another one now: the
    /// value of the longest URL which the page is below; else, while the page is on the site that
    /// was requested, the value of the requested path. Decision D384.
    pub fn find_at(&self, requested: &Url, at: &Url) -> Option<&T> {
        let below = self.0.iter().filter_map(|(key, value)| {
            let key = url_of(key)?;
            let is_below = key.origin() == at.origin() && at.path().starts_with(key.path());
            is_below.then(|| (key.path().len(), value))
        });
        let named = below.max_by_key(|(length, _)| *length);
        let named = named.map(|(_, value)| value);
        named.or_else(|| {
            let is_own = is_same_site(requested, at);
            self.find(requested.path()).filter(|_| is_own)
        })
    }

    /// The keys that are URLs.
    fn urls(&self) -> impl Iterator<Item = Url> {
        self.0.iter().filter_map(|(key, _)| url_of(key))
    }

    /// The value for a path: the exact one, else the longest prefix, else `*`.
    pub fn find(&self, path: &str) -> Option<&T> {
        let rank = |key: &str| match key {
            "*" => (0, 0),
            _ if key == path => (2, 0),
            _ => (1, key.len()),
        };
        let fitting = self.0.iter().filter(|(key, _)| fits(key, path));
        fitting
            .max_by_key(|(key, _)| rank(key))
            .map(|(_, value)| value)
    }
}

/// Whether a key matches a path: the path itself, or the beginning of it.
fn fits(key: &str, path: &str) -> bool {
    key == "*" || path.starts_with(key)
}

/// The URL that a key is.
fn url_of(key: &str) -> Option<Url> {
    let is_url = key.starts_with("http://") || key.starts_with("https://");
    is_url.then(|| Url::parse(key).ok()).flatten()
}

/// One step of `automation_scripts`.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Runs JavaScript; its result is reported.
    Evaluate(String),
    /// Clicks the first element of a selector.
    Click(String),
    /// Clicks every element of a selector.
    ClickAll(String),
    /// Clicks a point of the window, in CSS pixels.
    ClickPoint {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
    },
    /// Types where the cursor is.
    Type(String),
    /// Sets the value of a field.
    Fill {
        /// The field.
        selector: String,
        /// Its new value.
        value: String,
    },
    /// Waits.
    Wait(Duration),
    /// Waits for an element.
    WaitFor {
        /// The element.
        selector: String,
        /// How long at most.
        timeout: Duration,
    },
    /// Waits for an element and clicks it.
    WaitForAndClick {
        /// The element.
        selector: String,
        /// How long at most.
        timeout: Duration,
    },
    /// Waits until a document, or a part of it, no longer changes.
    WaitForDom {
        /// The part.
        selector: Option<String>,
        /// How long at most.
        timeout: Duration,
    },
    /// Waits for the page that a step before leads to, so long at most.
    WaitForNavigation(Duration),
    /// Scrolls by so many CSS pixels.
    Scroll {
        /// To the right.
        x: f64,
        /// Down.
        y: f64,
    },
    /// Scrolls to the end so many times, each time waiting for the page to grow.
    InfiniteScroll(u32),
    /// Takes a screenshot, which is reported.
    Screenshot(ScreenshotPlan),
}

impl Step {
    /// The step's name in requests.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Evaluate(_) => "Evaluate",
            Self::Click(_) => "Click",
            Self::ClickAll(_) => "ClickAll",
            Self::ClickPoint { .. } => "ClickPoint",
            Self::Type(_) => "Type",
            Self::Fill { .. } => "Fill",
            Self::Wait(_) => "Wait",
            Self::WaitFor { .. } => "WaitFor",
            Self::WaitForAndClick { .. } => "WaitForAndClick",
            Self::WaitForDom { .. } => "WaitForDom",
            Self::WaitForNavigation(_) => "WaitForNavigation",
            Self::Scroll { .. } => "Scroll",
            Self::InfiniteScroll(_) => "InfiniteScroll",
            Self::Screenshot(_) => "Screenshot",
        }
    }
}

/// `wait_for`: conditions that must all be met, each within its own time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitPlan {
    /// No request in flight.
    pub idle: Option<Duration>,
    /// At most two requests in flight.
    pub almost_idle: Option<Duration>,
    /// An element.
    pub selector: Option<(String, Duration)>,
    /// A document, or a part of it, that no longer changes.
    pub dom: Option<(Option<String>, Duration)>,
    /// Time.
    pub delay: Option<Duration>,
    /// A navigation of the page itself.
    pub navigation: bool,
}

/// `viewport`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// CSS pixels from left to right.
    pub width: u32,
    /// CSS pixels from top to bottom.
    pub height: u32,
    /// Pixels of the screen to a CSS pixel.
    pub scale: f64,
    /// A telephone: the `viewport` of the page counts, scroll bars lie above it.
    pub mobile: bool,
    /// Rotated so that the longer side is the width.
    pub landscape: bool,
    /// A screen that is touched.
    pub touch: bool,
}

impl Default for Window {
    /// The most common desktop size.
    fn default() -> Self {
        Self {
            width: 1_366,
            height: 768,
            scale: 1.0,
            mobile: false,
            landscape: false,
            touch: false,
        }
    }
}

/// What the browser does not load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadPlan {
    /// No requests to advertising and tracking services.
    pub block_ads: bool,
    /// No images.
    pub block_images: bool,
    /// No style sheets.
    pub block_stylesheets: bool,
    /// Load everything, sound and video and fonts too.
    pub full: bool,
}

/// A screenshot of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenshotPlan {
    /// The whole page rather than the window.
    pub full_page: bool,
    /// A transparent background.
    pub omit_background: bool,
    /// A part of the page rather than all of it.
    pub clip: Option<ClipRect>,
}

/// A part of a page, in CSS pixels from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipRect {
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
    /// To the right of `x`; never zero.
    pub width: u32,
    /// Down from `y`; never zero.
    pub height: u32,
}

/// The rendering parameters of one request as JSON, before they are checked.
#[derive(Default)]
pub struct RenderOptions {
    /// The parameter of this name: JavaScript.
    pub evaluate_on_new_document: Option<String>,
    /// The parameter of this name: path to JavaScript.
    pub execution_scripts: Option<Map<String, Value>>,
    /// The parameter of this name: path to a list of steps.
    pub automation_scripts: Option<Map<String, Value>>,
    /// The parameter of this name: milliseconds or conditions.
    pub wait_for: Option<Value>,
    /// The parameter of this name.
    pub scroll: Option<Duration>,
    /// The parameter of this name.
    pub viewport: Option<Map<String, Value>>,
    /// What is not loaded.
    pub load: LoadPlan,
    /// The screenshot to return.
    pub screenshot: Option<ScreenshotPlan>,
}

impl RenderPlan {
    /// Whether a parameter needs a browser: then `smart` uses one at once. Decision D56.
    pub fn needs_browser(&self) -> bool {
        self.before_load.is_some()
            || !self.scripts.is_empty()
            || !self.automation.is_empty()
            || self.wait != WaitPlan::default()
            || self.scroll.is_some()
            || self.screenshot.is_some()
    }

    /// The origins whose documents get [`before_load`](Self::before_load) on a page that was
    /// requested at this URL: the origins of its site, and those that a key names. Decision D384.
    pub fn before_load_origins(&self, requested: &Url) -> Vec<String> {
        let named = self.scripts.urls().chain(self.automation.urls());
        let named = named.map(|url| url.origin().ascii_serialization());
        site_origins(requested).into_iter().chain(named).collect()
    }

    /// The plan for a page of a site that the caller has not requested: without what was written
    /// for the requested ones, which may have secrets. Decision D384.
    #[must_use]
    pub fn for_other_site(&self) -> Self {
        Self {
            before_load: None,
            scripts: self.scripts.of_others(),
            automation: self.automation.of_others(),
            ..self.clone()
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`PlanError`] naming the field and the reason.
    pub fn new(fields: RenderOptions) -> Result<Self, PlanError> {
        let scripts = by_path("execution_scripts", fields.execution_scripts, |value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| Wrong::whole("is not a string"))
        })?;
        let automation = by_path("automation_scripts", fields.automation_scripts, steps)?;
        let wait = fields.wait_for.map(wait).transpose();
        let scroll = fields.scroll.filter(|time| !time.is_zero());
        let window = fields.viewport.map(window).transpose();
        Ok(Self {
            before_load: fields
                .evaluate_on_new_document
                .filter(|script| !script.trim().is_empty()),
            scripts,
            automation,
            wait: wait
                .map_err(|reason| PlanError::new("wait_for", reason))?
                .unwrap_or_default(),
            scroll: scroll.map(|time| time.min(WAIT_MAX)),
            window: window
                .map_err(|reason| PlanError::new("viewport", reason))?
                .unwrap_or_default(),
            load: fields.load,
            screenshot: fields.screenshot,
        })
    }
}

#[cfg(test)]
mod tests;
