//! `trawl bot`: how the server names itself to sites.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use trawl_model::secret::Secret;
use trawl_net::signatures::BotKey;

use super::standard_output::print;

/// Mode of a key file: its owner alone reads it.
const PRIVATE: u32 = 0o600;

#[derive(Debug, Subcommand)]
pub(super) enum BotCommand {
    /// Make the key that signs requests to sites, and print its thumbprint.
    Key(KeyArgs),
}

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// The file to make, for `bot.key_file`. It must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(command: BotCommand) -> anyhow::Result<()> {
    match command {
        BotCommand::Key(args) => {
            let text = BotKey::generate()?;
            let key = BotKey::read(&text)?;
            let written = write(&args.file, &text);
            written.with_context(|| format!("cannot make `{}`", args.file.display()))?;
            print(key.thumbprint())
        }
    }
}

/// Writes a key to a new file.
fn write(path: &Path, key: &Secret) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)?;
    file.write_all(key.expose().as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_file_is_private_and_never_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bot.pem");
        let make = || run(BotCommand::Key(KeyArgs { file: file.clone() }));
        make().expect("a key");
        let mode = std::fs::metadata(&file)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, PRIVATE);
        let text = std::fs::read_to_string(&file).expect("a key");
        BotKey::read(&Secret::new(text.as_str())).expect("a key");
        let refusal = format!("{:#}", make().expect_err("it exists"));
        assert!(refusal.contains("bot.pem"), "{refusal}");
        assert_eq!(std::fs::read_to_string(&file).expect("a key"), text);
    }
}
