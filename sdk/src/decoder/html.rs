//! Writes HTML with everything escaped and every element closed.

use super::fragment;
use super::markup::{VOID, escaped};

/// A document that is being written. Methods can be chained.
#[derive(Clone, Debug)]
pub struct Html {
    text: String,
    open: Vec<&'static str>,
}

impl Html {
    /// A document with this title and, if known, language (BCP 47).
    pub fn new(title: &str, language: Option<&str>) -> Self {
        let mut html = Self {
            text: "<!DOCTYPE html>".to_owned(),
            open: Vec::new(),
        };
        match language {
            Some(language) => html.open_with("html", &[("lang", language)]),
            None => html.open("html"),
        };
        html.open("head").element("title", title.trim()).close();
        html.open("body");
        html
    }

    /// Opens an element.
    pub fn open(&mut self, name: &'static str) -> &mut Self {
        self.open_with(name, &[])
    }

    /// Opens an element with attributes.
    pub fn open_with(&mut self, name: &'static str, attributes: &[(&str, &str)]) -> &mut Self {
        self.text.push('<');
        self.text.push_str(name);
        for (attribute, value) in attributes {
            self.text.push(' ');
            self.text.push_str(attribute);
            self.text.push_str("=\"");
            self.text.push_str(&escaped(value));
            self.text.push('"');
        }
        self.text.push('>');
        if !VOID.contains(&name) {
            self.open.push(name);
        }
        self
    }

    /// Closes the element that was opened last. The body stays open.
    pub fn close(&mut self) -> &mut Self {
        if let Some(name) = self.open.pop_if(|name| *name != "body") {
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push('>');
        }
        self
    }

    /// Writes text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escaped(text));
        self
    }

    /// Writes an element with this text alone.
    pub fn element(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.open(name).text(text).close()
    }

    /// Writes a link; without a URL the text alone.
    pub fn link(&mut self, url: Option<&str>, text: &str) -> &mut Self {
        match url.map(str::trim).filter(|url| !url.is_empty()) {
            Some(url) => self
                .open_with("a", &[("href", url)])
                .text(if text.trim().is_empty() { url } else { text })
                .close(),
            None => self.text(text),
        }
    }

    /// Writes a cell of a table, `td` or `th`; one that is a URL is a link.
    pub fn cell(&mut self, name: &'static str, text: &str) -> &mut Self {
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        let has_space = text.contains(char::is_whitespace);
        let url = (is_url && !has_space).then_some(text);
        self.open(name).link(url, text).close()
    }

    /// Opens a cell of a table, `td` or `th`, that covers so many rows and columns.
    pub fn open_cell(&mut self, name: &'static str, n_rows: usize, n_columns: usize) -> &mut Self {
        let spans = [("rowspan", n_rows), ("colspan", n_columns)];
        let spans = spans.map(|(name, count)| (name, count, count.to_string()));
        let spans: Vec<(&str, &str)> = spans
            .iter()
            .filter(|(_, count, _)| *count > 1)
            .map(|(name, _, text)| (*name, text.as_str()))
            .collect();
        self.open_with(name, &spans)
    }

    /// Writes a section of comments, an article each with its author, if there are any. `author` is
    /// empty if the document does not say; `write` writes the text.
    pub fn comments<C>(
        &mut self,
        comments: &[C],
        author: impl Fn(&C) -> &str,
        write: impl Fn(&mut Self, &C),
    ) {
        if comments.is_empty() {
            return;
        }
        self.open_with("section", &[("class", "comments")]);
        for comment in comments {
            self.open("article");
            let author = author(comment);
            if !author.is_empty() {
                self.element("h4", author);
            }
            write(self, comment);
            self.close();
        }
        self.close();
    }

    /// Writes text that keeps its line breaks, as code of this language if there is one.
    pub fn code(&mut self, text: &str, language: Option<&str>) -> &mut Self {
        self.open("pre");
        match language {
            Some(language) => {
                let class = format!("language-{language}");
                self.open_with("code", &[("class", &class)])
            }
            None => self.open("code"),
        };
        self.text(text).close().close()
    }

    /// Writes markup of the document itself in a `div`: [`fragment`] makes it safe.
    pub fn markup(&mut self, html: &str) -> &mut Self {
        self.open("div");
        self.text.push_str(&fragment(html));
        self.close()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Elements that are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes everything and returns the document.
    pub fn finish(mut self) -> String {
        while let Some(name) = self.open.pop() {
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push('>');
        }
        self.text
    }
}
