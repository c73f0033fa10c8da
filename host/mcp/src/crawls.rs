//! Crawls: begin, follow, read, stop.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::ask::{Refusal, ask, delete, get, on_a_thread, post, read};
use crate::found::{Costs, Found, Item};
use crate::interface::{Answer, Interface};
use crate::progress::Progress;
use crate::schema::object;
use crate::write::{Part, Reply, write};

/// How often a crawl is looked at that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Pages that are read for one answer.
const PAGES_MAX: usize = 20;

/// Begins a crawl in the background.
///
/// # Errors
/// The interface refuses it.
pub(crate) async fn begin(
    interface: &dyn Interface,
    arguments: Arguments,
) -> Result<Reply, Refusal> {
    let request = post("/crawl", arguments.parameters).await?;
    let answer = ask(interface, request).await?;
    let begun = object(read(&answer.body)?);
    let id = begun.get("id").and_then(Value::as_str).unwrap_or_default();
    let mut text = format!(
        "Crawl {id} has begun. `crawl_status` follows it, `crawl_pages` reads its pages, `crawl_stop` \
         ends it."
    );
    if let Some(ignored) = answer.without_effect() {
        text = format!("{text}\n{ignored}");
    }
    Ok(Reply::free(text, begun))
}

/// Says how far a crawl is; waits for its end for as long as the call says.
///
/// # Errors
/// There is no such crawl.
pub(crate) async fn status(
    interface: &dyn Interface,
    arguments: &Arguments,
    progress: &Progress,
) -> Result<Reply, Refusal> {
    let path = format!("/crawl/{}", arguments.id()?);
    let until = Instant::now() + Duration::from_secs(arguments.wait_seconds()?);
    let mut reported = 0;
    loop {
        let state = state(&ask(interface, get(&path)).await?)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || state.is_over() {
            return Ok(state.reply());
        }
        if state.pages() > reported {
            reported = state.pages();
            progress.report(reported, state.limit(), state.text()).await;
        }
        tokio::time::sleep(LOOK_AGAIN.min(left)).await;
    }
}

/// Stops a crawl.
///
/// # Errors
/// There is no such crawl.
pub(crate) async fn stop(
    interface: &dyn Interface,
    arguments: &Arguments,
) -> Result<Reply, Refusal> {
    let path = format!("/crawl/{}", arguments.id()?);
    let answer = ask(interface, delete(&path)).await?;
    Ok(state(&answer)?.reply())
}

/// Returns pages of a crawl.
///
/// # Errors
/// There is no such crawl, or the cursor is not valid.
pub(crate) async fn pages(
    interface: &dyn Interface,
    arguments: &Arguments,
) -> Result<Reply, Refusal> {
    let part = arguments.part()?;
    let id = arguments.id()?.to_owned();
    let first = part.cursor.as_ref().map_or(0, |cursor| cursor.item);
    let answer = match ask(interface, get(&stored(&id, first, PAGES_MAX))).await {
        Err(refusal) if refusal.is_too_large => ask(interface, get(&stored(&id, first, 1))).await?,
        answer => answer?,
    };
    on_a_thread(move || write_pages(&answer, &id, &part)).await
}

/// The path of the pages of a crawl after the first so many.
pub(crate) fn stored(id: &str, after: usize, limit: usize) -> String {
    format!("/crawl/{id}/pages?cursor={after}&limit={limit}")
}

/// The URI of a page of a crawl, which are numbered from 1.
pub(crate) fn uri(id: &str, number: usize) -> String {
    format!("trawl://crawl/{id}/page/{number}")
}

fn write_pages(answer: &Answer, id: &str, part: &Part) -> Result<Reply, Refusal> {
    let first = part.cursor.as_ref().map_or(0, |cursor| cursor.item);
    let mut found = Found {
        first,
        // Absent after the last page of a crawl that has ended.
        has_more: answer.header("x-next-cursor").is_some(),
        // They were paid when they were fetched.
        costs: Costs::default(),
        ..Found::pages(read(&answer.body)?)
    };
    for (number, item) in (first + 1..).zip(&mut found.items) {
        item.add("resource", "Resource", &uri(id, number));
    }
    if found.items.is_empty() {
        let note = match found.has_more {
            true => "No other page has finished yet.",
            false => "There are no more pages.",
        };
        found.notes.push(note.to_owned());
    }
    let mut reply = write(&found, part)?;
    // A failed page is no failed call here: the crawl has more to say.
    reply.is_error = false;
    Ok(reply)
}

/// The content of a page of a crawl; `None` if there is no such page.
///
/// # Errors
/// There is no such crawl.
pub(crate) async fn page(
    interface: &dyn Interface,
    id: &str,
    number: usize,
) -> Result<Option<String>, Refusal> {
    let Some(after) = number.checked_sub(1) else {
        return Ok(None);
    };
    let answer = ask(interface, get(&stored(id, after, 1))).await?;
    on_a_thread(move || {
        let entry = match read(&answer.body)? {
            Value::Array(mut entries) => entries.pop(),
            _ => None,
        };
        let item = entry.map(Item::page);
        Ok(item.map(|item| match item.has_failed {
            true => format!("{}\n\n{}", item.head, item.text),
            false => item.text,
        }))
    })
    .await
}

/// The state of a crawl.
struct State(Map<String, Value>);

fn state(answer: &Answer) -> Result<State, Refusal> {
    Ok(State(object(read(&answer.body)?)))
}

impl State {
    fn word(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn count(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    fn pages(&self) -> u64 {
        self.count("pages")
    }

    /// The most pages that it fetches, if that is limited.
    fn limit(&self) -> Option<u64> {
        let limit = self.0.get("request")?.get("limit")?.as_u64();
        limit.filter(|limit| *limit > 0)
    }

    /// Whether it does nothing more by itself.
    fn is_over(&self) -> bool {
        ["ended", "parked"].contains(&self.word("state"))
    }

    fn text(&self) -> String {
        let mut text = format!(
            "Crawl {} is {}: {} pages, {} of them failed",
            self.word("id"),
            self.word("state"),
            self.pages(),
            self.count("failed")
        );
        let reason = self.word("stop_reason");
        if !reason.is_empty() {
            text = format!("{text}; it stopped because of `{reason}`");
        }
        text
    }

    fn reply(mut self) -> Reply {
        let mut costs = Costs::default();
        costs.add(self.0.get("costs").unwrap_or(&Value::Null));
        let text = format!(
            "{}\nCost of the crawl so far: ${}",
            self.text(),
            costs.total().dollars_text()
        );
        // It is what the agent has said, with everything that it has not.
        self.0.remove("request");
        Reply::free(text, self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_a_sentence() {
        let state = State(object(json!({
            "id": "c1", "state": "ended", "stop_reason": "limit", "pages": 3, "failed": 1,
            "request": {"limit": 3}, "costs": {"total_cost": 0.5, "credits": "5000"},
        })));
        assert!(state.is_over());
        assert_eq!(state.limit(), Some(3));
        let reply = state.reply();
        let text = "Crawl c1 is ended: 3 pages, 1 of them failed; it stopped because of `limit`\n\
                    Cost of the crawl so far: $0.5";
        assert_eq!(reply.text, text);
        assert_eq!(reply.structured["costs"]["credits"], "5000");
        assert_eq!(reply.structured.get("request"), None);
        let unlimited = State(object(json!({"state": "running", "request": {"limit": 0}})));
        assert_eq!((unlimited.limit(), unlimited.is_over()), (None, false));
    }

    #[test]
    fn pages_have_the_numbers_of_their_resources() {
        assert_eq!(uri("c1", 7), "trawl://crawl/c1/page/7");
        assert_eq!(stored("c1", 6, 1), "/crawl/c1/pages?cursor=6&limit=1");
    }
}
