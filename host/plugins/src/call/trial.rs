//! Validation of options beyond the schema: a trial call on an empty page.
//!
//! A schema cannot validate a selector or an expression. The trial call finds an invalid one before
//! anything is fetched.

use serde_json::Value;
use url::Url;

use super::view::PageView;
use crate::error::{Fault, PluginError};

/// Makes a trial call with options that are valid by the schema. Empty options are not tried:
/// loading the plugin has done that.
///
/// # Errors
/// The plugin's reason for refusing the options. Other failures may be due to the empty page and
/// are ignored.
pub(crate) fn check<T>(
    options: &Value,
    call: impl FnOnce(&PageView<'_>, &str) -> Result<T, PluginError>,
) -> Result<(), String> {
    if options.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let url = Url::parse("about:blank").expect("about:blank is a URL");
    let document = trawl_document::empty(&url, "text/html");
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
    fn only_refused_options_are_an_error() {
        let expect = |fault: Fault, expected: Result<(), String>| {
            let checked = check(&json!({"a": 1}), |page, options| {
                assert_eq!(page.document.kinds.len(), 1);
                assert_eq!(options, "{\"a\":1}");
                failing(fault)
            });
            assert_eq!(checked, expected);
        };
        let text = || "no".to_owned();
        expect(Fault::InvalidOptions(text()), Err(text()));
        expect(Fault::Unsupported(text()), Ok(()));
        expect(Fault::Failed(text()), Ok(()));
        expect(Fault::Trap { reason: text() }, Ok(()));
    }

    #[test]
    fn no_options_are_not_tried() {
        let checked = check(&json!({}), |_, _| {
            failing(Fault::InvalidOptions(String::new()))
        });
        assert_eq!(checked, Ok(()));
    }
}
