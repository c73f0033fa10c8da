//! `trawl completions` and `trawl man`: what packages install for shells and for `man`, made from
//! the definitions of the commands.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::aot::{Shell, generate};

use super::standard_output::print_bytes;

/// Name of the program in scripts and pages.
const PROGRAM: &str = "trawl";

/// Options of `trawl completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell that is to complete commands.
    #[arg(value_enum)]
    shell: Shell,
}

/// Options of `trawl man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Folder for the pages; created if missing.
    dir: PathBuf,
}

/// Prints a shell's completion script of the program's commands.
pub(super) fn completions(args: &CompletionsArgs, program: Command) -> anyhow::Result<()> {
    Ok(print_bytes(&script(args.shell, program))?)
}

/// Writes a page for the program and one for each of its commands, `trawl-account-key.1` for one.
pub(super) fn man(args: &ManArgs, program: Command) -> anyhow::Result<()> {
    write_pages(&args.dir, program)
        .with_context(|| format!("cannot write manual pages to `{}`", args.dir.display()))
}

fn script(shell: Shell, mut program: Command) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut program, PROGRAM, &mut script);
    script
}

fn write_pages(dir: &Path, program: Command) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(program, dir)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    #[test]
    fn each_shell_completes_commands_and_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell, Cli::command())).expect("text");
            for word in ["account", "statement", "allow-private"] {
                assert!(script.contains(word), "{shell} has no `{word}`");
            }
        }
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("man");
        write_pages(&dir, Cli::command()).expect("written");
        for (page, text) in [
            ("trawl.1", "health"),
            ("trawl-serve.1", "TRAWL_LISTEN"),
            ("trawl-account-key-create.1", "budget"),
        ] {
            let written = std::fs::read_to_string(dir.join(page));
            let written = written.unwrap_or_else(|error| panic!("{page}: {error}"));
            assert!(written.contains(text), "{page}");
        }
    }
}
