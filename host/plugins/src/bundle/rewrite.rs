//! Changing the paths of components in a manifest's text, comments and order left alone.

use serde::Deserialize;
use toml::Spanned;

/// The entries, of which only the components are read.
#[derive(Deserialize)]
struct Entries {
    #[serde(default)]
    format: Vec<ComponentEntry>,
    #[serde(default)]
    filter: Vec<ComponentEntry>,
    #[serde(default)]
    extractor: Vec<ComponentEntry>,
    #[serde(default)]
    chunker: Vec<ComponentEntry>,
    #[serde(default)]
    analyst: Vec<ComponentEntry>,
    #[serde(default)]
    decoder: Vec<ComponentEntry>,
    #[serde(default)]
    provider: Vec<ComponentEntry>,
    #[serde(default)]
    search: Vec<ComponentEntry>,
}

#[derive(Deserialize)]
struct ComponentEntry {
    component: Option<Spanned<String>>,
}

/// Replaces the path of every component by what `path` makes of it.
///
/// # Errors
/// A sentence: the text is not a manifest, or what `path` says.
pub(crate) fn rewrite(
    text: &str,
    path: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let entries: Entries =
        toml::from_str(text).map_err(|error| error.message().replace('\n', " "))?;
    let Entries {
        format,
        filter,
        extractor,
        chunker,
        analyst,
        decoder,
        provider,
        search,
    } = entries;
    let kinds = [
        format, filter, extractor, chunker, analyst, decoder, provider, search,
    ];
    let mut components: Vec<_> = kinds
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.component)
        .collect();
    // From the end, so that the spans before stay valid.
    components.sort_by_key(|component| std::cmp::Reverse(component.span().start));
    let mut text = text.to_owned();
    for component in components {
        let path = toml::Value::String(path(component.as_ref())?).to_string();
        text.replace_range(component.span(), &path);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paths_of_components_change() {
        let text = "# mine\n[[format]] # a\nname = \"a\"\ncomponent = 'x/a.wasm' # here\n\n\
                    [[provider]]\ncomponent = \"x/b.wasm\"\nhosts = [\"x\"]\n\
                    [provider.prices]\nunit = \"1\"\n\n[[filter]]\nnative = \"x/c.so\"\n\
                    [[search]]\ncomponent = \"x/d.wasm\"\n";
        let changed = rewrite(text, |path| Ok(path.replace('x', "y"))).expect("a manifest");
        let expected = text
            .replace("'x/a.wasm'", "\"y/a.wasm\"")
            .replace("x/b.wasm", "y/b.wasm")
            .replace("x/d.wasm", "y/d.wasm");
        assert_eq!(changed, expected);
        assert!(rewrite(text, |_| Err("no".to_owned())).is_err());
        assert!(rewrite("[[format]", |path| Ok(path.to_owned())).is_err());
    }
}
