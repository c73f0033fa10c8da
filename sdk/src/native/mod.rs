//! Glue for native plugins: implements the C interface of [`abi`](crate::abi) for each plugin
//! trait. Not part of the public interface.

#![allow(
    unsafe_code,
    reason = "converts the caller's pointers to slices, under the rules of `abi`"
)]

use std::any::Any;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trawl_contract::document_fields;

use crate::abi::{self, Call, Reply, Slice, status};
use crate::options;
use crate::view::arrays::Arrays;
use crate::{
    Chunker, Document, Extractor, Failure, Filter, Format, Info, Needs, Output, Source, Span,
};

/// Successful result of a call.
pub enum Payload {
    /// UTF-8.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Spans.
    Spans(Vec<Span>),
}

/// Arguments of a call as Rust values.
pub struct Arguments<'a> {
    document: Option<Document<'a>>,
    source: Source<'a>,
    text: &'a str,
    options: &'a str,
}

impl<'a> Arguments<'a> {
    fn document(&self) -> Result<&Document<'a>, Failure> {
        let missing = || Failure::Failed("the host passed no document".to_owned());
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

/// Writes the plugin's description.
///
/// # Safety
/// `reply` must point to a reply that may be written.
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
    // SAFETY: guaranteed by the caller.
    unsafe { reply.write(catch_panic(describe)) };
}

/// Runs the plugin and writes its result.
///
/// # Safety
/// `call` must point to a call that follows the rules of [`abi`](crate::abi), `reply` to a reply
/// that may be written.
pub unsafe fn call(
    call: *const Call,
    reply: *mut Reply,
    run: fn(Arguments<'_>) -> Result<Payload, Failure>,
) {
    // SAFETY: guaranteed by the caller; nothing borrowed from the arguments outlives this function.
    let run = || run(unsafe { arguments(&*call) });
    // SAFETY: guaranteed by the caller.
    unsafe { reply.write(catch_panic(run)) };
}

/// Frees a reply.
///
/// # Safety
/// `reply` must point to [`Reply::EMPTY`] or to a reply written by this library that has not been
/// freed yet.
pub unsafe fn free(reply: *mut Reply) {
    // SAFETY: guaranteed by the caller.
    let reply = unsafe { reply.replace(Reply::EMPTY) };
    if reply.pointer.is_null() {
        return;
    }
    // SAFETY: pointer, length and capacity come from the `Vec` that `new_reply` took apart, and the
    // status determines its element type.
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

/// Runs the plugin and catches panics.
fn catch_panic(run: impl FnOnce() -> Result<Payload, Failure>) -> Reply {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(Payload::Text(text))) => new_reply(status::TEXT, text.into_bytes()),
        Ok(Ok(Payload::Bytes(bytes))) => new_reply(status::BYTES, bytes),
        Ok(Ok(Payload::Spans(spans))) => new_reply(status::SPANS, spans),
        Ok(Err(Failure::InvalidOptions(reason))) => {
            new_reply(status::INVALID_OPTIONS, reason.into_bytes())
        }
        Ok(Err(Failure::Unsupported(reason))) => {
            new_reply(status::UNSUPPORTED, reason.into_bytes())
        }
        Ok(Err(Failure::Failed(reason))) => new_reply(status::FAILED, reason.into_bytes()),
        Err(panic) => {
            let reason = message(&*panic);
            // Dropping the payload could panic again, outside the guard.
            std::mem::forget(panic);
            new_reply(status::PANICKED, reason.into_bytes())
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no panic message").to_owned()
}

fn new_reply<T>(status: u32, payload: Vec<T>) -> Reply {
    let mut payload = ManuallyDrop::new(payload);
    Reply {
        status,
        pointer: payload.as_mut_ptr().cast(),
        length: payload.len() * size_of::<T>(),
        capacity: payload.capacity(),
    }
}

/// # Safety
/// The call must follow the rules of [`abi`](crate::abi) for all of `'a`.
unsafe fn arguments<'a>(call: &'a Call) -> Arguments<'a> {
    // SAFETY: guaranteed by the caller: every pointer is valid for `'a`, or null where that is
    // allowed.
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
/// See [`arguments`].
unsafe fn arrays(document: &abi::Document) -> Arrays<'_> {
    macro_rules! lift {
        (str $field:expr) => {
            text(&$field)
        };
        ($slice:tt $field:expr) => {
            slice(&$field)
        };
    }
    macro_rules! arrays {
        ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
            Arrays {
                quirks: document.quirks != 0,
                $($name: lift!($slice document.$name),)*
                kept: slice(&document.kept),
            }
        };
    }
    // SAFETY: guaranteed by the caller.
    unsafe { document_fields!(each arrays) }
}

/// # Safety
/// The slice must be empty or valid.
unsafe fn slice<T>(slice: &Slice<T>) -> &[T] {
    match slice.length {
        0 => &[],
        // SAFETY: guaranteed by the caller.
        length => unsafe { std::slice::from_raw_parts(slice.pointer, length) },
    }
}

/// # Safety
/// The slice must be empty or valid, and hold UTF-8.
unsafe fn text(bytes: &Slice<u8>) -> &str {
    // SAFETY: guaranteed by the caller.
    unsafe { std::str::from_utf8_unchecked(slice(bytes)) }
}

#[cfg(test)]
mod tests;
