//! Limits the nesting depth in front of the tree builder, whose work grows with depth: start tags
//! beyond the limit no longer nest.

use std::cell::{Cell, RefCell};

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, local_name};
use rustc_hash::FxHashMap;

use super::arena::NONE;
use super::sink::{Handle, Sink};

/// Elements that one token may create before the page's formatting elements count as run away: the
/// tree builder reopens each unclosed `<b>` in every following block, so a page of n bytes could
/// create n² elements. No real page has so many open at once.
const REOPENED_MAX: usize = 256;
/// Levels beyond the limit for tags that cannot be closed at once (parts of tables, reopened
/// formatting).
const SLACK: usize = 16;

/// The tree builder with its depth limit.
pub(super) struct Guard {
    builder: TreeBuilder<Handle, Sink>,
    depth_max: usize,
    /// Nodes that may still be created before the actual depth must be checked: depth never grows
    /// faster than the number of nodes.
    allowance: Cell<usize>,
    /// Start tags beyond the limit that are not closed yet.
    beyond: RefCell<Beyond>,
    /// Whether formatting elements have run away: then further ones are dropped.
    is_runaway: Cell<bool>,
}

/// Names of the elements that would be open beyond the limit.
#[derive(Default)]
struct Beyond {
    names: Vec<LocalName>,
    counts: FxHashMap<LocalName, u32>,
    /// Whether the innermost one is actually open in the tree. Those around it were closed when it
    /// started.
    is_top_open: bool,
}

impl Guard {
    pub(super) fn new(sink: Sink, depth_max: usize) -> Self {
        let options = TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        };
        Self {
            builder: TreeBuilder::new(sink, options),
            depth_max,
            allowance: Cell::new(depth_max),
            beyond: RefCell::default(),
            is_runaway: Cell::new(false),
        }
    }

    pub(super) fn sink(&self) -> &Sink {
        &self.builder.sink
    }

    /// Ends the page and returns the tree.
    pub(super) fn finish(self) -> Sink {
        self.other(Token::EOFToken);
        self.builder.end();
        self.builder.sink
    }

    /// The tree so far, for another builder to continue with.
    pub(super) fn into_sink(self) -> Sink {
        self.builder.sink
    }

    /// Whether the current node belongs to SVG or MathML.
    pub(super) fn is_foreign(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// A token that is not a tag.
    pub(super) fn other(&self, token: Token) {
        self.sink().open_text.set(NONE);
        let before = self.sink().n_nodes();
        let is_text = matches!(token, Token::CharacterTokens(_));
        // Only tags change the tokenizer's state.
        let _ = self.builder.process_token(token, 1);
        self.count(before);
        if !is_text {
            self.sink().open_text.set(NONE);
        }
    }

    /// Processes a tag. Returns how the following text is tokenized.
    pub(super) fn tag(&self, tag: Tag) -> TokenSinkResult<Handle> {
        let passes = match tag.kind {
            TagKind::StartTag => self.admit_start(&tag),
            TagKind::EndTag => self.admit_end(&tag.name),
        };
        if passes {
            self.pass(tag)
        } else {
            TokenSinkResult::Continue
        }
    }

    fn pass(&self, tag: Tag) -> TokenSinkResult<Handle> {
        self.sink().open_text.set(NONE);
        let before = self.sink().n_nodes();
        let result = self.builder.process_token(Token::TagToken(tag), 1);
        self.count(before);
        // A tag may have flushed text that was pending in a table, and then closed the element that
        // received it.
        self.sink().open_text.set(NONE);
        result
    }

    fn count(&self, before: usize) {
        let made = self.sink().n_nodes() - before;
        self.allowance
            .set(self.allowance.get().saturating_sub(made));
        if made > REOPENED_MAX {
            self.is_runaway.set(true);
        } else if made > 2 {
            self.is_runaway.set(false);
        }
    }

    fn admit_start(&self, tag: &Tag) -> bool {
        if self.is_runaway.get() && is_formatting(&tag.name) {
            return false;
        }
        if self.has_room() || is_void(&tag.name) {
            return true;
        }
        if self.is_foreign() {
            if tag.self_closing {
                return true;
            }
        } else if is_raw(&tag.name) {
            return true;
        }
        self.close_beyond();
        let has_slack = self.depth() <= self.depth_max + SLACK;
        self.beyond.borrow_mut().push(tag.name.clone(), has_slack);
        has_slack
    }

    fn admit_end(&self, name: &LocalName) -> bool {
        if self.beyond.borrow().names.is_empty() {
            return true;
        }
        if !self.beyond.borrow().holds(name) {
            return true;
        }
        self.close_beyond();
        self.beyond.borrow_mut().pop_to(name);
        false
    }

    /// Whether a start tag may nest. Checks the tree only when enough nodes were created since the
    /// last check.
    fn has_room(&self) -> bool {
        if self.allowance.get() > 0 {
            return true;
        }
        let room = self.depth_max.saturating_sub(self.depth());
        if room > 0 {
            self.allowance.set(room);
            self.beyond.borrow_mut().clear();
        }
        room > 0
    }

    /// Depth of the current node, the document being 0.
    fn depth(&self) -> usize {
        self.sink().last_named.set(0);
        // Makes the builder ask the sink for the current node's name: the only way to learn which
        // node that is.
        self.is_foreign();
        let node = self.sink().last_named.get();
        self.sink().arena.borrow().nodes[node as usize].depth as usize
    }

    /// Closes the element beyond the limit that is open, if there is one.
    fn close_beyond(&self) {
        let mut beyond = self.beyond.borrow_mut();
        if !std::mem::take(&mut beyond.is_top_open) {
            return;
        }
        let Some(name) = beyond.names.last().cloned() else {
            return;
        };
        drop(beyond);
        let _ = self.pass(Tag {
            kind: TagKind::EndTag,
            name,
            self_closing: false,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        });
    }
}

impl Beyond {
    fn push(&mut self, name: LocalName, is_open: bool) {
        *self.counts.entry(name.clone()).or_default() += 1;
        self.names.push(name);
        self.is_top_open = is_open;
    }

    fn holds(&self, name: &LocalName) -> bool {
        self.counts.get(name).is_some_and(|&count| count > 0)
    }

    fn pop_to(&mut self, name: &LocalName) {
        while let Some(popped) = self.names.pop() {
            if let Some(count) = self.counts.get_mut(&popped) {
                *count -= 1;
            }
            if popped == *name {
                return;
            }
        }
    }

    fn clear(&mut self) {
        self.names.clear();
        self.counts.clear();
        self.is_top_open = false;
    }
}

/// Elements that never have children. Source: WHATWG HTML, "Void elements", with the obsolete ones
/// the tree builder knows.
fn is_void(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("basefont")
            | local_name!("bgsound")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("frame")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("param")
            | local_name!("source")
            | local_name!("track")
            | local_name!("wbr")
    )
}

/// HTML elements that contain only text.
fn is_raw(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("script")
            | local_name!("style")
            | local_name!("textarea")
            | local_name!("title")
            | local_name!("xmp")
    )
}

/// Source: WHATWG HTML, "The stack of open elements", formatting.
fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}
