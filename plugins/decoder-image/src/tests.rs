use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Image;

const TIDE: &[u8] = include_bytes!("../cases/tide.jpg");

fn decode(bytes: &[u8], options: Value) -> Result<Decoded, Failure> {
    let document = testkit::document("image/x", bytes).url("https://example.com/d/a.b?c");
    document.decode::<Image>(options)
}

#[test]
fn every_format_has_its_size() {
    let dots: [(&str, &[u8]); 7] = [
        ("png", include_bytes!("../cases/dot.png")),
        ("gif", include_bytes!("../cases/dot.gif")),
        ("bmp", include_bytes!("../cases/dot.bmp")),
        ("webp", include_bytes!("../cases/dot.webp")),
        ("avif", include_bytes!("../cases/dot.avif")),
        ("tiff", include_bytes!("../cases/dot.tiff")),
        ("jpeg", TIDE),
    ];
    for (format, bytes) in dots {
        let decoded = decode(bytes, json!({})).expect(format);
        assert_eq!(decoded.metadata["image_format"], format);
        assert_eq!(decoded.metadata["width"], 3, "{format}");
        assert_eq!(decoded.metadata["height"], 2, "{format}");
    }
    let icon = decode(include_bytes!("../cases/dot.ico"), json!({})).expect("an icon");
    assert_eq!(icon.metadata["width"], 256);
}

#[test]
fn an_image_is_a_figure_with_what_is_known_of_it() {
    let decoded = decode(include_bytes!("../cases/dot.png"), json!({})).expect("an image");
    assert_eq!(
        body(&decoded),
        "<figure><img src=\"https://example.com/d/a.b?c\" alt=\"a.b\"><figcaption>a.b</figcaption></figure>\
         <dl><dt>format</dt><dd>png</dd><dt>size</dt><dd>3 × 2 pixels</dd></dl>"
    );
}

#[test]
fn exif_is_given_without_the_place_unless_asked() {
    let decoded = decode(TIDE, json!({})).expect("an image");
    let expected = json!({
        "title": "Anna at low tide", "image_format": "jpeg", "width": 3, "height": 2,
        "authors": ["Bert"], "taken": "2024-01-02T03:04:06", "camera_maker": "Acme", "camera": "A1",
        "exposure": "1/125 s", "aperture": "f/2.8",
    });
    assert_eq!(Value::Object(decoded.metadata), expected);
    assert!(!decoded.html.contains("54."), "{}", decoded.html);
    let decoded = decode(TIDE, json!({"place": true})).expect("an image");
    assert_eq!(decoded.metadata["place"], "54.330000, -10.120000");
    assert!(
        decoded
            .html
            .contains("<dt>place</dt><dd>54.330000, -10.120000</dd>")
    );
}

#[test]
fn what_is_no_whole_image_is_refused() {
    let other = decode(b"%PDF-1.7", json!({}));
    assert!(matches!(other, Err(Failure::Unsupported(_))), "{other:?}");
    let wave = decode(b"RIFF\x04\0\0\0WAVEfmt ", json!({}));
    assert!(matches!(wave, Err(Failure::Unsupported(_))), "{wave:?}");
    for length in [3, 20, TIDE.len() - 30] {
        match decode(&TIDE[..length], json!({})) {
            Err(Failure::Damaged(reason)) => {
                assert_eq!(reason, "the jpeg image has no size, it may be cut off");
            }
            other => panic!("accepted: {other:?}"),
        }
    }
    let wrong = decode(TIDE, json!({"place": "yes"}));
    assert!(
        matches!(wrong, Err(Failure::InvalidOptions(_))),
        "{wrong:?}"
    );
}
