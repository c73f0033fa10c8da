//! The files of a new plugin, from the templates next to this file.

use trawl_model::PluginKind;

/// The template of `src/lib.rs`.
fn source(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Format => include_str!("format.rs.txt"),
        PluginKind::Filter => include_str!("filter.rs.txt"),
        PluginKind::Extractor => include_str!("extractor.rs.txt"),
        PluginKind::Chunker => include_str!("chunker.rs.txt"),
        PluginKind::Analyst => include_str!("analyst.rs.txt"),
        PluginKind::Decoder => include_str!("decoder.rs.txt"),
        PluginKind::Provider => include_str!("provider.rs.txt"),
        PluginKind::Search => include_str!("search.rs.txt"),
    }
}

/// How a request selects the plugin.
fn request(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Format => r#""return_format": "NAME""#,
        PluginKind::Filter => r#""filters": {"NAME": {}}"#,
        PluginKind::Extractor => r#""extractors": {"NAME": {}}"#,
        PluginKind::Chunker => r#""chunking_alg": {"type": "NAME", "value": 1}"#,
        PluginKind::Analyst => {
            "POST /pipeline/label, if its manifest entry is named `label`; the same for `contacts`, `qa`, `filter_links`"
        }
        PluginKind::Decoder => "a URL whose media type is among the `media_types` of its entry",
        PluginKind::Provider => r#""router": {"mode": "first", "provider": "NAME", "token": "…"}"#,
        PluginKind::Search => "POST /search, if `[search] backends` in trawl.toml has `NAME`",
    }
}

/// Path and text of every file of a new plugin.
pub(super) fn files(kind: PluginKind, name: &str) -> Vec<(&'static str, String)> {
    let manifest = match kind {
        // Services and models exchange JSON, and these kinds are never native.
        PluginKind::Analyst | PluginKind::Decoder | PluginKind::Provider | PluginKind::Search => {
            include_str!("provider.Cargo.toml.txt")
        }
        _ => include_str!("Cargo.toml.txt"),
    };
    let templates = [
        ("Cargo.toml", manifest),
        ("README.md", include_str!("README.md.txt")),
        (".gitignore", "/target\n"),
        ("src/lib.rs", source(kind)),
        ("cases/page.html", include_str!("page.html.txt")),
    ];
    let fill = |text: &str| {
        // The request first: it contains placeholders.
        text.replace("REQUEST", request(kind))
            .replace("KIND", kind.name())
            .replace("TYPENAME", &type_name(name))
            .replace("UPPERNAME", &name.to_ascii_uppercase())
            .replace("NAME", name)
    };
    templates
        .into_iter()
        .map(|(path, text)| (path, fill(text)))
        .collect()
}

/// The type name of a plugin: `MyFormat` for `my_format`.
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
