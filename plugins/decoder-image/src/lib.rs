//! The `image` decoder: what an image says about itself.
//!
//! Its format, its size in pixels, and of EXIF when, with what and by whom it was taken. Where it
//! was taken only the option `place` adds. Its pixels are not read.

mod boxes;
mod size;
mod statements;

use serde::Deserialize;
use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

use size::Size;

/// Decodes images.
pub struct Image;

trawl_sdk::export!(decoder: Image);

/// Options of one request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether the place is given where the image was taken.
    place: bool,
}

impl Decoder for Image {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "image",
            env!("CARGO_PKG_VERSION"),
            "PNG, JPEG, GIF, WebP, AVIF, HEIC, BMP, TIFF and ICO: format, size and EXIF",
        )
        .options_schema(
            r#"{"type": "object", "additionalProperties": false, "properties": {
                "place": {"type": "boolean",
                    "description": "Whether the place is given where the image was taken."}
            }}"#,
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, options: Options) -> Result<Decoded, Failure> {
        let format = size::format(&file.body)
            .ok_or_else(|| Failure::Unsupported("its first bytes are of no image".to_owned()))?;
        let exif = statements::read(&file.body, options.place);
        let found = size::of(&file.body, format).or(exif.size);
        let Some(Size { width, height }) = found else {
            let reason = format!("the {format} image has no size, it may be cut off");
            return Err(Failure::Damaged(reason));
        };
        let name = file.name().unwrap_or("image");
        let title = exif.description.as_deref().unwrap_or(name);
        let mut html = Html::new(title, None);
        let url: &str = &file.url;
        html.open("figure")
            .open_with("img", &[("src", url), ("alt", title)])
            .element("figcaption", title)
            .close();
        html.open("dl");
        let size = format!("{width} × {height} pixels");
        let own = [("format", format), ("size", size.as_str())];
        let stated = exif.fields.iter();
        let stated = stated.map(|field| (field.label, field.text.as_str()));
        for (name, value) in own.into_iter().chain(stated) {
            html.element("dt", name).element("dd", value);
        }
        let decoded = Decoded::new(html.finish())
            .with("title", title)
            .with("image_format", format)
            .with("width", width)
            .with("height", height);
        let add = |decoded: Decoded, field: &statements::Field| match field.label {
            "author" => decoded.with("authors", vec![field.text.clone()]),
            label => decoded.with(label, field.text.as_str()),
        };
        Ok(exif.fields.iter().fold(decoded, add))
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
