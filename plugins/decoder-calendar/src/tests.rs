use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Calendar;

fn decode(text: &str) -> Result<Decoded, Failure> {
    testkit::document("text/calendar", text).decode::<Calendar>(json!({}))
}

#[test]
fn events_and_tasks_are_articles() {
    let decoded = decode(include_str!("../cases/tides.ics")).expect("a calendar");
    assert_eq!(
        body(&decoded),
        "<h1>Tides</h1><article><h2>Low water, Kiel</h2><dl>\
         <dt>start</dt><dd><time datetime=\"2024-01-02T03:04:05\">2024-01-02T03:04:05 Europe/Berlin</time></dd>\
         <dt>end</dt><dd><time datetime=\"2024-01-02T04:04:05Z\">2024-01-02T04:04:05Z</time></dd>\
         <dt>repeats</dt><dd>FREQ=DAILY;COUNT=2</dd><dt>location</dt><dd>Pier &quot;3&quot;</dd>\
         <dt>organizer</dt><dd>Anna: the first &lt;anna@example.com&gt;</dd>\
         <dt>attendees</dt><dd>bert@example.com</dd>\
         <dt>links</dt><dd><a href=\"https://tides.example/low\">https://tides.example/low</a></dd></dl>\
         <p>Mud only.</p><p>Bring boots &lt;b&gt;.</p></article>\
         <article><h2>Paint</h2><dl><dt>due</dt><dd><time datetime=\"2024-01-03\">2024-01-03</time></dd></dl></article>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "Tides", "calendar_format": "icalendar", "item_count": 2})
    );
    assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
}

#[test]
fn contacts_are_articles() {
    let decoded = decode(include_str!("../cases/people.vcf")).expect("contacts");
    assert_eq!(
        body(&decoded),
        "<h1>file</h1><article><h2>Dr. Anna Example</h2><dl>\
         <dt>organisation</dt><dd>Harbour, Tides</dd>\
         <dt>telephone</dt><dd><a href=\"tel:+49431123\">+49 431 123</a></dd>\
         <dt>e-mail</dt><dd><a href=\"mailto:anna@example.com\">anna@example.com</a></dd>\
         <dt>address</dt><dd>Pier 3, Kiel, 24103, Germany</dd>\
         <dt>url</dt><dd><a href=\"https://anna.example/\">https://anna.example/</a></dd>\
         <dt>birthday</dt><dd>1970-01-02</dd></dl><p>Knows, the sea.</p></article>\
         <article><h2>Bert Müller</h2><dl></dl></article>"
    );
    assert_eq!(decoded.metadata["calendar_format"], "vcard");
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let cut = decode("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:a\n").expect("a calendar");
    assert_eq!(
        body(&cut),
        "<h1>file</h1><article><h2>a</h2><dl></dl></article>"
    );
    assert_eq!(cut.warnings, ["the file is cut off"]);
    let other = decode("plain text\nwith: a colon");
    assert!(matches!(other, Err(Failure::Unsupported(_))), "{other:?}");
    let deep = decode(&"BEGIN:VEVENT\n".repeat(1_000));
    assert_eq!(
        deep,
        Err(Failure::Limit(
            "components are more than 16 levels deep".to_owned()
        ))
    );
    let name = "ü".repeat(200_000);
    let named = decode(&format!("BEGIN:VCALENDAR\nNAME:{name}\nEND:VCALENDAR\n"));
    let named = named.expect("a calendar");
    assert_eq!(named.metadata["title"], "ü".repeat(500));
    let event = "BEGIN:VEVENT\nEND:VEVENT\n".repeat(20_001);
    let many = decode(&format!("BEGIN:VCALENDAR\n{event}END:VCALENDAR\n")).expect("a calendar");
    assert_eq!(many.warnings, ["1 items are left out"]);
    assert_eq!(many.metadata["item_count"], 20_001);
}

#[test]
fn heads_are_read_once_however_they_are_folded() {
    let value = |text: &str| {
        let text = format!("BEGIN:VCARD\n{text}\nEND:VCARD\n");
        let (roots, _fault) = crate::lines::read(&text).expect("a card");
        roots[0].properties[0].value.clone()
    };
    assert_eq!(value("N;ENCODING=\n quoted-prin\n table:=41=\n=42"), "AB");
    assert_eq!(
        value("N;ENCODING=BASE64:QUOTED-PRINTABLE=\n =41"),
        "QUOTED-PRINTABLE==41"
    );
    // The head of a long line is not read anew for each line that it has.
    let long = format!("N;{}{}:=41", "A".repeat(1_000_000), "\n =".repeat(300_000));
    assert_eq!(value(&long), "=41");
}
