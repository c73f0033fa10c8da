//! Settings of the renderer, and limits of pages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Pages open at once, unless configured otherwise: about 100 MB each, and four keep two cores
/// busy.
pub const TABS_MAX: usize = 8;
/// Bytes of one page's HTML as UTF-8, as for plain HTTP. With the default [`PAGE_BYTES_MAX`], the
/// memory of the page ends it first: the browser takes some hundred bytes for one of HTML.
pub const HTML_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a file that is not HTML: it is read in one message, which has up to six times as many.
/// Plain HTTP reads larger ones.
pub(crate) const FILE_BYTES_MAX: u64 = 10_000_000;
/// Decoded bytes that a page may load with all of its resources: as many as plain HTTP allows for
/// one page, so that both reserve the same amount. Heavy pages without videos have some 30 MB.
pub const LOADED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Memory of one page, unless configured otherwise: large applications use a third.
pub const PAGE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// JavaScript heap of one page, in megabytes: a page beyond it crashes alone. Large applications
/// use a tenth.
pub(crate) const SCRIPT_HEAP_MB: u32 = 512;

/// Settings of a [`Renderer`](crate::Renderer).
#[derive(Clone, Debug)]
pub struct RenderConfig {
    /// The browser's executable; `None` searches for one.
    pub program: Option<PathBuf>,
    /// The search path of executables: the value of `PATH`.
    pub search_path: OsString,
    /// The user account that the browser runs as when the server runs as root.
    pub user: String,
    /// Whether the browser runs without its sandbox.
    pub no_sandbox: bool,
    /// Pages open at once.
    pub tabs_max: usize,
    /// Pages of one owner open at once.
    pub tabs_per_owner: usize,
    /// Pages after which a process is replaced.
    pub pages_per_process: u32,
    /// Age after which a process is replaced.
    pub process_age_max: Duration,
    /// Private memory of a browser's processes at which it is replaced; at one and a half times as
    /// much, the page that grew most in the last seconds is killed at once.
    pub process_bytes_max: u64,
    /// Private memory of a page's process at which it is killed.
    pub page_bytes_max: u64,
    /// How long a page waits for a tab.
    pub tab_wait_max: Duration,
}

impl Default for RenderConfig {
    fn default() -> Self {
        Self {
            program: None,
            search_path: OsString::from("/usr/local/bin:/usr/bin:/bin"),
            user: "nobody".to_owned(),
            no_sandbox: false,
            tabs_max: TABS_MAX,
            tabs_per_owner: TABS_MAX,
            pages_per_process: 200,
            process_age_max: Duration::from_secs(30 * 60),
            process_bytes_max: 2 * 1024 * 1024 * 1024,
            page_bytes_max: PAGE_BYTES_MAX,
            tab_wait_max: Duration::from_secs(30),
        }
    }
}
