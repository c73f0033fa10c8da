//! What a browser does with a page, and screenshots.

use serde_json::{Map, Value};

use trawl_plan::Needs;
use trawl_plan::render::WINDOW_SIDE_MAX;

use super::time;
use crate::define::{object, parameters};
use crate::forms::{Millis, WaitForForm};
use crate::routes::Routes;
use crate::row::{Object, Parameter, Range, Shape};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;
const PAGES: Routes = Routes::PAGES;
/// Only the server's own browser supports it: a request with it uses no provider, or the provider
/// ignores it.
const OWN: Needs = Needs::BROWSER.and(Needs::OWN_BROWSER);
/// The server's own browser supports it, and so do some providers.
const ANY: Needs = Needs::BROWSER.and(Needs::JAVASCRIPT);

const SIDE: Shape = Shape::Count(Range {
    least: 1,
    most: WINDOW_SIDE_MAX as u64,
    is_refused: true,
    unit: "CSS pixels",
});

const fn pixels(least: u64) -> Shape {
    Shape::Count(Range {
        least,
        most: u32::MAX as u64,
        is_refused: true,
        unit: "CSS pixels",
    })
}

const LONGEST: Parameter = Parameter::key(
    "timeout",
    time::MINUTE,
    NOTHING,
    "Maximum wait; longer times count as 60 seconds.",
)
.default("10 s")
.example("{\"secs\": 5, \"nanos\": 0}");

const WAIT_SELECTOR: Object = Object {
    name: "WaitSelector",
    rows: &[
        Parameter::key(
            "selector",
            Shape::Text(texts::SELECTOR),
            NOTHING,
            "The element.",
        )
        .default("required")
        .example("\".price\""),
        LONGEST,
    ],
};

const WAIT_DOM: Object = Object {
    name: "WaitDom",
    rows: &[
        Parameter::key(
            "selector",
            Shape::Text(texts::SELECTOR),
            NOTHING,
            "The element.",
        )
        .default("the document")
        .example("\"main\""),
        LONGEST,
    ],
};

const fn condition(name: &'static str, needs: Needs, doc: &'static str) -> Parameter {
    Parameter::key(name, time::MINUTE, needs, doc).example("{}")
}

const WAIT_FOR: Object = Object {
    name: "WaitFor",
    rows: &[
        condition(
            "idle_network",
            Needs::OWN_BROWSER,
            "Until no request is in flight, for at most this time (10 seconds for `{}`).",
        ),
        condition(
            "idle_network0",
            Needs::OWN_BROWSER,
            "The same as `idle_network`.",
        ),
        condition(
            "almost_idle_network0",
            Needs::OWN_BROWSER,
            "Until at most two requests are in flight, for at most this time.",
        ),
        Parameter::key(
            "selector",
            Shape::Object(&WAIT_SELECTOR),
            NOTHING,
            "Until an element matches.",
        )
        .example("{\"selector\": \".price\"}"),
        Parameter::key(
            "dom",
            Shape::Object(&WAIT_DOM),
            Needs::OWN_BROWSER,
            "Until the element, or the document, stops changing.",
        )
        .example("{\"selector\": \"main\"}"),
        Parameter::key("delay", time::MINUTE, NOTHING, "For this time.").example("1000"),
        Parameter::key_switch(
            "page_navigations",
            Needs::OWN_BROWSER,
            "Until the page has navigated to another document.",
        ),
        time::DELAY_SECS,
        time::DELAY_NANOS,
        time::DELAY_TIMEOUT,
    ],
};

const VIEWPORT: Object = Object {
    name: "Viewport",
    rows: &[
        Parameter::key("width", SIDE, NOTHING, "Width of the window.")
            .default("1366")
            .example("390"),
        Parameter::key("height", SIDE, NOTHING, "Height of the window.")
            .default("768")
            .example("844"),
        Parameter::key(
            "device_scale_factor",
            Shape::Number("0.1 to 4"),
            NOTHING,
            "Device pixels per CSS pixel; the window may have at most 40 million device pixels.",
        )
        .default("1")
        .mistaken(&["scale", "dpr"])
        .example("2"),
        Parameter::key_switch(
            "emulating_mobile",
            NOTHING,
            "Emulates a mobile device: the `viewport` meta element of the page applies.",
        )
        .mistaken(&["mobile", "is_mobile"]),
        Parameter::key_switch(
            "is_landscape",
            NOTHING,
            "Landscape orientation: the longer side is the width.",
        )
        .mistaken(&["landscape"]),
        Parameter::key_switch("has_touch", NOTHING, "Emulates a touch screen.")
            .mistaken(&["touch"]),
    ],
};

object! {
    /// `clip`: a part of a page in CSS pixels.
    pub struct Clip;

    x: Option<u32> = key(pixels(0), NOTHING, "Distance from the left edge of the page.")
        .default("0")
        .example("0");
    y: Option<u32> = key(pixels(0), NOTHING, "Distance from the top edge of the page.")
        .default("0")
        .example("0");
    width: u32 = key(pixels(1), NOTHING, "Width, to the right of `x`.")
        .default("required")
        .example("400");
    height: u32 = key(pixels(1), NOTHING, "Height, down from `y`.")
        .default("required")
        .example("300");
}

parameters! {
    /// What a browser does with a page, and screenshots.
    pub struct Browser;

    evaluate_on_new_document: String = new(
        Shape::Text("JavaScript"),
        PAGES,
        OWN,
        "Runs before the scripts of each document of the requested site, and of sites that a URL names \
         as a key of scripts or steps.",
    )
    .secret()
    .example("\"window.seen = true\"");
    automation_scripts: Map<String, Value> = new(
        Shape::Map("paths, or `*` (at most 100)", &Shape::Steps),
        PAGES,
        OWN,
        "Steps to run after load, by path: the exact path, else the longest prefix, else `*`. On a \
         site that was not requested, only under its URL. At most 1,000 steps and 60 seconds.",
    )
    .secret()
    .mistaken(&["automation", "actions", "steps", "js_scenario"])
    .example("{\"*\": [{\"Click\": \"#more\"}]}");
    execution_scripts: Map<String, Value> = new(
        Shape::Map("paths, or `*` (at most 100)", &Shape::Text("JavaScript")),
        PAGES,
        ANY,
        "Scripts to run after load, by path as in `automation_scripts`.",
    )
    .secret()
    .mistaken(&["js_scripts", "scripts"])
    .example("{\"*\": \"document.title\"}");
    wait_for: WaitForForm = new(
        Shape::Either(&[time::NUMBER, Shape::Object(&WAIT_FOR)]),
        PAGES,
        ANY,
        "What to wait for after load: a time, or conditions that must all be met. Longer times \
         count as 60 seconds.",
    )
    .mistaken(&["wait", "wait_for_selector", "wait_until"])
    .example("{\"selector\": {\"selector\": \".price\"}}");
    scroll: Millis = new(
        time::MINUTE,
        PAGES,
        OWN,
        "How long to scroll down; longer times count as 60 seconds.",
    )
    .default("0")
    .mistaken(&["scroll_time"])
    .example("2000");
    viewport: Map<String, Value> = new(
        Shape::Object(&VIEWPORT),
        PAGES,
        OWN,
        "Size and properties of the browser window.",
    )
    .default("1366 × 768")
    .example("{\"width\": 390, \"height\": 844}");
    block_ads: bool = switch(PAGES, OWN, "Does not load advertisements and trackers.")
        .mistaken(&["adblock"]);
    block_images: bool = switch(PAGES, OWN, "Does not load images.");
    block_stylesheets: bool = switch(PAGES, OWN, "Does not load style sheets.");
    full_resources: bool = switch(
        PAGES,
        OWN,
        "Loads all resources, including audio, video and fonts.",
    );
    full_page: bool = switch(
        PAGES,
        Needs::PICTURE,
        "Captures the whole page rather than the window.",
    )
    .default("true")
    .example("false");
    omit_background: bool = switch(
        PAGES,
        Needs::PICTURE.and(Needs::OWN_BROWSER),
        "Makes the background transparent.",
    );
    clip: Clip = new(
        Shape::Object(&Clip::OBJECT),
        PAGES,
        Needs::PICTURE,
        "Captures only this rectangle of the page.",
    )
    .example("{\"x\": 0, \"y\": 0, \"width\": 400, \"height\": 300}");
    binary: bool = switch(
        PAGES,
        Needs::PICTURE,
        "Returns the screenshot as an array of integers rather than base64.",
    );
}
