use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Archive;

const ZIP: &[u8] = include_bytes!("../cases/ships.zip");
const TAR: &[u8] = include_bytes!("../cases/ships.tar");
const TAR_GZ: &[u8] = include_bytes!("../cases/ships.tar.gz");
const CSV_GZ: &[u8] = include_bytes!("../cases/ships.csv.gz");
const SHIPS: &[u8] = b"name,length\nAnna,12\nBert,30\n";

fn decode(bytes: &[u8], options: Value) -> Result<Decoded, Failure> {
    let document = testkit::document("application/octet-stream", bytes);
    document
        .url("https://example.com/d/ships")
        .decode::<Archive>(options)
}

fn list(bytes: &[u8]) -> Decoded {
    decode(bytes, json!({})).expect("an archive")
}

#[test]
fn members_are_listed() {
    let decoded = list(ZIP);
    assert_eq!(
        body(&decoded),
        "<h1>ships</h1><table><thead><tr><th>path</th><th>bytes</th><th>modified</th></tr></thead><tbody>\
         <tr><td>docs/</td><td></td><td>2024-01-02T03:04:06</td></tr>\
         <tr><td>docs/notes.txt</td><td>14</td><td>2024-01-02T03:04:06</td></tr>\
         <tr><td>ships.csv</td><td>28</td><td>2024-01-02T03:04:06</td></tr>\
         <tr><td>raw.bin</td><td>3</td><td>2024-01-02T03:04:06</td></tr></tbody></table>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "ships", "archive_format": "zip", "item_count": 4, "expanded_bytes": 45})
    );
    assert_eq!(decoded.inner, None);
}

#[test]
fn long_paths_of_tar_are_whole() {
    for (bytes, format) in [(TAR, "tar"), (TAR_GZ, "tar.gz")] {
        let decoded = list(bytes);
        assert_eq!(decoded.metadata["archive_format"], format);
        assert_eq!(decoded.metadata["item_count"], 4);
        let path = format!("deep/{}/ships.csv", "x".repeat(120));
        let row = format!("<tr><td>{path}</td><td>28</td><td>2024-01-02T03:04:06</td></tr>");
        assert!(decoded.html.contains(&row), "{}", decoded.html);
        assert!(
            decoded
                .html
                .contains("<tr><td>link</td><td></td><td></td></tr>")
        );
        assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
        let inner = decode(bytes, json!({"inner": path}))
            .expect("a member")
            .inner;
        assert_eq!(inner.expect("its bytes").body, SHIPS);
    }
}

#[test]
fn a_member_is_handed_on() {
    for (bytes, path) in [
        (ZIP, "ships.csv"),
        (ZIP, "./ships.csv"),
        (CSV_GZ, "ships.csv"),
    ] {
        let decoded = decode(bytes, json!({"inner": path})).expect("a member");
        assert!(body(&decoded).starts_with("<pre><code>name,length\n"));
        assert_eq!(decoded.metadata["inner"], "ships.csv");
        let inner = decoded.inner.expect("its bytes");
        assert_eq!(inner.name, "ships.csv");
        assert_eq!(inner.content_type, "text/csv");
        assert_eq!(inner.body, SHIPS);
    }
    let notes = decode(ZIP, json!({"inner": "docs/notes.txt"})).expect("a member");
    assert_eq!(
        body(&notes),
        "<pre><code>Anna\nBert &lt;b&gt;\n</code></pre>"
    );
    let raw = decode(ZIP, json!({"inner": "raw.bin"})).expect("a member");
    assert_eq!(body(&raw), "<p>raw.bin</p>");
    assert_eq!(raw.inner.expect("its bytes").content_type, "");
    // Their first bytes would not say so.
    for (name, media_type) in [("a.AVIF", "image/avif"), ("b.heic", "image/heic")] {
        assert_eq!(crate::types::of(name), media_type);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let reason = |options: Value| match decode(ZIP, options) {
        Err(Failure::InvalidOptions(reason)) => reason,
        other => panic!("accepted: {other:?}"),
    };
    assert_eq!(
        reason(json!({"inner": "x"})),
        "`inner`: there is no member `x`; it has 4 members, such as `docs/notes.txt`, `ships.csv`, `raw.bin`"
    );
    assert!(reason(json!({"inner": "docs/"})).contains("folder"));
    assert!(reason(json!({"outer": "x"})).contains("outer"));
}

#[test]
fn bombs_and_damaged_archives_end_with_a_sentence() {
    let check = |bytes: &[u8], expected: &str| {
        let failure = decode(bytes, json!({})).expect_err("refused").to_string();
        assert!(failure.contains(expected), "{failure}");
    };
    check(&ZIP[..40], "no directory, it may be cut off");
    check(&CSV_GZ[..20], "gzip cannot be expanded");
    check(b"plain", "neither ZIP nor TAR nor gzip");
    let zeros = std::io::Read::take(std::io::repeat(0), 97 << 20);
    let mut bomb = Vec::new();
    let mut packer = flate2::read::GzEncoder::new(zeros, flate2::Compression::fast());
    std::io::Read::read_to_end(&mut packer, &mut bomb).expect("packed");
    assert!(bomb.len() < 4 << 20);
    check(&bomb, "more than 96 MiB expanded");
    let mut many = ZIP.to_vec();
    let at = many.len() - 12;
    many[at..at + 2].copy_from_slice(&u16::MAX.to_le_bytes());
    check(&many, "more than 20000 members");
    let cut = list(&TAR[..1024]);
    assert_eq!(cut.metadata["item_count"], 1);
    let cut = list(&TAR[..TAR.len() - 2048]);
    assert!(cut.warnings.len() <= 1, "{:?}", cut.warnings);
    let half = list(&TAR[..520]);
    assert_eq!(half.warnings, ["the archive is cut off"]);
}
