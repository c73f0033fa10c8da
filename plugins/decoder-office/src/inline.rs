//! Text with its formatting, as all kinds of documents have it.

use trawl_sdk::decoder::Html;

/// A piece of text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) link: Option<String>,
    /// The number of the note that it refers to, from 1.
    pub(crate) note: Option<usize>,
}

/// The formatting that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) is_bold: bool,
    pub(crate) is_italic: bool,
    pub(crate) is_struck: bool,
    pub(crate) is_above: bool,
    pub(crate) is_below: bool,
}

/// The text of a paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inline(pub(crate) Vec<Span>);

impl Inline {
    /// Adds text, to the last piece if that is in the same style.
    pub(crate) fn push(&mut self, text: &str, style: Style, link: Option<&str>) {
        if text.is_empty() {
            return;
        }
        if let Some(last) = self.0.last_mut()
            && last.style == style
            && last.link.as_deref() == link
            && last.note.is_none()
        {
            last.text.push_str(text);
            return;
        }
        self.0.push(Span {
            text: text.to_owned(),
            style,
            link: link.map(str::to_owned),
            note: None,
        });
    }

    /// Adds a reference to a note.
    pub(crate) fn push_note(&mut self, number: usize) {
        self.0.push(Span {
            note: Some(number),
            ..Span::default()
        });
    }

    pub(crate) fn is_blank(&self) -> bool {
        let is_blank = |span: &Span| span.note.is_none() && span.text.trim().is_empty();
        self.0.iter().all(is_blank)
    }

    /// The text alone.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Writes it. `is_heading`: what is bold as a whole is not marked.
    pub(crate) fn write(&self, html: &mut Html, is_heading: bool) {
        for span in &self.0 {
            span.write(html, is_heading);
        }
    }
}

impl Span {
    fn write(&self, html: &mut Html, is_heading: bool) {
        if let Some(number) = self.note {
            let target = format!("#note-{number}");
            html.open("sup").link(Some(&target), &number.to_string());
            html.close();
            return;
        }
        let is_marked = !self.text.trim().is_empty();
        let marks = [
            ("strong", self.style.is_bold && is_marked && !is_heading),
            ("em", self.style.is_italic && is_marked && !is_heading),
            ("s", self.style.is_struck && is_marked),
            ("sup", self.style.is_above && is_marked),
            ("sub", self.style.is_below && is_marked),
        ];
        let marks: Vec<&'static str> = marks
            .iter()
            .filter(|(_, is_on)| *is_on)
            .map(|(name, _)| *name)
            .collect();
        if let Some(link) = &self.link {
            html.open_with("a", &[("href", link)]);
        }
        for name in &marks {
            html.open(name);
        }
        for (index, line) in self.text.split('\n').enumerate() {
            if index > 0 {
                html.open("br");
            }
            html.text(line);
        }
        for _ in &marks {
            html.close();
        }
        if self.link.is_some() {
            html.close();
        }
    }
}

/// Writes the notes of a document after its text.
pub(crate) fn write_notes(html: &mut Html, notes: &[Vec<Inline>]) {
    if notes.is_empty() {
        return;
    }
    html.open_with("section", &[("class", "footnotes")])
        .open("ol");
    for (index, paragraphs) in notes.iter().enumerate() {
        let id = format!("note-{}", index + 1);
        html.open_with("li", &[("id", &id)]);
        for paragraph in paragraphs.iter().filter(|it| !it.is_blank()) {
            html.open("p");
            paragraph.write(html, false);
            html.close();
        }
        html.close();
    }
    html.close().close();
}
