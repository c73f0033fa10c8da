//! The calls of tools: requests to the interface, and what comes back.

use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::ask::{Refusal, ask, on_a_thread, post, read};
use crate::crawls;
use crate::found::Found;
use crate::interface::{Answer, Interface};
use crate::progress::Progress;
use crate::tools::{ToolRow, Work};
use crate::write::{Part, Reply, write};

/// Runs a tool.
///
/// # Errors
/// An argument is not valid, or the interface refuses the request.
pub(crate) async fn call(
    interface: &dyn Interface,
    row: &ToolRow,
    given: Map<String, Value>,
    progress: &Progress,
) -> Result<Reply, Refusal> {
    let arguments = Arguments::read(row, given)?;
    match row.work {
        Work::Pages(path) => {
            let part = arguments.part()?;
            let request = post(path, arguments.parameters).await?;
            let answer = ask(interface, request).await?;
            written(answer, part, Found::pages).await
        }
        Work::Map => {
            let part = arguments.part()?;
            let request = post("/map", arguments.parameters).await?;
            let answer = ask(interface, request).await?;
            written(answer, part, Found::map).await
        }
        Work::Search => {
            let part = arguments.part()?;
            let request = post("/search", arguments.parameters).await?;
            let answer = ask(interface, request).await?;
            written(answer, part, Found::results).await
        }
        Work::Transform => {
            let part = arguments.part()?;
            let document = arguments.document()?;
            let mut body = arguments.parameters;
            body.insert("data".to_owned(), vec![document].into());
            let answer = ask(interface, post("/transform", body).await?).await?;
            written(answer, part, Found::document).await
        }
        Work::Screenshot => {
            let request = post("/screenshot", arguments.parameters).await?;
            let answer = ask(interface, request).await?;
            on_a_thread(move || picture(&answer)).await
        }
        Work::Begin => crawls::begin(interface, arguments).await,
        Work::Status => crawls::status(interface, &arguments, progress).await,
        Work::Stored => crawls::pages(interface, &arguments).await,
        Work::Stop => crawls::stop(interface, &arguments).await,
    }
}

/// Writes the part of an answer.
async fn written(
    answer: Answer,
    part: Part,
    find: impl FnOnce(Value) -> Found + Send + 'static,
) -> Result<Reply, Refusal> {
    let ignored = answer.without_effect();
    on_a_thread(move || {
        let mut found = find(read(&answer.body)?);
        found.notes.extend(ignored);
        write(&found, &part)
    })
    .await
}

/// The screenshot of the one page of an answer.
fn picture(answer: &Answer) -> Result<Reply, Refusal> {
    let mut found = Found::pages(read(&answer.body)?);
    found.notes.extend(answer.without_effect());
    let image = found.items.first_mut().and_then(|item| {
        // The picture is no text.
        item.text.clear();
        item.whole.remove("content")
    });
    let part = Part {
        cursor: None,
        max_tokens: usize::MAX,
    };
    let mut reply = write(&found, &part)?;
    reply.image = match image {
        Some(Value::String(image)) if !reply.is_error => Some(image),
        _ => None,
    };
    Ok(reply)
}
