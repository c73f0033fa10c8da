//! Screenshots of a page.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chromiumoxide::cdp::browser_protocol::dom::Rgba;
use chromiumoxide::cdp::browser_protocol::emulation::SetDefaultBackgroundColorOverrideParams;
use chromiumoxide::cdp::browser_protocol::page::{
    CaptureScreenshotFormat, CaptureScreenshotParams, GetLayoutMetricsParams,
    GetLayoutMetricsReturns, Viewport,
};

use serde_json::Value;
use tokio::sync::Semaphore;

use trawl_plan::ScreenshotPlan;

use super::error::RenderError;
use super::tab::Tab;
use super::wait::SCROLL_STEP;

/// Pixels of a screenshot along each side: the most that the browser can paint.
const SIDE_MAX: f64 = 32_767.0;
/// Pixels of a screenshot in all: 200 MB before compression, in the process that all pages share,
/// which therefore takes one screenshot at a time.
const PIXELS_MAX: f64 = 50_000_000.0;
/// How long the parts of a page with lazy pictures are brought into view, and its pictures are
/// waited for.
const SHOW_TIME_MAX: Duration = Duration::from_secs(6);
/// How long no picture or frame that came into view is in flight when all have arrived.
const PICTURES_WINDOW: Duration = Duration::from_millis(250);
const TRANSPARENT: Rgba = Rgba {
    r: 0,
    g: 0,
    b: 0,
    a: Some(0.0),
};
/// How long the browser may take for one screenshot: those of other pages wait meanwhile.
const CAPTURE_TIME_MAX: Duration = Duration::from_secs(10);

/// A screenshot.
pub(super) struct Screenshot {
    pub(super) png: Bytes,
    /// Says that it shows less than it should: the most that may be painted.
    pub(super) cut: Option<String>,
}

impl Tab<'_> {
    /// Takes a screenshot of the page, cut at the most that may be painted.
    pub(super) async fn screenshot(&self, plan: ScreenshotPlan) -> Result<Screenshot, RenderError> {
        if plan.full_page {
            self.show_all().await?;
        }
        let layout = self.call(GetLayoutMetricsParams::default()).await?;
        let is_beyond_viewport = plan.full_page || plan.clip.is_some();
        let (clip, cut) = self.clip(plan, &layout);
        let cut = cut.filter(|_| is_beyond_viewport);
        let params = CaptureScreenshotParams {
            format: Some(CaptureScreenshotFormat::Png),
            capture_beyond_viewport: Some(is_beyond_viewport),
            clip: is_beyond_viewport.then_some(clip),
            ..CaptureScreenshotParams::default()
        };
        if plan.omit_background {
            self.background(Some(TRANSPARENT)).await?;
        }
        let turns = &self.browser().screenshots;
        let png = in_turn(turns, CAPTURE_TIME_MAX, self.call(params)).await;
        if plan.omit_background {
            // Another screenshot of this page may have one.
            self.background(None).await?;
        }
        let png = png?.data;
        let text: &[u8] = png.as_ref();
        let png = STANDARD
            .decode(text)
            .map_err(|error| RenderError::Protocol(error.to_string()))?;
        let png = Bytes::from(png);
        Ok(Screenshot { png, cut })
    }

    /// Brings each part of a page with lazy pictures into view once, and waits for them.
    async fn show_all(&self) -> Result<(), RenderError> {
        if !matches!(self.call_function::<bool>("isLazy", ()).await?, Ok(true)) {
            return Ok(());
        }
        let end = self.until(SHOW_TIME_MAX);
        self.watch.state().bring_into_view();
        while Instant::now() < end {
            match self.call_function::<(bool, f64)>("scrollOn", ()).await? {
                Ok((false, _)) => tokio::time::sleep(SCROLL_STEP).await,
                Ok((true, _)) | Err(_) => break,
            }
        }
        let _no_document = self.call_function::<Value>("scrollToStart", ()).await?;
        let loaded = self.watch.brought(PICTURES_WINDOW);
        let _still_loading = tokio::time::timeout_at(end.into(), loaded).await;
        Ok(())
    }

    /// Sets the colour behind the page; `None` is the page's own.
    async fn background(&self, color: Option<Rgba>) -> Result<(), RenderError> {
        self.call(SetDefaultBackgroundColorOverrideParams { color })
            .await?;
        Ok(())
    }

    /// The part of the page that the screenshot shows, in CSS pixels, and whether it is cut.
    fn clip(
        &self,
        plan: ScreenshotPlan,
        layout: &GetLayoutMetricsReturns,
    ) -> (Viewport, Option<String>) {
        let side = |pixels: i64| f64::from(i32::try_from(pixels).unwrap_or(i32::MAX));
        let (x, y, width, height) = match plan.clip {
            Some(clip) => (
                f64::from(clip.x),
                f64::from(clip.y),
                f64::from(clip.width),
                f64::from(clip.height),
            ),
            None if plan.full_page => {
                let content = &layout.css_content_size;
                (0.0, 0.0, content.width, content.height)
            }
            None => {
                let viewport = &layout.css_layout_viewport;
                let (width, height) = (viewport.client_width, viewport.client_height);
                (0.0, 0.0, side(width), side(height))
            }
        };
        let (wide, high) = painted((width, height), self.scale);
        let is_cut = wide < width || high < height;
        let cut = is_cut.then(|| {
            format!(
                "it shows {wide:.0} × {high:.0} of {width:.0} × {height:.0} pixels, the limit \
                 of the browser"
            )
        });
        let clip = Viewport {
            x,
            y,
            width: wide,
            height: high,
            scale: 1.0,
        };
        (clip, cut)
    }
}

/// Width and height of what is painted of a part of a page, in CSS pixels, of which there are so
/// many device pixels along each side.
fn painted((width, height): (f64, f64), scale: f64) -> (f64, f64) {
    let side_max = SIDE_MAX / scale;
    let pixels_max = PIXELS_MAX / (scale * scale);
    let width = width.clamp(1.0, side_max);
    (width, height.clamp(1.0, side_max.min(pixels_max / width)))
}

/// Captures a screenshot once it has its turn, which it gives back after `time_max` at the latest.
async fn in_turn<T>(
    turns: &Semaphore,
    time_max: Duration,
    capture: impl Future<Output = Result<T, RenderError>>,
) -> Result<T, RenderError> {
    let _turn = turns.acquire().await;
    tokio::time::timeout(time_max, capture)
        .await
        .unwrap_or(Err(RenderError::Screenshot(time_max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_painted_as_the_browser_can() {
        for (part, scale, expected) in [
            ((1_366.0, 30_600.0), 1.0, (1_366.0, 30_600.0)),
            ((1_366.0, 100_000.0), 1.0, (1_366.0, 32_767.0)),
            ((2_000.0, 30_000.0), 1.0, (2_000.0, 25_000.0)),
            ((1_000.0, 30_000.0), 2.0, (1_000.0, 12_500.0)),
            ((0.0, 0.0), 1.0, (1.0, 1.0)),
        ] {
            let (width, height) = painted(part, scale);
            let distance = (width - expected.0).abs() + (height - expected.1).abs();
            assert!(distance < 0.001, "{part:?}: {width} × {height}");
        }
    }

    #[tokio::test]
    async fn a_screenshot_that_takes_too_long_gives_its_turn_back() {
        let turns = Semaphore::new(1);
        let never = std::future::pending::<Result<(), RenderError>>();
        let time_max = Duration::from_millis(10);
        let error = in_turn(&turns, time_max, never).await.expect_err("no end");
        assert!(matches!(error, RenderError::Screenshot(time) if time == time_max));
        assert!(error.to_string().contains("screenshot"), "{error}");
        let next = in_turn(&turns, Duration::from_secs(60), async { Ok(7) });
        assert_eq!(next.await.ok(), Some(7));
    }
}
