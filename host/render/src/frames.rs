//! Frames that the page itself cannot look into: those of other origins and sandboxed ones. Each is
//! read in an isolated world of its own, and put where its element is.

use std::collections::HashSet;

use chromiumoxide::cdp::browser_protocol::dom::{
    BackendNodeId, GetFrameOwnerParams, ResolveNodeParams,
};
use chromiumoxide::cdp::browser_protocol::page::{FrameId, FrameTree, GetFrameTreeParams};
use chromiumoxide::cdp::js_protocol::runtime::{
    CallArgument, CallFunctionOnParams, ExecutionContextId,
};
use futures_util::future::try_join_all;
use serde_json::Value;

use super::cdp::CallError;
use super::config::HTML_BYTES_MAX;
use super::error::RenderError;
use super::page_setup::WORLD;
use super::tab::Tab;

/// Encloses the name of a frame where its content belongs. No text of a page has this character:
/// `serialise` leaves it out.
const MARK: char = '\0';
/// Notes the name of a frame at its element, for `serialise`, unless a reader of the element sees
/// the frame's document. What the browser says of a frame does not tell: it knows the origin of the
/// URL, and a sandboxed frame has another.
const NAME_FRAME: &str = "function(name) {
  let inner = null;
  try { inner = this.contentDocument; } catch {}
  if (!inner) (globalThis.trawlFrames ??= new Map()).set(this, name);
  return !inner;
}";

/// A frame, and the one that has its element.
struct Child {
    frame: FrameId,
    parent: FrameId,
}

impl Tab<'_> {
    /// Names the frames that their page cannot look into, for `serialise`, and returns their
    /// number. A frame that goes away meanwhile has no name. The browser is asked about all frames
    /// at once.
    pub(super) async fn name_foreign_frames(&self) -> Result<usize, RenderError> {
        let (tree, page) = tokio::try_join!(
            self.call(GetFrameTreeParams::default()),
            self.isolated_world(WORLD)
        )?;
        let Ok(page) = page else {
            return Ok(0);
        };
        let mut children = Vec::new();
        collect(&tree.frame_tree, &mut children);
        let naming = children.iter().map(|child| self.name_child(child, page));
        let named = try_join_all(naming.collect::<Vec<_>>()).await?;
        Ok(named.into_iter().filter(|is_named| *is_named).count())
    }

    /// Names a frame if the page, or the frame that it is in, cannot look into it.
    async fn name_child(
        &self,
        child: &Child,
        page: ExecutionContextId,
    ) -> Result<bool, RenderError> {
        let owner = GetFrameOwnerParams::new(child.frame.clone());
        let Some(owner) = self.attempt(owner).await? else {
            return Ok(false);
        };
        let element = owner.backend_node_id;
        // The element is where a reader of the main document finds it, or one of the frame that it
        // is in, which is read on its own, too.
        if let Some(is_named) = self.name_frame(&child.frame, element, page).await? {
            return Ok(is_named);
        }
        let Ok(parent) = self.world_of(child.parent.inner(), WORLD).await? else {
            return Ok(false);
        };
        let named = self.name_frame(&child.frame, element, parent).await?;
        Ok(named.unwrap_or(false))
    }

    /// Names a frame for the reader in this world if that cannot look into it; `None` if the reader
    /// does not find its element.
    async fn name_frame(
        &self,
        frame: &FrameId,
        element: BackendNodeId,
        world: ExecutionContextId,
    ) -> Result<Option<bool>, RenderError> {
        let resolve = ResolveNodeParams {
            backend_node_id: Some(element),
            execution_context_id: Some(world),
            ..ResolveNodeParams::default()
        };
        let object = self.attempt(resolve).await?;
        let Some(object) = object.and_then(|found| found.object.object_id) else {
            return Ok(None);
        };
        let mut name = CallFunctionOnParams::new(NAME_FRAME);
        name.object_id = Some(object);
        name.arguments = Some(vec![CallArgument {
            value: Some(Value::from(frame.inner().as_str())),
            ..CallArgument::default()
        }]);
        name.return_by_value = Some(true);
        let named = self.attempt(name).await?;
        let named = named.filter(|named| named.exception_details.is_none());
        Ok(named.and_then(|named| named.result.value?.as_bool()))
    }

    /// The document with the content of the named frames in their places.
    pub(super) async fn with_foreign_frames(&self, html: String) -> Result<String, RenderError> {
        let mut read = HashSet::new();
        let mut out = String::with_capacity(html.len());
        // What is still to be written, the next part last: text, or the name of a frame.
        let mut parts = parts(&html);
        while let Some((is_frame, part)) = parts.pop() {
            if out.len() + part.len() > HTML_BYTES_MAX {
                return Err(RenderError::DocumentTooLarge(HTML_BYTES_MAX));
            }
            if !is_frame {
                out.push_str(&part);
                continue;
            }
            // Each once: names are the browser's.
            if read.contains(&part) {
                continue;
            }
            let inner = self.frame_html(&part, HTML_BYTES_MAX - out.len()).await?;
            parts.extend(self::parts(&inner));
            read.insert(part);
        }
        Ok(out)
    }

    /// A command that may be refused because what it names has gone: `None` then.
    async fn attempt<T: chromiumoxide::types::Command>(
        &self,
        params: T,
    ) -> Result<Option<T::Response>, RenderError> {
        match self.try_call(params).await {
            Ok(response) => Ok(Some(response)),
            Err(CallError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The frames below this one.
fn collect(tree: &FrameTree, children: &mut Vec<Child>) {
    for child in tree.child_frames.iter().flatten() {
        children.push(Child {
            frame: child.frame.id.clone(),
            parent: tree.frame.id.clone(),
        });
        collect(child, children);
    }
}

/// The text and the names of frames in a document, the first part last.
fn parts(html: &str) -> Vec<(bool, String)> {
    let parts = html.split(MARK).enumerate();
    let parts = parts.map(|(number, part)| (number % 2 == 1, part.to_owned()));
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_frames_stand_between_marks() {
        let found = parts("a\0frame\0b");
        let expected = [(false, "b"), (true, "frame"), (false, "a")];
        let expected = expected.map(|(is_frame, part)| (is_frame, part.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(parts("plain"), [(false, "plain".to_owned())]);
    }
}
