//! User input: mouse and keyboard events, dispatched by the browser like real ones.

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    InsertTextParams, MouseButton,
};

use super::error::RenderError;
use super::tab::Tab;

/// Characters that are typed key by key: more than a form's fields have, and two commands each.
const KEYS_MAX: usize = 1_000;

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

    /// Types text at the cursor, key by key, as pages that search while one types want it; a line
    /// feed is the Enter key. Beyond [`KEYS_MAX`] characters the rest is inserted at once.
    pub(super) async fn type_text(&self, text: &str) -> Result<(), RenderError> {
        let end = text
            .char_indices()
            .nth(KEYS_MAX)
            .map_or(text.len(), |(at, _)| at);
        let (keys, rest) = text.split_at(end);
        for char in keys.chars() {
            match char {
                '\n' => self.key("Enter", 13, Some("\r")).await?,
                '\r' => {}
                _ => self.character(char).await?,
            }
        }
        self.insert_text(rest).await
    }

    /// Inserts text at the cursor at once; a line feed is the Enter key.
    pub(super) async fn insert_text(&self, text: &str) -> Result<(), RenderError> {
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

    /// Presses the key of a character. Letters and digits have their codes; what no key of a US
    /// keyboard writes is inserted between the events of an unidentified key, as an input method
    /// does.
    async fn character(&self, char: char) -> Result<(), RenderError> {
        let upper = char.to_ascii_uppercase();
        let (code, number) = match upper {
            'A'..='Z' => (format!("Key{upper}"), i64::from(u32::from(upper))),
            '0'..='9' => (format!("Digit{upper}"), i64::from(u32::from(upper))),
            ' ' => ("Space".to_owned(), 32),
            _ => (String::new(), 0),
        };
        let text = char.to_string();
        for kind in [DispatchKeyEventType::KeyDown, DispatchKeyEventType::KeyUp] {
            let is_down = kind == DispatchKeyEventType::KeyDown;
            let mut event = DispatchKeyEventParams::new(kind);
            event.key = Some(text.clone());
            event.code = Some(code.clone());
            event.windows_virtual_key_code = Some(number);
            event.text = is_down.then(|| text.clone());
            self.call(event).await?;
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
