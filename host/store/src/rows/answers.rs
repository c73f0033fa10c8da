//! Stored answers.

use bytes::Bytes;

use trawl_model::clock::Timestamp;

use super::{StoredRow, bytes_column, column, number};
use crate::{Answer, StoreError, StoredAnswer};

/// The `status` of a request that has not ended.
const BEGUN: i64 = 0;

/// The status of an answer as the column has it.
pub(crate) fn answer_status(stored: &StoredAnswer) -> Option<i64> {
    match stored.has_ended {
        true => stored
            .answer
            .as_ref()
            .map(|answer| i64::from(answer.status)),
        false => Some(BEGUN),
    }
}

/// The headers as the column has them: a JSON array of pairs, `NULL` for none.
pub(crate) fn answer_headers(answer: &Answer) -> Option<String> {
    let headers = Some(&answer.headers).filter(|headers| !headers.is_empty())?;
    serde_json::to_string(headers).ok()
}

/// An answer with its body, which is read apart.
pub(crate) fn stored_answer(row: &impl StoredRow, body: Bytes) -> Result<StoredAnswer, StoreError> {
    let status: Option<i64> = column(row, "status")?;
    let answer = match status {
        None | Some(BEGUN) => None,
        Some(_) => Some(Answer {
            status: number(row, "status")?,
            content_type: column(row, "content_type")?,
            headers: headers(row)?,
            body,
        }),
    };
    Ok(StoredAnswer {
        body_hash: bytes_column(row, "body_hash")?,
        has_ended: status != Some(BEGUN),
        answer,
        at: Timestamp(column(row, "at")?),
    })
}

fn headers(row: &impl StoredRow) -> Result<Vec<(String, String)>, StoreError> {
    match column::<Option<&str>>(row, "headers")? {
        None => Ok(Vec::new()),
        Some(json) => {
            serde_json::from_str(json).map_err(|_| StoreError::Unreadable { what: "headers" })
        }
    }
}
