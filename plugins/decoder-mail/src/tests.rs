use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Mail;

const TIDE: &[u8] = include_bytes!("../cases/tide.eml");
const BOX: &[u8] = include_bytes!("../cases/box.mbox");

fn decode(bytes: &[u8], options: Value) -> Result<Decoded, Failure> {
    testkit::document("message/rfc822", bytes).decode::<Mail>(options)
}

#[test]
fn a_message_has_headers_text_and_attachments() {
    let decoded = decode(TIDE, json!({})).expect("a message");
    assert_eq!(
        body(&decoded).replace(['\r', '\n'], ""),
        "<h1>Ebbe für Sonntag</h1><dl><dt>from</dt><dd>Anna Müller &lt;anna@example.com&gt;</dd>\
         <dt>to</dt><dd>Bert &lt;bert@example.com&gt;</dd><dd>carl@example.com</dd>\
         <dt>date</dt><dd>2024-01-02T03:04:06+01:00</dd></dl>\
         <div><p>Das Wasser <b>fällt</b>.</p></div>\
         <h2>Attachments</h2><table><thead><tr><th>name</th><th>type</th><th>bytes</th></tr></thead><tbody>\
         <tr><td>ships.csv</td><td>text/csv</td><td>28</td></tr>\
         <tr><td>raw.bin</td><td>application/octet-stream</td><td>3</td></tr></tbody></table>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({
            "title": "Ebbe für Sonntag", "authors": ["Anna Müller <anna@example.com>"],
            "recipients": ["Bert <bert@example.com>", "carl@example.com"],
            "published": "2024-01-02T03:04:06+01:00", "message_id": "1@example.com",
            "attachments": ["ships.csv", "raw.bin"],
        })
    );
}

#[test]
fn an_attachment_is_handed_on() {
    let decoded = decode(TIDE, json!({"inner": "ships.csv"})).expect("an attachment");
    assert!(body(&decoded).starts_with("<pre><code>name,length\n"));
    let inner = decoded.inner.expect("its bytes");
    assert_eq!(inner.content_type, "text/csv; charset=utf-8");
    assert_eq!(inner.body, b"name,length\nAnna,12\nBert,30\n");
    let raw = decode(TIDE, json!({"inner": "raw.bin"})).expect("an attachment");
    let inner = raw.inner.expect("its bytes");
    assert_eq!(
        (inner.content_type.as_str(), inner.body.as_slice()),
        ("application/octet-stream", [0, 1, 2].as_slice())
    );
    assert_eq!(
        decode(TIDE, json!({"inner": "x"})),
        Err(Failure::InvalidOptions(
            "`inner`: there is no attachment `x`; it has `ships.csv`, `raw.bin`".to_owned()
        ))
    );
}

#[test]
fn a_mailbox_has_a_page_for_each_message() {
    let decoded = decode(BOX, json!({})).expect("a mailbox");
    assert_eq!(
        body(&decoded),
        "<section data-page=\"1\"><h1>One</h1><dl><dt>from</dt><dd>anna@example.com</dd>\
         <dt>date</dt><dd>2024-01-02T03:04:06Z</dd></dl>\
         <p>First line<br>From here on,<br>it ends.</p><p>Second.</p></section>\
         <section data-page=\"2\"><h1>Two</h1><dl><dt>from</dt><dd>bert@example.com</dd></dl>\
         <p>Short.</p></section>"
    );
    assert_eq!(decoded.page_count, Some(2));
    let document = testkit::document("application/mbox", BOX).pages(&[(2, 2)]);
    let second = document.decode::<Mail>(json!({})).expect("a mailbox");
    assert!(body(&second).starts_with("<section data-page=\"2\">"));
    assert_eq!(second.page_count, Some(2));
}

#[test]
fn metadata_of_a_message_to_many_is_short() {
    let to = (0..3_000).map(|number| format!("name-{number}@long-host.example.com"));
    let to: Vec<String> = to.collect();
    let subject = "ü".repeat(200_000);
    let text = format!("Subject: {subject}\nTo: {}\n\nHello\n", to.join(", "));
    let decoded = decode(text.as_bytes(), json!({})).expect("a message");
    let metadata = Value::Object(decoded.metadata);
    assert_eq!(metadata["recipients"][0], to[0]);
    assert!(metadata.to_string().len() < 16 * 1024);
    assert!(decoded.html.contains(&to[900]));
}

#[test]
fn hostile_messages_end_with_a_sentence() {
    let plain = decode(b"", json!({}));
    assert!(matches!(plain, Err(Failure::Unsupported(_))), "{plain:?}");
    let prose = decode(b"From x\n", json!({}));
    assert!(matches!(prose, Err(Failure::Unsupported(_))), "{prose:?}");
    let many = b"From x\n".repeat(20_001);
    let many = decode(&many, json!({}));
    assert_eq!(
        many,
        Err(Failure::Limit("it has more than 20000 messages".to_owned()))
    );
    let mut deep = String::from("Subject: deep\n");
    for level in 0..2_000 {
        deep += &format!("Content-Type: multipart/mixed; boundary=\"b{level}\"\n\n--b{level}\n");
    }
    let decoded = decode(deep.as_bytes(), json!({})).expect("a message");
    assert!(body(&decoded).starts_with("<h1>deep</h1>"));
}
