//! What a browser does with a page: scripts, steps, waits, window, and what it does not load.

use std::time::Duration;

use serde_json::{Map, Value};

use super::PlanError;

/// Longest single wait. Decisions: `wait_for`.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time of one wait that names none.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// Steps of one chain: bounds what a small request makes the browser do.
pub const STEPS_MAX: usize = 1_000;
/// Chains or scripts of one request.
pub const PATHS_MAX: usize = 100;
/// Pixels along one side of the window: four times a large screen.
pub const WINDOW_SIDE_MAX: u32 = 7_680;

/// What a browser does with a page. Without wishes: load it and wait until it is quiet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderPlan {
    /// Script run in every document before the page's own.
    pub before_load: Option<String>,
    /// Scripts run after load, by path.
    pub scripts: ByPath<String>,
    /// Steps taken after load, by path.
    pub automation: ByPath<Vec<Step>>,
    /// What to wait for.
    pub wait: WaitPlan,
    /// How long to keep scrolling down.
    pub scroll: Option<Duration>,
    /// The window.
    pub window: Window,
    /// What is loaded.
    pub load: LoadPlan,
    /// Whether a picture is wanted.
    pub screenshot: Option<Picture>,
}

/// Values by path: `*`, an exact path, or a prefix of one.
#[derive(Clone, Debug, PartialEq)]
pub struct ByPath<T>(Vec<(String, T)>);

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

    /// The value for a path: the exact one, else the longest prefix, else `*`.
    pub fn find(&self, path: &str) -> Option<&T> {
        let fits = |key: &str| key == path || key == "*" || path.starts_with(key);
        let rank = |key: &str| match key {
            "*" => (0, 0),
            _ if key == path => (2, 0),
            _ => (1, key.len()),
        };
        let fitting = self.0.iter().filter(|(key, _)| fits(key));
        fitting
            .max_by_key(|(key, _)| rank(key))
            .map(|(_, value)| value)
    }
}

/// One step of `automation_scripts`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the steps are described with the parameter")]
pub enum Step {
    Evaluate(String),
    Click(String),
    ClickAll(String),
    ClickPoint {
        x: f64,
        y: f64,
    },
    Type(String),
    Fill {
        selector: String,
        value: String,
    },
    Wait(Duration),
    WaitFor {
        selector: String,
        timeout: Duration,
    },
    WaitForAndClick(String),
    WaitForDom {
        selector: Option<String>,
        timeout: Duration,
    },
    WaitForNavigation,
    Scroll {
        x: f64,
        y: f64,
    },
    InfiniteScroll(u32),
    Screenshot(Picture),
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
            Self::WaitForAndClick(_) => "WaitForAndClick",
            Self::WaitForDom { .. } => "WaitForDom",
            Self::WaitForNavigation => "WaitForNavigation",
            Self::Scroll { .. } => "Scroll",
            Self::InfiniteScroll(_) => "InfiniteScroll",
            Self::Screenshot(_) => "Screenshot",
        }
    }
}

/// `wait_for`: conditions that must all hold, each up to its own time.
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
    /// Another page that the page goes to by itself.
    pub navigation: bool,
}

/// `viewport`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the parameter")]
pub struct Window {
    pub width: u32,
    pub height: u32,
    pub scale: f64,
    pub mobile: bool,
    pub landscape: bool,
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
#[expect(missing_docs, reason = "the fields are those of the parameters")]
pub struct LoadPlan {
    pub block_ads: bool,
    pub block_images: bool,
    pub block_stylesheets: bool,
    /// Load everything, sound and video and fonts too.
    pub full: bool,
}

/// A picture of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The whole page rather than the window.
    pub full_page: bool,
    /// A transparent background.
    pub omit_background: bool,
}

/// The wishes of one request as JSON, before they are checked.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the fields are the parameters of these names")]
pub struct RenderWish {
    pub evaluate_on_new_document: Option<String>,
    pub execution_scripts: Option<Map<String, Value>>,
    pub automation_scripts: Option<Map<String, Value>>,
    pub wait_for: Option<Value>,
    pub scroll: Option<u64>,
    pub viewport: Option<Map<String, Value>>,
    pub load: LoadPlan,
    pub screenshot: Option<Picture>,
}

impl RenderPlan {
    /// Whether a wish can only be met by a browser: then `smart` uses one at once. Decisions: Modes.
    pub fn needs_browser(&self) -> bool {
        self.before_load.is_some()
            || !self.scripts.is_empty()
            || !self.automation.is_empty()
            || self.wait != WaitPlan::default()
            || self.scroll.is_some()
            || self.screenshot.is_some()
    }

    /// Checks the wishes.
    ///
    /// # Errors
    /// [`PlanError`] naming the field and the reason.
    pub fn new(wish: RenderWish) -> Result<Self, PlanError> {
        let scripts = by_path("execution_scripts", wish.execution_scripts, |value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| "a script is not a string".to_owned())
        })?;
        let automation = by_path("automation_scripts", wish.automation_scripts, steps)?;
        let wait = wish.wait_for.map(wait).transpose();
        let scroll = wish.scroll.filter(|&millis| millis > 0);
        let window = wish.viewport.map(window).transpose();
        Ok(Self {
            before_load: wish
                .evaluate_on_new_document
                .filter(|script| !script.trim().is_empty()),
            scripts,
            automation,
            wait: wait
                .map_err(|reason| PlanError::new("wait_for", reason))?
                .unwrap_or_default(),
            scroll: scroll.map(|millis| Duration::from_millis(millis).min(WAIT_MAX)),
            window: window
                .map_err(|reason| PlanError::new("viewport", reason))?
                .unwrap_or_default(),
            load: wish.load,
            screenshot: wish.screenshot,
        })
    }
}

fn by_path<T>(
    field: &'static str,
    map: Option<Map<String, Value>>,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<ByPath<T>, PlanError> {
    let map = map.unwrap_or_default();
    if map.len() > PATHS_MAX {
        return Err(PlanError::new(
            field,
            format!("more than {PATHS_MAX} paths"),
        ));
    }
    let entries = map.into_iter().filter(|(_, value)| !value.is_null());
    let entries = entries.map(|(path, value)| {
        let read = read(&value);
        read.map_err(|reason| PlanError::new(field, format!("`{}`: {reason}", shown(&path))))
            .map(|value| (path, value))
    });
    entries.collect::<Result<_, _>>().map(ByPath)
}

fn steps(list: &Value) -> Result<Vec<Step>, String> {
    let list = list.as_array().ok_or("the steps are not a list")?;
    if list.len() > STEPS_MAX {
        return Err(format!("more than {STEPS_MAX} steps"));
    }
    let numbered = list.iter().enumerate();
    numbered
        .map(|(at, value)| step(value).map_err(|reason| format!("step {}: {reason}", at + 1)))
        .collect()
}

/// A step in any of its forms: `"WaitForNavigation"`, `{"Click": "#a"}`, `{"type": "Click", "selector": "#a"}`.
fn step(value: &Value) -> Result<Step, String> {
    match value {
        Value::String(name) => named_step(name, &Value::Bool(true)),
        Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
            Some(name) => named_step(name, value),
            None => match (fields.iter().next(), fields.len()) {
                (Some((name, body)), 1) => named_step(name, body),
                _ => Err("is neither `{\"Click\": …}` nor `{\"type\": \"Click\", …}`".to_owned()),
            },
        },
        _ => Err("is neither an object nor a name".to_owned()),
    }
}

fn named_step(name: &str, body: &Value) -> Result<Step, String> {
    let folded = name.to_lowercase().replace('_', "");
    let selector = || text(body, &["selector"]);
    Ok(match folded.as_str() {
        "evaluate" => Step::Evaluate(text(body, &["script", "code", "value"])?),
        "click" => Step::Click(selector()?),
        "clickall" => Step::ClickAll(selector()?),
        "clickpoint" => Step::ClickPoint {
            x: number(body, "x")?,
            y: number(body, "y")?,
        },
        "type" => Step::Type(text(body, &["value"])?),
        "fill" => Step::Fill {
            selector: field_text(body, "selector")?,
            value: field_text(body, "value")?,
        },
        "wait" => Step::Wait(millis(body, "value").or_else(|_| millis(body, "timeout"))?),
        "waitfor" => Step::WaitFor {
            selector: selector()?,
            timeout: WAIT_DEFAULT,
        },
        "waitforwithtimeout" => Step::WaitFor {
            selector: field_text(body, "selector")?,
            timeout: millis_field(body, "timeout")?,
        },
        "waitforandclick" => Step::WaitForAndClick(selector()?),
        "waitfordom" => Step::WaitForDom {
            selector: body
                .get("selector")
                .and_then(Value::as_str)
                .map(str::to_owned),
            timeout: match body.get("timeout") {
                None | Some(Value::Null) => WAIT_DEFAULT,
                Some(_) => millis_field(body, "timeout")?,
            },
        },
        "waitfornavigation" => Step::WaitForNavigation,
        "scrollx" => Step::Scroll {
            x: amount(body)?,
            y: 0.0,
        },
        "scrolly" => Step::Scroll {
            x: 0.0,
            y: amount(body)?,
        },
        "infinitescroll" => Step::InfiniteScroll(count(body)?),
        "screenshot" => Step::Screenshot(Picture {
            full_page: flag(body, "full_page"),
            omit_background: flag(body, "omit_background"),
        }),
        _ => return Err(format!("unknown step `{}`", shown(name))),
    })
}

/// The body itself when it is text, else the first of its fields.
fn text(body: &Value, fields: &[&str]) -> Result<String, String> {
    let found = fields.iter().find_map(|field| body.get(field)?.as_str());
    let found = body.as_str().or(found);
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("`{}` is missing or not a string", fields[0]))
}

fn field_text(body: &Value, field: &str) -> Result<String, String> {
    let found = body.get(field).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("`{field}` is missing or not a string"))
}

fn number(body: &Value, field: &str) -> Result<f64, String> {
    let found = body.get(field).and_then(Value::as_f64);
    found.ok_or_else(|| format!("`{field}` is missing or not a number"))
}

fn amount(body: &Value) -> Result<f64, String> {
    body.as_f64().map_or_else(|| number(body, "value"), Ok)
}

fn count(body: &Value) -> Result<u32, String> {
    let count = body.as_u64().or_else(|| body.get("value")?.as_u64());
    let count = count.ok_or("`value` is missing or not a count")?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

fn flag(body: &Value, field: &str) -> bool {
    body.get(field).and_then(Value::as_bool).unwrap_or(false)
}

fn millis(body: &Value, field: &str) -> Result<Duration, String> {
    match body.as_u64() {
        Some(millis) => Ok(Duration::from_millis(millis).min(WAIT_MAX)),
        None => millis_field(body, field),
    }
}

fn millis_field(body: &Value, field: &str) -> Result<Duration, String> {
    let millis = body.get(field).and_then(Value::as_u64);
    millis
        .map(|millis| Duration::from_millis(millis).min(WAIT_MAX))
        .ok_or_else(|| format!("`{field}` is missing or not a number of milliseconds"))
}

/// Spec gap: unknown keys are refused, since a wait that does not happen is hard to notice.
fn wait(form: Value) -> Result<WaitPlan, String> {
    if let Some(millis) = form.as_u64() {
        return Ok(WaitPlan {
            delay: Some(Duration::from_millis(millis).min(WAIT_MAX)),
            ..WaitPlan::default()
        });
    }
    let Value::Object(keys) = form else {
        return Err("is neither a number of milliseconds nor an object".to_owned());
    };
    let mut plan = WaitPlan::default();
    for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
        let named = |reason: String| format!("`{}`: {reason}", shown(key));
        match key.as_str() {
            "idle_network" | "idle_network0" => {
                plan.idle = plan.idle.max(Some(timeout(value).map_err(named)?));
            }
            "almost_idle_network0" => plan.almost_idle = Some(timeout(value).map_err(named)?),
            "selector" => {
                let selector = field_text(value, "selector").map_err(named)?;
                plan.selector = Some((selector, timeout(value).map_err(named)?));
            }
            "dom" => {
                let selector = value.get("selector").and_then(Value::as_str);
                let selector = selector.filter(|text| !text.is_empty()).map(str::to_owned);
                plan.dom = Some((selector, timeout(value).map_err(named)?));
            }
            "delay" => plan.delay = Some(timeout(value).map_err(named)?),
            "page_navigations" => {
                plan.navigation = value
                    .as_bool()
                    .ok_or_else(|| named("is not a boolean".into()))?;
            }
            _ => return Err(named("is not a known condition".to_owned())),
        }
    }
    Ok(plan)
}

/// `{"timeout": {"secs": n, "nanos": n}}`; a missing one is [`WAIT_DEFAULT`].
fn timeout(value: &Value) -> Result<Duration, String> {
    let fields = value.as_object().ok_or("is not an object")?;
    match fields.get("timeout") {
        None | Some(Value::Null) => Ok(WAIT_DEFAULT),
        Some(timeout) => {
            let part = |name: &str| match timeout.get(name) {
                None | Some(Value::Null) => Ok(0),
                Some(part) => part
                    .as_u64()
                    .ok_or(format!("`timeout.{name}` is not a number")),
            };
            if !timeout.is_object() {
                return Err("`timeout` is not an object with `secs` and `nanos`".to_owned());
            }
            let nanos = Duration::from_nanos(part("nanos")?);
            Ok(Duration::from_secs(part("secs")?)
                .saturating_add(nanos)
                .min(WAIT_MAX))
        }
    }
}

fn window(fields: Map<String, Value>) -> Result<Window, String> {
    let ordinary = Window::default();
    let set = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let side = |name: &str, ordinary: u32| match set(name) {
        None => Ok(ordinary),
        Some(value) => value
            .as_u64()
            .and_then(|pixels| u32::try_from(pixels).ok())
            .filter(|pixels| (1..=WINDOW_SIDE_MAX).contains(pixels))
            .ok_or(format!(
                "`{name}` is not a number of pixels from 1 to {WINDOW_SIDE_MAX}"
            )),
    };
    let switch = |name: &str| match set(name) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or(format!("`{name}` is not a boolean")),
    };
    let scale = match set("device_scale_factor") {
        None => ordinary.scale,
        Some(value) => value
            .as_f64()
            .filter(|scale| (0.1..=4.0).contains(scale))
            .ok_or("`device_scale_factor` is not a number from 0.1 to 4")?,
    };
    Ok(Window {
        width: side("width", ordinary.width)?,
        height: side("height", ordinary.height)?,
        scale,
        mobile: switch("emulating_mobile")?,
        landscape: switch("is_landscape")?,
        touch: switch("has_touch")?,
    })
}

/// The caller's own text, short enough for an error.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Option<Map<String, Value>> {
        value.as_object().cloned()
    }

    fn steps_of(list: Value) -> Result<Vec<Step>, PlanError> {
        let plan = RenderPlan::new(RenderWish {
            automation_scripts: object(json!({ "*": list })),
            ..RenderWish::default()
        })?;
        Ok(plan.automation.find("/").cloned().unwrap_or_default())
    }

    #[test]
    fn steps_have_two_forms_that_mean_the_same() {
        let check = |short: Value, long: Value| {
            let (short, long) = (steps_of(json!([short])), steps_of(json!([long])));
            assert!(short.is_ok(), "{short:?}");
            assert_eq!(short, long);
        };
        check(
            json!({"Click": "#a"}),
            json!({"type": "Click", "selector": "#a"}),
        );
        check(
            json!({"Evaluate": "1"}),
            json!({"type": "Evaluate", "script": "1"}),
        );
        check(json!({"Wait": 5}), json!({"type": "wait", "value": 5}));
        check(
            json!("WaitForNavigation"),
            json!({"type": "WaitForNavigation"}),
        );
        check(
            json!({"WaitForNavigation": true}),
            json!("WaitForNavigation"),
        );
        check(
            json!({"ScrollY": -20}),
            json!({"type": "ScrollY", "value": -20}),
        );
        check(
            json!({"Fill": {"selector": "#a", "value": "b"}}),
            json!({"type": "Fill", "selector": "#a", "value": "b"}),
        );
        check(
            json!({"WaitForDom": {"timeout": 70_000}}),
            json!({"type": "WaitForDom", "timeout": 60_000}),
        );
        check(
            json!({"Type": {"value": "x"}}),
            json!({"type": "Type", "value": "x"}),
        );
        check(
            json!({"Screenshot": {"full_page": true}}),
            json!({"type": "Screenshot", "full_page": true}),
        );
    }

    #[test]
    fn a_wrong_step_is_named() {
        let check = |list: Value, reason: &str| {
            let error = steps_of(list).expect_err("a wrong step");
            assert_eq!(error.field, "automation_scripts");
            assert_eq!(error.reason, format!("`*`: {reason}"));
        };
        check(
            json!([{"Click": "#a"}, {"Fly": 1}]),
            "step 2: unknown step `Fly`",
        );
        check(
            json!([{"Click": 1}]),
            "step 1: `selector` is missing or not a string",
        );
        check(json!([7]), "step 1: is neither an object nor a name");
        check(json!("x"), "the steps are not a list");
    }

    #[test]
    fn a_path_has_its_own_value_before_its_prefix_and_before_all() {
        let scripts = json!({"*": "all", "/a": "short", "/a/b": "long", "/a/b/c": "exact"});
        let plan = RenderPlan::new(RenderWish {
            execution_scripts: object(scripts),
            ..RenderWish::default()
        });
        let plan = plan.expect("a plan");
        let check = |path: &str, expected: &str| {
            assert_eq!(
                plan.scripts.find(path).map(String::as_str),
                Some(expected),
                "{path}"
            );
        };
        check("/", "all");
        check("/a/x", "short");
        check("/a/b/x", "long");
        check("/a/b/c", "exact");
    }

    #[test]
    fn waits_combine_and_end() {
        let check = |form: Value, expected: WaitPlan| assert_eq!(wait(form), Ok(expected));
        let seconds = Duration::from_secs;
        check(
            json!(250),
            WaitPlan {
                delay: Some(Duration::from_millis(250)),
                ..WaitPlan::default()
            },
        );
        let form = json!({
            "idle_network": {"timeout": {"secs": 5, "nanos": 0}},
            "almost_idle_network0": {},
            "selector": {"selector": "#a", "timeout": {"secs": 600, "nanos": 0}},
            "dom": {"selector": "#b", "timeout": {"secs": 1}},
            "delay": null,
            "page_navigations": true,
        });
        check(
            form,
            WaitPlan {
                idle: Some(seconds(5)),
                almost_idle: Some(WAIT_DEFAULT),
                selector: Some(("#a".to_owned(), WAIT_MAX)),
                dom: Some((Some("#b".to_owned()), seconds(1))),
                delay: None,
                navigation: true,
            },
        );
        assert_eq!(
            wait(json!({"selector": {}})),
            Err("`selector`: `selector` is missing or not a string".to_owned())
        );
        assert_eq!(
            wait(json!({"idle": {}})),
            Err("`idle`: is not a known condition".to_owned())
        );
        assert!(wait(json!("soon")).is_err());
    }

    #[test]
    fn a_window_has_bounds() {
        let check = |value: Value| window(object(value).expect("an object"));
        assert_eq!(check(json!({})), Ok(Window::default()));
        let phone = check(
            json!({"width": 390, "height": 844, "emulating_mobile": true, "has_touch": true, "device_scale_factor": 3}),
        );
        let phone = phone.expect("a window");
        assert!((phone.width, phone.height, phone.mobile, phone.touch) == (390, 844, true, true));
        for bad in [
            json!({"width": 0}),
            json!({"height": 100_000}),
            json!({"device_scale_factor": 50}),
            json!({"has_touch": 1}),
        ] {
            assert!(check(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_some_wishes_need_a_browser() {
        let plan = |wish| RenderPlan::new(wish).expect("a plan").needs_browser();
        assert!(!plan(RenderWish::default()));
        let load = LoadPlan {
            block_ads: true,
            ..LoadPlan::default()
        };
        assert!(!plan(RenderWish {
            load,
            ..RenderWish::default()
        }));
        assert!(plan(RenderWish {
            scroll: Some(1),
            ..RenderWish::default()
        }));
        assert!(plan(RenderWish {
            wait_for: Some(json!(1)),
            ..RenderWish::default()
        }));
    }
}
