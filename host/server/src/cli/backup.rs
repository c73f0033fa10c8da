//! `trawl backup` and `trawl restore`: a copy of a data directory, and a data directory made of
//! one.

use std::path::PathBuf;

use clap::Args;

use super::standard_output::print;

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// Folder of the backup; created, or empty.
    #[arg(value_name = "DIR")]
    backup: PathBuf,
    /// Data directory, which a server may use.
    #[arg(long, value_name = "DIR", env = "TRAWL_DATA", default_value = "data")]
    data: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Folder of the backup.
    #[arg(value_name = "DIR")]
    backup: PathBuf,
    /// Data directory to make; created, or empty.
    #[arg(long, value_name = "DIR", env = "TRAWL_DATA", default_value = "data")]
    data: PathBuf,
}

/// Copies a data directory.
///
/// # Errors
/// It cannot be read or is damaged, or the folder cannot be written.
pub(super) async fn back_up(args: BackupArgs) -> anyhow::Result<()> {
    trawl_store::back_up(&args.data, &args.backup).await?;
    let (data, backup) = (args.data.display(), args.backup.display());
    print(&format!("backed up `{data}` to `{backup}`"))
}

/// Makes a data directory of a backup.
///
/// # Errors
/// It is no whole backup, or there is a data directory.
pub(super) async fn restore(args: RestoreArgs) -> anyhow::Result<()> {
    trawl_store::restore(&args.backup, &args.data).await?;
    let (data, backup) = (args.data.display(), args.backup.display());
    print(&format!("restored `{data}` from `{backup}`"))
}
