//! What a component file is, for `trawl plugin check FILE.wasm`: everything that loading would find out, and one call.

use std::path::{Path, PathBuf};

use serde::Serialize;

use trawl_sdk::provider::Description;

use super::contract::Contract;
use super::file;
use super::loaded::{Loaded, Origin};
use super::loader::Loader;
use super::manifest::{Code, Entry};
use crate::error::LoadError;
use crate::info::PluginInfo;
use crate::limits::Limits;

/// A component file, looked at and called once.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// What is known of it; `name` is the one it was written under, limits are the defaults.
    #[serde(flatten)]
    pub info: PluginInfo,
    /// Names of what it imports.
    pub imports: Vec<String>,
    /// Lines of a `plugins.toml` entry beside `name` and `component`: what a provider has to be granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// One call on a small page with the options `{}`.
    pub sample: SampleCall,
}

/// What a sample call came to.
#[derive(Clone, Debug, Serialize)]
pub struct SampleCall {
    /// Why it gave no result; `None` when it gave one.
    pub failure: Option<String>,
    /// Microseconds, from fresh instance to result.
    pub micros: u64,
    /// Most linear memory it had, in bytes.
    pub memory_peak_bytes: u64,
}

/// Looks at a component file and calls it once. `cache_dir` keeps the compiled code.
///
/// # Errors
/// [`LoadError::Component`] with what is wrong with the file, or [`LoadError::Engine`].
pub fn inspect(path: &Path, cache_dir: &Path) -> Result<Inspection, LoadError> {
    let loader = Loader::new(cache_dir, None)?;
    inspect_with(&loader, path).map_err(|reason| LoadError::Component {
        path: path.to_owned(),
        reason,
    })
}

fn inspect_with(loader: &Loader, path: &Path) -> Result<Inspection, String> {
    let bytes = file::read(path)?;
    let contract = Contract::read(&bytes)?;
    let kind = contract
        .kind()
        .ok_or("it exports none of Trawl's contracts, build it with the Trawl SDK")?;
    let entry = Entry {
        kind,
        name: "inspected".to_owned(),
        code: Code::Component(PathBuf::from(path)),
        limits: Limits::default(),
        pin: None,
        grant: None,
    };
    let loaded = loader.open(&Origin::new(entry, &bytes), &bytes)?;
    let info = loaded.info().clone();
    Ok(Inspection {
        imports: contract.imports,
        entry: match &loaded {
            Loaded::Provider(plugin) => Some(entry_lines(plugin.description())),
            _ => None,
        },
        sample: sample(&loaded),
        info: PluginInfo {
            name: info.plugin.clone(),
            ..info
        },
    })
}

/// What a provider asks for, with prices to be filled in.
fn entry_lines(said: &Description) -> String {
    let list = |names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let mut lines = vec![
        format!("hosts = {}", list(&said.hosts)),
        format!("credentials = {}", list(&said.credentials)),
        "\n[provider.prices]    # dollars".to_owned(),
    ];
    lines.extend(said.units.iter().map(|unit| format!("{unit} = \"0.001\"")));
    lines.push("most = \"0.01\"".to_owned());
    lines.join("\n")
}

fn sample(loaded: &Loaded) -> SampleCall {
    let measured = loaded.sample_call();
    SampleCall {
        failure: measured.result.err().map(|fault| fault.to_string()),
        micros: u64::try_from(measured.elapsed.as_micros()).unwrap_or(u64::MAX),
        memory_peak_bytes: measured.memory_peak,
    }
}
