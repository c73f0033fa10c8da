//! Why a page could not be rendered.

use std::time::Duration;

use trawl_model::{Cause, PageFailure};

use super::cdp::CallError;
use super::config::SCRIPT_HEAP_MB;

/// Why a page could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No browser is installed.
    #[error(
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart"
    )]
    Missing,
    /// The browser does not start.
    #[error("the browser cannot be started: {0}")]
    Launch(String),
    /// No tab became free in time.
    #[error("no browser tab became free within {} s; try again later", .0.as_secs())]
    Busy(Duration),
    /// The page or the browser crashed.
    #[error("the browser crashed while it rendered the page")]
    Crashed,
    /// The page's own process crashed, and the browser did not.
    #[error(
        "the page crashed its process, as pages do whose scripts fill their memory of {} MB",
        SCRIPT_HEAP_MB
    )]
    PageCrashed,
    /// The browser failed to execute a command.
    #[error("the browser failed: {0}")]
    Protocol(String),
    /// The page could not be loaded.
    #[error("{1}")]
    Load(Cause, String),
    /// The page did not finish before its deadline.
    #[error("the page did not render within {} s", .0.as_secs_f64().round())]
    TimedOut(Duration),
    /// The page used more memory than it may.
    #[error(
        "the page used too much memory and was stopped; ask for `request: \"http\"`, or block what it does not need"
    )]
    Memory,
    /// The screenshot was not captured in time.
    #[error(
        "the browser did not capture the screenshot within {} s; ask for a smaller one or for none",
        .0.as_secs()
    )]
    Screenshot(Duration),
    /// The page has more of something than it may.
    #[error("the page has more than {1} {0} at once, the limit of a page")]
    TooMany(&'static str, usize),
    /// The page made the browser report something too large to be read.
    #[error("the page made the browser send a message of {0} bytes, more than is read of one page")]
    Oversize(u64),
    /// The page's HTML is too large.
    #[error("the page's HTML is larger than {0} bytes, the limit of a page")]
    DocumentTooLarge(usize),
    /// The URL is a large file.
    #[error(
        "the URL is a file of more than {0} bytes, the limit of the browser; use `request: \"http\"`"
    )]
    FileTooLarge(u64),
    /// The page loads more than it may.
    #[error("the page loads more than {0} bytes, the limit of a page")]
    TooLarge(u64),
}

impl RenderError {
    /// The failure of the page.
    pub fn failure(&self) -> PageFailure {
        let cause = match self {
            Self::Load(cause, _) => *cause,
            Self::TimedOut(_) => Cause::Timeout,
            Self::Missing => Cause::NoBrowser,
            Self::Busy(_) => Cause::BrowserBusy,
            Self::Launch(_) | Self::Crashed | Self::Protocol(_) => Cause::BrowserFailed,
            Self::Screenshot(_) => Cause::Screenshot,
            Self::Memory
            | Self::PageCrashed
            | Self::TooMany(..)
            | Self::Oversize(_)
            | Self::DocumentTooLarge(_)
            | Self::FileTooLarge(_)
            | Self::TooLarge(_) => Cause::PageLimit,
        };
        PageFailure::new(cause, self.to_string())
    }
}

impl From<CallError> for RenderError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Gone => Self::Crashed,
            CallError::Oversize(bytes) => Self::Oversize(bytes),
            other => Self::Protocol(other.to_string()),
        }
    }
}
