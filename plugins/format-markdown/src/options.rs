//! Options of the format.

use serde::Deserialize;

/// JSON Schema of [`Options`].
pub(crate) const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "links": {
      "enum": ["inline", "none"],
      "default": "inline",
      "description": "`inline` writes links as `[text](url)`; `none` writes only their text."
    },
    "images": {
      "type": "boolean",
      "default": true,
      "description": "Whether images are written as `![alt](url)`; otherwise they are omitted."
    },
    "hidden": {
      "type": "boolean",
      "default": false,
      "description": "Whether to include hidden text (`display:none`, off-screen and so on)."
    }
  }
}"#;

/// Options of a request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How links are written.
    pub links: Links,
    /// Whether images are written.
    pub images: bool,
    /// Whether hidden text is included.
    pub hidden: bool,
}

/// How links are written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Links {
    /// `[text](url)`.
    #[default]
    Inline,
    /// Only the text.
    None,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            links: Links::Inline,
            images: true,
            hidden: false,
        }
    }
}
