//! Why an operator's request failed.

use std::path::PathBuf;

use trawl_billing::BillingError;
use trawl_store::StoreError;

/// Why the control socket is not usable, or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The request cannot be carried out. The text is for the operator.
    #[error("{0}")]
    Refused(String),
    /// An invalid value.
    #[error("{field}: {reason}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// What is wrong with the value.
        reason: String,
    },
    /// A process has locked the data directory but does not answer.
    #[error("{in_use}; it does not answer at `{socket}`, if it is starting try again")]
    NoAnswer {
        /// The process that holds the lock.
        in_use: StoreError,
        /// The socket it should listen on.
        socket: PathBuf,
    },
    /// The socket could not be created.
    #[error("the control socket `{path}` cannot be opened")]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The connection to the server broke.
    #[error("the connection to the running server broke; `trawl account list` shows what was done")]
    Broken(#[source] std::io::Error),
    /// The reply of the server could not be decoded.
    #[error("the running server is of another version than this program: use the same one")]
    Version(#[source] serde_json::Error),
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Billing failed.
    #[error(transparent)]
    Billing(#[from] BillingError),
}
