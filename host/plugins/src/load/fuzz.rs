//! Fuzzing of `plugins.toml`.

use std::collections::HashSet;
use std::path::Path;

use trawl_contract::provider::{Abilities, Description};
use trawl_model::PluginKind;
use url::Url;

use super::manifest::{Base, Code, Manifest, ManifestEntry};
use crate::info::check_name;
use crate::limits::ENTRIES_MAX;

/// Characters of an error, which may quote the file.
const ERROR_CHARS_MAX: usize = 2_000;

#[test]
fn manifest() {
    trawl_fuzz::fuzz!("manifest", |text| {
        let text = String::from_utf8_lossy(text);
        check(&text, Base::Folder(Path::new("folder")));
        check(&text, Base::Bundle);
    });
}

fn check(text: &str, base: Base<'_>) {
    let read = Manifest::parse(text, base);
    assert_eq!(read, Manifest::parse(text, base), "twice");
    let manifest = match read {
        Ok(manifest) => manifest,
        Err(reason) => return check_reason(&reason),
    };
    let commented = format!("{text}\n# A comment.");
    assert_eq!(
        Ok(&manifest),
        Manifest::parse(&commented, base).as_ref(),
        "with a comment"
    );
    assert!(manifest.entries.len() <= ENTRIES_MAX);
    let mut names = HashSet::new();
    for entry in &manifest.entries {
        assert!(
            names.insert((entry.kind, entry.name.clone())),
            "two `{}`",
            entry.name
        );
        check_entry(entry, text, base);
    }
}

fn check_entry(entry: &ManifestEntry, text: &str, base: Base<'_>) {
    assert_eq!(check_name(&entry.name), Ok(()));
    assert_eq!(entry.limits.check(), Ok(()));
    match (&entry.code, base) {
        (Code::Bundled(_), Base::Bundle) | (Code::Component(_), Base::Folder(_)) => {}
        (Code::Native(_), Base::Folder(_)) => {
            assert!(text.contains("allow_native") && text.contains("true"));
            assert!(!matches!(
                entry.kind,
                PluginKind::Analyst
                    | PluginKind::Decoder
                    | PluginKind::Provider
                    | PluginKind::Search
            ));
        }
        (code, base) => panic!("{code:?} in {base:?}"),
    }
    let is_adapter = matches!(entry.kind, PluginKind::Provider | PluginKind::Search);
    assert_eq!(entry.grant.is_some(), is_adapter);
    let is_decoder = entry.kind == PluginKind::Decoder;
    assert_eq!(!entry.media.types.is_empty(), is_decoder);
    assert!(is_decoder || entry.media.signatures.is_empty());
    let Some(grant) = &entry.grant else {
        return;
    };
    match grant.check(&description()) {
        Ok(grant) => {
            let base = Url::parse(&grant.base).expect("a base is a URL");
            assert!(matches!(base.scheme(), "http" | "https") && base.has_host());
            assert!(grant.prices.least <= grant.prices.most);
            assert!(grant.credentials.contains(&"ACME_KEY".to_owned()));
        }
        Err(reason) => check_reason(&reason),
    }
}

fn check_reason(reason: &str) {
    assert!(!reason.trim().is_empty());
    // The reader shows the line that is wrong.
    let longest = reason.lines().map(|line| line.chars().count()).max();
    let rest = reason.chars().count() - longest.unwrap_or(0);
    assert!(
        rest <= ERROR_CHARS_MAX + longest.unwrap_or(0),
        "{rest} characters"
    );
}

fn description() -> Description {
    Description::new("acme", "1.0.0", "Acme", "https://api.acme.example")
        .credentials(&["ACME_KEY"])
        .hosts(&["api.acme.example"])
        .plain(Abilities::SERVES)
        .units(&["page"])
}
