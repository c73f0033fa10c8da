//! The pages of a batch.

use serde_json::value::RawValue;

use trawl_plan::Needs;

use crate::define::parameters;
use crate::forms::List;
use crate::routes::Routes;
use crate::row::Shape;
use crate::texts;

/// What an item of the list may be.
const PAGE: Shape = Shape::Either(&[
    Shape::Text(texts::URL),
    Shape::Options("`url`, and parameters of this page in place of those next to `urls`"),
]);

parameters! {
    /// The pages of a batch.
    pub struct Batches;

    urls: List<Box<RawValue>> = new(
        Shape::List(&PAGE),
        Routes::BATCH,
        Needs::NOTHING,
        "The pages, at most 10,000, each a URL or an object with parameters of its own. An object \
         has no parameters of the whole batch, such as `limit`, `webhooks` or \
         `run_in_background`.",
    )
    .default("required")
    .large()
    .mistaken(&["requests", "targets"])
    .example("[\"http://sample.trawl.test/\", {\"url\": \"http://sample.trawl.test/tides\", \"return_format\": \"text\"}]");
}
