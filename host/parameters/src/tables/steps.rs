//! The steps of `automation_scripts`.

use trawl_plan::Needs;
use trawl_plan::render::step_name;

use super::time;
use crate::row::{Parameter, Range, Shape};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;

/// A kind of step.
#[derive(Clone, Copy, Debug)]
pub struct StepKind {
    /// Its name.
    pub name: &'static str,
    /// Its keys in the long form. The first is what the short form has as its value.
    pub rows: &'static [Parameter],
    /// What it does.
    pub doc: &'static str,
    /// A step in the short form, as JSON.
    pub example: &'static str,
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Parameter {
    Parameter::key(name, shape, NOTHING, doc)
}

const SELECTOR: Parameter = key("selector", Shape::Text(texts::SELECTOR), "The element.");

const TIMEOUT: Parameter = key(
    "timeout",
    time::MINUTE,
    "Maximum wait, 10 seconds by default; longer times count as 60 seconds.",
);

const AMOUNT: Parameter = key(
    "value",
    Shape::Number("any"),
    "CSS pixels; may be negative.",
);

const fn step(
    name: &'static str,
    rows: &'static [Parameter],
    doc: &'static str,
    example: &'static str,
) -> StepKind {
    StepKind {
        name,
        rows,
        doc,
        example,
    }
}

/// All steps.
pub const STEPS: &[StepKind] = &[
    step(
        "Evaluate",
        &[key("script", Shape::Text("JavaScript"), "The script.").aliases(&["code", "value"])],
        "Runs JavaScript; the result is reported.",
        "{\"Evaluate\": \"document.title\"}",
    ),
    step(
        "Click",
        &[SELECTOR],
        "Clicks the first element that matches.",
        "{\"Click\": \"#a\"}",
    ),
    step(
        "ClickAll",
        &[SELECTOR],
        "Clicks every element that matches.",
        "{\"ClickAll\": \".more\"}",
    ),
    step(
        "ClickPoint",
        &[
            key(
                "x",
                Shape::Number("any"),
                "Distance from the left edge of the window.",
            ),
            key(
                "y",
                Shape::Number("any"),
                "Distance from the top edge of the window.",
            ),
        ],
        "Clicks a point of the window, in CSS pixels.",
        "{\"ClickPoint\": {\"x\": 10, \"y\": 20}}",
    ),
    step(
        "Type",
        &[key("value", Shape::Text("text"), "The text.")],
        "Types into the focused element.",
        "{\"Type\": \"ada\"}",
    ),
    step(
        "Fill",
        &[
            SELECTOR,
            key("value", Shape::Text("text"), "Its new value."),
        ],
        "Sets the value of a field.",
        "{\"Fill\": {\"selector\": \"#user\", \"value\": \"ada\"}}",
    ),
    step(
        "Wait",
        &[key("value", TIMEOUT.shape, "How long.").aliases(&["timeout"])],
        "Waits.",
        "{\"Wait\": 500}",
    ),
    step(
        "WaitFor",
        &[SELECTOR, TIMEOUT],
        "Waits for an element.",
        "{\"WaitFor\": \".item\"}",
    ),
    step(
        "WaitForWithTimeout",
        &[SELECTOR, TIMEOUT],
        "Waits for an element; `timeout` is required.",
        "{\"WaitForWithTimeout\": {\"selector\": \".item\", \"timeout\": 5000}}",
    ),
    step(
        "WaitForAndClick",
        &[SELECTOR, TIMEOUT],
        "Waits for an element and clicks it.",
        "{\"WaitForAndClick\": \".item\"}",
    ),
    step(
        "WaitForDom",
        &[SELECTOR, TIMEOUT],
        "Waits until the element, or the document, stops changing.",
        "{\"WaitForDom\": {\"selector\": \"main\", \"timeout\": 5000}}",
    ),
    step(
        "WaitForNavigation",
        &[TIMEOUT],
        "Waits for the navigation that an earlier step caused; `{\"WaitForNavigation\": false}` \
         does not.",
        "\"WaitForNavigation\"",
    ),
    step(
        "ScrollX",
        &[AMOUNT],
        "Scrolls to the right.",
        "{\"ScrollX\": 300}",
    ),
    step("ScrollY", &[AMOUNT], "Scrolls down.", "{\"ScrollY\": 300}"),
    step(
        "InfiniteScroll",
        &[key(
            "value",
            Shape::Count(Range {
                least: 0,
                most: 1_000,
                is_refused: false,
                unit: "times",
            }),
            "How many times; larger values count as 1,000.",
        )],
        "Scrolls to the end this many times, and waits each time for the page to grow.",
        "{\"InfiniteScroll\": 5}",
    ),
    step(
        "Screenshot",
        &[
            Parameter::key_switch(
                "full_page",
                NOTHING,
                "Captures the whole page rather than the \
                                                         window.",
            ),
            Parameter::key_switch(
                "omit_background",
                NOTHING,
                "Makes the background transparent.",
            ),
        ],
        "Takes a screenshot, at most 10; reported as base64.",
        "{\"Screenshot\": {\"full_page\": true, \"omit_background\": false}}",
    ),
];

/// The step with this name, compared as steps are: without case and underscores.
pub fn step_kind(name: &str) -> Option<&'static StepKind> {
    let name = step_name(name)?;
    STEPS.iter().find(|kind| kind.name == name)
}
