//! The text of a new plugin. The templates lie beside this file, one a kind, with marks for the names.

use std::fmt;

/// Kinds of plugins, as the command line names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KindName {
    /// Turns a page into `content`
    Format,
    /// Decides which parts of a page stay
    Filter,
    /// Reads fields out of a page
    Extractor,
    /// Splits content into pieces
    Chunker,
    /// Finds out what a page says, with a language model where there is one
    Analyst,
    /// Speaks the protocol of a scraping service
    Provider,
}

impl KindName {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] = [
        Self::Format,
        Self::Filter,
        Self::Extractor,
        Self::Chunker,
        Self::Analyst,
        Self::Provider,
    ];

    fn source(self) -> &'static str {
        match self {
            Self::Format => include_str!("skeleton/format.rs.txt"),
            Self::Filter => include_str!("skeleton/filter.rs.txt"),
            Self::Extractor => include_str!("skeleton/extractor.rs.txt"),
            Self::Chunker => include_str!("skeleton/chunker.rs.txt"),
            Self::Analyst => include_str!("skeleton/analyst.rs.txt"),
            Self::Provider => include_str!("skeleton/provider.rs.txt"),
        }
    }

    /// How a request asks for the plugin.
    fn request(self) -> &'static str {
        match self {
            Self::Format => r#""return_format": "NAME""#,
            Self::Filter => r#""filters": {"NAME": {}}"#,
            Self::Extractor => r#""extractors": {"NAME": {}}"#,
            Self::Chunker => r#""chunking_alg": {"type": "NAME", "value": 1}"#,
            Self::Analyst => r#""analyst": "NAME""#,
            Self::Provider => r#""router": {"mode": "first", "provider": "NAME", "token": "…"}"#,
        }
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "format",
            Self::Filter => "filter",
            Self::Extractor => "extractor",
            Self::Chunker => "chunker",
            Self::Analyst => "analyst",
            Self::Provider => "provider",
        })
    }
}

/// Path and text of every file of a new plugin.
pub(super) fn files(kind: KindName, name: &str) -> Vec<(&'static str, String)> {
    let manifest = match kind {
        // Services and models speak JSON, and these kinds are never native.
        KindName::Analyst | KindName::Provider => {
            include_str!("skeleton/provider.Cargo.toml.txt")
        }
        _ => include_str!("skeleton/Cargo.toml.txt"),
    };
    let templates = [
        ("Cargo.toml", manifest),
        ("README.md", include_str!("skeleton/README.md.txt")),
        (".gitignore", "/target\n"),
        ("src/lib.rs", kind.source()),
        ("cases/page.html", include_str!("skeleton/page.html.txt")),
    ];
    let fill = |text: &str| {
        // The request first: it has marks of its own.
        text.replace("REQUEST", kind.request())
            .replace("KIND", &kind.to_string())
            .replace("TYPENAME", &type_name(name))
            .replace("UPPERNAME", &name.to_ascii_uppercase())
            .replace("NAME", name)
    };
    templates
        .into_iter()
        .map(|(path, text)| (path, fill(text)))
        .collect()
}

/// `my_format` as the name of a type: `MyFormat`.
fn type_name(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::type_name;

    #[test]
    fn types_are_named_after_plugins() {
        assert_eq!(type_name("shout"), "Shout");
        assert_eq!(type_name("my_format2"), "MyFormat2");
        assert_eq!(type_name("a__b_"), "AB");
    }
}
