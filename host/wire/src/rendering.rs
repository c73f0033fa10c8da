//! How a browser renders the pages of a request, and the screenshots it takes.

use serde_json::Map;

use trawl_parameters::{Browser, Clip, FormatNames, ScrapeRequest};
use trawl_plan::render::RenderOptions;
use trawl_plan::{
    ClipRect, Format, FormatChoice, LoadPlan, OutputPlan, PlanError, RenderPlan, ScreenshotPlan,
};

use super::check::{Unknown, path_key};
use super::values::{is_on, time};
use super::verb::Verb;

/// Name of the screenshot format.
const SCREENSHOT: &str = "screenshot";

/// The render plan of a request object.
pub(crate) fn plan(
    request: &mut Browser,
    screenshot: Option<ScreenshotPlan>,
) -> Result<RenderPlan, PlanError> {
    RenderPlan::new(RenderOptions {
        evaluate_on_new_document: request.evaluate_on_new_document.take(),
        execution_scripts: request.execution_scripts.take(),
        automation_scripts: request.automation_scripts.take(),
        wait_for: request.wait_for.take().map(Into::into),
        scroll: time("scroll", request.scroll.as_ref())?,
        viewport: request.viewport.take(),
        load: LoadPlan {
            block_ads: is_on(request.block_ads),
            block_images: is_on(request.block_images),
            block_stylesheets: is_on(request.block_stylesheets),
            full: is_on(request.full_resources),
        },
        screenshot,
    })
}

/// The keys of scripts and steps that fit none of the pages. Which pages a crawl will have is not
/// known, so for one (`None`) those that fit no page at all. Decision D259.
pub(crate) fn unused_scripts(render: &RenderPlan, pages: Option<&[&str]>) -> Vec<Unknown> {
    let (steps, scripts) = (&render.automation, &render.scripts);
    let (steps, scripts) = match pages {
        Some(pages) => (steps.unused(pages), scripts.unused(pages)),
        None => (steps.unusable(), scripts.unusable()),
    };
    let below = |parameter: &str, keys: Vec<&str>| -> Vec<Unknown> {
        let unknown = keys.into_iter().map(|key| Unknown {
            path: format!("{parameter}.{}", path_key(key)),
            nearest: None,
        });
        unknown.collect()
    };
    let mut unused = below("automation_scripts", steps);
    unused.extend(below("execution_scripts", scripts));
    unused
}

/// The screenshot that the verb or a format requires.
pub(crate) fn screenshot(
    request: &ScrapeRequest,
    verb: Verb,
) -> Result<Option<ScreenshotPlan>, PlanError> {
    // Wrong pixels are refused where they would have no effect, too.
    let clip = request.browser.clip.as_ref().map(clip).transpose()?;
    let has_content = !matches!(verb, Verb::Links | Verb::Map);
    let is_named = has_content && names_screenshot(request.outputs.return_format.as_ref());
    if verb != Verb::Screenshot && !is_named {
        return Ok(None);
    }
    Ok(Some(ScreenshotPlan {
        full_page: request.browser.full_page.unwrap_or(true),
        omit_background: request.browser.omit_background.unwrap_or(false),
        clip,
    }))
}

fn names_screenshot(form: Option<&FormatNames>) -> bool {
    let is_screenshot = |name: &String| name.trim().eq_ignore_ascii_case(SCREENSHOT);
    match form {
        None => false,
        Some(FormatNames::One(name)) => is_screenshot(name),
        Some(FormatNames::Many(names)) => names.0.iter().any(is_screenshot),
    }
}

/// Whether `return_format` is not set, or says nothing that `/screenshot` does not do.
pub(crate) fn names_only(form: Option<&FormatNames>) -> bool {
    match form {
        None => true,
        Some(FormatNames::One(name)) => {
            let name = name.trim();
            name.eq_ignore_ascii_case("bytes") || name.eq_ignore_ascii_case(SCREENSHOT)
        }
        Some(FormatNames::Many(names)) => names.0.is_empty(),
    }
}

fn clip(form: &Clip) -> Result<ClipRect, PlanError> {
    if form.width == 0 || form.height == 0 {
        return Err(PlanError::new(
            "clip",
            "`width` and `height` are pixels, at least 1",
        ));
    }
    Ok(ClipRect {
        x: form.x.unwrap_or(0),
        y: form.y.unwrap_or(0),
        width: form.width,
        height: form.height,
    })
}

/// The form of a screenshot: base64, or integers for `binary`. The format `bytes` means integers
/// too where the screenshot is the whole content.
pub(crate) fn screenshot_format(request: &ScrapeRequest, verb: Verb) -> Format {
    let names_bytes = matches!(
        &request.outputs.return_format,
        Some(FormatNames::One(name)) if name.trim().eq_ignore_ascii_case("bytes")
    );
    if request.browser.binary.unwrap_or(false) || verb == Verb::Screenshot && names_bytes {
        Format::ScreenshotBytes
    } else {
        Format::Screenshot
    }
}

/// `/screenshot`: the screenshot is the content.
pub(crate) fn screenshot_only(plan: OutputPlan, format: Format) -> OutputPlan {
    let screenshot = FormatChoice {
        name: SCREENSHOT.to_owned(),
        format,
        options: Map::new().into(),
    };
    OutputPlan {
        formats: vec![screenshot],
        single_format: true,
        chunking: None,
        ..plan
    }
}
