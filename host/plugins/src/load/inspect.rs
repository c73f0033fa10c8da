//! Inspection of a component file for `trawl plugin check`: the checks of loading, and one call.

use std::path::{Path, PathBuf};

use serde::Serialize;

use trawl_contract::provider::Description;
use trawl_model::PluginKind;

use super::contract::Contract;
use super::file;
use super::loaded::{Loaded, Origin};
use super::loader::Loader;
use super::manifest::{Code, ManifestEntry};
use super::media::Media;
use crate::error::LoadError;
use crate::info::PluginInfo;
use crate::limits::Limits;

/// A component file, inspected and called once.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Its description; `name` is the author's, limits are the defaults.
    #[serde(flatten)]
    pub info: PluginInfo,
    /// Names of its imports.
    pub imports: Vec<String>,
    /// Further lines of a `plugins.toml` entry: what a provider or a search adapter is granted,
    /// what a decoder reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// One call on a small page with the options `{}`.
    pub sample: SampleCall,
}

/// Outcome of the sample call.
#[derive(Clone, Debug, Serialize)]
pub struct SampleCall {
    /// Why it failed; `None` when it succeeded, or when a decoder refused the sample.
    pub failure: Option<String>,
    /// Microseconds from instantiation to result.
    pub micros: u64,
    /// Peak of linear memory in bytes.
    pub memory_peak_bytes: u64,
}

/// Inspects a component file and calls it once. Compiled code is cached in `cache_dir`.
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
    let entry = ManifestEntry {
        kind,
        name: "inspected".to_owned(),
        code: Code::Component(PathBuf::from(path)),
        limits: Limits::default(),
        pin: None,
        grant: None,
        media: Media::default(),
    };
    let loaded = loader.open(&Origin::new(entry, &bytes), &bytes)?;
    let info = loaded.info().clone();
    Ok(Inspection {
        imports: contract.imports,
        entry: match &loaded {
            Loaded::Provider(plugin) => Some(entry_lines(info.kind, plugin.description())),
            Loaded::Search(plugin) => {
                Some(entry_lines(info.kind, &plugin.description().as_provider()))
            }
            Loaded::Decoder(_) => Some(DECODER_LINES.to_owned()),
            _ => None,
        },
        sample: sample(&loaded),
        info: PluginInfo {
            name: info.plugin.clone(),
            ..info
        },
    })
}

/// The media types of a decoder, to be filled in.
const DECODER_LINES: &str =
    "media_types = [\"application/x-example\"]    # of the documents that it reads";

/// The grants in the description of a provider or search adapter, with prices to be filled in.
fn entry_lines(kind: PluginKind, description: &Description) -> String {
    let list = |names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let mut lines = vec![
        format!("hosts = {}", list(&description.hosts)),
        format!("credentials = {}", list(&description.credentials)),
        format!("\n[{kind}.prices]    # dollars"),
    ];
    lines.extend(
        description
            .units
            .iter()
            .map(|unit| format!("{unit} = \"0.001\"")),
    );
    lines.push("most = \"0.01\"".to_owned());
    lines.join("\n")
}

fn sample(loaded: &Loaded) -> SampleCall {
    let measured = loaded.sample_call();
    // The sample is not a document of the types that a decoder reads.
    let may_refuse = matches!(loaded, Loaded::Decoder(_));
    let fault = measured.result.err();
    let fault = fault.filter(|fault| fault.is_trap() || !may_refuse);
    SampleCall {
        failure: fault.map(|fault| fault.to_string()),
        micros: u64::try_from(measured.elapsed.as_micros()).unwrap_or(u64::MAX),
        memory_peak_bytes: measured.memory_peak,
    }
}
