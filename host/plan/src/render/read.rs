//! Reads rendering parameters from JSON in every accepted form, and explains refusals.

use std::time::Duration;

use serde_json::{Map, Value};

use trawl_model::nearest::nearest_name;

use super::{
    ByPath, PATHS_MAX, STEPS_MAX, ScreenshotPlan, Step, WAIT_DEFAULT, WAIT_MAX, WINDOW_PIXELS_MAX,
    WINDOW_SIDE_MAX, WaitPlan, Window,
};
use crate::PlanError;
use crate::duration::{self, Unit};

/// The names of all steps.
pub const STEP_NAMES: [&str; 16] = [
    "Evaluate",
    "Click",
    "ClickAll",
    "ClickPoint",
    "Type",
    "Fill",
    "Wait",
    "WaitFor",
    "WaitForWithTimeout",
    "WaitForAndClick",
    "WaitForDom",
    "WaitForNavigation",
    "ScrollX",
    "ScrollY",
    "InfiniteScroll",
    "Screenshot",
];

/// The name of a step that is written in any case, and with or without underscores.
pub fn step_name(written: &str) -> Option<&'static str> {
    let folded = folded(written);
    let mut names = STEP_NAMES.into_iter();
    names.find(|name| name.to_lowercase() == folded)
}

fn folded(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

/// What is wrong below a path, and where: `[2].Click`.
#[derive(Debug)]
pub(super) struct Wrong {
    place: String,
    reason: String,
}

impl Wrong {
    /// The whole value is wrong.
    pub(super) fn whole(reason: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            reason: reason.into(),
        }
    }
}

pub(super) fn by_path<T>(
    field: &'static str,
    map: Option<Map<String, Value>>,
    read: impl Fn(&Value) -> Result<T, Wrong>,
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
        read.map_err(|wrong| {
            let below = format!(".{}{}", shown(&path), wrong.place);
            PlanError::new(field, wrong.reason).below(below)
        })
        .map(|value| (path, value))
    });
    entries.collect::<Result<_, _>>().map(ByPath)
}

/// The steps of a path. What is wrong with one has its path. Decision D258.
pub(super) fn steps(list: &Value) -> Result<Vec<Step>, Wrong> {
    let list = list.as_array();
    let list = list.ok_or_else(|| Wrong::whole("is not a list of steps"))?;
    if list.len() > STEPS_MAX {
        return Err(Wrong::whole(format!("more than {STEPS_MAX} steps")));
    }
    let numbered = list.iter().enumerate();
    let steps = numbered.map(|(at, value)| {
        step(value).map_err(|reason| Wrong {
            place: format!("[{at}]{}", name_of(value)),
            reason,
        })
    });
    steps.collect()
}

/// The name of a step in its short form, as a part of a path. Empty if it is not known.
fn name_of(step: &Value) -> String {
    let fields = step.as_object().filter(|fields| fields.len() == 1);
    let name = fields.and_then(|fields| fields.keys().next());
    let known = name.and_then(|name| step_name(name));
    known.map(|name| format!(".{name}")).unwrap_or_default()
}

/// A step in any of its forms: `"WaitForNavigation"`, `{"Click": "#a"}`, `{"type": "Click",
/// "selector": "#a"}`.
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
    let folded = folded(name);
    let selector = || text(body, &["selector"]);
    let step = match folded.as_str() {
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
        "wait" => Step::Wait(wait_time(body)?),
        "waitfor" => Step::WaitFor {
            selector: selector()?,
            timeout: timeout(body)?,
        },
        "waitforwithtimeout" => Step::WaitFor {
            selector: field_text(body, "selector")?,
            timeout: time_field(body, "timeout")?.ok_or_else(|| missing_time("timeout"))?,
        },
        "waitforandclick" => Step::WaitForAndClick {
            selector: selector()?,
            timeout: timeout(body)?,
        },
        "waitfordom" => Step::WaitForDom {
            selector: dom_selector(body)?,
            timeout: timeout(body)?,
        },
        "waitfornavigation" => wait_for_navigation(body)?,
        "scrollx" => Step::Scroll {
            x: amount(body)?,
            y: 0.0,
        },
        "scrolly" => Step::Scroll {
            x: 0.0,
            y: amount(body)?,
        },
        "infinitescroll" => Step::InfiniteScroll(count(body)?),
        "screenshot" => Step::Screenshot(screenshot(body)?),
        _ => return Err(unknown_step(name)),
    };
    Ok(step)
}

/// The part of the page that a step waits for; `None` for all of it.
fn dom_selector(body: &Value) -> Result<Option<String>, String> {
    match body {
        Value::String(selector) => Ok(Some(selector.clone())),
        Value::Object(_) => match body.get("selector") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => field_text(body, "selector").map(Some),
        },
        // The name alone.
        Value::Bool(true) | Value::Null => Ok(None),
        _ => Err("is neither a selector nor an object with `timeout`".to_owned()),
    }
}

fn wait_for_navigation(body: &Value) -> Result<Step, String> {
    match body {
        // It waits for nothing, and counts in the numbers that errors of later steps have.
        Value::Bool(false) => Ok(Step::Wait(Duration::ZERO)),
        Value::Bool(true) | Value::Null | Value::Object(_) => {
            timeout(body).map(Step::WaitForNavigation)
        }
        _ => Err("is neither a boolean nor an object with `timeout`".to_owned()),
    }
}

fn screenshot(body: &Value) -> Result<ScreenshotPlan, String> {
    if !matches!(body, Value::Bool(true) | Value::Null | Value::Object(_)) {
        return Err("is neither `true` nor an object with `full_page`".to_owned());
    }
    Ok(ScreenshotPlan {
        full_page: flag(body, "full_page")?,
        omit_background: flag(body, "omit_background")?,
        clip: None,
    })
}

fn unknown_step(name: &str) -> String {
    let unknown = format!("unknown step `{}`", shown(name));
    let all = STEP_NAMES.join(", ");
    match nearest_name(name, STEP_NAMES.into_iter()) {
        Some(known) => format!("{unknown}, did you mean `{known}`? The steps are {all}"),
        None => format!("{unknown}, the steps are {all}"),
    }
}

/// The body itself if it is text, else the first of its fields. All of them are checked.
fn text(body: &Value, fields: &[&str]) -> Result<String, String> {
    let mut found = body.as_str();
    for field in fields {
        match body.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => found = found.or(Some(text)),
            Some(_) => return Err(format!("`{field}` is missing or not a string")),
        }
    }
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
    let count = duration::whole(body).or_else(|| duration::whole(body.get("value")?));
    let count = count.ok_or("`value` is missing or not a count")?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

fn flag(body: &Value, field: &str) -> Result<bool, String> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(flag) => flag
            .as_bool()
            .ok_or_else(|| format!("`{field}` is not a boolean")),
    }
}

/// How long the step `Wait` waits: its value, or `value` or `timeout` in it.
fn wait_time(body: &Value) -> Result<Duration, String> {
    let mut inner = ["value", "timeout"]
        .iter()
        .filter_map(|name| body.get(name));
    let read = |value: &Value| {
        let time = duration::read(value, Unit::Millis);
        time.map_err(|_| missing_time("value"))
    };
    let first = inner.next().map_or_else(|| read(body), read)?;
    // Without effect if there is a `value`, and refused all the same if it is wrong.
    let second = inner.next().map_or(Ok(None), read)?;
    let time = first.or(second);
    time.map(bounded).ok_or_else(|| missing_time("value"))
}

/// A time in a field; `None` if there is none.
fn time_field(body: &Value, field: &str) -> Result<Option<Duration>, String> {
    let Some(value) = body.get(field) else {
        return Ok(None);
    };
    let time = duration::read(value, Unit::Millis);
    let time = time.map_err(|reason| format!("`{field}` {reason}"))?;
    Ok(time.map(bounded))
}

fn missing_time(field: &str) -> String {
    format!("`{field}` is missing or not a number of milliseconds")
}

fn bounded(time: Duration) -> Duration {
    time.min(WAIT_MAX)
}

/// Unknown keys have no effect and are named by the wire format. Decision D58.
pub(super) fn wait(form: Value) -> Result<WaitPlan, String> {
    if let Some(millis) = duration::whole(&form) {
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
                plan.idle = plan.idle.max(Some(condition(value).map_err(named)?));
            }
            "almost_idle_network0" => plan.almost_idle = Some(condition(value).map_err(named)?),
            "selector" => {
                let selector = field_text(value, "selector").map_err(named)?;
                plan.selector = Some((selector, condition(value).map_err(named)?));
            }
            "dom" => {
                let selector = value.get("selector").and_then(Value::as_str);
                let selector = selector.filter(|text| !text.is_empty()).map(str::to_owned);
                plan.dom = Some((selector, condition(value).map_err(named)?));
            }
            "delay" => plan.delay = Some(condition(value).map_err(named)?),
            "page_navigations" => {
                plan.navigation = value
                    .as_bool()
                    .ok_or_else(|| named("is not a boolean".into()))?;
            }
            _ => {}
        }
    }
    // A time that is written as an object is a delay, as a number is. Decision D58.
    let alone = duration::read(&Value::Object(keys), Unit::Millis)?;
    plan.delay = plan.delay.or(alone.map(bounded));
    Ok(plan)
}

/// How long a condition is waited for: a time in any of its forms. A missing one is
/// [`WAIT_DEFAULT`].
fn condition(value: &Value) -> Result<Duration, String> {
    Ok(duration::read(value, Unit::Millis)?.map_or(WAIT_DEFAULT, bounded))
}

/// The `timeout` of a step, if it has one. A step in its short form has none.
fn timeout(body: &Value) -> Result<Duration, String> {
    Ok(time_field(body, "timeout")?.unwrap_or(WAIT_DEFAULT))
}

pub(super) fn window(fields: Map<String, Value>) -> Result<Window, String> {
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
    let (width, height) = (
        side("width", ordinary.width)?,
        side("height", ordinary.height)?,
    );
    if f64::from(width) * f64::from(height) * scale * scale > WINDOW_PIXELS_MAX {
        return Err(format!(
            "more than {} million pixels with `device_scale_factor`",
            WINDOW_PIXELS_MAX / 1e6
        ));
    }
    Ok(Window {
        width,
        height,
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
