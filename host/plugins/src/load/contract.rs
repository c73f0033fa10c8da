//! Kind, contract version and imports of a component, read before anything is compiled.

use wasmparser::{ComponentExternalKind, Encoding, Parser, Payload};

use trawl_model::PluginKind;

/// The supported contracts: kind and version.
const ACCEPTED: [(PluginKind, &str); 8] = [
    (PluginKind::Format, "1.0.0"),
    (PluginKind::Filter, "1.0.0"),
    (PluginKind::Extractor, "1.0.0"),
    (PluginKind::Chunker, "1.0.0"),
    (PluginKind::Analyst, "1.0.0"),
    (PluginKind::Decoder, "1.0.0"),
    (PluginKind::Provider, "1.0.0"),
    (PluginKind::Search, "1.0.0"),
];
/// Longest name quoted in a message, in characters.
const SHOWN_CHARS_MAX: usize = 120;

/// What a component exports and imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contract {
    /// Names of the interfaces it exports, with version.
    exports: Vec<String>,
    /// Names of its imports, with version.
    pub(crate) imports: Vec<String>,
}

impl Contract {
    /// Reads the outermost exports and imports of a component.
    ///
    /// # Errors
    /// A message: not WebAssembly, not a component, or damaged.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(b"\0asm") {
            return Err(
                "not a WebAssembly file, give a component made by `trawl plugin build`".to_owned(),
            );
        }
        let mut contract = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(damaged)? {
                Payload::Version { encoding, .. } if depth == 0 && encoding == Encoding::Module => {
                    return Err("a core module, not a component, make one of it with \
                                `trawl plugin build` or `wasm-tools component new`"
                        .to_owned());
                }
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        let export = export.map_err(damaged)?;
                        if export.kind == ComponentExternalKind::Instance {
                            contract.exports.push(export.name.name.to_owned());
                        }
                    }
                }
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        let name = import.map_err(damaged)?.name.name;
                        contract.imports.push(name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(contract)
    }

    /// Checks that the component has this kind in a supported version; returns the contract's name
    /// and version.
    ///
    /// # Errors
    /// A message: what was expected, what was found, what to do.
    pub(crate) fn check(&self, kind: PluginKind) -> Result<String, String> {
        let expected = expected(kind);
        let found = self.contracts();
        if let Some((_, name)) = found
            .iter()
            .find(|(found, name)| *found == kind && *name == expected)
        {
            return Ok(package(kind, name));
        }
        if let Some((_, name)) = found.iter().find(|(found, _)| *found == kind) {
            return Err(format!(
                "built for `{}`, this server supports `{expected}`, build it with an SDK of that contract",
                shown(name)
            ));
        }
        match found.first() {
            Some((other, name)) => Err(format!(
                "expected `{expected}`, found `{}`, move it to a `[[{other}]]` entry",
                shown(name)
            )),
            None => Err(format!(
                "expected a component that exports `{expected}`, found {}, build it with the Trawl SDK",
                self.shown_exports()
            )),
        }
    }

    /// The kind of the first contract that the component exports, in any version.
    pub(crate) fn kind(&self) -> Option<PluginKind> {
        self.contracts().first().map(|(kind, _)| *kind)
    }

    /// Imports that are neither types of the contract nor WASI, and therefore unsupported.
    pub(crate) fn foreign_imports(&self) -> Vec<&str> {
        self.imports
            .iter()
            .map(String::as_str)
            .filter(|name| !name.starts_with("trawl:") && !name.starts_with("wasi:"))
            .collect()
    }

    fn contracts(&self) -> Vec<(PluginKind, &str)> {
        let kind_of = |name: &str| {
            let (interface, _) = name.split_once('@').unwrap_or((name, ""));
            PluginKind::ALL
                .into_iter()
                .find(|kind| interface == format!("trawl:{kind}/{kind}"))
        };
        self.exports
            .iter()
            .filter_map(|name| Some((kind_of(name)?, name.as_str())))
            .collect()
    }

    fn shown_exports(&self) -> String {
        let names: Vec<_> = self
            .exports
            .iter()
            .take(5)
            .map(|name| format!("`{}`", shown(name)))
            .collect();
        if names.is_empty() {
            "no exported interface".to_owned()
        } else {
            names.join(", ")
        }
    }
}

/// Name of the interface that a plugin of this kind exports: `trawl:format/format@1.0.0`.
fn expected(kind: PluginKind) -> String {
    let version = ACCEPTED
        .iter()
        .find(|(accepted, _)| *accepted == kind)
        .map_or("", |(_, version)| *version);
    format!("trawl:{kind}/{kind}@{version}")
}

/// Name of the contract's package: `trawl:format@1.0.0`.
fn package(kind: PluginKind, interface: &str) -> String {
    let (_, version) = interface.split_once('@').unwrap_or((interface, ""));
    format!("trawl:{kind}@{version}")
}

/// Name of the contract that native plugins of this kind speak.
pub(crate) fn native_contract(kind: PluginKind) -> String {
    package(kind, &expected(kind))
}

fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARS_MAX).collect()
}

fn damaged(error: wasmparser::BinaryReaderError) -> String {
    format!(
        "truncated or damaged at byte {}: {}, build or copy it again",
        error.offset(),
        error.message()
    )
}
