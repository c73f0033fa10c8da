use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Office;

/// An archive with these parts, not packed.
pub(crate) fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (*name, text.as_bytes(), 0, text.len()))
        .collect();
    packed(&parts)
}

/// An archive with parts: name, bytes as stored, method, bytes expanded.
fn packed(parts: &[(&str, &[u8], u16, usize)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, stored, method, expanded) in parts {
        let at = bytes.len() as u32;
        let mut common = vec![20, 0, 0, 0];
        common.extend(method.to_le_bytes());
        common.extend([0; 8]);
        common.extend((stored.len() as u32).to_le_bytes());
        common.extend((*expanded as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(*stored);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    let count = (parts.len() as u16).to_le_bytes();
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn decode(bytes: &[u8]) -> Result<Decoded, Failure> {
    testkit::document("application/zip", bytes).decode::<Office>(json!({}))
}

const CORE: &str = "<cp:coreProperties><dc:title>Ships &amp; sea</dc:title><dc:creator>Ann;Bert</dc:creator>\
    <dcterms:created>2024-01-02T03:04:05Z</dcterms:created></cp:coreProperties>";

fn relation(kind: &str, id: &str, target: &str, more: &str) -> String {
    let types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    format!("<Relationship Id=\"{id}\" Type=\"{types}/{kind}\" Target=\"{target}\" {more}/>")
}

fn relations(all: &[String]) -> String {
    format!("<Relationships>{}</Relationships>", all.concat())
}

fn docx(body: &str) -> Vec<u8> {
    let main = relations(&[relation("officeDocument", "r1", "word/document.xml", "")]);
    let own = relations(&[relation(
        "hyperlink",
        "r7",
        "https://a.example/",
        "TargetMode=\"External\"",
    )]);
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    archive(&[
        ("_rels/.rels", &main),
        ("docProps/core.xml", CORE),
        ("word/document.xml", &document),
        ("word/_rels/document.xml.rels", &own),
        (
            "word/styles.xml",
            "<w:styles><w:style w:styleId=\"H2\"><w:name w:val=\"heading 2\"/></w:style>\
             <w:style w:styleId=\"Own\"><w:basedOn w:val=\"H2\"/></w:style></w:styles>",
        ),
        (
            "word/numbering.xml",
            "<w:numbering><w:abstractNum w:abstractNumId=\"5\"><w:lvl w:ilvl=\"0\"><w:numFmt w:val=\"decimal\"/></w:lvl>\
             <w:lvl w:ilvl=\"1\"><w:numFmt w:val=\"bullet\"/></w:lvl></w:abstractNum>\
             <w:num w:numId=\"3\"><w:abstractNumId w:val=\"5\"/></w:num></w:numbering>",
        ),
        (
            "word/footnotes.xml",
            "<w:footnotes><w:footnote w:id=\"2\"><w:p><w:r><w:t>A note</w:t></w:r></w:p></w:footnote></w:footnotes>",
        ),
    ])
}

fn text(text: &str) -> String {
    format!("<w:r><w:t>{text}</w:t></w:r>")
}

fn item(level: usize, words: &str) -> String {
    let properties = format!(
        "<w:pPr><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"3\"/></w:numPr></w:pPr>"
    );
    format!("<w:p>{properties}{}</w:p>", text(words))
}

#[test]
fn a_text_document_has_headings_lists_links_and_notes() {
    let parts = [
        format!("<w:p><w:pPr><w:pStyle w:val=\"Own\"/></w:pPr>{}</w:p>", text("Ships")),
        "<w:p><w:r><w:t xml:space=\"preserve\">a </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r>\
         <w:r><w:rPr><w:i w:val=\"0\"/></w:rPr><w:t>.</w:t></w:r><w:hyperlink r:id=\"r7\"><w:r><w:t>link</w:t></w:r></w:hyperlink>\
         <w:r><w:footnoteReference w:id=\"2\"/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>\
         <w:ins><w:r><w:t>new</w:t><w:br/><w:t>line</w:t></w:r></w:ins></w:p>"
            .to_owned(),
        "<w:p><w:r><w:fldChar w:fldCharType=\"begin\"/><w:instrText> HYPERLINK \"https://b.example/\" </w:instrText>\
         <w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>field</w:t></w:r>\
         <w:r><w:fldChar w:fldCharType=\"end\"/><w:t>!</w:t></w:r></w:p><w:p/>"
            .to_owned(),
        item(0, "one"),
        item(1, "inner"),
        item(0, "two"),
    ];
    let decoded = decode(&docx(&parts.concat())).expect("a document");
    assert_eq!(
        body(&decoded),
        "<h2>Ships</h2><p>a <strong>bold</strong>.<a href=\"https://a.example/\">link</a>\
         <sup><a href=\"#note-1\">1</a></sup>new<br>line</p>\
         <p><a href=\"https://b.example/\">field</a>!</p>\
         <ol><li>one<ul><li>inner</li></ul></li><li>two</li></ol>\
         <section class=\"footnotes\"><ol><li id=\"note-1\"><p>A note</p></li></ol></section>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "Ships & sea", "authors": ["Ann", "Bert"], "published": "2024-01-02T03:04:05Z"})
    );
}

#[test]
fn a_table_has_its_header_and_merged_cells() {
    let cell = |properties: &str, words: &str| {
        format!(
            "<w:tc><w:tcPr>{properties}</w:tcPr><w:p>{}</w:p></w:tc>",
            text(words)
        )
    };
    let rows = [
        format!(
            "<w:trPr><w:tblHeader/></w:trPr>{}{}",
            cell("", "A"),
            cell("<w:gridSpan w:val=\"2\"/>", "B")
        ),
        [
            cell("<w:vMerge w:val=\"restart\"/>", "1"),
            cell("", "2"),
            cell("", "3"),
        ]
        .concat(),
        [cell("<w:vMerge/>", ""), cell("", "4"), cell("", "5")].concat(),
    ];
    let rows: String = rows
        .iter()
        .map(|row| format!("<w:tr>{row}</w:tr>"))
        .collect();
    let decoded = decode(&docx(&format!("<w:tbl>{rows}</w:tbl>"))).expect("a document");
    assert_eq!(
        body(&decoded),
        "<table><tr><th>A</th><th colspan=\"2\">B</th></tr>\
         <tr><td rowspan=\"2\">1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td></tr></table>"
    );
}

#[test]
fn a_spreadsheet_shows_values_as_formatted() {
    let main = relations(&[relation("officeDocument", "r1", "xl/workbook.xml", "")]);
    let own = relations(&[
        relation("worksheet", "r1", "worksheets/sheet1.xml", ""),
        relation("worksheet", "r2", "/xl/worksheets/sheet2.xml", ""),
        relation("sharedStrings", "r3", "sharedStrings.xml", ""),
        relation("styles", "r4", "styles.xml", ""),
    ]);
    let bytes = archive(&[
        ("_rels/.rels", &main),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name=\"Fleet\" r:id=\"r1\"/><sheet name=\"Secret\" state=\"hidden\" r:id=\"r2\"/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &own),
        (
            "xl/sharedStrings.xml",
            "<sst><si><t>Name</t></si><si><r><t>Bu</t></r><r><t>ilt</t></r></si><si><t>Anna</t></si></sst>",
        ),
        (
            "xl/styles.xml",
            "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"dd.mm.yyyy\"/></numFmts>\
             <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/><xf numFmtId=\"10\"/></cellXfs></styleSheet>",
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet><sheetData>\
             <row r=\"3\"><c r=\"B3\" t=\"s\"><v>0</v></c><c r=\"C3\" t=\"s\"><v>1</v></c><c r=\"XFD3\" t=\"inlineStr\"><is><t>Share</t></is></c></row>\
             <row r=\"1048576\"><c r=\"B1048576\" t=\"s\"><v>2</v></c><c r=\"C1048576\" s=\"1\"><v>45292</v></c><c r=\"XFD1048576\" s=\"2\"><v>0.5</v></c></row>\
             </sheetData></worksheet>",
        ),
        ("xl/worksheets/sheet2.xml", "<worksheet/>"),
    ]);
    let decoded = decode(&bytes).expect("a spreadsheet");
    assert_eq!(
        body(&decoded),
        "<section><h2>Fleet</h2><table><thead><tr><th>Name</th><th>Built</th><th>Share</th></tr></thead>\
         <tbody><tr><td>Anna</td><td>2024-01-01</td><td>50.00%</td></tr></tbody></table></section>"
    );
    assert_eq!(decoded.warnings, ["hidden sheets are left out: Secret"]);
    assert_eq!(decoded.metadata["sheets"], json!(["Fleet"]));
}

fn pptx() -> Vec<u8> {
    let main = relations(&[relation("officeDocument", "r1", "ppt/presentation.xml", "")]);
    let own = relations(&[
        relation("slide", "r1", "slides/slide9.xml", ""),
        relation("slide", "r2", "slides/slide1.xml", ""),
    ]);
    let slide = |title: &str, points: &[&str]| {
        let points: String = points
            .iter()
            .map(|it| format!("<a:p><a:r><a:t>{it}</a:t></a:r></a:p>"))
            .collect();
        format!(
            "<p:sld><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph idx=\"1\"/></p:nvPr></p:nvSpPr><p:txBody>{points}</p:txBody></p:sp>\
             <p:sp><p:nvSpPr><p:nvPr><p:ph type=\"title\"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:txBody></p:sp>\
             <p:sp><p:nvSpPr><p:nvPr><p:ph type=\"sldNum\"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:txBody></p:sp>\
             </p:spTree></p:cSld></p:sld>"
        )
    };
    archive(&[
        ("_rels/.rels", &main),
        (
            "ppt/presentation.xml",
            "<p:presentation><p:sldIdLst><p:sldId r:id=\"r1\"/><p:sldId r:id=\"r2\"/></p:sldIdLst></p:presentation>",
        ),
        ("ppt/_rels/presentation.xml.rels", &own),
        ("ppt/slides/slide9.xml", &slide("First", &["a", "b"])),
        ("ppt/slides/slide1.xml", &slide("Second", &["c"])),
    ])
}

#[test]
fn a_presentation_is_a_section_for_each_slide() {
    let first = "<section data-page=\"1\"><h2>First</h2><ul><li>a</li><li>b</li></ul></section>";
    let second = "<section data-page=\"2\"><h2>Second</h2><p>c</p></section>";
    let decoded = decode(&pptx()).expect("a presentation");
    assert_eq!(body(&decoded), [first, second].concat());
    assert_eq!(decoded.page_count, Some(2));
    let document = testkit::document("application/zip", pptx()).pages(&[(2, 9)]);
    let decoded = document
        .decode::<Office>(json!({}))
        .expect("a presentation");
    assert_eq!((body(&decoded), decoded.page_count), (second, Some(2)));
}

#[test]
fn what_is_left_out_otherwise_is_an_option() {
    let with = |bytes: &[u8], options: Value| {
        let document = testkit::document("application/zip", bytes);
        document.decode::<Office>(options).expect("a document")
    };
    let main = relations(&[relation("officeDocument", "r1", "word/document.xml", "")]);
    let text = archive(&[
        ("_rels/.rels", &main),
        (
            "word/document.xml",
            "<w:document><w:body><w:p><w:r><w:t>a</w:t></w:r></w:p></w:body></w:document>",
        ),
        (
            "word/comments.xml",
            "<w:comments><w:comment w:author=\"Ann\"><w:p><w:r><w:t>why</w:t></w:r></w:p></w:comment></w:comments>",
        ),
    ]);
    assert_eq!(body(&with(&text, json!({}))), "<p>a</p>");
    assert_eq!(
        body(&with(&text, json!({"comments": true}))),
        "<p>a</p><section class=\"comments\"><article><h4>Ann</h4><p>why</p></article></section>"
    );
    let main = relations(&[relation("officeDocument", "r1", "ppt/p.xml", "")]);
    let slides = relations(&[relation("slide", "r1", "s.xml", "")]);
    let notes = relations(&[relation("notesSlide", "r1", "n.xml", "")]);
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph type=\"{kind}\"/></p:nvPr></p:nvSpPr>\
             <p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let tree = |shapes: &str| format!("<s><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></s>");
    let slide = tree(&shape("title", "One"));
    let note = tree(&(shape("body", "say it") + &shape("sldNum", "1")));
    let deck = archive(&[
        ("_rels/.rels", &main),
        (
            "ppt/p.xml",
            "<p:presentation><p:sldIdLst><p:sldId r:id=\"r1\"/></p:sldIdLst></p:presentation>",
        ),
        ("ppt/_rels/p.xml.rels", &slides),
        ("ppt/s.xml", &slide),
        ("ppt/_rels/s.xml.rels", &notes),
        ("ppt/n.xml", &note),
    ]);
    assert_eq!(
        body(&with(&deck, json!({}))),
        "<section data-page=\"1\"><h2>One</h2></section>"
    );
    assert_eq!(
        body(&with(&deck, json!({"notes": true}))),
        "<section data-page=\"1\"><h2>One</h2><aside><p>say it</p></aside></section>"
    );
}

#[test]
fn open_document_has_the_same_options() {
    let with = |content: &str, options: Value| {
        let document = testkit::document("application/zip", archive(&[("content.xml", content)]));
        document.decode::<Office>(options).expect("a document")
    };
    let text = "<d><office:body><office:text><text:p>a<office:annotation><dc:creator>Ann</dc:creator>\
        <text:p>why</text:p></office:annotation></text:p></office:text></office:body></d>";
    assert_eq!(body(&with(text, json!({}))), "<p>a</p>");
    assert_eq!(
        body(&with(text, json!({"comments": true}))),
        "<p>a</p><section class=\"comments\"><article><h4>Ann</h4><p>why</p></article></section>"
    );
    let deck = "<d><office:body><office:presentation><draw:page><draw:frame presentation:class=\"title\">\
        <draw:text-box><text:p>One</text:p></draw:text-box></draw:frame><presentation:notes><draw:frame>\
        <draw:text-box><text:p>say it</text:p></draw:text-box></draw:frame></presentation:notes>\
        </draw:page></office:presentation></office:body></d>";
    assert_eq!(
        body(&with(deck, json!({}))),
        "<section data-page=\"1\"><h2>One</h2></section>"
    );
    assert_eq!(
        body(&with(deck, json!({"notes": true}))),
        "<section data-page=\"1\"><h2>One</h2><aside><p>say it</p></aside></section>"
    );
    let sheets = "<d><office:automatic-styles><style:style style:name=\"ta1\"><style:table-properties table:display=\"false\"/>\
        </style:style></office:automatic-styles><office:body><office:spreadsheet>\
        <table:table table:name=\"Secret\" table:style-name=\"ta1\"/></office:spreadsheet></office:body></d>";
    let decoded = with(sheets, json!({}));
    assert_eq!(decoded.warnings, ["hidden sheets are left out: Secret"]);
    assert_eq!(decoded.metadata["sheets"], json!([]));
    let decoded = with(sheets, json!({"hidden_sheets": true}));
    assert_eq!(decoded.metadata["sheets"], json!(["Secret"]));
}

#[test]
fn hidden_sheets_are_an_option() {
    let main = relations(&[relation("officeDocument", "r1", "xl/workbook.xml", "")]);
    let own = relations(&[relation("worksheet", "r1", "s.xml", "")]);
    let bytes = archive(&[
        ("_rels/.rels", &main),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name=\"Secret\" state=\"hidden\" r:id=\"r1\"/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &own),
        ("xl/s.xml", "<worksheet><sheetData/></worksheet>"),
    ]);
    let decode = |options: Value| {
        let document = testkit::document("application/zip", &bytes);
        document.decode::<Office>(options).expect("a spreadsheet")
    };
    assert_eq!(
        decode(json!({})).warnings,
        ["hidden sheets are left out: Secret"]
    );
    let decoded = decode(json!({"hidden_sheets": true}));
    assert_eq!(decoded.metadata["sheets"], json!(["Secret"]));
    assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
}

#[test]
fn open_document_texts_have_the_same() {
    let content = "<office:document-content><office:automatic-styles>\
        <style:style style:name=\"T1\"><style:text-properties fo:font-weight=\"bold\"/></style:style>\
        <text:list-style style:name=\"L1\"><text:list-level-style-number text:level=\"1\" style:num-format=\"1\"/></text:list-style>\
        </office:automatic-styles><office:body><office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>\
        <text:h text:outline-level=\"2\">Ships</text:h>\
        <text:p>a <text:span text:style-name=\"T1\">bold</text:span><text:s text:c=\"2\"/><text:a xlink:href=\"https://a.example/\">link</text:a>\
        <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note</text:p></text:note-body></text:note></text:p>\
        <text:list text:style-name=\"L1\"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item>\
        <text:list-item><text:p>two</text:p></text:list-item></text:list>\
        <table:table><table:table-header-rows><table:table-row><table:table-cell table:number-columns-spanned=\"2\"><text:p>A</text:p></table:table-cell>\
        <table:covered-table-cell/></table:table-row></table:table-header-rows>\
        <table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell table:number-rows-spanned=\"2\"><text:p>2</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:table-cell><text:p>3</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table>\
        </office:text></office:body></office:document-content>";
    let meta = "<office:document-meta><office:meta><dc:title>T</dc:title><meta:initial-creator>Ann</meta:initial-creator></office:meta></office:document-meta>";
    let decoded =
        decode(&archive(&[("content.xml", content), ("meta.xml", meta)])).expect("a document");
    assert_eq!(
        body(&decoded),
        "<h2>Ships</h2><p>a <strong>bold</strong>  <a href=\"https://a.example/\">link</a>\
         <sup><a href=\"#note-1\">1</a></sup></p>\
         <ol><li>one<ul><li>inner</li></ul></li><li>two</li></ol>\
         <table><tr><th colspan=\"2\">A</th></tr><tr><td>1</td><td rowspan=\"2\">2</td></tr><tr><td>3</td></tr></table>\
         <section class=\"footnotes\"><ol><li id=\"note-1\"><p>A note</p></li></ol></section>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "T", "authors": ["Ann"]})
    );
}

#[test]
fn open_document_sheets_and_slides() {
    let sheet = "<d><office:body><office:spreadsheet><table:table table:name=\"S\">\
        <table:table-row><table:table-cell office:value-type=\"string\"><text:p>Name</text:p></table:table-cell>\
        <table:table-cell office:value-type=\"string\"><text:p>Length</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"16382\"/></table:table-row>\
        <table:table-row><table:table-cell office:value-type=\"string\"><text:p>Anna</text:p></table:table-cell>\
        <table:table-cell office:value-type=\"float\" office:value=\"12.5\"><text:p>12,5 m</text:p></table:table-cell></table:table-row>\
        <table:table-row table:number-rows-repeated=\"1048574\"><table:table-cell/></table:table-row></table:table></office:spreadsheet></office:body></d>";
    let decoded = decode(&archive(&[("content.xml", sheet)])).expect("a spreadsheet");
    assert_eq!(
        body(&decoded),
        "<section><h2>S</h2><table><thead><tr><th>Name</th><th>Length</th></tr></thead>\
         <tbody><tr><td>Anna</td><td>12,5 m</td></tr></tbody></table></section>"
    );
    let slides = "<d><office:body><office:presentation><draw:page>\
        <draw:frame presentation:class=\"outline\"><draw:text-box><text:p>point</text:p></draw:text-box></draw:frame>\
        <draw:frame presentation:class=\"title\"><draw:text-box><text:p>Title</text:p></draw:text-box></draw:frame>\
        </draw:page></office:presentation></office:body></d>";
    let decoded = decode(&archive(&[("content.xml", slides)])).expect("a presentation");
    assert_eq!(
        body(&decoded),
        "<section data-page=\"1\"><h2>Title</h2><p>point</p></section>"
    );
    assert_eq!(decoded.page_count, Some(1));
}

#[test]
fn a_book_has_its_chapters_in_reading_order() {
    let container =
        "<container><rootfiles><rootfile full-path=\"OEBPS/c.opf\"/></rootfiles></container>";
    let opf = "<package><metadata><dc:title>Sea</dc:title><dc:creator>Ann</dc:creator><dc:language>en</dc:language></metadata>\
        <manifest><item id=\"a\" href=\"a%20b.xhtml\"/><item id=\"b\" href=\"../two.xhtml\"/></manifest>\
        <spine><itemref idref=\"b\"/><itemref idref=\"a\"/><itemref idref=\"c\"/></spine></package>";
    let bytes = archive(&[
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/c.opf", opf),
        (
            "two.xhtml",
            "<html><head><title>x</title></head><body class='a'><h1>Two</h1><script>x</script></body></html>",
        ),
        ("OEBPS/a b.xhtml", "<html><body><p>One"),
    ]);
    let decoded = decode(&bytes).expect("a book");
    assert_eq!(
        body(&decoded),
        "<section data-page=\"1\"><div><h1>Two</h1></div></section><section data-page=\"2\"><div><p>One</div></section>"
    );
    assert!(
        decoded
            .html
            .starts_with("<!DOCTYPE html><html lang=\"en\">")
    );
    assert_eq!(decoded.metadata["authors"], json!(["Ann"]));
    assert_eq!(decoded.page_count, Some(2));
}

#[test]
fn a_book_begins_with_its_contents() {
    let nav = "<html><body><nav epub:type=\"landmarks\"><ol><li><a>x</a></li></ol></nav><nav epub:type=\"toc\"><ol>\
        <li><a href=\"a.xhtml\">One  and</a><ol><li><span>Inner</span></li></ol></li><li><a>Two</a></li></ol></nav></body></html>";
    let ncx = "<ncx><navMap><navPoint><navLabel><text>One and</text></navLabel><navPoint><navLabel><text>Inner</text></navLabel>\
        </navPoint></navPoint><navPoint><navLabel><text>Two</text></navLabel></navPoint></navMap></ncx>";
    let container = "<container><rootfiles><rootfile full-path=\"c.opf\"/></rootfiles></container>";
    for (item, spine, text) in [("properties=\"x nav\"", "", nav), ("", "toc=\"t\"", ncx)] {
        let opf = format!(
            "<package><manifest><item id=\"t\" href=\"t.xml\" {item}/><item id=\"a\" href=\"a.xhtml\"/></manifest>\
             <spine {spine}><itemref idref=\"a\"/></spine></package>"
        );
        let bytes = archive(&[
            ("META-INF/container.xml", container),
            ("c.opf", &opf),
            ("t.xml", text),
            ("a.xhtml", "<html><body><p>One</p></body></html>"),
        ]);
        let decoded = decode(&bytes).expect("a book");
        let chapter = "<section data-page=\"1\"><div><p>One</p></div></section>";
        let contents = "<nav><ol><li>One and<ol><li>Inner</li></ol></li><li>Two</li></ol></nav>";
        assert_eq!(
            body(&decoded),
            [contents, chapter].concat(),
            "{item}{spine}"
        );
        let some = testkit::document("application/zip", &bytes).pages(&[(1, 1)]);
        let some = some.decode::<Office>(json!({})).expect("a book");
        assert_eq!(body(&some), chapter);
    }
}

#[test]
fn parts_may_be_packed() {
    use std::io::Write as _;
    let text =
        "<d><office:body><office:text><text:p>packed</text:p></office:text></office:body></d>";
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    let stored = encoder.finish().expect("memory");
    let decoded = decode(&packed(&[("content.xml", &stored, 8, text.len())])).expect("a document");
    assert_eq!(body(&decoded), "<p>packed</p>");
    // What is said about its size is not believed.
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..60 {
        encoder.write_all(&[b' '; 1 << 20]).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 1 << 20);
    let failure = decode(&packed(&[("content.xml", &bomb, 8, 10)])).expect_err("too large");
    assert!(
        matches!(&failure, Failure::Limit(reason) if reason.contains("48 MiB")),
        "{failure}"
    );
}

#[test]
fn sheets_that_repeat_a_text_without_end_stop_at_a_limit() {
    let text = "tide ".repeat(20_000);
    let cells = format!(
        "<table:table-row table:number-rows-repeated=\"1000000000\">\
         <table:table-cell table:number-columns-repeated=\"1000000000\"><text:p>{text}</text:p>\
         </table:table-cell></table:table-row>"
    );
    let sheet = format!(
        "<d><office:body><office:spreadsheet><table:table table:name=\"A\">{cells}</table:table>\
         </office:spreadsheet></office:body></d>"
    );
    let failure = decode(&archive(&[("content.xml", &sheet)])).expect_err("too large");
    assert!(
        matches!(&failure, Failure::Limit(reason) if reason.contains("a sheet has more than 48 MiB")),
        "{failure}"
    );
    // Short ones are cut off.
    let short = sheet.replace(&text, "1");
    let decoded = decode(&archive(&[("content.xml", &short)])).expect("a document");
    assert!(decoded.html.len() < 8 << 20, "{}", decoded.html.len());
}

#[test]
fn other_files_end_with_a_sentence() {
    let check = |bytes: &[u8], expected: &str| {
        let failure = decode(bytes).expect_err("no Office file").to_string();
        assert!(failure.contains(expected), "{failure}");
    };
    check(b"%PDF-1.7", "unsupported document: it is no archive");
    check(
        b"PK\x03\x04 cut off",
        "damaged document: the archive has no directory",
    );
    check(
        &archive(&[("a.txt", "x")]),
        "unsupported document: it is an archive, but no Office file",
    );
    check(
        &archive(&[("content.xml", "x")]),
        "damaged document: no XML",
    );
    check(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 old", "before 2007");
    let mut encrypted = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
    encrypted.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    check(&encrypted, "encrypted document: it needs a password");
    let deep = "<a>".repeat(10_000);
    check(
        &archive(&[("content.xml", &deep)]),
        "limit exceeded: elements are nested",
    );
    let manifest = "<m><x><manifest:encryption-data/></x></m>";
    check(
        &archive(&[("content.xml", "?"), ("META-INF/manifest.xml", manifest)]),
        "encrypted document",
    );
}

#[test]
fn files_of_every_type_are_read() {
    let anna = "<section data-page=\"1\"><h2>Anna</h2><p>twelve metres</p></section>";
    let bert = "<section data-page=\"2\"><h2>Bert</h2><p>thirty metres</p></section>";
    let slides = [anna, bert].concat();
    let sheet = "<section><h2>Fleet</h2><table><thead><tr><th>Name</th><th>Length</th></tr></thead>\
        <tbody><tr><td>Anna</td><td>12.5</td></tr></tbody></table></section>";
    let chapters = "<section data-page=\"1\"><div><h1>Anna</h1><p>twelve metres</p></div></section>\
        <section data-page=\"2\"><div><h1>Bert</h1><p>thirty metres</p></div></section>";
    let files: [(&str, &[u8], &str); 7] = [
        (
            "docx",
            include_bytes!("../cases/ships.docx"),
            "<h1>Ships</h1><p>Anna is <strong>old</strong>.</p>",
        ),
        (
            "odt",
            include_bytes!("../cases/ships.odt"),
            "<h1>Ships</h1><p>Anna is old.</p>",
        ),
        ("xlsx", include_bytes!("../cases/ships.xlsx"), sheet),
        ("ods", include_bytes!("../cases/ships.ods"), sheet),
        ("pptx", include_bytes!("../cases/ships.pptx"), &slides),
        ("odp", include_bytes!("../cases/ships.odp"), &slides),
        ("epub", include_bytes!("../cases/ships.epub"), chapters),
    ];
    for (name, bytes, expected) in files {
        let decoded = decode(bytes).expect(name);
        assert_eq!(body(&decoded), expected, "{name}");
        assert_eq!(decoded.metadata["title"], "Ships", "{name}");
        let pages = expected.matches("data-page").count() as u32;
        assert_eq!(decoded.page_count, (pages > 0).then_some(pages), "{name}");
    }
}
