//! Options beyond the schema: a plugin is asked whether it takes them, with a call on a page that has nothing in it.
//!
//! A schema cannot say what a selector or an expression looks like, and a caller should hear of a bad one before anything is fetched.

use serde_json::Value;
use url::Url;

use super::view::PageView;
use crate::error::{Fault, PluginError};

/// Asks a plugin for its opinion of options that fit its schema. An empty object is taken without asking: it was tried when
/// the plugin was loaded.
///
/// # Errors
/// What the plugin says against its options. Any other trouble is the page's, if it comes up again there.
pub(crate) fn ask<T>(
    options: &Value,
    call: impl FnOnce(&PageView<'_>, &str) -> Result<T, PluginError>,
) -> Result<(), String> {
    if options.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let nowhere = Url::parse("about:blank").expect("about:blank is an address");
    let document = trawl_document::empty(&nowhere, "text/html");
    let page = PageView {
        document: &document,
        kept: &[],
        text: "",
        body: &[],
        content_type: "text/html; charset=utf-8",
        charset: "utf-8",
    };
    match call(&page, &options.to_string()) {
        Err(PluginError {
            fault: Fault::InvalidOptions(reason),
            ..
        }) => Err(reason),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PluginKind;

    fn failing(fault: Fault) -> Result<(), PluginError> {
        Err(PluginError {
            kind: PluginKind::Filter,
            plugin: "mine".to_owned(),
            fault,
        })
    }

    #[test]
    fn only_a_refusal_of_the_options_is_one() {
        let check = |fault: Fault, expected: Result<(), String>| {
            let asked = ask(&json!({"a": 1}), |page, options| {
                assert_eq!(page.document.kinds.len(), 1);
                assert_eq!(options, "{\"a\":1}");
                failing(fault)
            });
            assert_eq!(asked, expected);
        };
        let text = || "no".to_owned();
        check(Fault::InvalidOptions(text()), Err(text()));
        check(Fault::Unsupported(text()), Ok(()));
        check(Fault::Failed(text()), Ok(()));
        check(Fault::Trap { reason: text() }, Ok(()));
    }

    #[test]
    fn no_options_are_not_tried() {
        let asked = ask(&json!({}), |_, _| {
            failing(Fault::InvalidOptions(String::new()))
        });
        assert_eq!(asked, Ok(()));
    }
}
