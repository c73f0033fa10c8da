//! What `evaluate_on_new_document` throws when it runs; the browser tells nobody but the page.
//!
//! The script stands between two others. The first listens for the error event that the window
//! gets, the last stops that before a script of the page runs. What was thrown goes to an isolated
//! world, by an event whose name the page does not know, and is read there once the page has
//! loaded. Decision D260.

use chromiumoxide::cdp::browser_protocol::page::AddScriptToEvaluateOnNewDocumentParams;
use serde_json::Value;

use super::RenderError;
use super::calls::by_value;
use super::page_setup::WORLD;
use super::tab::Tab;

/// What precedes the text of an error in the event of the window.
const UNCAUGHT: &str = "Uncaught ";
/// Characters returned of an error.
const ERROR_CHARS_MAX: usize = 1_000;
/// Reads the error in the isolated world.
const READ: &str = "globalThis.thrown ?? null";

impl Tab<'_> {
    /// Has the script run in every document before those of the page.
    pub(super) async fn add_before_load(&self, script: &str) -> Result<(), RenderError> {
        // The browser has chosen it at random.
        let name = Value::from(self.target());
        let mut keeping = AddScriptToEvaluateOnNewDocumentParams::new(keeping(&name));
        keeping.world_name = Some(WORLD.to_owned());
        self.call(keeping).await?;
        // They run in the order in which they are added.
        for source in [listening(&name), script.to_owned(), stopping(&name)] {
            let added = AddScriptToEvaluateOnNewDocumentParams::new(source);
            self.call(added).await?;
        }
        Ok(())
    }

    /// What the script threw in the main document.
    pub(super) async fn thrown_before_load(&self) -> Result<Option<String>, RenderError> {
        let Ok(world) = self.isolated_world(WORLD).await? else {
            return Ok(None);
        };
        let mut params = by_value(READ.to_owned());
        params.context_id = Some(world);
        let thrown = self.evaluate(params).await?.ok();
        let thrown = thrown.as_ref().and_then(Value::as_str);
        let text = thrown.map(|text| text.strip_prefix(UNCAUGHT).unwrap_or(text));
        Ok(text.map(str::to_owned))
    }
}

/// Runs in the isolated world, whose functions no page can replace: remembers the first error.
fn keeping(name: &Value) -> String {
    format!(
        "addEventListener({name}, (event) => {{
  globalThis.thrown ??= `${{event.detail}}`.slice(0, {ERROR_CHARS_MAX});
}});"
    )
}

/// Runs before the script, in the page's own world. What it needs later the script may replace.
fn listening(name: &Value) -> String {
    format!(
        "(() => {{
  const name = {name}, end = `${{name}}-end`;
  const send = dispatchEvent, remove = removeEventListener, Told = CustomEvent;
  const tell = (event) => send(new Told(name, {{ detail: event.message }}));
  const stop = () => {{ remove('error', tell, true); remove(end, stop); }};
  addEventListener('error', tell, true);
  addEventListener(end, stop);
}})()"
    )
}

/// Runs after the script, which may have replaced what this needs.
fn stopping(name: &Value) -> String {
    format!("try {{ dispatchEvent(new Event(`${{{name}}}-end`)); }} catch {{}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_quoted_in_every_script() {
        let name = Value::from("A1\"`");
        for script in [keeping(&name), listening(&name), stopping(&name)] {
            assert!(script.contains(r#""A1\"`""#), "{script}");
        }
        assert_eq!(
            stopping(&Value::from("A1")),
            "try { dispatchEvent(new Event(`${\"A1\"}-end`)); } catch {}"
        );
    }
}
