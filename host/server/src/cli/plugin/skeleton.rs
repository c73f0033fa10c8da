//! The files of a new plugin, from templates with placeholders for the names.

use trawl_model::PluginKind;

/// The template of `src/lib.rs`.
fn source(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Format => include_str!("skeleton/format.rs.txt"),
        PluginKind::Filter => include_str!("skeleton/filter.rs.txt"),
        PluginKind::Extractor => include_str!("skeleton/extractor.rs.txt"),
        PluginKind::Chunker => include_str!("skeleton/chunker.rs.txt"),
        PluginKind::Analyst => include_str!("skeleton/analyst.rs.txt"),
        PluginKind::Provider => include_str!("skeleton/provider.rs.txt"),
    }
}

/// How a request uses the plugin.
fn request(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Format => r#""return_format": "NAME""#,
        PluginKind::Filter => r#""filters": {"NAME": {}}"#,
        PluginKind::Extractor => r#""extractors": {"NAME": {}}"#,
        PluginKind::Chunker => r#""chunking_alg": {"type": "NAME", "value": 1}"#,
        PluginKind::Analyst => {
            "POST /pipeline/label, when its entry has the name `label`; likewise `contacts`, `qa`, `filter_links`"
        }
        PluginKind::Provider => r#""router": {"mode": "first", "provider": "NAME", "token": "…"}"#,
    }
}

/// Path and text of every file of a new plugin.
pub(super) fn files(kind: PluginKind, name: &str) -> Vec<(&'static str, String)> {
    let manifest = match kind {
        // These kinds exchange JSON with services and models, and are never native.
        PluginKind::Analyst | PluginKind::Provider => {
            include_str!("skeleton/provider.Cargo.toml.txt")
        }
        _ => include_str!("skeleton/Cargo.toml.txt"),
    };
    let templates = [
        ("Cargo.toml", manifest),
        ("README.md", include_str!("skeleton/README.md.txt")),
        (".gitignore", "/target\n"),
        ("src/lib.rs", source(kind)),
        ("cases/page.html", include_str!("skeleton/page.html.txt")),
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
