//! Errors of calling and of loading plugins.

use std::path::PathBuf;

use trawl_model::PluginKind;

/// A failed call of a plugin. Its message is suitable for a page's `error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{plugin}` {fault}")]
pub struct PluginError {
    /// Kind of the plugin.
    pub kind: PluginKind,
    /// Name in the manifest.
    pub plugin: String,
    /// The cause.
    pub fault: Fault,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The plugin crashed: a trap, a panic, or a forbidden host call.
    #[error("crashed: {reason}")]
    Trap {
        /// The engine's message.
        reason: String,
    },
    /// The call exceeded its time limit.
    #[error("ran out of time: used {used_ms} ms, allowed {allowed_ms} ms")]
    OutOfTime {
        /// Milliseconds until it was interrupted.
        used_ms: u64,
        /// Milliseconds allowed.
        allowed_ms: u64,
    },
    /// The plugin exceeded its memory limit.
    #[error("ran out of memory: requested {wanted_mib} MiB, allowed {allowed_mib} MiB")]
    OutOfMemory {
        /// Mebibytes requested in total, rounded up.
        wanted_mib: u64,
        /// Mebibytes allowed.
        allowed_mib: u64,
    },
    /// The result exceeds the output limit.
    #[error("returned {}, the limit is {allowed_mib} MiB", used(*.used_bytes))]
    OutputTooLarge {
        /// Bytes of the result; `None` when copying it was aborted.
        used_bytes: Option<u64>,
        /// Mebibytes allowed.
        allowed_mib: u64,
    },
    /// The page exceeds the input limit.
    #[error("does not take a page of {used_bytes} bytes once parsed, allowed {allowed_mib} MiB")]
    InputTooLarge {
        /// Bytes that would be copied to the plugin.
        used_bytes: u64,
        /// Mebibytes allowed.
        allowed_mib: u64,
    },
    /// The plugin refuses the options.
    #[error("refuses its options: {0}")]
    InvalidOptions(String),
    /// The plugin does not support this page.
    #[error("cannot handle this page: {0}")]
    Unsupported(String),
    /// The document is damaged.
    #[error("cannot read the document: {0}")]
    Damaged(String),
    /// The document needs a password.
    #[error("cannot open the document: {0}")]
    Encrypted(String),
    /// The document exceeds a limit of its decoder.
    #[error("stopped at a limit: {0}")]
    Limit(String),
    /// The plugin failed.
    #[error("failed: {0}")]
    Failed(String),
    /// The result violates the contract.
    #[error("returned something the contract forbids: {0}")]
    Lied(String),
}

impl Fault {
    /// Whether the plugin misbehaved, rather than returned a failure.
    pub fn is_trap(&self) -> bool {
        !matches!(
            self,
            Self::InvalidOptions(_)
                | Self::Unsupported(_)
                | Self::Damaged(_)
                | Self::Encrypted(_)
                | Self::Limit(_)
                | Self::Failed(_)
                | Self::InputTooLarge { .. }
        )
    }
}

fn used(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "more than allowed".to_owned(),
        |bytes| format!("{bytes} bytes"),
    )
}

/// Why plugins could not be loaded. One sentence: which plugin, what was expected, what was found,
/// what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The manifest cannot be read or is invalid.
    #[error("plugin manifest `{}`: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// One plugin cannot be loaded.
    #[error("{kind} `{plugin}`: {reason}")]
    Plugin {
        /// Kind in the manifest.
        kind: PluginKind,
        /// Name in the manifest.
        plugin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A component file given on the command line cannot be used.
    #[error("`{}`: {reason}", path.display())]
    Component {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine cannot start on this machine.
    #[error("the plugin engine cannot start: {reason}")]
    Engine {
        /// The engine's message.
        reason: String,
    },
}
