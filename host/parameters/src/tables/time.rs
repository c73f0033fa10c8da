//! Durations: a number in the unit of the parameter, or an object.

use trawl_plan::Needs;
use trawl_plan::crawl::DELAY_MS_MAX;
use trawl_plan::fetching::TIMEOUT_SECONDS;
use trawl_plan::render::WAIT_MAX;

use crate::row::{Object, Parameter, Range, Shape};

const fn part(name: &'static str, unit: &'static str, doc: &'static str) -> Parameter {
    let shape = Shape::Count(number(unit));
    Parameter::key(name, shape, Needs::NOTHING, doc)
        .default("0")
        .example("1")
}

const fn number(unit: &'static str) -> Range {
    Range {
        least: 0,
        most: u64::MAX,
        is_refused: false,
        unit,
    }
}

const SECS: Parameter =
    part("secs", "seconds", "Whole seconds.").mistaken(&["seconds", "sec", "s"]);
const NANOS: Parameter =
    part("nanos", "nanoseconds", "Nanoseconds.").mistaken(&["nanoseconds", "ns"]);

/// `secs`, `nanos` and `timeout` among other keys, where a time alone is a delay.
pub(super) const DELAY_SECS: Parameter = Parameter::key(
    "secs",
    Shape::Count(number("seconds")),
    Needs::NOTHING,
    "For this time, as `delay`: whole seconds.",
)
.mistaken(&["seconds", "sec", "s"])
.example("1");
pub(super) const DELAY_NANOS: Parameter = Parameter::key(
    "nanos",
    Shape::Count(number("nanoseconds")),
    Needs::NOTHING,
    "For this time, as `delay`: nanoseconds.",
)
.mistaken(&["nanoseconds", "ns"])
.example("1");
pub(super) const DELAY_TIMEOUT: Parameter = Parameter::key(
    "timeout",
    Shape::Either(&[Shape::Count(number("ms")), Shape::Object(&PARTS)]),
    Needs::NOTHING,
    "For this time, as `delay`.",
)
.example("{\"secs\": 1, \"nanos\": 0}");

const PARTS: Object = Object {
    name: "Parts",
    rows: &[SECS, NANOS],
};

const fn wrapped(shape: Shape) -> Parameter {
    Parameter::key(
        "timeout",
        shape,
        Needs::NOTHING,
        "The same time, nested one level deeper.",
    )
    .example("{\"secs\": 1, \"nanos\": 0}")
}

const MILLIS_OBJECT: Object = Object {
    name: "Duration",
    rows: &[
        SECS,
        NANOS,
        wrapped(Shape::Either(&[
            Shape::Count(number("ms")),
            Shape::Object(&PARTS),
        ])),
    ],
};

const SECONDS_OBJECT: Object = Object {
    name: "LongDuration",
    rows: &[
        SECS,
        NANOS,
        wrapped(Shape::Either(&[
            Shape::Count(number("seconds")),
            Shape::Object(&PARTS),
        ])),
    ],
};

/// A time, whose bare number is milliseconds.
pub(super) const MILLIS: Shape =
    Shape::Either(&[Shape::Count(number("ms")), Shape::Object(&MILLIS_OBJECT)]);

/// A number of milliseconds up to a minute.
pub(super) const NUMBER: Shape = Shape::Count(Range {
    least: 0,
    most: WAIT_MAX.as_millis() as u64,
    is_refused: false,
    unit: "ms",
});

/// A time, whose bare number is milliseconds, up to a minute.
pub(super) const MINUTE: Shape = Shape::Either(&[NUMBER, Shape::Object(&MILLIS_OBJECT)]);

/// The same, but a longer one is refused. Decision D42.
pub(super) const AT_MOST_A_MINUTE: Shape = Shape::Either(&[
    Shape::Count(Range {
        least: 0,
        most: DELAY_MS_MAX,
        unit: "ms",
        is_refused: true,
    }),
    Shape::Object(&MILLIS_OBJECT),
]);

/// A time, whose bare number is seconds.
pub(super) const SECONDS: Shape = Shape::Either(&[
    Shape::Count(number("seconds")),
    Shape::Object(&SECONDS_OBJECT),
]);

/// The time of a page.
pub(super) const PAGE: Shape = Shape::Either(&[
    Shape::Count(Range {
        least: TIMEOUT_SECONDS.0,
        most: TIMEOUT_SECONDS.1,
        is_refused: false,
        unit: "seconds, or milliseconds above 255",
    }),
    Shape::Object(&SECONDS_OBJECT),
]);
