//! Loads the entries of the manifest: reads, checks, compiles, links and tries each plugin.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre};

use trawl_model::PluginKind;

use super::contract::{Contract, native_contract};
use super::file;
use super::loaded::{Loaded, Origin};
use super::manifest::{Code, ManifestEntry};
use super::native;
use super::opened::Opened;
use crate::bundle::Bundle;
use crate::call::engine::ComponentEngine;
use crate::call::instance::LinkedComponent;
use crate::call::plugin::Core;
use crate::call::state::CallState;
use crate::error::LoadError;
use crate::info::{PluginInfo, PluginSource};
use crate::kinds::v1;

/// Longest compilation. A component of the largest size takes about a minute on two cores.
const COMPILE_TIME_MAX: Duration = Duration::from_secs(180);
/// After this time the first component is reported as being compiled: the cache gives one within
/// milliseconds.
const REPORT_AFTER: Duration = Duration::from_millis(300);

/// A plugin that is being compiled.
#[derive(Clone, Copy, Debug)]
pub struct Compiling<'a> {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name in the manifest.
    pub name: &'a str,
    /// How many plugins are loaded already.
    pub n_loaded: usize,
    /// How many the manifest has.
    pub n_all: usize,
}

/// Is called when the compilation of a plugin takes a while.
pub type CompileReport = fn(Compiling<'_>);

/// Loads plugins.
pub(crate) struct Loader {
    engine: Arc<ComponentEngine>,
    bundle: Option<Arc<Bundle>>,
    /// One component is compiled at a time: the compiler uses all cores for each.
    compiling: Mutex<()>,
    /// Whether it has been logged that the bundled native code does not fit.
    is_misfit_logged: AtomicBool,
    report: Option<CompileReport>,
    n_loaded: AtomicUsize,
    n_all: AtomicUsize,
}

impl Loader {
    /// A loader that caches compiled code in `cache_dir` and uses the code in `bundle`.
    ///
    /// # Errors
    /// [`LoadError::Engine`].
    pub(crate) fn new(cache_dir: &Path, bundle: Option<Arc<Bundle>>) -> Result<Self, LoadError> {
        let engine = ComponentEngine::new(Some(cache_dir)).map_err(|error| LoadError::Engine {
            reason: format!("{error:#}"),
        })?;
        Ok(Self {
            engine,
            bundle,
            compiling: Mutex::new(()),
            is_misfit_logged: AtomicBool::new(false),
            report: None,
            n_loaded: AtomicUsize::new(0),
            n_all: AtomicUsize::new(0),
        })
    }

    /// The same loader, which reports what it compiles.
    #[must_use]
    pub(crate) fn with_report(self, report: Option<CompileReport>) -> Self {
        Self { report, ..self }
    }

    /// Counts anew, for a manifest with so many plugins.
    pub(crate) fn start_count(&self, n_all: usize) {
        self.n_loaded.store(0, Ordering::Relaxed);
        self.n_all.store(n_all, Ordering::Relaxed);
    }

    /// The bundle of the server, if it has one.
    pub(crate) fn bundle(&self) -> Option<&Bundle> {
        self.bundle.as_deref()
    }

    /// Loads one entry, or takes it from the previous generation if it has not changed.
    ///
    /// # Errors
    /// [`LoadError::Plugin`]: what was expected, what was found, what to do.
    pub(crate) fn load(
        &self,
        entry: ManifestEntry,
        before: &[(Origin, Loaded)],
    ) -> Result<(Origin, Loaded), LoadError> {
        let (kind, plugin) = (entry.kind, entry.name.clone());
        let loaded = self
            .load_entry(entry, before)
            .map_err(|reason| LoadError::Plugin {
                kind,
                plugin,
                reason,
            })?;
        self.n_loaded.fetch_add(1, Ordering::Relaxed);
        Ok(loaded)
    }

    fn load_entry(
        &self,
        entry: ManifestEntry,
        before: &[(Origin, Loaded)],
    ) -> Result<(Origin, Loaded), String> {
        let bytes = self.read(&entry.code)?;
        let origin = Origin::new(entry, &bytes);
        if let Some(pin) = origin.entry().pin.filter(|pin| pin != origin.hash()) {
            return Err(format!(
                "{} has the hash {}, the manifest wants {pin}, restore the file or change `blake3`",
                origin.entry().code,
                origin.hash()
            ));
        }
        if let Some((origin, loaded)) = before.iter().find(|(it, _)| *it == origin) {
            return Ok((origin.clone(), loaded.clone()));
        }
        let loaded = self.open(&origin, &bytes)?;
        try_out(&loaded)?;
        Ok((origin, loaded))
    }

    fn read(&self, code: &Code) -> Result<Vec<u8>, String> {
        match (code, &self.bundle) {
            (Code::Component(path) | Code::Native(path), _) => file::read(path),
            (Code::Bundled(name), Some(bundle)) => bundle.component(name),
            (Code::Bundled(_), None) => Err("this program has no bundled plugins".to_owned()),
        }
    }

    /// Opens a plugin whose code has been read.
    pub(crate) fn open(&self, origin: &Origin, bytes: &[u8]) -> Result<Loaded, String> {
        let entry = origin.entry();
        let (contract, opened) = match &entry.code {
            Code::Component(_) | Code::Bundled(_) => self.open_component(origin, bytes)?,
            Code::Native(path) => (
                native_contract(entry.kind),
                native::open(path, entry.kind, bytes)?,
            ),
        };
        let described = opened.described();
        let (options_schema, schema) = described.check()?;
        let grant = opened.grant(entry)?;
        if let Some(grant) = &grant {
            schema
                .validate(&grant.settings)
                .map_err(|error| format!("its `settings` do not fit: {error}"))?;
        }
        let info = PluginInfo {
            kind: entry.kind,
            name: entry.name.clone(),
            plugin: described.name.clone(),
            version: described.version.clone(),
            summary: described.summary.clone(),
            contract,
            hash: origin.hash().to_hex().to_string(),
            size_bytes: bytes.len() as u64,
            native: matches!(entry.code, Code::Native(_)),
            source: match entry.code {
                Code::Component(_) | Code::Native(_) => PluginSource::File,
                Code::Bundled(_) => PluginSource::Bundled,
            },
            limits: entry.limits,
            grants: grant
                .as_ref()
                .map_or_else(Vec::new, |grant| grant.hosts.clone()),
            media_types: entry.media.types.clone(),
            needs: described.needs,
            options_schema,
        };
        Ok(opened.into_loaded(Core::new(info, schema), grant, entry))
    }

    fn open_component(&self, origin: &Origin, bytes: &[u8]) -> Result<(String, Opened), String> {
        let entry = origin.entry();
        let contract = Contract::read(bytes)?;
        let name = contract.check(entry.kind)?;
        let component = match self.precompiled(origin.hash()) {
            Some(component) => component,
            None => self.compile(entry, bytes)?,
        };
        let linked = link(&self.engine, &contract, &component)?;
        let linked = LinkedComponent::new(Arc::clone(&self.engine), linked, entry.limits);
        let opened = match entry.kind {
            PluginKind::Format => v1::open_format(linked)
                .map(|(description, functions)| Opened::Format(description, functions)),
            PluginKind::Filter => v1::open_filter(linked)
                .map(|(description, functions)| Opened::Filter(description, functions)),
            PluginKind::Extractor => v1::open_extractor(linked)
                .map(|(description, functions)| Opened::Extractor(description, functions)),
            PluginKind::Chunker => v1::open_chunker(linked)
                .map(|(description, functions)| Opened::Chunker(description, functions)),
            PluginKind::Analyst => v1::open_analyst(linked)
                .map(|(description, functions)| Opened::Analyst(description, functions)),
            PluginKind::Decoder => v1::open_decoder(linked)
                .map(|(description, functions)| Opened::Decoder(description, functions)),
            PluginKind::Provider => {
                v1::open_provider(linked).map(|(described, description, functions)| {
                    Opened::Provider(described, Box::new(description), functions)
                })
            }
            PluginKind::Search => {
                v1::open_search(linked).map(|(described, description, functions)| {
                    Opened::Search(described, Box::new(description), functions)
                })
            }
        };
        let opened = opened.map_err(|fault| format!("its `describe` {fault}"))?;
        Ok((name, opened))
    }

    /// The component from its native code in the bundle; `None` when it has to be compiled.
    fn precompiled(&self, hash: &blake3::Hash) -> Option<Component> {
        let code = self.bundle.as_ref()?.native_code(hash).transpose()?;
        let component = code.and_then(|code| {
            self.engine
                .deserialize(&code)
                .map_err(|error| error.root_cause().to_string())
        });
        match component {
            Ok(component) => Some(component),
            Err(reason) => {
                if !self.is_misfit_logged.swap(true, Ordering::Relaxed) {
                    tracing::info!("plugins are compiled on this machine: {reason}");
                }
                None
            }
        }
    }

    /// Compiles on a separate thread, so that a component designed to compile forever does not
    /// block the reload.
    fn compile(&self, entry: &ManifestEntry, bytes: &[u8]) -> Result<Component, String> {
        let turn = self.compiling.lock();
        let _turn = turn.unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let misses = self.engine.cache_misses();
        let (sender, receiver) = mpsc::sync_channel(1);
        let (engine, bytes) = (Arc::clone(&self.engine), bytes.to_vec());
        let work = move || {
            // The receiver is gone after the timeout.
            let _ = sender.send(engine.compile(&bytes));
        };
        std::thread::Builder::new()
            .name("plugin-compiler".to_owned())
            .spawn(work)
            .map_err(|error| format!("the compiler cannot start: {error}"))?;
        // Where one plugin is new to the cache, the others are as well.
        let report_after = if misses == 0 {
            REPORT_AFTER
        } else {
            Duration::ZERO
        };
        let mut compiled = receiver.recv_timeout(report_after);
        if matches!(compiled, Err(mpsc::RecvTimeoutError::Timeout)) {
            self.report(entry);
            compiled = receiver.recv_timeout(COMPILE_TIME_MAX);
        }
        match compiled {
            Ok(Ok(component)) => {
                if self.engine.cache_misses() > misses {
                    let seconds = started.elapsed().as_secs_f64();
                    tracing::info!(
                        "compiled the {} `{}` in {seconds:.1} s",
                        entry.kind,
                        entry.name
                    );
                }
                Ok(component)
            }
            Ok(Err(error)) => Err(format!("not a valid component: {}", error.root_cause())),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(format!(
                "not compiled after {} s, make it smaller",
                COMPILE_TIME_MAX.as_secs()
            )),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err("the compiler crashed on it, build it again".to_owned())
            }
        }
    }
}

impl Loader {
    fn report(&self, entry: &ManifestEntry) {
        if let Some(report) = self.report {
            report(Compiling {
                kind: entry.kind,
                name: &entry.name,
                n_loaded: self.n_loaded.load(Ordering::Relaxed),
                n_all: self.n_all.load(Ordering::Relaxed),
            });
        }
    }
}

fn link(
    engine: &ComponentEngine,
    contract: &Contract,
    component: &Component,
) -> Result<InstancePre<CallState>, String> {
    engine.link(component).map_err(|error| {
        let foreign = contract.foreign_imports();
        if foreign.is_empty() {
            return format!("its imports cannot be satisfied: {error:#}");
        }
        let names: Vec<_> = foreign.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "it imports {}, which this server does not give, plugins import nothing (WASI 0.2 aside)",
            names.join(", ")
        )
    })
}

/// Calls a plugin once on the sample page. It may refuse that page, but it may not crash on it.
fn try_out(loaded: &Loaded) -> Result<(), String> {
    let accepts_empty_options = loaded
        .core()
        .check_options(&serde_json::Value::Object(serde_json::Map::new()))
        .is_ok();
    if !accepts_empty_options {
        return Ok(());
    }
    match loaded.sample_call().result {
        Err(fault) if fault.is_trap() => Err(format!("on a small sample page it {fault}")),
        Ok(()) | Err(_) => Ok(()),
    }
}
