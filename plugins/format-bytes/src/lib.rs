//! The `bytes` format: a page's body exactly as received.

use trawl_sdk::{Document, Failure, Format, Info, Needs, Output, Source};

/// Returns the body of any media type. Filters do not apply.
pub struct Bytes;

trawl_sdk::export!(format: Bytes);

impl Format for Bytes {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "bytes",
            env!("CARGO_PKG_VERSION"),
            "The body of a page exactly as received, after content decoding",
        )
        .needs(Needs::BODY)
    }

    fn render(_: &Document, source: Source, _: ()) -> Result<Output, Failure> {
        Ok(Output::Bytes(source.body.into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;
    use serde_json::json;
    use trawl_sdk::{Output, testkit};

    #[test]
    fn the_body_is_not_touched() {
        let body = [0, 159, 146, 150, b'\r', b'\n'];
        let page = testkit::page("").content_type("image/png").body(&body);
        assert_eq!(
            page.render::<Bytes>(json!({})),
            Ok(Output::Bytes(body.to_vec()))
        );
    }

    #[test]
    fn filters_change_nothing() {
        let page = testkit::page("<p>a<b>b</b>").without("b");
        let expected = Output::Bytes(b"<p>a<b>b</b>".to_vec());
        assert_eq!(page.render::<Bytes>(json!({})), Ok(expected));
    }
}
