//! What an HTML page consists of, as far as it is scored.

use anyhow::anyhow;
use scraper::{ElementRef, Html, Selector};

use super::words::{self, key};

/// What is around the text of documentation in HTML and on none of its pages in print: navigation
/// of Sphinx, DocBook, Texinfo, Doxygen, pod2html and SiSU.
const NAVIGATION: &str = "head, script, style, nav, noscript, .navheader, .navfooter, .nav-panel, \
    .node, .related, .sphinxsidebar, .headerlink, .navigation, .navpath, .navrow1, .navrow2, .ttc, \
    .copiable-anchor, .copiable-link, .section-toc, .mini-toc, .header > p, table.nav, #top, \
    #side-nav, #nav-path, #doc-content > .header > .summary, body > .header, body > div.footer, .menu, #MSearchSelectWindow";
/// Tables of contents and indexes: their words count, but not as headings, tables, lists or links.
const CONTENTS: &str = ".toc, .toctree-wrapper > ul, .contents, .shortcontents, .table-of-contents, \
    .list-of-tables, .list-of-figures, .index, nav, [role=doc-toc], #index, \
    [class*=printindex], [class^=index-], [class*=letters-header]";
/// Tables that DocBook sets its remarks in, each beside its picture, and its lists of terms and of
/// questions: no tables of the document.
const LAYOUT: &str = ".note > table, .tip > table, .important > table, .warning > table, \
    .caution > table, table.variablelist, table[summary='Q and A Div']";
/// Links of Texinfo to other manuals, which print names without an address.
const OTHER_MANUALS: &str = "a[data-manual]";
/// Items of a list from which on it is a table of contents, if they are nothing but links within
/// the site.
const CONTENTS_ITEMS: usize = 8;
/// What a page has that only leads to another: Texinfo makes one of each anchor.
const REDIRECTION: &str = "meta[http-equiv=refresh i]";
/// Elements whose text is apart from what is beside them.
const BLOCKS: [&str; 35] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "dd",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "sup",
    "table",
    "td",
    "th",
    "tr",
    "ul",
    "tbody",
];
/// Words by which an item of a list is compared: where one ends, programs differ.
const ITEM_WORDS: usize = 8;

/// What a document consists of. All texts but [`Structure::text`] are as [`key`] makes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Structure {
    /// The whole text in reading order.
    pub(super) text: String,
    /// Headings, without their numbers.
    pub(super) headings: Vec<String>,
    /// Cells with text of tables that have at least two rows and two columns.
    pub(super) cells: Vec<String>,
    /// Targets of links to the web.
    pub(super) links: Vec<String>,
    /// Addresses that the text shows without a link, in the same form. Many programs link them.
    pub(super) shown: Vec<String>,
    /// The first words of the items of lists.
    pub(super) items: Vec<String>,
}

/// What of a page is read.
pub(super) struct Reader {
    skipped: Selector,
    contents: Selector,
    /// Tables of no document; what programs make of one has none.
    layout: Option<Selector>,
    redirection: Selector,
    /// Links that no print has, likewise.
    unprinted: Option<Selector>,
}

impl Reader {
    /// For pages of a site: without their navigation.
    pub(super) fn of_site() -> anyhow::Result<Self> {
        Ok(Self {
            skipped: selector(NAVIGATION)?,
            contents: selector(CONTENTS)?,
            layout: Some(selector(LAYOUT)?),
            redirection: selector(REDIRECTION)?,
            unprinted: Some(selector(OTHER_MANUALS)?),
        })
    }

    /// For the pages of a site after its first: print has no contents of each chapter.
    pub(super) fn of_chapter() -> anyhow::Result<Self> {
        Ok(Self {
            skipped: selector(&format!("{NAVIGATION}, .toc, .toctree-wrapper > ul"))?,
            ..Self::of_site()?
        })
    }

    /// For what a program made of a document: all of its body.
    pub(super) fn of_output() -> anyhow::Result<Self> {
        Ok(Self {
            skipped: selector("head, script, style")?,
            contents: selector(CONTENTS)?,
            layout: None,
            redirection: selector(REDIRECTION)?,
            unprinted: None,
        })
    }

    /// Adds what is on a page.
    pub(super) fn add(&self, html: &str, structure: &mut Structure) {
        let page = Html::parse_document(html);
        if page.select(&self.redirection).next().is_some() {
            return;
        }
        let mut walk = Walk {
            reader: self,
            structure,
            n_contents: 0,
            tables: Vec::new(),
            items: Vec::new(),
            n_links: 0,
            unlinked: String::new(),
        };
        walk.element(page.root_element());
        let unlinked = walk.unlinked;
        structure.shown.extend(words::addresses(&unlinked));
        structure.text.push(' ');
    }

    /// The page without what is not read, for programs that make documents of it.
    pub(super) fn cleaned(&self, html: &str) -> String {
        let page = Html::parse_document(html);
        let mut cleaned = "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head>".to_owned();
        self.write(page.root_element(), &mut cleaned);
        cleaned + "</html>"
    }

    /// The tables of a cleaned page alone, for spreadsheets.
    pub(super) fn tables(cleaned: &str) -> anyhow::Result<String> {
        let (page, table) = (Html::parse_document(cleaned), selector("table")?);
        let is_table = |element: ElementRef<'_>| element.value().name() == "table";
        let outer = page.select(&table).filter(|element| {
            let mut around = element.ancestors().filter_map(ElementRef::wrap);
            !around.any(is_table)
        });
        let tables: String = outer.map(|table| table.html()).collect();
        Ok(format!(
            "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body>{tables}</body></html>"
        ))
    }

    fn write(&self, element: ElementRef<'_>, html: &mut String) {
        let name = element.value().name();
        if self.skipped.matches(&element) || name == "img" {
            return;
        }
        let is_kept = name != "html";
        if is_kept {
            html.push('<');
            html.push_str(name);
            for attribute in ["href", "colspan", "rowspan", "start"] {
                if let Some(value) = element.attr(attribute) {
                    let value = value.replace('&', "&amp;").replace('"', "&quot;");
                    html.push_str(&format!(" {attribute}=\"{value}\""));
                }
            }
            html.push('>');
        }
        for child in element.children() {
            match (child.value().as_text(), ElementRef::wrap(child)) {
                (Some(text), _) => html.push_str(&text.replace('&', "&amp;").replace('<', "&lt;")),
                (None, Some(inner)) => self.write(inner, html),
                (None, None) => {}
            }
        }
        if is_kept && !matches!(name, "br" | "hr") {
            html.push_str(&format!("</{name}>"));
        }
    }
}

/// A page that is being read.
struct Walk<'a> {
    reader: &'a Reader,
    structure: &'a mut Structure,
    /// Tables of contents that are open.
    n_contents: usize,
    /// Cells of the rows of the tables that are open.
    tables: Vec<Vec<Vec<String>>>,
    /// Where the own text of the items that are open begins, and where it ends, if a list within
    /// has begun.
    items: Vec<(usize, Option<usize>)>,
    /// Links that are open, and the text outside them.
    n_links: usize,
    unlinked: String,
}

impl Walk<'_> {
    fn element(&mut self, element: ElementRef<'_>) {
        if self.reader.skipped.matches(&element) {
            return;
        }
        let is_contents = self.reader.contents.matches(&element)
            || self.reader.layout.is_some() && is_only_links(element);
        self.n_contents += usize::from(is_contents);
        let name = element.value().name();
        let is_block = BLOCKS.contains(&name);
        let is_link = name == "a" && element.attr("href").is_some();
        self.n_links += usize::from(is_link);
        if is_block {
            self.structure.text.push(' ');
        }
        if is_block || is_link {
            self.unlinked.push(' ');
        }
        let from = self.structure.text.len();
        self.open(name, from);
        for child in element.children() {
            match (child.value().as_text(), ElementRef::wrap(child)) {
                (Some(text), _) => self.text(text),
                (None, Some(inner)) => self.element(inner),
                (None, None) => {}
            }
        }
        self.close(&element, from);
        if is_block {
            self.structure.text.push(' ');
        }
        self.n_links -= usize::from(is_link);
        self.n_contents -= usize::from(is_contents);
    }

    fn text(&mut self, text: &str) {
        self.structure.text.push_str(text);
        if self.n_links == 0 {
            self.unlinked.push_str(text);
        }
    }

    fn open(&mut self, name: &str, from: usize) {
        match name {
            "table" => self.tables.push(Vec::new()),
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    table.push(Vec::new());
                }
            }
            "li" => self.items.push((from, None)),
            "ul" | "ol" => {
                if let Some((_, end)) = self.items.last_mut() {
                    end.get_or_insert(from);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, element: &ElementRef<'_>, from: usize) {
        let counts = self.n_contents == 0;
        let own = self.structure.text.get(from..).unwrap_or_default();
        match element.value().name() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if counts => {
                let heading = words::heading(own);
                // A number alone stands above a footnote of Texinfo.
                if heading.contains(char::is_alphabetic) {
                    self.structure.headings.push(heading);
                }
            }
            "td" | "th" => {
                let cell = key(own);
                if let Some(row) = self.tables.last_mut().and_then(|table| table.last_mut()) {
                    row.push(cell);
                }
            }
            "table" => {
                let rows = self.tables.pop().unwrap_or_default();
                let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
                let layout = self.reader.layout.as_ref();
                let is_layout = layout.is_some_and(|layout| layout.matches(element));
                if counts && !is_layout && rows.len() > 1 && n_columns > 1 {
                    let cells = rows.into_iter().flatten();
                    let cells = cells.filter(|cell| !cell.is_empty());
                    self.structure.cells.extend(cells);
                }
            }
            "li" => {
                let (from, end) = self.items.pop().unwrap_or((from, None));
                let end = end.unwrap_or(self.structure.text.len());
                let text = self.structure.text.get(from..end).unwrap_or_default();
                let item = words::first(text, ITEM_WORDS);
                if counts && !item.is_empty() {
                    self.structure.items.push(item);
                }
            }
            "a" if counts => {
                let unprinted = self.reader.unprinted.as_ref();
                let is_printed = unprinted.is_none_or(|links| !links.matches(element));
                let target = element.attr("href").filter(|_| is_printed);
                let target = target.and_then(words::target);
                self.structure.links.extend(target);
            }
            _ => {}
        }
    }
}

/// Whether an element is a list of nothing but links within the site: a table of contents.
fn is_only_links(list: ElementRef<'_>) -> bool {
    if !matches!(list.value().name(), "ul" | "ol") {
        return false;
    }
    let elements = || list.descendants().filter_map(ElementRef::wrap);
    let n_items = elements().filter(|inner| inner.value().name() == "li");
    let is_within = |inner: ElementRef<'_>| {
        let target = inner.attr("href").filter(|_| inner.value().name() == "a");
        target.is_some_and(|target| words::target(target).is_none())
    };
    let mut texts = list.descendants().filter(|node| {
        let text = node.value().as_text();
        text.is_some_and(|text| text.contains(|c: char| !c.is_whitespace()))
    });
    n_items.count() >= CONTENTS_ITEMS
        && texts.all(|text| text.ancestors().filter_map(ElementRef::wrap).any(is_within))
}

fn selector(text: &str) -> anyhow::Result<Selector> {
    Selector::parse(text).map_err(|error| anyhow!("selector `{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Reader, Structure};

    fn read(html: &str) -> Structure {
        let reader = Reader::of_site().expect("the selectors are valid");
        let mut structure = Structure::default();
        reader.add(html, &mut structure);
        structure
    }

    #[test]
    fn headings_cells_links_and_items_are_found() {
        let page = read(
            "<nav>Home</nav><h2>2.1 Tides</h2><p>See <a href='https://a.example/x/'>x</a>\
             <a href='#y'>y</a></p><ul><li>One<ul><li>Two</li></ul></li></ul>\
             <table><tr><th>A<th>B<tr><td>1<td></table><table><tr><td>alone</table>",
        );
        assert_eq!(page.headings, ["tides"]);
        assert_eq!(page.links, ["a.example/x"]);
        assert_eq!(page.items, ["two", "one"]);
        assert_eq!(page.cells, ["a", "b", "1"]);
        assert!(!page.text.contains("Home"), "{}", page.text);
    }

    #[test]
    fn of_contents_only_the_words_count() {
        let page = read("<div class=toc><ul><li><a href='https://a.example'>Tides</a></ul></div>");
        assert!(page.text.contains("Tides"));
        assert_eq!((page.items.len(), page.links.len()), (0, 0));
    }

    #[test]
    fn what_sphinx_puts_in_one_page_counts_and_remarks_are_no_tables() {
        let page = read(
            "<div class=toctree-wrapper><ul><li>Tides</ul><section><h2>Tides</h2></section></div>\
             <div class=note><table><tr><td><td>Note<tr><td>Low<td>water</table></div>\
             <p>a<sup>2</sup></p>",
        );
        assert_eq!(page.headings, ["tides"]);
        assert_eq!((page.items.len(), page.cells.len()), (0, 0));
        assert!(page.text.contains("a 2"), "{}", page.text);
    }

    #[test]
    fn lists_of_terms_are_no_tables_and_redirections_have_no_text() {
        let page = read(
            "<div class=node>Next: Ships</div><table class=variablelist><tr><td>Low<td>water\
             <tr><td>High<td>tide</table>",
        );
        assert!(
            page.cells.is_empty() && !page.text.contains("Next"),
            "{page:?}"
        );
        assert!(page.text.contains("water"), "{}", page.text);
        let page = read("<meta http-equiv=Refresh content='0; url=a.html'><p>It is at a.");
        assert_eq!(page.text, "");
    }

    #[test]
    fn a_long_list_of_links_within_the_site_is_its_contents() {
        let list = |item: &str, count: usize| read(&format!("<ul>{}</ul>", item.repeat(count)));
        assert_eq!(list("<li><a href=a.html>1 <b>A</b></a>", 8).items.len(), 0);
        assert_eq!(list("<li><a href=a.html>A</a>", 7).items.len(), 7);
        assert_eq!(list("<li><a href=a.html>A</a> of b", 8).items.len(), 8);
        assert_eq!(
            list("<li><a href=https://a.example>A</a>", 8).items.len(),
            8
        );
    }

    #[test]
    fn addresses_without_a_link_are_known_and_other_manuals_are_in_no_print() {
        let page = read(
            "<p>At https://a.example/b/, <b>ann@a.example</b>.<a href='https://c.example'>c@c.example\
             </a><a data-manual=R href='https://d.example/R.html'>Tides</a>",
        );
        assert_eq!(page.shown, ["a.example/b", "ann@a.example"]);
        assert_eq!(page.links, ["c.example"]);
    }

    #[test]
    fn contents_of_chapters_are_navigation() {
        let reader = Reader::of_chapter().expect("the selectors are valid");
        let mut structure = Structure::default();
        let page = "<div class=header><p>Next: Ships</div><div class=toc>1.1</div><h2>Tides</h2>";
        reader.add(page, &mut structure);
        assert_eq!(structure.text.trim(), "Tides");
    }

    #[test]
    fn a_cleaned_page_has_its_content_alone() {
        let reader = Reader::of_site().expect("the selectors are valid");
        let cleaned = reader.cleaned(
            "<title>T</title><nav>n</nav><p class=x onclick=y>a &lt; b<br><img src=i><a href='?a&amp;b'>c</a>",
        );
        assert!(
            cleaned.ends_with("<body><p>a &lt; b<br><a href=\"?a&amp;b\">c</a></p></body></html>"),
            "{cleaned}"
        );
    }
}
