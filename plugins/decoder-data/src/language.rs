//! Languages by media type.

/// What a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    JsonLines,
    Toml,
    Xml,
    /// Shown as it is, under this name.
    Code(&'static str),
}

impl Language {
    /// The name under which highlighters know it; `None` for plain text.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Json => Some("json"),
            Self::JsonLines => Some("jsonl"),
            Self::Toml => Some("toml"),
            Self::Xml => Some("xml"),
            Self::Code(name) => Some(name),
        }
    }
}

/// Subtypes without `x-` in front, and their languages.
const SUBTYPES: [(&str, &str); 39] = [
    ("c", "c"),
    ("c++", "cpp"),
    ("c++src", "cpp"),
    ("csharp", "csharp"),
    ("csrc", "c"),
    ("chdr", "c"),
    ("css", "css"),
    ("diff", "diff"),
    ("ecmascript", "javascript"),
    ("go", "go"),
    ("graphql", "graphql"),
    ("haskell", "haskell"),
    ("ini", "ini"),
    ("java", "java"),
    ("java-source", "java"),
    ("javascript", "javascript"),
    ("kotlin", "kotlin"),
    ("latex", "latex"),
    ("lua", "lua"),
    ("makefile", "makefile"),
    ("patch", "diff"),
    ("perl", "perl"),
    ("php", "php"),
    ("python", "python"),
    ("ruby", "ruby"),
    ("rust", "rust"),
    ("rustsrc", "rust"),
    ("scala", "scala"),
    ("script.python", "python"),
    ("sh", "bash"),
    ("shellscript", "bash"),
    ("sql", "sql"),
    ("swift", "swift"),
    ("tex", "latex"),
    ("typescript", "typescript"),
    ("vnd.yaml", "yaml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("go-source", "go"),
];

/// The language of a media type; `None` if it is none of data or code.
pub(crate) fn of(media_type: &str) -> Option<Language> {
    let (_, subtype) = media_type.split_once('/')?;
    let subtype = subtype.strip_prefix("x-").unwrap_or(subtype);
    match subtype {
        "json" => return Some(Language::Json),
        "ndjson" | "jsonl" | "jsonlines" | "json-lines" => return Some(Language::JsonLines),
        "toml" => return Some(Language::Toml),
        "xml" => return Some(Language::Xml),
        _ if subtype.ends_with("+json") => return Some(Language::Json),
        _ if subtype.ends_with("+xml") => return Some(Language::Xml),
        _ if subtype.ends_with("+yaml") => return Some(Language::Code("yaml")),
        _ => {}
    }
    let mut known = SUBTYPES.iter();
    known.find_map(|(name, language)| (*name == subtype).then_some(Language::Code(language)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_media_type() {
        assert_eq!(of("application/json"), Some(Language::Json));
        assert_eq!(of("application/ld+json"), Some(Language::Json));
        assert_eq!(of("application/x-ndjson"), Some(Language::JsonLines));
        assert_eq!(of("text/xml"), Some(Language::Xml));
        assert_eq!(of("text/x-python"), Some(Language::Code("python")));
        assert_eq!(of("application/yaml"), Some(Language::Code("yaml")));
        assert_eq!(of("image/png"), None);
        assert_eq!(of("json"), None);
    }
}
