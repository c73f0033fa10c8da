//! Calls the C interface as a host does.

use std::ptr;

use super::{chunker, describe, format, free};
use crate::abi::{Call, Document, Reply, Slice, Source, status};
use crate::{Chunker, Failure, Format, Info, Needs, Output, Span};

struct Echo;

impl Format for Echo {
    type Options = std::collections::BTreeMap<String, String>;

    fn info() -> Info {
        Info::new("echo", "1.2.3", "Returns its input").needs(Needs::SOURCE | Needs::BODY)
    }

    fn render(
        document: &crate::Document,
        source: crate::Source,
        options: Self::Options,
    ) -> Result<Output, Failure> {
        match options.get("do").map(String::as_str) {
            Some("panic") => panic!("requested panic"),
            Some("fail") => Err(Failure::Unsupported("requested failure".to_owned())),
            Some("bytes") => Ok(Output::Bytes(source.body.into_owned())),
            _ => Ok(Output::Text(format!("{} {}", document.url(), source.text))),
        }
    }
}

struct Halves;

impl Chunker for Halves {
    type Options = ();

    fn info() -> Info {
        Info::new("halves", "1.0.0", "Two pieces")
    }

    fn chunk(text: &str, (): ()) -> Result<Vec<Span>, Failure> {
        let middle = text.len() / 2;
        Ok(vec![Span::from(0..middle), Span::from(middle..text.len())])
    }
}

fn bytes(text: &str) -> Slice<u8> {
    Slice::of(text.as_bytes())
}

/// An empty page with this URL.
fn page(url: &str) -> Document {
    Document {
        url: bytes(url),
        base: bytes(url),
        media_type: bytes("text/html"),
        quirks: 0,
        kinds: Slice::of(&[0]),
        parents: Slice::of(&[0]),
        ends: Slice::of(&[1]),
        names: Slice::of(&[0]),
        starts: Slice::of(&[0]),
        counts: Slice::of(&[0]),
        attribute_names: Slice::EMPTY,
        attribute_starts: Slice::EMPTY,
        attribute_lengths: Slice::EMPTY,
        name_text: Slice::EMPTY,
        name_ends: Slice::of(&[0]),
        name_spaces: Slice::of(&[0]),
        text: Slice::EMPTY,
        kept: Slice::EMPTY,
    }
}

/// Reads a reply and frees it.
fn take(mut reply: Reply) -> (u32, Vec<u8>) {
    // SAFETY: the reply comes from this library; freeing it leaves an empty reply, which may be
    // freed.
    unsafe {
        let payload = std::slice::from_raw_parts(reply.pointer, reply.length).to_vec();
        let status = reply.status;
        free(&raw mut reply);
        assert!(reply.pointer.is_null());
        free(&raw mut reply);
        (status, payload)
    }
}

#[track_caller]
fn check(options: &str, expected_status: u32, expected: &str) {
    let document = page("https://example.com/");
    let source = Source {
        text: bytes("text"),
        body: bytes("body"),
        content_type: Slice::EMPTY,
        charset: Slice::EMPTY,
    };
    let call = Call {
        document: &raw const document,
        source: &raw const source,
        text: Slice::EMPTY,
        options: bytes(options),
    };
    let mut reply = Reply::EMPTY;
    // SAFETY: everything the call points to lives until the end of this function.
    unsafe { super::call(&raw const call, &raw mut reply, format::<Echo>) };
    let (status, payload) = take(reply);
    assert_eq!(
        (status, payload.as_slice()),
        (expected_status, expected.as_bytes())
    );
}

#[test]
fn a_format_returns_text_or_bytes() {
    check("{}", status::TEXT, "https://example.com/ text");
    check(r#"{"do":"bytes"}"#, status::BYTES, "body");
}

#[test]
fn a_failure_has_its_status_and_reason() {
    check(r#"{"do":"fail"}"#, status::UNSUPPORTED, "requested failure");
    check(
        r#"{"do":1}"#,
        status::INVALID_OPTIONS,
        "`do`: invalid type: integer `1`, expected a string",
    );
}

#[test]
fn a_panic_is_caught() {
    check(r#"{"do":"panic"}"#, status::PANICKED, "requested panic");
}

#[test]
fn a_chunker_returns_pairs_of_offsets() {
    let call = Call {
        document: ptr::null(),
        source: ptr::null(),
        text: bytes("abcd"),
        options: bytes("{}"),
    };
    let mut reply = Reply::EMPTY;
    // SAFETY: everything the call points to is static.
    unsafe { super::call(&raw const call, &raw mut reply, chunker::<Halves>) };
    let (status, payload) = take(reply);
    let numbers: Vec<u32> = payload
        .chunks_exact(4)
        .map(|four| u32::from_ne_bytes(four.try_into().unwrap()))
        .collect();
    assert_eq!(
        (status, numbers.as_slice()),
        (status::SPANS, &[0, 2, 2, 4][..])
    );
}

#[test]
fn a_page_without_a_document_is_a_failure() {
    let call = Call {
        document: ptr::null(),
        source: ptr::null(),
        text: Slice::EMPTY,
        options: Slice::EMPTY,
    };
    let mut reply = Reply::EMPTY;
    // SAFETY: null is allowed for both pointers.
    unsafe { super::call(&raw const call, &raw mut reply, format::<Echo>) };
    assert_eq!(
        take(reply),
        (status::FAILED, b"the host passed no document".to_vec())
    );
}

#[test]
fn describe_returns_json() {
    let mut reply = Reply::EMPTY;
    // SAFETY: the reply may be written.
    unsafe { describe(&raw mut reply, Echo::info) };
    let (status, payload) = take(reply);
    let info: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(status, status::TEXT);
    assert_eq!(info["name"], "echo");
    assert_eq!(info["version"], "1.2.3");
    assert_eq!(info["needs"], serde_json::json!(["source", "body"]));
}
