//! The C interface of native plugins: every `#[repr(C)]` layout, number and rule in one file without dependencies.
//!
//! A native plugin is a `cdylib` with five functions. They may be called from several threads at once; none of them keeps a
//! pointer of the caller after it returns, and none lets a panic out.
//!
//! | symbol | signature | meaning |
//! |---|---|---|
//! | `trawl_plugin_abi` | `extern "C" fn() -> u32` | [`VERSION`]; ask it first, and call nothing else when it differs |
//! | `trawl_plugin_kind` | `extern "C" fn() -> u32` | one of [`kind`] |
//! | `trawl_plugin_describe` | `unsafe extern "C" fn(*mut Reply)` | what the plugin says of itself, as JSON text (below) |
//! | `trawl_plugin_call` | `unsafe extern "C" fn(*const Call, *mut Reply)` | one call of the plugin |
//! | `trawl_plugin_free` | `unsafe extern "C" fn(*mut Reply)` | gives back what the two above put into a reply |
//!
//! A reply is written whole, whatever was in it (begin with [`Reply::EMPTY`]), and must be given back to the same plugin exactly once.
//!
//! `describe` answers with status [`status::TEXT`] and
//! `{"name":"…","version":"…","summary":"…","options_schema":"…","needs":["source","body"]}`; the schema is JSON text inside a string, as in
//! `wit/types/1`.
//!
//! What `call` reads and answers, by kind (besides the failures of [`status`], whose payload is the reason as UTF-8):
//!
//! | kind | reads of [`Call`] | status and payload |
//! |---|---|---|
//! | format | document, source, options | [`status::TEXT`]: UTF-8, or [`status::BYTES`] |
//! | filter | document, options | [`status::BYTES`]: the mask, a bit a node |
//! | extractor | document, source, options | [`status::TEXT`]: one JSON value |
//! | chunker | text, options | [`status::SPANS`]: pairs of `u32` start and end, native byte order, aligned to four bytes |

/// Version of this interface. It changes with every change of a layout, a number or a rule in this file.
pub const VERSION: u32 = 1;

/// Names of the five functions.
pub mod symbol {
    /// Gives [`VERSION`](super::VERSION).
    pub const ABI: &str = "trawl_plugin_abi";
    /// Gives the [`kind`](super::kind).
    pub const KIND: &str = "trawl_plugin_kind";
    /// Describes the plugin.
    pub const DESCRIBE: &str = "trawl_plugin_describe";
    /// Calls the plugin.
    pub const CALL: &str = "trawl_plugin_call";
    /// Gives a reply back.
    pub const FREE: &str = "trawl_plugin_free";
}

/// Kinds of plugins.
pub mod kind {
    /// Turns a page into content.
    pub const FORMAT: u32 = 1;
    /// Decides which nodes stay.
    pub const FILTER: u32 = 2;
    /// Reads fields out of a page.
    pub const EXTRACTOR: u32 = 3;
    /// Splits a text.
    pub const CHUNKER: u32 = 4;
}

/// How a call ended.
pub mod status {
    /// Success; the payload is UTF-8.
    pub const TEXT: u32 = 0;
    /// Success; the payload is bytes.
    pub const BYTES: u32 = 1;
    /// Success; the payload is pairs of `u32`.
    pub const SPANS: u32 = 2;
    /// The options make no sense; the payload says which and why.
    pub const INVALID_OPTIONS: u32 = 16;
    /// The plugin cannot handle this page; the payload says why.
    pub const UNSUPPORTED: u32 = 17;
    /// Anything else; the payload says what.
    pub const FAILED: u32 = 18;
    /// The plugin panicked: a bug in it. The payload is the panic's message.
    pub const PANICKED: u32 = 19;
}

/// A run of values of the caller. With length 0 the pointer may be anything, null too; otherwise it is aligned and points to `length` values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice<T> {
    /// The first value.
    pub pointer: *const T,
    /// Number of values (not bytes).
    pub length: usize,
}

impl<T> Slice<T> {
    /// A run without values.
    pub const EMPTY: Self = Self {
        pointer: std::ptr::null(),
        length: 0,
    };

    /// The run of these values. Who makes it keeps them in place until the call is over.
    pub const fn of(values: &[T]) -> Self {
        Self {
            pointer: values.as_ptr(),
            length: values.len(),
        }
    }
}

/// The record `document` of `wit/document/1`, field by field and under the same rules. Slices of bytes that are strings there hold UTF-8.
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
    /// One a node.
    pub kinds: Slice<u8>,
    /// One a node.
    pub parents: Slice<u32>,
    /// One a node.
    pub ends: Slice<u32>,
    /// One a node.
    pub names: Slice<u32>,
    /// One a node.
    pub starts: Slice<u32>,
    /// One a node.
    pub counts: Slice<u32>,
    /// One an attribute.
    pub attribute_names: Slice<u32>,
    /// One an attribute.
    pub attribute_starts: Slice<u32>,
    /// One an attribute.
    pub attribute_lengths: Slice<u32>,
    /// UTF-8.
    pub name_text: Slice<u8>,
    /// One a name.
    pub name_ends: Slice<u32>,
    /// One a name.
    pub name_spaces: Slice<u8>,
    /// UTF-8.
    pub text: Slice<u8>,
    /// A bit a node, or empty for all.
    pub kept: Slice<u8>,
}

/// The record `source` of `wit/document/1`. `text` and `body` are empty unless `describe` asked for them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// UTF-8.
    pub text: Slice<u8>,
    /// As received.
    pub body: Slice<u8>,
    /// UTF-8.
    pub content_type: Slice<u8>,
    /// UTF-8.
    pub charset: Slice<u8>,
}

/// Arguments of one call. A pointer that the kind does not read may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The page; null for a chunker.
    pub document: *const Document,
    /// What goes with the page; null for a filter and a chunker.
    pub source: *const Source,
    /// The text to split, UTF-8; empty for the other kinds.
    pub text: Slice<u8>,
    /// A JSON object as UTF-8.
    pub options: Slice<u8>,
}

/// What a call came to. The payload belongs to the plugin until `trawl_plugin_free`.
#[repr(C)]
#[derive(Debug)]
pub struct Reply {
    /// One of [`status`].
    pub status: u32,
    /// First byte of the payload.
    pub pointer: *mut u8,
    /// Bytes of the payload, whatever it is made of.
    pub length: usize,
    /// The plugin's own; leave it as it is.
    pub capacity: usize,
}

impl Reply {
    /// A reply to be written to. Giving it back does nothing.
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
/// Type of `trawl_plugin_call`. Both pointers must be valid, and so must all that [`Call`] points to.
pub type CallFn = unsafe extern "C" fn(*const Call, *mut Reply);
