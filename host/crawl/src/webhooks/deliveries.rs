//! The last deliveries of each account, in memory: what was sent when, and what the receiver
//! answered. Decision D531.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;

use trawl_model::clock::Timestamp;
use trawl_model::redact::shown_url;
use trawl_store::{AccountId, OutboxRow};

/// Deliveries of an account that are remembered.
const DELIVERIES_MAX: usize = 50;
/// Accounts whose deliveries are remembered: those that sent something last.
const ACCOUNTS_MAX: usize = 500;
/// Characters of a text of a delivery that are remembered.
const CHARS_MAX: usize = 200;

/// An attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Id of the event.
    pub id: String,
    /// Its kind.
    pub event: String,
    /// URL of the receiver without its secrets.
    pub destination: String,
    /// When the attempt began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Status of the answer; `None` if there was none.
    pub status: Option<u16>,
    /// Beginning of the answer's body; `None` without an answer.
    pub answer: Option<String>,
    /// Why there was no answer.
    pub error: Option<String>,
}

/// What a receiver answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its status.
    pub(super) status: StatusCode,
    /// Beginning of its body.
    pub(super) body: Vec<u8>,
}

impl Delivery {
    /// An attempt with this result: the answer, or why there was none.
    pub(super) fn new(
        row: &OutboxRow,
        (at, took): (Timestamp, Duration),
        result: &Result<Answer, String>,
    ) -> Self {
        let answer = result.as_ref().ok();
        let body = answer.map(|answer| String::from_utf8_lossy(&answer.body));
        Self {
            id: row.id.clone(),
            event: row.event.clone(),
            destination: beginning(&shown_url(&row.destination)),
            at,
            took,
            attempt: row.n_attempts.saturating_add(1),
            status: answer.map(|answer| answer.status.as_u16()),
            answer: body.map(|body| beginning(&body)),
            error: result.as_ref().err().map(|reason| beginning(reason)),
        }
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(CHARS_MAX).collect()
}

/// The last deliveries of each account, oldest first.
#[derive(Debug, Default)]
pub(super) struct Deliveries(Mutex<HashMap<AccountId, VecDeque<Delivery>>>);

impl Deliveries {
    /// Remembers a delivery in place of the oldest one of its account, and a further account in
    /// place of the one that sent nothing for the longest time.
    pub(super) fn note(&self, account: &AccountId, delivery: Delivery) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= ACCOUNTS_MAX && !accounts.contains_key(account) {
            let last = |deliveries: &VecDeque<Delivery>| deliveries.back().map(|last| last.at);
            let idle = accounts
                .iter()
                .min_by_key(|(_, deliveries)| last(deliveries));
            if let Some(idle) = idle.map(|(account, _)| account.clone()) {
                accounts.remove(&idle);
            }
        }
        let deliveries = accounts.entry(account.clone()).or_default();
        if deliveries.len() >= DELIVERIES_MAX {
            deliveries.pop_front();
        }
        deliveries.push_back(delivery);
    }

    /// The last deliveries of an account, newest first.
    pub(super) fn of(&self, account: &AccountId) -> Vec<Delivery> {
        let accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let deliveries = accounts.get(account).into_iter().flatten();
        deliveries.rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(at: i64) -> Delivery {
        let row = OutboxRow {
            id: at.to_string(),
            account: AccountId::new("acc_1"),
            destination: "https://u:canary@you.example/hook?token=canary".to_owned(),
            event: "on_find".to_owned(),
            body: "{}".to_owned(),
            created: Timestamp(0),
            due: Timestamp(0),
            n_attempts: 2,
            last_failure: None,
        };
        let answer = Answer {
            status: StatusCode::IM_A_TEAPOT,
            body: "é".repeat(CHARS_MAX + 9).into_bytes(),
        };
        Delivery::new(&row, (Timestamp(at), Duration::from_millis(7)), &Ok(answer))
    }

    #[test]
    fn a_delivery_has_its_answer_and_no_secret() {
        let delivery = delivery(1);
        assert_eq!((delivery.status, delivery.attempt), (Some(418), 3));
        let answer = delivery.answer.as_deref().expect("an answer");
        assert_eq!(answer.chars().count(), CHARS_MAX);
        assert_eq!(delivery.error, None);
        assert!(!delivery.destination.contains("canary"), "{delivery:?}");
    }

    #[test]
    fn the_last_ones_are_remembered() {
        let deliveries = Deliveries::default();
        let account = AccountId::new("acc_1");
        for at in 0..60 {
            deliveries.note(&account, delivery(at));
        }
        let listed = deliveries.of(&account);
        assert_eq!(listed.len(), DELIVERIES_MAX);
        assert_eq!(
            (listed[0].at, listed[49].at),
            (Timestamp(59), Timestamp(10))
        );
        assert_eq!(deliveries.of(&AccountId::new("acc_2")), []);
    }

    #[test]
    fn the_account_that_sent_nothing_for_longest_is_forgotten() {
        let deliveries = Deliveries::default();
        let account = |n: usize| AccountId::new(format!("acc_{n}"));
        for n in 0..=ACCOUNTS_MAX {
            let at = i64::try_from(n).expect("a small number");
            deliveries.note(&account(n), delivery(at));
        }
        assert_eq!(deliveries.of(&account(0)), []);
        assert_eq!(deliveries.of(&account(1)).len(), 1);
        assert_eq!(deliveries.of(&account(ACCOUNTS_MAX)).len(), 1);
    }
}
