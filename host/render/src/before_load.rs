//! `evaluate_on_new_document`: where it runs, and what it throws then, which the browser reports to
//! the page alone.
//!
//! The script runs between two others. The first listens for the error event that the window
//! gets, the last stops that before a script of the page runs. What was thrown goes to an isolated
//! world, by an event whose name the page does not know, and is read there once the page has
//! loaded. Decision D260.
//!
//! The browser runs all of them in every document. In those of other origins the first makes a
//! property of the window that the script declares at its end, so that it ends before it begins
//! (ECMA-262, GlobalDeclarationInstantiation, step 3). Decision D384.

use chromiumoxide::cdp::browser_protocol::page::AddScriptToEvaluateOnNewDocumentParams;
use serde_json::Value;
use url::Url;

use trawl_plan::RenderPlan;

use super::calls::by_value;
use super::error::RenderError;
use super::page_setup::WORLD;
use super::tab::Tab;

/// What precedes the text of an error in the event of the window.
const UNCAUGHT: &str = "Uncaught ";
/// Characters returned of an error.
const ERROR_CHARS_MAX: usize = 1_000;
/// Reads the document's origin and the error in the isolated world.
const READ: &str = "[origin, globalThis.thrown ?? null]";
/// The origin of a document that is sandboxed without `allow-same-origin`, as browsers write it.
const OPAQUE: &str = "null";

impl Tab<'_> {
    /// Has the script run in every document of these origins before those of the page.
    pub(super) async fn add_before_load(
        &self,
        script: &str,
        origins: &[String],
    ) -> Result<(), RenderError> {
        // The browser has chosen both at random.
        let (name, mark) = (Value::from(self.target()), mark(self.context.id().inner()));
        let mut keeping = AddScriptToEvaluateOnNewDocumentParams::new(keeping(&name));
        keeping.world_name = Some(WORLD.to_owned());
        self.call(keeping).await?;
        // They run in the order in which they are added.
        let guarded = format!("{script}\nlet {mark}");
        let listening = listening(&name, &mark, origins);
        for source in [listening, guarded, stopping(&name)] {
            let added = AddScriptToEvaluateOnNewDocumentParams::new(source);
            self.call(added).await?;
        }
        Ok(())
    }

    /// Why the script failed in the main document: that is another site's or sandboxed, or what it
    /// threw.
    pub(super) async fn failed_before_load(
        &self,
        requested: &Url,
        plan: &RenderPlan,
    ) -> Result<Option<String>, RenderError> {
        let origin = self.at(requested).origin().ascii_serialization();
        if !plan.before_load_origins(requested).contains(&origin) {
            return Ok(Some(format!(
                "not run: the page has gone to another site; a key `{origin}/` of \
                 `execution_scripts` or `automation_scripts` has it run there"
            )));
        }
        let Ok(world) = self.isolated_world(WORLD).await? else {
            return Ok(None);
        };
        let mut params = by_value(READ.to_owned());
        params.context_id = Some(world);
        let read = self.evaluate(params).await?;
        Ok(read.ok().and_then(reason))
    }
}

/// Why the script failed, by what was read.
fn reason(read: Value) -> Option<String> {
    let (origin, thrown) = serde_json::from_value::<(String, Option<String>)>(read).ok()?;
    if origin == OPAQUE {
        let text = "not run: the page's `Content-Security-Policy` has a `sandbox` without \
                    `allow-same-origin`, so that its document is of no site";
        return Some(text.to_owned());
    }
    let text = thrown?;
    let text = text.strip_prefix(UNCAUGHT).unwrap_or(&text);
    Some(text.to_owned())
}

/// Runs in the isolated world, whose functions no page can replace: remembers the first error.
fn keeping(name: &Value) -> String {
    format!(
        "addEventListener({name}, (event) => {{
  globalThis.thrown ??= `${{event.detail}}`.slice(0, {ERROR_CHARS_MAX});
}});"
    )
}

/// The name that the script declares: no other script has it.
fn mark(id: &str) -> String {
    let known = id.chars().filter(char::is_ascii_alphanumeric);
    format!("_{}", known.collect::<String>())
}

/// Runs before the script, in the page's own world. What it needs later the script may replace.
fn listening(name: &Value, mark: &str, origins: &[String]) -> String {
    let origins = Value::from(origins);
    format!(
        "(() => {{
  if (!{origins}.includes(origin)) return Object.defineProperty(globalThis, '{mark}', {{}});
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
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_read_tells_why_the_script_failed() {
        let site = "https://a.example";
        for (read, expected) in [
            (json!([site, null]), None),
            (json!([site, "Uncaught Error: x"]), Some("Error: x")),
            (json!([site, "null"]), Some("null")),
            (json!("other"), None),
        ] {
            assert_eq!(reason(read.clone()).as_deref(), expected, "{read}");
        }
        let sandboxed = reason(json!([OPAQUE, null])).unwrap_or_default();
        assert!(sandboxed.contains("allow-same-origin"), "{sandboxed}");
    }

    #[test]
    fn the_name_is_quoted_in_every_script() {
        let name = Value::from("A1\"`");
        let listening = listening(&name, &mark("A-1"), &[]);
        assert!(listening.contains("'_A1'"), "{listening}");
        for script in [keeping(&name), listening, stopping(&name)] {
            assert!(script.contains(r#""A1\"`""#), "{script}");
        }
        assert_eq!(
            stopping(&Value::from("A1")),
            "try { dispatchEvent(new Event(`${\"A1\"}-end`)); } catch {}"
        );
    }
}
