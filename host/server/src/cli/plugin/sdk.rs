//! The SDK and the contract embedded in the binary.

use std::path::Path;

use anyhow::Context;

/// Path relative to the repository root and content of every file that a plugin crate needs.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// Writes the SDK to `dir/sdk` and the contract to `dir/contract` and `dir/wit`, in the layout of
/// the repository.
pub(super) fn write(dir: &Path) -> anyhow::Result<()> {
    for (name, text) in FILES {
        let path = dir.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create `{}`", folder.display()))?;
        }
        std::fs::write(&path, text)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trawl_model::PluginKind;

    use super::FILES;

    #[test]
    fn the_sdk_and_the_contract_of_every_kind_are_embedded() {
        let has = |wanted: &str| FILES.iter().any(|(name, _)| *name == wanted);
        assert!(has("sdk/Cargo.toml"));
        assert!(has("sdk/src/lib.rs"));
        assert!(has("contract/Cargo.toml"));
        assert!(has("contract/src/lib.rs"));
        assert!(has("contract/src/provider/countries.txt"));
        let kinds = PluginKind::ALL.map(PluginKind::name);
        for kind in kinds.into_iter().chain(["types", "document"]) {
            assert!(has(&format!("wit/{kind}/1/{kind}.wit")), "{kind}");
        }
        assert!(has("docs/providers.md"));
        assert!(!FILES.iter().any(|(name, _)| name.starts_with("sdk/build")));
    }
}
