//! Encodes core modules as components and reads what they export.

use std::path::Path;

use wit_component::{ComponentEncoder, DecodedWasm};

use crate::compile::Module;
use crate::{BuildError, Component};

/// Encodes a module with embedded WIT metadata as a component and validates it. Returns the
/// component and the interfaces it exports.
///
/// # Errors
/// [`BuildError::Encode`] if encoding fails, [`BuildError::NoPlugin`] if the module exports none of
/// Trawl's interfaces. Both carry `name`.
pub fn encode(name: &str, module: &[u8]) -> Result<(Vec<u8>, Vec<String>), BuildError> {
    let component = ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| failed(name, format!("{error:#}")))?;
    let exports = exports(&component).map_err(|reason| failed(name, reason))?;
    if !exports.iter().any(|export| export.starts_with("trawl:")) {
        return Err(BuildError::NoPlugin(name.to_owned()));
    }
    Ok((component, exports))
}

/// Encodes a compiled module into `out_dir`. Leaves the file untouched if its content is unchanged.
pub(crate) fn write(module: &Module, out_dir: &Path) -> Result<Component, BuildError> {
    let bytes = std::fs::read(&module.path).map_err(at(&module.path))?;
    let (component, exports) = encode(&module.name, &bytes)?;
    let path = out_dir.join(format!("{}.wasm", module.name));
    if std::fs::read(&path).ok().as_deref() != Some(&component) {
        // Write to a temporary file and rename it, so that readers never see a partial component.
        let part = out_dir.join(format!(".{}.{}.part", module.name, std::process::id()));
        std::fs::write(&part, &component).map_err(at(&part))?;
        std::fs::rename(&part, &path).map_err(at(&path))?;
    }
    Ok(Component {
        name: module.name.clone(),
        path,
        bytes: component.len() as u64,
        exports,
    })
}

fn exports(component: &[u8]) -> Result<Vec<String>, String> {
    match wit_component::decode(component) {
        Ok(DecodedWasm::Component(resolve, world)) => {
            let keys = resolve.worlds[world].exports.keys();
            Ok(keys.map(|key| resolve.name_world_key(key)).collect())
        }
        Ok(DecodedWasm::WitPackage(..)) => Ok(Vec::new()),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn failed(name: &str, reason: String) -> BuildError {
    BuildError::Encode {
        name: name.to_owned(),
        reason,
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError {
    let path = path.to_path_buf();
    move |source| BuildError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_a_contract_is_no_plugin() {
        let empty_module = b"\0asm\x01\0\0\0";
        let error = encode("odd", empty_module).expect_err("nothing is exported");
        assert!(matches!(error, BuildError::NoPlugin(name) if name == "odd"));
    }

    #[test]
    fn invalid_modules_are_rejected_by_name() {
        let error = encode("odd", b"<html>").expect_err("not WebAssembly");
        assert!(error.to_string().contains("`odd`"), "{error}");
    }
}
