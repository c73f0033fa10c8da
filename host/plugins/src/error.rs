//! What goes wrong with plugins: when they are called, and when they are loaded.

use std::path::PathBuf;

use trawl_model::PluginKind;

/// A call of a plugin that gave no result. Its text is fit for a page's `error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{plugin}` {fault}")]
pub struct PluginError {
    /// PluginKind of the plugin.
    pub kind: PluginKind,
    /// Name the operator gave it.
    pub plugin: String,
    /// What happened.
    pub fault: Fault,
}

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The plugin broke down: a trap, a panic, or a host call it may not make.
    #[error("broke down: {reason}")]
    Trap {
        /// What the engine says of it.
        reason: String,
    },
    /// The call took longer than the plugin may.
    #[error("ran out of time: used {used_ms} ms, allowed {allowed_ms} ms")]
    OutOfTime {
        /// Milliseconds until it was stopped.
        used_ms: u64,
        /// Milliseconds allowed.
        allowed_ms: u64,
    },
    /// The plugin wanted more memory than it may have.
    #[error("ran out of memory: wanted {wanted_mib} MiB, allowed {allowed_mib} MiB")]
    OutOfMemory {
        /// Mebibytes it would have had, rounded up.
        wanted_mib: u64,
        /// Mebibytes allowed.
        allowed_mib: u64,
    },
    /// The result is larger than the plugin may return.
    #[error("returned too much: {}, allowed {allowed_mib} MiB", used(*.used_bytes))]
    OutputTooLarge {
        /// Bytes of the result; `None` when it was refused before it was counted.
        used_bytes: Option<u64>,
        /// Mebibytes allowed.
        allowed_mib: u64,
    },
    /// The page is larger than the plugin takes.
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
    /// The plugin cannot handle this page.
    #[error("cannot handle this page: {0}")]
    Unsupported(String),
    /// The plugin gave up.
    #[error("failed: {0}")]
    Failed(String),
    /// The result breaks the contract.
    #[error("returned something the contract forbids: {0}")]
    Lied(String),
}

impl Fault {
    /// Whether the plugin itself misbehaved, rather than answered that it cannot do this.
    pub fn is_trap(&self) -> bool {
        !matches!(
            self,
            Self::InvalidOptions(_)
                | Self::Unsupported(_)
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

/// Why plugins could not be loaded. One sentence: which plugin, what was wanted, what was found, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The manifest cannot be read or breaks its rules.
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
        /// PluginKind the manifest gives it.
        kind: PluginKind,
        /// Name the manifest gives it.
        plugin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A component file that stands alone cannot be used.
    #[error("`{}`: {reason}", path.display())]
    Component {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine cannot be set up on this machine.
    #[error("the plugin engine cannot start: {reason}")]
    Engine {
        /// What the engine says.
        reason: String,
    },
}
