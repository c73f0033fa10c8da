//! Nested lists out of items that only know their level.

use trawl_sdk::decoder::Html;

/// The lists that are open, with their levels; each has an open item.
#[derive(Debug, Default)]
pub(crate) struct Lists(Vec<(&'static str, usize)>);

impl Lists {
    /// Begins an item of this level. Levels without items of their own are left out.
    pub(crate) fn begin_item(&mut self, html: &mut Html, level: usize, is_ordered: bool) {
        let name = if is_ordered { "ol" } else { "ul" };
        while self.0.last().is_some_and(|(_, open)| *open > level) {
            self.close_one(html);
        }
        if self.0.last() == Some(&(name, level)) {
            html.close().open("li");
            return;
        }
        if self.0.last().is_some_and(|(_, open)| *open == level) {
            self.close_one(html);
        }
        html.open(name).open("li");
        self.0.push((name, level));
    }

    /// Ends all lists.
    pub(crate) fn end(&mut self, html: &mut Html) {
        while !self.0.is_empty() {
            self.close_one(html);
        }
    }

    fn close_one(&mut self, html: &mut Html) {
        self.0.pop();
        html.close().close();
    }
}
