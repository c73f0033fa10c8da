//! `trawl cluster`: the servers of one PostgreSQL database.

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use trawl_store::postgres::{DatabaseStatus, PostgresUrl, Verified, status, verify};

use super::standard_output::print;

/// The command.
#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Show which server has the database, and whether PostgreSQL waits for its standbys.
    Status(DatabaseArgs),
    /// Compare balances, reservations, seats and totals with the rows of the database, also while
    /// servers use it. Prints a line for each that differs, and exits with an error then.
    Verify(DatabaseArgs),
}

#[derive(Debug, Args)]
pub(super) struct DatabaseArgs {
    /// PostgreSQL database of the servers.
    #[arg(long, value_name = "URL", env = "TRAWL_STORE", hide_env_values = true)]
    store: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl DatabaseArgs {
    fn url(&self) -> anyhow::Result<PostgresUrl> {
        let url = self.store.as_deref();
        let url = url.context("name the database by `--store` or TRAWL_STORE")?;
        // The text is not repeated, because it may have a password.
        let url = url.parse::<PostgresUrl>();
        url.context("`--store` or TRAWL_STORE cannot be used")
    }
}

/// Runs one command and prints its result.
///
/// # Errors
/// The database cannot be reached or used, or its sums are wrong.
pub(super) async fn run(command: ClusterCommand) -> anyhow::Result<()> {
    match command {
        ClusterCommand::Status(args) => {
            let status = status(&args.url()?).await?;
            print(&match args.json {
                true => format!("{:#}", json_of(&status)),
                false => text_of(&status),
            })
        }
        ClusterCommand::Verify(args) => {
            let verified = verify(&args.url()?).await?;
            print(&match args.json {
                true => format!("{:#}", json_of_verified(&verified)),
                false => text_of_verified(&verified),
            })?;
            let is_consistent = verified.disagreements.is_empty();
            anyhow::ensure!(is_consistent, "the database is inconsistent");
            Ok(())
        }
    }
}

fn json_of_verified(verified: &Verified) -> Value {
    json!({
        "database": verified.database,
        "accounts": verified.n_accounts,
        "entries": verified.n_entries,
        "disagreements": verified.disagreements,
    })
}

fn text_of_verified(verified: &Verified) -> String {
    let (accounts, entries) = (verified.n_accounts, verified.n_entries);
    let counted = format!("{accounts} accounts, {entries} entries");
    if verified.disagreements.is_empty() {
        return format!("{counted}: every sum agrees with its rows");
    }
    format!("{counted}\n{}", verified.disagreements.join("\n"))
}

fn json_of(status: &DatabaseStatus) -> Value {
    let lease = status.lease.as_ref();
    json!({
        "database": status.database,
        "schema": status.schema,
        "lease_seconds": lease.map(|lease| lease.seconds),
        "address": lease.and_then(|lease| lease.address.as_deref()),
        "postgres_standbys": status.n_standbys,
        "is_synchronous": status.is_synchronous,
    })
}

fn text_of(status: &DatabaseStatus) -> String {
    let server = match &status.lease {
        None => "none: the next one takes the database at once".to_owned(),
        Some(lease) => {
            let address = lease
                .address
                .as_deref()
                .unwrap_or("at an address that is not known");
            format!(
                "{address}, its lease ends in {:.1} s unless it is renewed",
                lease.seconds
            )
        }
    };
    let standbys = match (status.n_standbys, status.is_synchronous) {
        (0, false) => "none".to_owned(),
        (n_standbys, true) => format!("{n_standbys}, a commit waits for them"),
        (n_standbys, false) => format!(
            "{n_standbys}, a commit does not wait for them: one that is promoted may lack what was confirmed"
        ),
    };
    let (database, schema) = (&status.database, status.schema);
    format!(
        "database             {database}\nschema               {schema}\nserver               {server}\nPostgreSQL standbys  {standbys}"
    )
}

#[cfg(test)]
mod tests {
    use trawl_store::postgres::DatabaseLease;

    use super::*;

    #[test]
    fn each_sum_that_differs_has_a_line() {
        let mut verified = Verified {
            database: "db.example:5432, database trawl".to_owned(),
            n_accounts: 2,
            n_entries: 7,
            disagreements: Vec::new(),
        };
        let text = text_of_verified(&verified);
        let expected = "2 accounts, 7 entries: every sum agrees with its rows";
        assert_eq!(text, expected);
        verified.disagreements = vec!["acc_1: one".to_owned(), "acc_2: two".to_owned()];
        let text = text_of_verified(&verified);
        assert_eq!(text, "2 accounts, 7 entries\nacc_1: one\nacc_2: two");
    }

    #[test]
    fn the_text_says_who_has_the_database_and_what_a_promotion_may_lose() {
        let mut status = DatabaseStatus {
            database: "db.example:5432, database trawl".to_owned(),
            schema: 3,
            lease: None,
            n_standbys: 0,
            is_synchronous: false,
        };
        let text = text_of(&status);
        assert!(text.contains("server               none"), "{text}");
        assert!(text.ends_with("standbys  none"), "{text}");
        status.lease = Some(DatabaseLease {
            seconds: 7.25,
            address: Some("10.0.0.5:8700".to_owned()),
        });
        status.n_standbys = 2;
        let text = text_of(&status);
        assert!(
            text.contains("10.0.0.5:8700, its lease ends in 7."),
            "{text}"
        );
        assert!(text.contains("2, a commit does not wait"), "{text}");
        status.is_synchronous = true;
        assert!(text_of(&status).contains("2, a commit waits"));
    }
}
