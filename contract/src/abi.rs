//! C interface of native plugins: all `#[repr(C)]` layouts, numbers and rules, without
//! dependencies.
//!
//! A native plugin is a `cdylib` that exports five functions. They may be called from several
//! threads at once. None of them keeps a pointer of the caller after it returns, and none lets
//! a panic unwind into the caller.
//!
//! - `trawl_plugin_abi`, a [`NumberFn`]: returns [`VERSION`]. Call it first; if the version
//!   differs, call nothing else.
//! - `trawl_plugin_kind`, a [`NumberFn`]: returns one of [`kind`].
//! - `trawl_plugin_describe`, a [`ReplyFn`]: writes the plugin's description as JSON (see
//!   below).
//! - `trawl_plugin_call`, a [`CallFn`]: runs the plugin.
//! - `trawl_plugin_free`, a [`ReplyFn`]: frees a reply written by `describe` or `call`.
//!
//! A function overwrites the whole reply, whatever it contained (start with [`Reply::EMPTY`]).
//! Every reply must be freed exactly once, by the plugin that wrote it.
//!
//! `describe` replies with status [`status::TEXT`] and a JSON object like this, with the
//! options schema as JSON text inside a string, as in `wit/types/1`:
//!
//! ```json
//! {
//!   "name": "…", "version": "…", "summary": "…", "options_schema": "…",
//!   "needs": ["source", "body"]
//! }
//! ```
//!
//! `call` reads these fields of [`Call`] and writes one of these replies. A failure has one of
//! the other codes in [`status`] and a reason in UTF-8 as its payload.
//!
//! | kind | fields of [`Call`] | status | payload |
//! |---|---|---|---|
//! | format | document, source, options | [`status::TEXT`] | UTF-8 text |
//! | | | [`status::BYTES`] | bytes |
//! | filter | document, options | [`status::BYTES`] | mask with one bit per node |
//! | extractor | document, source, options | [`status::TEXT`] | one JSON value |
//! | chunker | text, options | [`status::SPANS`] | pairs of `u32`, start and end |
//!
//! The numbers of a [`status::SPANS`] payload are in native byte order and aligned to four
//! bytes.

/// Version of this interface. Any change to a layout, a number or a rule in this file changes it.
pub const VERSION: u32 = 1;

/// Names of the five exported functions.
pub mod symbol {
    /// Returns [`VERSION`](super::VERSION).
    pub const ABI: &str = "trawl_plugin_abi";
    /// Returns the [`kind`](super::kind).
    pub const KIND: &str = "trawl_plugin_kind";
    /// Describes the plugin.
    pub const DESCRIBE: &str = "trawl_plugin_describe";
    /// Runs the plugin.
    pub const CALL: &str = "trawl_plugin_call";
    /// Frees a reply.
    pub const FREE: &str = "trawl_plugin_free";
}

/// Plugin kinds.
pub mod kind {
    /// Renders a page to content.
    pub const FORMAT: u32 = 1;
    /// Selects the nodes of a page.
    pub const FILTER: u32 = 2;
    /// Extracts fields from a page.
    pub const EXTRACTOR: u32 = 3;
    /// Splits a text.
    pub const CHUNKER: u32 = 4;
}

/// Outcomes of a call.
pub mod status {
    /// Success; the payload is UTF-8.
    pub const TEXT: u32 = 0;
    /// Success; the payload is bytes.
    pub const BYTES: u32 = 1;
    /// Success; the payload is an array of `u32` pairs.
    pub const SPANS: u32 = 2;
    /// The options are invalid; the payload says which one and why.
    pub const INVALID_OPTIONS: u32 = 16;
    /// The plugin cannot handle this page; the payload says why.
    pub const UNSUPPORTED: u32 = 17;
    /// Any other failure; the payload says what.
    pub const FAILED: u32 = 18;
    /// The plugin panicked, which is a bug in it. The payload is the panic message.
    pub const PANICKED: u32 = 19;
}

/// A slice borrowed from the caller. If the length is 0, the pointer may be anything, including
/// null; otherwise it is aligned and points to `length` values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice<T> {
    /// Pointer to the first value.
    pub pointer: *const T,
    /// Number of values (not bytes).
    pub length: usize,
}

impl<T> Slice<T> {
    /// An empty slice.
    pub const EMPTY: Self = Self {
        pointer: std::ptr::null(),
        length: 0,
    };

    /// Borrows these values. The caller must keep them alive until the call returns.
    pub const fn of(values: &[T]) -> Self {
        Self {
            pointer: values.as_ptr(),
            length: values.len(),
        }
    }
}

/// The record `document` of `wit/document/1`, field by field and under the same rules. Byte slices
/// hold UTF-8 where the record has a string.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// UTF-8.
    pub url: Slice<u8>,
    /// UTF-8.
    pub base: Slice<u8>,
    /// UTF-8.
    pub media_type: Slice<u8>,
    /// 0 or 1.
    pub quirks: u32,
    /// One per node.
    pub kinds: Slice<u8>,
    /// One per node.
    pub parents: Slice<u32>,
    /// One per node.
    pub ends: Slice<u32>,
    /// One per node.
    pub names: Slice<u32>,
    /// One per node.
    pub starts: Slice<u32>,
    /// One per node.
    pub counts: Slice<u32>,
    /// One per attribute.
    pub attribute_names: Slice<u32>,
    /// One per attribute.
    pub attribute_starts: Slice<u32>,
    /// One per attribute.
    pub attribute_lengths: Slice<u32>,
    /// UTF-8.
    pub name_text: Slice<u8>,
    /// One per name.
    pub name_ends: Slice<u32>,
    /// One per name.
    pub name_spaces: Slice<u8>,
    /// UTF-8.
    pub text: Slice<u8>,
    /// One bit per node; empty means that no node was removed.
    pub kept: Slice<u8>,
}

/// The record `source` of `wit/document/1`. `text` and `body` are empty unless `describe` requests
/// them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// UTF-8.
    pub text: Slice<u8>,
    /// The body as received.
    pub body: Slice<u8>,
    /// UTF-8.
    pub content_type: Slice<u8>,
    /// UTF-8.
    pub charset: Slice<u8>,
}

/// Arguments of one call. A pointer that the plugin's kind does not use may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The page; null for a chunker.
    pub document: *const Document,
    /// Source of the page; null for a filter and a chunker.
    pub source: *const Source,
    /// The text to split, UTF-8; empty for the other kinds.
    pub text: Slice<u8>,
    /// A JSON object as UTF-8.
    pub options: Slice<u8>,
}

/// Result of a call. The plugin owns the payload until `trawl_plugin_free` is called.
#[repr(C)]
#[derive(Debug)]
pub struct Reply {
    /// One of [`status`].
    pub status: u32,
    /// Pointer to the first byte of the payload.
    pub pointer: *mut u8,
    /// Length of the payload in bytes, whatever its type.
    pub length: usize,
    /// Reserved for the plugin; do not change it.
    pub capacity: usize,
}

impl Reply {
    /// An empty reply to be written to. Freeing it does nothing.
    pub const EMPTY: Self = Self {
        status: status::FAILED,
        pointer: std::ptr::null_mut(),
        length: 0,
        capacity: 0,
    };
}

/// Type of `trawl_plugin_abi` and `trawl_plugin_kind`.
pub type NumberFn = extern "C" fn() -> u32;
/// Type of `trawl_plugin_describe` and `trawl_plugin_free`. The pointer must be valid.
pub type ReplyFn = unsafe extern "C" fn(*mut Reply);
/// Type of `trawl_plugin_call`. Both pointers must be valid, and so must everything [`Call`] points
/// to.
pub type CallFn = unsafe extern "C" fn(*const Call, *mut Reply);
