//! Conformance suites: one per store trait, for every back end.
//!
//! A case takes the trait that it tests, so it runs on any implementation. `conformance!` declares
//! one test per case and back end, each on a fresh store. To test another back end, write a
//! function that opens an empty store of it, and add a line at the end, with the attribute of its
//! tests that says when they are ignored.

mod contacts;
mod crawls;
pub(crate) mod fixtures;
mod ledger;
mod outbox;
mod totals;

use std::sync::Arc;

use crate::postgres::PostgresStore;
use crate::postgres::server::Server;
use crate::sqlite::SqliteStore;
use crate::{DataDir, Store};

/// An empty store, and whatever must outlive it.
struct Fresh<T> {
    store: Arc<dyn Store>,
    _guard: T,
}

macro_rules! conformance {
    (#[$when:meta] $backend:ident: $open:path) => {
        mod $backend {
            conformance! { #[$when] ledger::accounts as accounts on $open, without accounts:
                an_account_is_created_atomically,
                a_revoked_key_is_gone,
                keys_are_listed_with_uses_and_revocation,
                the_budget_of_a_key_is_set_and_removed,
                charges_of_a_key_are_added_up_by_month,
                notices_are_read_back,
                answers_are_stored_until_they_expire,
                a_subscription_and_its_charge_are_written_together,
                prices_are_appended,
            }
            conformance! { #[$when] ledger::entries as entries on $open, without accounts:
                a_repeated_entry_is_skipped,
                only_the_entry_that_overdraws_is_refused,
                open_reserves_are_found_anywhere_in_the_ledger,
                the_outstanding_allotment_of_a_run_is_open,
                the_charges_of_a_run_are_listed_by_id,
                a_statement_is_paged_within_its_window,
                usage_is_summed_by_account,
                usage_is_summed_by_day,
                usage_is_summed_by_key,
            }
            conformance! { #[$when] crawls as crawls on $open, with accounts:
                a_crawl_is_read_back_in_every_state,
                only_a_parked_crawl_is_queued_again,
                an_ended_crawl_is_reopened_with_another_request,
                batches_are_listed_apart,
                the_crawls_of_the_last_process_are_ended_parked_or_left,
                what_a_crawl_left_out_is_counted_with_its_bytes,
                the_first_end_of_a_crawl_stays,
                progress_is_atomic_and_idempotent,
                contents_are_read_back_with_the_pages_that_failed,
                every_url_state_is_read_back,
                crawls_are_listed_with_their_url,
                expired_crawls_are_deleted_completely,
                lists_are_paged,
            }
            conformance! { #[$when] outbox as outbox on $open, with accounts:
                events_are_stored_until_they_are_delivered,
                accounts_have_channels_of_their_own,
                a_channel_that_was_served_goes_behind_the_others,
                a_batch_is_a_window_of_bytes,
                lists_are_paged,
                a_secret_is_generated_once_and_renewed,
                a_replaced_secret_signs_for_a_while,
            }
            conformance! { #[$when] contacts as contacts on $open, with accounts:
                contacts_are_merged_and_listed,
            }
            conformance! { #[$when] totals as totals on $open, with accounts:
                totals_follow_every_row,
                a_repeated_batch_is_counted_once,
                expired_answers_are_deleted,
            }
        }
    };
    (#[$when:meta] $($suite:ident)::+ as $name:ident on $open:path, without accounts: $($case:ident,)*) => {
        mod $name {
            use $crate::conformance::$($suite)::+ as suite;
            $(#[tokio::test]
            #[$when]
            async fn $case() {
                let fresh = $open().await;
                suite::$case(&*fresh.store).await;
                fresh.store.close().await;
            })*
        }
    };
    (#[$when:meta] $($suite:ident)::+ as $name:ident on $open:path, with accounts: $($case:ident,)*) => {
        mod $name {
            use $crate::conformance::$($suite)::+ as suite;
            use $crate::conformance::fixtures::with_accounts;
            $(#[tokio::test]
            #[$when]
            async fn $case() {
                let fresh = $open().await;
                with_accounts(&*fresh.store).await;
                suite::$case(&*fresh.store).await;
                fresh.store.close().await;
            })*
        }
    };
}

async fn open_sqlite() -> Fresh<tempfile::TempDir> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = SqliteStore::open(data).await.expect("a store");
    Fresh {
        store: Arc::new(store),
        _guard: directory,
    }
}

async fn open_postgres() -> Fresh<(tempfile::TempDir, Arc<Server>)> {
    let server = Server::shared();
    let url = server.database().await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = PostgresStore::open(data, &url).await.expect("a store");
    Fresh {
        store: Arc::new(store),
        _guard: (directory, server),
    }
}

conformance! { #[cfg(test)] sqlite: crate::conformance::open_sqlite }
conformance! {
    #[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
    postgres: crate::conformance::open_postgres
}
