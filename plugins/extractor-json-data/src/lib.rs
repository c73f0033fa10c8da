//! The `json_data` extractor: structured data and application state embedded in a page.

mod assignment;
mod call;
mod capped;
mod flat;
mod flight;
mod microdata;
mod nuxt;
mod product;
mod property;
mod rdfa;
mod scripts;
mod social;
mod sources;

use serde_json::{Map, Value};
use trawl_embedded::Budget;
use trawl_sdk::{Document, Extractor, Failure, Info, Source};

use sources::Sources;

/// Returns an object with the data of each source:
///
/// | source | form |
/// |---|---|
/// | `json_ld` | flat list of items; a `@graph` is not flattened |
/// | `microdata`, `rdfa` | list of `{type: […], id?, properties: {name: [text or item]}}` |
/// | `open_graph`, `twitter` | property → text, or list of texts if repeated (Decision D354) |
/// | `next_data`, `nuxt`, `apollo_state`, `redux_state`, `remix`, `inertia` | the state |
/// | `next_flight` | row id → value |
/// | `sveltekit` | `{fetched: [{url, status, body}], …}` |
/// | `window_state` | name → value, of other assignments |
/// | `other_scripts` | list of the values of other JSON scripts |
/// | `product` | the product of the page, normalized, from any source |
///
/// Empty sources are omitted. Code is not executed: values computed by code are null.
pub struct JsonData;

trawl_sdk::export!(extractor: JsonData);

impl Extractor for JsonData {
    type Options = ();
    type Output = Map<String, Value>;

    fn info() -> Info {
        Info::new(
            "json_data",
            env!("CARGO_PKG_VERSION"),
            "Structured data of a page: JSON-LD, microdata, RDFa, Open Graph, framework state, JSON scripts, the product schema",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Map<String, Value>, Failure> {
        let mut budget = Budget::default();
        let mut sources = Sources::default();
        scripts::read(document, &mut sources, &mut budget);
        sources.set_list("microdata", microdata::items(document));
        sources.set_list("rdfa", rdfa::items(document));
        let (open_graph, twitter) = social::read(document);
        sources.set_object("open_graph", open_graph);
        sources.set_object("twitter", twitter);
        let mut found = sources.finish();
        if let Some(product) = product::find(&found) {
            found.insert("product".to_owned(), product);
        }
        capped::cap(&mut found, capped::OUTPUT_BYTES_MAX);
        Ok(found)
    }
}
