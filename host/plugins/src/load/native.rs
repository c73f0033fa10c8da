//! Plugins as shared libraries: trusted native code behind the same traits. Requires
//! `allow_native = true` in the manifest. Size limits apply; time and memory limits cannot be
//! enforced. The interface is `trawl_contract::abi`.
#![expect(unsafe_code, reason = "a shared library is called through C functions")]

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use libloading::Library;
use serde::Deserialize;

use trawl_contract::{abi, document_fields};
use trawl_model::PluginKind;

use super::opened::Opened;
use crate::call::plugin::Measured;
use crate::call::view::PageView;
use crate::error::Fault;
use crate::info::{Described, Needs};
use crate::kinds::chunker::Chunk;
use crate::kinds::extractor::Extract;
use crate::kinds::filter::Keep;
use crate::kinds::format::{Render, Rendered};

/// Longest reason of a failure, in bytes; the rest is cut off.
const REASON_BYTES_MAX: usize = 2000;

/// A loaded library. It is unloaded when this is dropped.
struct Native {
    call: abi::CallFn,
    free: abi::ReplyFn,
    needs: Needs,
    library: Library,
    /// The private copy of the file. It stays open, so that no other library gets the same path.
    _file: OwnedFd,
}

/// What `describe` returns.
#[derive(Deserialize)]
struct DescribedJson {
    name: String,
    version: String,
    summary: String,
    options_schema: String,
    needs: Vec<String>,
}

/// A result in the library's memory, released when this is dropped.
struct Answer {
    reply: abi::Reply,
    free: abi::ReplyFn,
}

/// Loads a library from `bytes` and calls its `describe`. `path` is for messages only: the file may
/// have changed meanwhile.
///
/// # Errors
/// A message: not a library, not a plugin, another interface or kind, or an invalid description.
pub(crate) fn open(path: &Path, kind: PluginKind, bytes: &[u8]) -> Result<Opened, String> {
    let shown = path.display();
    let file =
        private_copy(bytes).map_err(|error| format!("`{shown}` cannot be loaded: {error}"))?;
    // SAFETY: loading runs the library's initialisers. The operator trusts it: `allow_native =
    // true`.
    let library = unsafe { Library::new(format!("/proc/self/fd/{}", file.as_raw_fd())) }
        .map_err(|error| format!("`{shown}` is not a shared library for this machine: {error}"))?;
    check_abi(&library, kind)?;
    let mut native = Native {
        call: symbol(&library, abi::symbol::CALL)?,
        free: symbol(&library, abi::symbol::FREE)?,
        needs: Needs::default(),
        library,
        _file: file,
    };
    let described = native.describe()?;
    native.needs = described.needs;
    Ok(match kind {
        PluginKind::Format => Opened::Format(described, Box::new(native)),
        PluginKind::Filter => Opened::Filter(described, Box::new(native)),
        PluginKind::Extractor => Opened::Extractor(described, Box::new(native)),
        PluginKind::Chunker => Opened::Chunker(described, Box::new(native)),
        PluginKind::Analyst | PluginKind::Decoder | PluginKind::Provider | PluginKind::Search => {
            return Err(format!("plugins of the kind {kind} are never native code"));
        }
    })
}

/// A copy of the file under a unique path: the dynamic loader identifies libraries by path.
fn private_copy(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("trawl-plugin", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    Ok(file.into())
}

fn check_abi(library: &Library, kind: PluginKind) -> Result<(), String> {
    let version = symbol::<abi::NumberFn>(library, abi::symbol::ABI)?();
    if version != abi::VERSION {
        return Err(format!(
            "built for version {version} of the native interface, this server supports {}, build it with an SDK of that version",
            abi::VERSION
        ));
    }
    let found = symbol::<abi::NumberFn>(library, abi::symbol::KIND)?();
    let of = |kind| match kind {
        PluginKind::Format => abi::kind::FORMAT,
        PluginKind::Filter => abi::kind::FILTER,
        PluginKind::Extractor => abi::kind::EXTRACTOR,
        PluginKind::Chunker => abi::kind::CHUNKER,
        // Not part of the interface.
        PluginKind::Analyst | PluginKind::Decoder | PluginKind::Provider | PluginKind::Search => 0,
    };
    if found == of(kind) {
        return Ok(());
    }
    match PluginKind::ALL.into_iter().find(|kind| of(*kind) == found) {
        Some(other) => Err(format!(
            "expected a {kind}, found a {other}, move it to a `[[{other}]]` entry"
        )),
        None => Err(format!("expected a {kind}, found the unknown kind {found}")),
    }
}

/// A function of the interface; `F` is its type there.
fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the interface defines the type of each symbol, and its version is checked first.
    let found = unsafe { library.get::<F>(name) };
    found.map(|symbol| *symbol).map_err(|_| {
        format!("not a Trawl plugin: it has no `{name}`, build it with the SDK's feature `native`")
    })
}

impl Native {
    fn describe(&self) -> Result<Described, String> {
        let describe: abi::ReplyFn = symbol(&self.library, abi::symbol::DESCRIBE)?;
        let mut answer = Answer::empty(self.free);
        // SAFETY: the reply is valid for writing.
        unsafe { describe(&raw mut answer.reply) };
        let text = answer
            .text()
            .map_err(|fault| format!("its `describe` {fault}"))?;
        let description: DescribedJson = serde_json::from_str(&text)
            .map_err(|error| format!("its `describe` cannot be read: {error}"))?;
        let needs = |part: &str| description.needs.iter().any(|need| need == part);
        Ok(Described {
            needs: Needs {
                source: needs("source"),
                body: needs("body"),
            },
            name: description.name,
            version: description.version,
            summary: description.summary,
            options_schema: description.options_schema,
        })
    }

    fn on_page<R>(
        &self,
        page: &PageView<'_>,
        options: &str,
        read: impl FnOnce(&Answer) -> Result<R, Fault>,
    ) -> Measured<R> {
        let (document, source) = (lend(page), source(page, self.needs));
        let call = abi::Call {
            document: &raw const document,
            source: &raw const source,
            text: abi::Slice::EMPTY,
            options: abi::Slice::of(options.as_bytes()),
        };
        self.call(&call, read)
    }

    fn call<R>(
        &self,
        call: &abi::Call,
        read: impl FnOnce(&Answer) -> Result<R, Fault>,
    ) -> Measured<R> {
        let started = Instant::now();
        let mut answer = Answer::empty(self.free);
        // SAFETY: everything that `call` points to is borrowed until this returns, and the reply is
        // valid for writing.
        unsafe { (self.call)(call, &raw mut answer.reply) };
        let result = read(&answer);
        Measured {
            result,
            elapsed: started.elapsed(),
            memory_peak: 0,
        }
    }
}

impl Answer {
    fn empty(free: abi::ReplyFn) -> Self {
        Self {
            reply: abi::Reply::EMPTY,
            free,
        }
    }

    fn payload(&self) -> &[u8] {
        if self.reply.length == 0 || self.reply.pointer.is_null() {
            return &[];
        }
        // SAFETY: the library reports this many bytes, valid until the reply is released on drop.
        unsafe { std::slice::from_raw_parts(self.reply.pointer, self.reply.length) }
    }

    fn text(&self) -> Result<String, Fault> {
        match self.reply.status {
            abi::status::TEXT => utf8(self.payload()),
            _ => Err(self.fault()),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Fault> {
        match self.reply.status {
            abi::status::BYTES => Ok(self.payload().to_vec()),
            _ => Err(self.fault()),
        }
    }

    fn spans(&self) -> Result<Vec<(u32, u32)>, Fault> {
        let (pairs, rest) = self.payload().as_chunks::<8>();
        if self.reply.status != abi::status::SPANS {
            return Err(self.fault());
        }
        if !rest.is_empty() {
            return Err(Fault::Lied("spans that are not pairs".to_owned()));
        }
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        let pair = |pair: &[u8; 8]| (number(&pair[..4]), number(&pair[4..]));
        Ok(pairs.iter().map(pair).collect())
    }

    fn rendered(&self) -> Result<Rendered, Fault> {
        match self.reply.status {
            abi::status::BYTES => self.bytes().map(Rendered::Bytes),
            _ => self.text().map(Rendered::Text),
        }
    }

    /// The fault behind a status other than the expected one.
    fn fault(&self) -> Fault {
        let payload = self.payload();
        let reason = String::from_utf8_lossy(&payload[..payload.len().min(REASON_BYTES_MAX)]);
        match self.reply.status {
            abi::status::INVALID_OPTIONS => Fault::InvalidOptions(reason.into_owned()),
            abi::status::UNSUPPORTED => Fault::Unsupported(reason.into_owned()),
            abi::status::FAILED => Fault::Failed(reason.into_owned()),
            abi::status::PANICKED => Fault::Trap {
                reason: format!("it panicked: {reason}"),
            },
            other => Fault::Lied(format!("the status {other}")),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: the reply was written by this library or is still empty, and is given back once.
        unsafe { (self.free)(&raw mut self.reply) };
    }
}

fn utf8(bytes: &[u8]) -> Result<String, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Fault::Lied(format!("a text that is not UTF-8: {error}"))),
    }
}

impl Render for Native {
    fn render(&self, page: &PageView<'_>, options: &str) -> Measured<Rendered> {
        self.on_page(page, options, Answer::rendered)
    }
}

impl Keep for Native {
    fn keep(&self, page: &PageView<'_>, options: &str) -> Measured<Vec<u8>> {
        self.on_page(page, options, Answer::bytes)
    }
}

impl Extract for Native {
    fn extract(&self, page: &PageView<'_>, options: &str) -> Measured<String> {
        self.on_page(page, options, Answer::text)
    }
}

impl Chunk for Native {
    fn chunk(&self, text: &str, options: &str) -> Measured<Vec<(u32, u32)>> {
        let call = abi::Call {
            document: std::ptr::null(),
            source: std::ptr::null(),
            text: abi::Slice::of(text.as_bytes()),
            options: abi::Slice::of(options.as_bytes()),
        };
        self.call(&call, Answer::spans)
    }
}

fn lend(page: &PageView<'_>) -> abi::Document {
    let arrays = page.document.arrays(page.kept);
    macro_rules! lower {
        (str $text:expr) => {
            abi::Slice::of($text.as_bytes())
        };
        ($slice:tt $values:expr) => {
            abi::Slice::of($values)
        };
    }
    macro_rules! document {
        ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
            abi::Document {
                quirks: u32::from(arrays.quirks),
                $($name: lower!($slice arrays.$name),)*
                kept: abi::Slice::of(arrays.kept),
            }
        };
    }
    document_fields!(each document)
}

fn source(page: &PageView<'_>, needs: Needs) -> abi::Source {
    let text = if needs.source { page.text } else { "" };
    let body = if needs.body { page.body } else { &[] };
    abi::Source {
        text: abi::Slice::of(text.as_bytes()),
        body: abi::Slice::of(body),
        content_type: abi::Slice::of(page.content_type.as_bytes()),
        charset: abi::Slice::of(page.charset.as_bytes()),
    }
}
