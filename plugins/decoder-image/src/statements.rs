//! What EXIF says about an image. Source: CIPA DC-008, Exif 2.32.

use std::io::Cursor;

use ::exif::{DateTime, Exif, In, Reader, Tag, Value};

use crate::size::Size;

/// Longest text of a field, in characters.
const TEXT_CHARS_MAX: usize = 1_000;

/// A statement of EXIF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its key in `metadata`.
    pub(crate) label: &'static str,
    pub(crate) text: String,
}

/// What EXIF says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statements {
    /// What the image shows.
    pub(crate) description: Option<String>,
    pub(crate) fields: Vec<Field>,
    /// The size of a TIFF image.
    pub(crate) size: Option<Size>,
}

/// Fields that are given: neither numbers of devices and owners nor notes of the maker.
const FIELDS: [(&str, Tag); 13] = [
    ("author", Tag::Artist),
    ("copyright", Tag::Copyright),
    ("taken", Tag::DateTimeOriginal),
    ("modified", Tag::DateTime),
    ("camera_maker", Tag::Make),
    ("camera", Tag::Model),
    ("lens", Tag::LensModel),
    ("exposure", Tag::ExposureTime),
    ("aperture", Tag::FNumber),
    ("sensitivity", Tag::PhotographicSensitivity),
    ("focal_length", Tag::FocalLength),
    ("orientation", Tag::Orientation),
    ("software", Tag::Software),
];

/// Reads what is there; an image without EXIF, or with damaged one, has fewer fields.
pub(crate) fn read(image: &[u8], has_place: bool) -> Statements {
    let mut reader = Reader::new();
    let read = reader
        .continue_on_error(true)
        .read_from_container(&mut Cursor::new(image));
    let Ok(exif) = read.or_else(|error| error.distill_partial_result(|_| ())) else {
        return Statements::default();
    };
    let fields = FIELDS.iter().filter_map(|&(label, tag)| {
        let text = text(&exif, tag)?;
        Some(Field { label, text })
    });
    let mut fields: Vec<Field> = fields.collect();
    if has_place {
        fields.extend(place(&exif));
    }
    Statements {
        description: text(&exif, Tag::ImageDescription),
        fields,
        size: size(&exif),
    }
}

/// A field as people read it; `None` if it is missing or blank.
fn text(exif: &Exif, tag: Tag) -> Option<String> {
    let field = exif.get_field(tag, In::PRIMARY)?;
    let text = match &field.value {
        Value::Ascii(parts) if matches!(tag, Tag::DateTime | Tag::DateTimeOriginal) => {
            let date = DateTime::from_ascii(parts.first()?).ok()?;
            date.to_string().replacen(' ', "T", 1)
        }
        Value::Ascii(parts) => {
            let parts = parts.iter().map(|part| String::from_utf8_lossy(part));
            parts.collect::<Vec<_>>().join(", ")
        }
        _ => field.display_value().with_unit(exif).to_string(),
    };
    let text: String = text.trim().chars().take(TEXT_CHARS_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// Where the image was taken, in degrees.
fn place(exif: &Exif) -> Option<Field> {
    let latitude = degrees(exif, Tag::GPSLatitude, Tag::GPSLatitudeRef)?;
    let longitude = degrees(exif, Tag::GPSLongitude, Tag::GPSLongitudeRef)?;
    Some(Field {
        label: "place",
        text: format!("{latitude:.6}, {longitude:.6}"),
    })
}

/// Degrees, minutes and seconds as degrees; south and west are negative.
fn degrees(exif: &Exif, tag: Tag, side: Tag) -> Option<f64> {
    let Value::Rational(parts) = &exif.get_field(tag, In::PRIMARY)?.value else {
        return None;
    };
    let [degrees, minutes, seconds] = parts.first_chunk::<3>()?;
    let sum = degrees.to_f64() + minutes.to_f64() / 60.0 + seconds.to_f64() / 3_600.0;
    let side = text(exif, side)?;
    let is_negative = side.starts_with(['S', 'W']);
    let signed = if is_negative { -sum } else { sum };
    signed.is_finite().then_some(signed)
}

fn size(exif: &Exif) -> Option<Size> {
    let edge = |tag| exif.get_field(tag, In::PRIMARY)?.value.get_uint(0);
    let (width, height) = (edge(Tag::ImageWidth)?, edge(Tag::ImageLength)?);
    (width > 0 && height > 0).then_some(Size { width, height })
}
