//! `trawl migrate`: moves a data directory into a PostgreSQL database.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use trawl_store::postgres::{Moved, PostgresUrl, move_data};
use trawl_store::{DataDir, Objects, ObjectsUrl};

use super::standard_output::print;

/// Options of `trawl migrate`.
#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    /// Data directory; no server may use it.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Empty PostgreSQL database: `postgres://user:password@host/database`, or the folder of its
    /// socket.
    #[arg(long, value_name = "URL", env = "TRAWL_STORE", hide_env_values = true)]
    to: String,
    /// Where the pages of crawls are copied to: `s3://bucket/prefix`, or `file:///folder` (default:
    /// they stay in the data directory).
    #[arg(long, env = "TRAWL_OBJECTS", value_name = "URL")]
    objects: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command and prints what was moved.
///
/// # Errors
/// The directory or the database cannot be used, or the copy was not the same.
pub(super) async fn run(args: MigrateArgs) -> anyhow::Result<()> {
    // The text is not repeated, because it may have a password.
    let url = args.to.parse::<PostgresUrl>();
    let url = url.context("`--to` or TRAWL_STORE cannot be used")?;
    let objects = args.objects.as_deref().map(open_objects).transpose()?;
    let data = DataDir::open(&args.from)?;
    let moved = move_data(data, &url, objects.as_ref()).await?;
    print(&match args.json {
        true => format!("{:#}", json_of(&moved)),
        false => text_of(&moved, &args),
    })
}

fn open_objects(url: &str) -> anyhow::Result<Objects> {
    let parsed = url.parse::<ObjectsUrl>();
    let parsed = parsed.context("`--objects` or TRAWL_OBJECTS cannot be used")?;
    Objects::open(&parsed).with_context(|| format!("cannot use `{parsed}`"))
}

fn json_of(moved: &Moved) -> Value {
    json!({
        "database": moved.database,
        "was_moved_before": moved.was_moved_before,
        "accounts": moved.n_accounts,
        "entries": moved.n_entries,
        "crawls": moved.n_crawls,
        "pages": moved.n_pages,
    })
}

fn text_of(moved: &Moved, args: &MigrateArgs) -> String {
    let from = args.from.display();
    let Moved {
        database,
        n_accounts,
        n_entries,
        n_crawls,
        n_pages,
        ..
    } = moved;
    let what = format!(
        "{n_accounts} accounts, {n_entries} ledger entries, {n_crawls} crawls with {n_pages} pages"
    );
    if moved.was_moved_before {
        return format!(
            "`{from}` was moved before, nothing was changed: {database} has its {what}"
        );
    }
    let next = match &args.objects {
        Some(objects) => {
            format!("start the server with `--data {from}`, `--store` and `--objects {objects}`")
        }
        None => format!(
            "start the server with `--data {from}` and `--store`: the pages of crawls stay there"
        ),
    };
    format!("moved to {database}: {what}\n`trawl.db` in `{from}` is not used any more; {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_was_moved_and_how_to_go_on() {
        let moved = |was_moved_before: bool| Moved {
            database: "db.example:5432, database trawl".to_owned(),
            was_moved_before,
            n_accounts: 2,
            n_entries: 7,
            n_crawls: 1,
            n_pages: 3,
        };
        let mut args = MigrateArgs {
            from: PathBuf::from("old"),
            to: String::new(),
            objects: None,
            json: false,
        };
        let text = text_of(&moved(false), &args);
        let begin = "moved to db.example:5432, database trawl: 2 accounts, 7 ledger entries, ";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("`--data old` and `--store`"), "{text}");
        args.objects = Some("s3://pages".to_owned());
        let text = text_of(&moved(false), &args);
        assert!(text.contains("`--objects s3://pages`"), "{text}");
        let text = text_of(&moved(true), &args);
        let expected = "was moved before, nothing was changed";
        assert!(text.contains(expected), "{text}");
    }
}
