//! What a request asks of a browser.

use serde_json::Map;

use super::into_plan::Verb;
use super::request::ScrapeRequest;
use super::values::{ClipForm, FormatNames};
use trawl_plan::render::RenderWish;
use trawl_plan::{
    Clip, Format, FormatChoice, LoadPlan, OutputPlan, Picture, PlanError, RenderPlan,
};

/// Name of the format that is a picture.
const SCREENSHOT: &str = "screenshot";

/// What a browser is to do with the pages of a request.
pub(crate) fn plan(
    request: &mut ScrapeRequest,
    picture: Option<Picture>,
) -> Result<RenderPlan, PlanError> {
    let is_on = |switch: Option<bool>| switch.unwrap_or(false);
    RenderPlan::new(RenderWish {
        evaluate_on_new_document: request.evaluate_on_new_document.take(),
        execution_scripts: request.execution_scripts.take(),
        automation_scripts: request.automation_scripts.take(),
        wait_for: request.wait_for.take().map(Into::into),
        scroll: request.scroll,
        viewport: request.viewport.take(),
        load: LoadPlan {
            block_ads: is_on(request.block_ads),
            block_images: is_on(request.block_images),
            block_stylesheets: is_on(request.block_stylesheets),
            full: is_on(request.full_resources),
        },
        screenshot: picture,
    })
}

/// The picture that the verb or a format asks for.
pub(crate) fn picture(request: &ScrapeRequest, verb: Verb) -> Result<Option<Picture>, PlanError> {
    if verb != Verb::Screenshot && !names_picture(request.return_format.as_ref()) {
        return Ok(None);
    }
    Ok(Some(Picture {
        full_page: request.full_page.unwrap_or(true),
        omit_background: request.omit_background.unwrap_or(false),
        clip: request.clip.as_ref().map(clip).transpose()?,
    }))
}

fn names_picture(form: Option<&FormatNames>) -> bool {
    let is_picture = |name: &String| name.trim().eq_ignore_ascii_case(SCREENSHOT);
    match form {
        None => false,
        Some(FormatNames::One(name)) => is_picture(name),
        Some(FormatNames::Many(names)) => names.0.iter().any(is_picture),
    }
}

fn clip(form: &ClipForm) -> Result<Clip, PlanError> {
    if form.width == 0 || form.height == 0 {
        return Err(PlanError::new(
            "clip",
            "`width` and `height` are pixels, at least 1",
        ));
    }
    Ok(Clip {
        x: form.x,
        y: form.y,
        width: form.width,
        height: form.height,
    })
}

/// A picture as base64, or as integers for `binary` and, where the answer is nothing but a picture, for the format `bytes`.
pub(crate) fn picture_form(request: &ScrapeRequest, verb: Verb) -> Format {
    let names_bytes = matches!(&request.return_format, Some(FormatNames::One(name)) if name.trim().eq_ignore_ascii_case("bytes"));
    let as_integers = request.binary.unwrap_or(false) || verb == Verb::Screenshot && names_bytes;
    match as_integers {
        true => Format::ScreenshotBytes,
        false => Format::Screenshot,
    }
}

/// `/screenshot`: the picture is the content.
pub(crate) fn picture_only(plan: OutputPlan, form: Format) -> OutputPlan {
    let picture = FormatChoice {
        name: SCREENSHOT.to_owned(),
        format: form,
        options: Map::new().into(),
    };
    OutputPlan {
        formats: vec![picture],
        single_format: true,
        chunking: None,
        ..plan
    }
}
