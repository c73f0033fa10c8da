//! Pages of crawls as resources: `trawl://crawl/{id}/page/{n}`.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};

use crate::arguments::is_id;
use crate::crawls;
use crate::interface::Interface;

/// The form of their URIs.
const TEMPLATE: &str = "trawl://crawl/{id}/page/{n}";
/// Their type: a page may be in any format.
const TEXT: &str = "text/plain";

/// The kinds of resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let pages = ResourceTemplate::new(TEMPLATE, "crawl page")
        .with_title("A page of a crawl")
        .with_description(
            "The content of the page with the number `n` of a crawl, from 1, whatever its length; \
             `crawl_pages` names them.",
        )
        .with_mime_type(TEXT);
    vec![pages]
}

/// Reads a resource.
///
/// # Errors
/// There is none with this URI, or the interface refuses to read it.
pub(crate) async fn read_resource(
    interface: &dyn Interface,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = |reason: &str| {
        let text = format!("no resource has the URI `{uri}`: {reason}");
        ErrorData::resource_not_found(text, None)
    };
    let Some((id, number)) = page_of(uri) else {
        return Err(unknown(&format!("they have the form `{TEMPLATE}`")));
    };
    match crawls::page(interface, id, number).await {
        Ok(Some(text)) => Ok(ReadResourceResult::new(vec![ResourceContents::text(
            text, uri,
        )])),
        Ok(None) => Err(unknown("the crawl has no such page")),
        Err(refusal) if refusal.is_of_absence() => Err(unknown(&refusal.text)),
        // It may be there: the caller is too fast, or the server is busy.
        Err(refusal) => Err(ErrorData::internal_error(refusal.text, None)),
    }
}

/// The crawl and the number of the page that a URI names.
fn page_of(uri: &str) -> Option<(&str, usize)> {
    let path = uri.strip_prefix("trawl://crawl/")?;
    let (id, number) = path.split_once("/page/")?;
    is_id(id).then_some((id, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_page_of_a_crawl() {
        assert_eq!(page_of("trawl://crawl/c-1/page/3"), Some(("c-1", 3)));
        for wrong in [
            "trawl://crawl/c1/page/",
            "trawl://crawl/c1/page/x",
            "trawl://crawl//page/1",
            "trawl://crawl/../admin/page/1",
            "https://crawl/c1/page/1",
        ] {
            assert_eq!(page_of(wrong), None, "{wrong}");
        }
        assert_eq!(page_of(&crawls::uri("c1", 2)), Some(("c1", 2)));
    }
}
