//! User input: mouse and keyboard events, dispatched by the browser like real ones.

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    InsertTextParams, MouseButton,
};

use super::RenderError;
use super::tab::Tab;

impl Tab<'_> {
    /// Clicks at a point with the main button.
    pub(super) async fn click_at(&self, x: f64, y: f64) -> Result<(), RenderError> {
        for kind in [
            DispatchMouseEventType::MouseMoved,
            DispatchMouseEventType::MousePressed,
            DispatchMouseEventType::MouseReleased,
        ] {
            let is_move = kind == DispatchMouseEventType::MouseMoved;
            let mut event = DispatchMouseEventParams::new(kind, x, y);
            if !is_move {
                event.button = Some(MouseButton::Left);
                event.click_count = Some(1);
            }
            self.call(event).await?;
        }
        Ok(())
    }

    /// Types text at the cursor; a line feed is the Enter key.
    pub(super) async fn type_text(&self, text: &str) -> Result<(), RenderError> {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.key("Enter", 13, Some("\r")).await?;
            }
            if !line.is_empty() {
                self.call(InsertTextParams::new(line)).await?;
            }
        }
        Ok(())
    }

    /// Presses a key. `code` is the Windows key code that pages see as `keyCode`.
    pub(super) async fn key(
        &self,
        name: &str,
        code: i64,
        text: Option<&str>,
    ) -> Result<(), RenderError> {
        for kind in [DispatchKeyEventType::KeyDown, DispatchKeyEventType::KeyUp] {
            let is_down = kind == DispatchKeyEventType::KeyDown;
            let mut event = DispatchKeyEventParams::new(kind);
            event.key = Some(name.to_owned());
            event.code = Some(name.to_owned());
            event.windows_virtual_key_code = Some(code);
            event.text = text.filter(|_| is_down).map(str::to_owned);
            self.call(event).await?;
        }
        Ok(())
    }
}
