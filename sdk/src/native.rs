//! Glue for native plugins: the C interface of [`abi`](crate::abi) over each kind's trait. Nothing here is for authors.

#![allow(
    unsafe_code,
    reason = "pointers of the caller become slices here, under the rules of `abi`"
)]

use std::any::Any;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::{self, Call, Reply, Slice, status};
use crate::options;
use crate::view::arrays::Arrays;
use crate::{
    Chunker, Document, Extractor, Failure, Filter, Format, Info, Needs, Output, Source, Span,
};

/// What a call came to.
pub enum Payload {
    /// UTF-8.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Spans.
    Spans(Vec<Span>),
}

/// Arguments of a call as values of Rust.
pub struct Arguments<'a> {
    document: Option<Document<'a>>,
    source: Source<'a>,
    text: &'a str,
    options: &'a str,
}

impl<'a> Arguments<'a> {
    fn document(&self) -> Result<&Document<'a>, Failure> {
        let missing = || Failure::Failed("the host sent no document".to_owned());
        self.document.as_ref().ok_or_else(missing)
    }
}

/// Calls a format.
pub fn format<P: Format>(arguments: Arguments<'_>) -> Result<Payload, Failure> {
    let options = options::read(arguments.options)?;
    let source = arguments.source.clone();
    Ok(match P::render(arguments.document()?, source, options)? {
        Output::Text(text) => Payload::Text(text),
        Output::Bytes(bytes) => Payload::Bytes(bytes),
    })
}

/// Calls a filter.
pub fn filter<P: Filter>(arguments: Arguments<'_>) -> Result<Payload, Failure> {
    let options = options::read(arguments.options)?;
    let mask = P::keep(arguments.document()?, options)?;
    Ok(Payload::Bytes(mask.into_bits()))
}

/// Calls an extractor.
pub fn extractor<P: Extractor>(arguments: Arguments<'_>) -> Result<Payload, Failure> {
    let options = options::read(arguments.options)?;
    let source = arguments.source.clone();
    let answer = P::extract(arguments.document()?, source, options)?;
    options::write(&answer).map(Payload::Text)
}

/// Calls a chunker.
pub fn chunker<P: Chunker>(arguments: Arguments<'_>) -> Result<Payload, Failure> {
    P::chunk(arguments.text, options::read(arguments.options)?).map(Payload::Spans)
}

/// Writes what the plugin says of itself.
///
/// # Safety
/// `reply` points to a reply that may be written.
pub unsafe fn describe(reply: *mut Reply, info: fn() -> Info) {
    let describe = || {
        let info = info();
        let needs = [(Needs::SOURCE, "source"), (Needs::BODY, "body")];
        let needs = needs
            .into_iter()
            .filter(|(need, _)| info.needs.contains(*need));
        options::write(&serde_json::json!({
            "name": info.name,
            "version": info.version,
            "summary": info.summary,
            "options_schema": info.options_schema,
            "needs": needs.map(|(_, name)| name).collect::<Vec<_>>(),
        }))
        .map(Payload::Text)
    };
    // SAFETY: promised by the caller.
    unsafe { reply.write(guarded(describe)) };
}

/// Calls the plugin and writes what came of it.
///
/// # Safety
/// `call` points to a call that keeps the rules of [`abi`](crate::abi), `reply` to a reply that may be written.
pub unsafe fn call(
    call: *const Call,
    reply: *mut Reply,
    run: fn(Arguments<'_>) -> Result<Payload, Failure>,
) {
    // SAFETY: promised by the caller; what the arguments borrow is not kept after this function.
    let run = || run(unsafe { arguments(&*call) });
    // SAFETY: promised by the caller.
    unsafe { reply.write(guarded(run)) };
}

/// Gives a reply back.
///
/// # Safety
/// `reply` points to [`Reply::EMPTY`] or to what this library wrote, and is given back only once.
pub unsafe fn free(reply: *mut Reply) {
    // SAFETY: promised by the caller.
    let reply = unsafe { reply.replace(Reply::EMPTY) };
    if reply.pointer.is_null() {
        return;
    }
    // SAFETY: pointer, length and capacity are those of the `Vec` that `reply_of` took apart, of the type its status tells.
    unsafe {
        match reply.status {
            status::SPANS => {
                let n_spans = reply.length / size_of::<Span>();
                drop(Vec::from_raw_parts(
                    reply.pointer.cast::<Span>(),
                    n_spans,
                    reply.capacity,
                ));
            }
            _ => drop(Vec::from_raw_parts(
                reply.pointer,
                reply.length,
                reply.capacity,
            )),
        }
    }
}

/// Runs the plugin; a panic ends here.
fn guarded(run: impl FnOnce() -> Result<Payload, Failure>) -> Reply {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(Payload::Text(text))) => reply_of(status::TEXT, text.into_bytes()),
        Ok(Ok(Payload::Bytes(bytes))) => reply_of(status::BYTES, bytes),
        Ok(Ok(Payload::Spans(spans))) => reply_of(status::SPANS, spans),
        Ok(Err(Failure::InvalidOptions(reason))) => {
            reply_of(status::INVALID_OPTIONS, reason.into_bytes())
        }
        Ok(Err(Failure::Unsupported(reason))) => reply_of(status::UNSUPPORTED, reason.into_bytes()),
        Ok(Err(Failure::Failed(reason))) => reply_of(status::FAILED, reason.into_bytes()),
        Err(panic) => {
            let reason = message(&*panic);
            // The payload's own drop may panic again, past the guard.
            std::mem::forget(panic);
            reply_of(status::PANICKED, reason.into_bytes())
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it did not say why").to_owned()
}

fn reply_of<T>(status: u32, payload: Vec<T>) -> Reply {
    let mut payload = ManuallyDrop::new(payload);
    Reply {
        status,
        pointer: payload.as_mut_ptr().cast(),
        length: payload.len() * size_of::<T>(),
        capacity: payload.capacity(),
    }
}

/// # Safety
/// The call keeps the rules of [`abi`](crate::abi) for as long as `'a`.
unsafe fn arguments<'a>(call: &'a Call) -> Arguments<'a> {
    // SAFETY: promised by the caller: every pointer is null where it may be, or valid for `'a`.
    unsafe {
        let source = call.source.as_ref().map(|source| Source {
            text: Cow::Borrowed(text(&source.text)),
            body: Cow::Borrowed(slice(&source.body)),
            content_type: Cow::Borrowed(text(&source.content_type)),
            charset: Cow::Borrowed(text(&source.charset)),
        });
        Arguments {
            document: call.document.as_ref().map(|d| Document::new(arrays(d))),
            source: source.unwrap_or_default(),
            text: text(&call.text),
            options: text(&call.options),
        }
    }
}

/// # Safety
/// As [`arguments`].
unsafe fn arrays(document: &abi::Document) -> Arrays<'_> {
    // SAFETY: promised by the caller.
    unsafe {
        Arrays {
            url: text(&document.url),
            base: text(&document.base),
            media_type: text(&document.media_type),
            quirks: document.quirks != 0,
            kinds: slice(&document.kinds),
            parents: slice(&document.parents),
            ends: slice(&document.ends),
            names: slice(&document.names),
            starts: slice(&document.starts),
            counts: slice(&document.counts),
            attribute_names: slice(&document.attribute_names),
            attribute_starts: slice(&document.attribute_starts),
            attribute_lengths: slice(&document.attribute_lengths),
            name_text: text(&document.name_text),
            name_ends: slice(&document.name_ends),
            name_spaces: slice(&document.name_spaces),
            text: text(&document.text),
            kept: slice(&document.kept),
        }
    }
}

/// # Safety
/// The slice is empty or valid.
unsafe fn slice<T>(slice: &Slice<T>) -> &[T] {
    match slice.length {
        0 => &[],
        // SAFETY: promised by the caller.
        length => unsafe { std::slice::from_raw_parts(slice.pointer, length) },
    }
}

/// # Safety
/// The slice is empty or valid, and UTF-8.
unsafe fn text(bytes: &Slice<u8>) -> &str {
    // SAFETY: promised by the caller.
    unsafe { std::str::from_utf8_unchecked(slice(bytes)) }
}

#[cfg(test)]
mod tests;
