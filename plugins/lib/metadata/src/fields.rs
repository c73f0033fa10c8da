//! The fields of the metadata.

use serde::Serialize;

use crate::kind::PageKind;

/// Metadata of a page, a flat object. The first nine fields are always present, the others if
/// known.
#[derive(Debug, Default, Serialize)]
pub struct Metadata {
    /// `title`, or else `og:title`, or else the headline; may be empty.
    pub(crate) title: String,
    /// `description`, or else that of previews or JSON-LD; may be empty.
    pub(crate) description: String,
    /// The `keywords`, or else the article's tags; null if absent.
    pub(crate) keywords: Option<Vec<String>>,
    /// URL of the preview image; null if absent.
    pub(crate) og_image: Option<String>,
    /// Host name of the page.
    pub(crate) domain: Option<String>,
    /// Path of the page's URL.
    pub(crate) pathname: Option<String>,
    /// Kind of resource: `html`, `json`, `pdf`, `image`, ...
    pub(crate) resource_type: String,
    /// Declared language (`en-GB`); null if absent.
    pub(crate) language: Option<String>,
    /// Canonical URL; null if absent.
    pub(crate) canonical: Option<String>,
    #[serde(flatten)]
    pub(crate) known: Known,
}

/// Optional fields.
#[derive(Debug, Default, Serialize)]
#[serde(default)]
pub(crate) struct Known {
    /// The visible title without the site's name, if it differs from the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headline: Option<String>,
    /// Author; several names are joined with `; `.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<String>,
    /// Publication time: `2024-05-17`, or `2024-05-17T10:00:00+02:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published_time: Option<String>,
    /// Time of the last modification, in the same format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modified_time: Option<String>,
    /// Name of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site_name: Option<String>,
    /// URL of the largest icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) icon: Option<String>,
    /// URLs of feeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) feeds: Vec<String>,
    /// The most likely kind of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_type: Option<PageKind>,
    /// How likely that is, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_type_confidence: Option<f64>,
    /// `og:title`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) og_title: Option<String>,
    /// `og:description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) og_description: Option<String>,
    /// `og:type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) og_type: Option<String>,
    /// `og:url`, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) og_url: Option<String>,
    /// `twitter:card`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) twitter_card: Option<String>,
    /// `twitter:site`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) twitter_site: Option<String>,
    /// Section of an article.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) section: Option<String>,
    /// Directives for robots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) robots: Option<String>,
    /// Viewport for mobile devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) viewport: Option<String>,
    /// Theme colour of the browser's user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) theme_color: Option<String>,
    /// Software that generated the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generator: Option<String>,
}
