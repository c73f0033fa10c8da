//! What documents become.

use serde_json::json;
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit;

use crate::Pdf;
use crate::blocks::{self, Block};
use crate::looks::Looks;
use crate::page::Pages;

mod classes;

/// A document with a page for each content. `F1` is a sans font, `F2` its bold, `F3` one of fixed
/// width. `more` is added to the dictionary of each page.
pub(crate) fn pdf(contents: &[&[u8]], more: &str) -> Vec<u8> {
    let n_pages = contents.len();
    let kids: Vec<String> = (0..n_pages)
        .map(|at| format!("{} 0 R", 10 + 2 * at))
        .collect();
    let font = |name: &str| {
        format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>")
            .into_bytes()
    };
    let mut objects = vec![
        (1, b"<</Type/Catalog/Pages 2 0 R/Lang(en-GB)>>".to_vec()),
        (
            2,
            format!(
                "<</Type/Pages/Count {n_pages}/Kids[{}]/MediaBox[0 0 600 800]\
             /Resources<</Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>>>>>",
                kids.join(" ")
            )
            .into_bytes(),
        ),
        (3, font("Helvetica")),
        (4, font("Helvetica-Bold")),
        (5, font("Courier")),
        (
            6,
            b"<</Title(Tides)/Author(Ann; Bert)/CreationDate(D:20240102030405Z)>>".to_vec(),
        ),
    ];
    for (at, content) in contents.iter().enumerate() {
        let at = 10 + 2 * at;
        objects.push((
            at,
            format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R{more}>>", at + 1).into_bytes(),
        ));
        let mut stream = format!("<</Length {}>>stream\n", content.len()).into_bytes();
        stream.extend_from_slice(content);
        stream.extend_from_slice(b"\nendstream");
        objects.push((at + 1, stream));
    }
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in &objects {
        places.push((*number, file.len()));
        file.extend_from_slice(format!("{number} 0 obj").as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"endobj\n");
    }
    let start = file.len();
    file.extend_from_slice(b"xref\n0 1\n0000000000 65535 f \n");
    for (number, place) in places {
        file.extend_from_slice(format!("{number} 1\n{place:010} 00000 n \n").as_bytes());
    }
    file.extend_from_slice(
        format!(
            "trailer<</Size {}/Root 1 0 R/Info 6 0 R>>\nstartxref\n{start}\n%%EOF",
            10 + 2 * n_pages
        )
        .as_bytes(),
    );
    file
}

/// A line of text: font and size, place from the left and from the bottom.
fn line(font: &str, size: u32, x: u32, y: u32, text: &str) -> String {
    format!("BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n")
}

fn decode(file: &[u8]) -> Decoded {
    let decoded = testkit::document("application/pdf", file).decode::<Pdf>(json!({}));
    decoded.expect("a document")
}

fn body(decoded: &Decoded) -> &str {
    let (_, body) = decoded.html.split_once("<body>").expect("a body");
    body.strip_suffix("</body></html>").expect("its end")
}

/// The body of a document of one page.
fn shown(content: &str) -> String {
    let file = pdf(&[content.as_bytes()], "");
    let decoded = decode(&file);
    let body = body(&decoded)
        .strip_prefix("<section data-page=\"1\">")
        .expect("a page");
    body.strip_suffix("</section>").expect("its end").to_owned()
}

const SENTENCE: &str = "The harbour master writes down the height of every tide";

#[test]
fn lines_are_joined_to_paragraphs_under_headings() {
    let content = [
        line("F2", 20, 72, 700, "Tides"),
        line("F1", 10, 72, 670, &format!("{SENTENCE} and the num-")),
        line("F1", 10, 72, 658, &format!("ber of ships. {SENTENCE} and")),
        line("F1", 10, 72, 646, "leaves."),
        line("F1", 10, 72, 620, &format!("{SENTENCE}.")),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        format!(
            "<h1>Tides</h1><p>{SENTENCE} and the number of ships. {SENTENCE} and leaves.</p><p>{SENTENCE}.</p>"
        )
    );
}

#[test]
fn columns_are_read_one_after_the_other() {
    let mut content = line(
        "F2",
        18,
        72,
        740,
        "A title across the whole width of the page, above both",
    );
    for row in 0..8 {
        for (x, side) in [(72, "left"), (320, "right")] {
            let text = format!("the {side} column has this text {row} of the page");
            content += &line("F1", 10, x, 700 - row * 12, &text);
        }
    }
    let shown = shown(&content);
    let (left, right) = (
        shown.find("left column has this text 7"),
        shown.find("right column has this text 0"),
    );
    assert!(left.is_some() && left < right, "{shown}");
}

#[test]
fn lists_have_items_and_numbers() {
    let content = [
        line("F1", 10, 72, 700, "Take with you:"),
        line(
            "F1",
            10,
            80,
            688,
            "\\225 bread, as much as you can carry in one hand, and",
        ),
        line("F1", 10, 90, 676, "water"),
        line("F1", 10, 80, 664, "\\225 salt"),
        line("F1", 10, 80, 652, "1. first"),
        line("F1", 10, 80, 640, "2. second"),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        "<p>Take with you:</p><ul><li>bread, as much as you can carry in one hand, and water</li>\
         <li>salt</li></ul><ol><li>first</li><li>second</li></ol>"
    );
}

#[test]
fn tables_may_be_drawn_or_only_aligned() {
    let mut drawn = String::new();
    for x in [72, 172, 272] {
        drawn += &format!("{x} 640 m {x} 700 l S\n");
    }
    for y in [640, 660, 680, 700] {
        drawn += &format!("72 {y} m 272 {y} l S\n");
    }
    let mut aligned = String::new();
    for (row, cells) in [["Ship", "Length"], ["Anna", "12"], ["Bert", "30"]]
        .iter()
        .enumerate()
    {
        for (column, text) in cells.iter().enumerate() {
            let (x, y) = (80 + 100 * column as u32, 686 - 20 * row as u32);
            aligned += &line(if row == 0 { "F2" } else { "F1" }, 10, x, y, text);
        }
    }
    let table = "<table><tr><th>Ship</th><th>Length</th></tr><tr><td>Anna</td><td>12</td></tr>\
                 <tr><td>Bert</td><td>30</td></tr></table>";
    assert_eq!(shown(&(drawn + &aligned)), table);
    assert_eq!(shown(&aligned), table);
}

#[test]
fn code_keeps_its_lines() {
    let content = [
        line("F3", 10, 72, 700, "fn main\\(\\) {"),
        line("F3", 10, 96, 688, "tide\\(\\);"),
        line("F3", 10, 72, 676, "}"),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        "<pre><code>fn main() {\n    tide();\n}</code></pre>"
    );
}

#[test]
fn headers_and_page_numbers_are_left_out_and_sentences_go_on() {
    let contents: Vec<String> = (1..=4)
        .map(|page| {
            [
                line("F1", 8, 72, 780, "The book of tides"),
                line(
                    "F1",
                    10,
                    72,
                    600,
                    &format!("page {page} begins. {SENTENCE} and"),
                ),
                line("F1", 8, 300, 20, &page.to_string()),
            ]
            .concat()
        })
        .collect();
    let contents: Vec<&[u8]> = contents.iter().map(String::as_bytes).collect();
    let decoded = decode(&pdf(&contents, ""));
    let body = body(&decoded);
    assert!(
        !body.contains("book of tides") && !body.contains(">2<"),
        "{body}"
    );
    assert!(
        body.contains(&format!("{SENTENCE} and page 2 begins")),
        "{body}"
    );
    assert_eq!(decoded.page_count, Some(4));
    let some = testkit::document("application/pdf", pdf(&contents, "")).pages(&[(2, 2)]);
    let some = some.decode::<Pdf>(json!({})).expect("a page");
    assert!(
        some.html.contains("page 2") && !some.html.contains("page 1"),
        "{}",
        some.html
    );
    assert_eq!(some.page_count, Some(4));
}

#[test]
fn headings_of_two_lines_and_code_within_a_sentence_are_whole() {
    let content = [
        line("F2", 16, 72, 720, "7.8 Relations between sources and pack-"),
        line("F2", 16, 104, 701, "ages of the harbour"),
        line("F1", 10, 72, 670, &format!("{SENTENCE}.")),
        line(
            "F1",
            10,
            72,
            658,
            &format!("{SENTENCE} and calls the script"),
        ),
        line(
            "F3",
            10,
            72,
            646,
            "tide --low --and --high --at --noon --of --every --long --day",
        ),
        line("F1", 10, 72, 634, "before noon."),
        line("F1", 10, 72, 622, &format!("{SENTENCE} as in:")),
        line("F3", 10, 72, 610, "tide --low"),
    ]
    .concat();
    let shown = shown(&content);
    assert!(
        shown.starts_with("<h1>7.8 Relations between sources and packages of the harbour</h1>"),
        "{shown}"
    );
    let inline = "calls the script <code>tide --low --and --high --at --noon --of --every --long --day</code> before noon.";
    assert!(shown.contains(inline), "{shown}");
    assert!(
        shown.ends_with("<pre><code>tide --low</code></pre>"),
        "{shown}"
    );
}

#[test]
fn footnotes_stand_after_the_text_and_are_linked() {
    let content = [
        line("F1", 10, 72, 700, "High tide"),
        line("F1", 6, 112, 704, "1"),
        line(
            "F1",
            10,
            120,
            700,
            "comes twice a day, and low tide comes twice a day as well.",
        ),
        line("F1", 5, 72, 153, "1"),
        line("F1", 8, 78, 150, "Of the moon, and with"),
        line("F1", 8, 72, 141, "it of the sun."),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        "<p>High tide<sup><a href=\"#note-1-1\">1</a></sup> comes twice a day, and low \
         tide comes twice a day as well.</p>\
         <section class=\"footnotes\"><p id=\"note-1-1\"><sup>1</sup> Of the moon, and with it of \
         the sun.</p></section>"
    );
}

#[test]
fn contents_are_a_list_without_leaders_and_numbers_of_pages() {
    let content = [
        line("F1", 10, 72, 700, "1 Scope . . . . . . . . . . 3"),
        line("F1", 10, 84, 688, "1.1 Ships.............iv"),
        line("F2", 10, 72, 676, "2 Tides"),
        line("F2", 10, 300, 676, "7"),
        line("F1", 10, 84, 664, "2.1 Low . . . . . . . . 7"),
    ]
    .concat();
    let list = "<ul><li>1 Scope<ul><li>1.1 Ships</li></ul></li><li>2 Tides<ul><li>2.1 Low</li></ul>\
                </li></ul></nav>";
    assert_eq!(shown(&content), format!("<nav>{list}"));
    let title = line("F2", 20, 72, 740, "Contents");
    assert_eq!(
        shown(&(title + &content)),
        format!("<nav><h1>Contents</h1>{list}")
    );
    let content = [
        line("F1", 10, 72, 700, "1 Scope . . . . . . . . . . 3"),
        line("F1", 10, 84, 688, "1.1 Ships of the"),
        line("F1", 10, 84, 676, "harbour.............iv"),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        "<nav><ul><li>1 Scope<ul><li>1.1 Ships of the harbour</li></ul></li></ul></nav>"
    );
}

#[test]
fn the_number_of_a_chapter_is_a_part_of_its_title() {
    let content = [
        line("F2", 20, 72, 740, "Chapter 2"),
        line("F2", 24, 72, 690, "Ships of"),
        line("F2", 24, 120, 661, "the harbour"),
        line("F1", 10, 72, 620, &format!("{SENTENCE}.")),
    ]
    .concat();
    let shown = shown(&content);
    assert!(
        shown.starts_with("<h1>Chapter 2 Ships of the harbour</h1><p>"),
        "{shown}"
    );
}

#[test]
fn bold_names_in_lower_case_are_no_headings() {
    let mut content = String::new();
    for y in [730, 662, 594] {
        content += &line("F1", 10, 72, y, &format!("{SENTENCE} and"));
        content += &line("F1", 10, 72, y - 12, &format!("{SENTENCE}."));
    }
    content += &line("F2", 10, 72, 690, "--tide");
    content += &line("F2", 10, 72, 622, "Tides");
    let shown = shown(&content);
    assert!(shown.contains("<p>--tide</p>"), "{shown}");
    assert!(shown.contains("<h2>Tides</h2>"), "{shown}");
}

#[test]
fn what_is_said_again_and_again_is_no_heading_beside_an_outline() {
    let mut content = line("F2", 20, 72, 740, "Tides");
    for row in 0..3 {
        let y = 700 - 60 * row;
        content += &line("F2", 12, 72, y, "Note");
        content += &line("F1", 10, 72, y - 20, &format!("{SENTENCE}."));
    }
    let n_headings = |n_titles: usize| {
        let document = crate::open(&pdf(&[content.as_bytes()], "")).expect("a document");
        let id = document.page_iter().next().expect("a page");
        let page = Pages::of(&document).read(id).expect("its content");
        let pages = [crate::laid_out(&page, 1)];
        let titles = ["Tides".to_owned()].into_iter();
        let titles = titles.chain((1..n_titles).map(|at| format!("Title {at}")));
        let looks = Looks::of(&pages, titles.map(|title| (title, 1)));
        let blocks = blocks::of(&pages[0], &looks, None);
        let headings = blocks.iter();
        headings
            .filter(|block| matches!(block, Block::Heading(..)))
            .count()
    };
    assert_eq!((n_headings(10), n_headings(1)), (1, 4));
}

#[test]
fn spaces_may_be_drawn_or_left_out_in_one_line() {
    let content = "BT /F1 10 Tf 72 700 Td [(one two)-250(three)-250(four)] TJ ET";
    assert_eq!(shown(content), "<p>one two three four</p>");
    let content = "BT /F1 10 Tf 2 Tc 72 700 Td (one two) Tj ET";
    assert_eq!(shown(content), "<p>one two</p>");
}

#[test]
fn items_have_all_that_stands_below_their_text() {
    let mut content = String::new();
    for y in [760, 748, 736] {
        content += &line("F1", 10, 72, y, &format!("{SENTENCE} and"));
    }
    content += &[
        line("F1", 10, 72, 724, "takes:"),
        line("F1", 10, 80, 694, "\\225bread:"),
        line("F1", 10, 90, 664, &format!("{SENTENCE} and")),
        line("F1", 10, 90, 652, "leaves."),
        line("F1", 10, 80, 622, "\\225 salt"),
        line("F1", 10, 72, 592, &format!("{SENTENCE}.")),
        line("F1", 10, 80, 562, "1"),
        line("F1", 10, 110, 562, "first"),
        line("F1", 10, 80, 532, "2"),
        line("F1", 10, 110, 532, "second"),
    ]
    .concat();
    let shown = shown(&content);
    let expected = format!(
        "takes:</p><ul><li>bread:<p>{SENTENCE} and leaves.</p></li><li>salt</li></ul>\
         <p>{SENTENCE}.</p><ol><li>first</li><li>second</li></ol>"
    );
    assert!(shown.ends_with(&expected), "{shown}");
}

#[test]
fn tables_need_no_lines_at_their_sides_and_go_on_with_the_same_head() {
    let page = |rows: [[&str; 2]; 2]| {
        let mut content = "172 640 m 172 700 l S\n".to_owned();
        for y in [640, 660, 680, 700] {
            content += &format!("72 {y} m 272 {y} l S\n");
        }
        for (row, cells) in [["Ship", "Kind"]].iter().chain(&rows).enumerate() {
            for (column, text) in cells.iter().enumerate() {
                let (x, y) = (80 + 100 * column as u32, 686 - 20 * row as u32);
                content += &line(if row == 0 { "F2" } else { "F1" }, 8, x, y, text);
            }
        }
        content
    };
    let first = page([["Anna", "a schoo-"], ["Bert", "a tug"]])
        .replace("a schoo-", "a schoo-) Tj 0 -7 Td (ner");
    let pages = [first, page([["Carl", "a brig"], ["Dora", "a yawl"]])];
    let pages: Vec<&[u8]> = pages.iter().map(String::as_bytes).collect();
    let decoded = decode(&pdf(&pages, ""));
    assert_eq!(
        body(&decoded),
        "<section data-page=\"1\"><table><tr><th>Ship</th><th>Kind</th></tr>\
         <tr><td>Anna</td><td>a schooner</td></tr><tr><td>Bert</td><td>a tug</td></tr>\
         <tr><td>Carl</td><td>a brig</td></tr><tr><td>Dora</td><td>a yawl</td></tr></table></section>\
         <section data-page=\"2\"></section>"
    );
}

#[test]
fn addresses_are_links_and_links_on_two_lines_are_one() {
    let more = "/Annots[<</Subtype/Link/Rect[70 695 600 712]/A<</S/URI/URI(https://tides.example/)>>>>\
                <</Subtype/Link/Rect[70 683 102.5 695]/A<</S/URI/URI(https://tides.example/)>>>>]";
    let content = [
        line("F1", 10, 72, 700, &format!("{SENTENCE} and low")),
        line("F3", 10, 72, 688, "water"),
        line("F1", 10, 102, 688, ", see https://a.example/b."),
    ]
    .concat();
    let decoded = decode(&pdf(&[content.as_bytes()], more));
    let expected = format!(
        "<p><a href=\"https://tides.example/\">{SENTENCE} and low <code>water</code></a>, see \
         <a href=\"https://a.example/b\">https://a.example/b</a>.</p>"
    );
    assert!(body(&decoded).contains(&expected), "{}", decoded.html);
}

#[test]
fn lines_from_right_to_left_begin_on_the_right() {
    let word = |x: u32, y: u32, text: &str| {
        let units: String = text
            .encode_utf16()
            .map(|unit| format!("{unit:04X}"))
            .collect();
        format!("/Span<</ActualText<FEFF{units}>>>BDC BT /F1 10 Tf {x} {y} Td (x) Tj ET EMC\n")
    };
    let content = [
        word(200, 700, "\u{5D2}\u{5D3}"),
        word(300, 700, "\u{5D0}\u{5D1}"),
    ]
    .concat();
    assert_eq!(shown(&content), "<p>\u{5D0}\u{5D1} \u{5D2}\u{5D3}</p>");
}

#[test]
fn drawings_of_many_lines_are_no_tables() {
    let mut content = String::new();
    for at in 0..300 {
        let place = 50.0 + f64::from(at) * 1.6;
        content += &format!("{place} 50 m {place} 700 l S 50 {place} m 550 {place} l S\n");
    }
    content += &line("F1", 10, 100, 300, "A drawing");
    content += &line("F1", 10, 300, 300, "of a harbour");
    let shown = shown(&content);
    assert!(
        shown.contains("drawing") && !shown.contains("<table"),
        "{shown}"
    );
}

#[test]
fn links_and_fields_are_where_they_stand() {
    let more = "/Annots[<</Subtype/Link/Rect[70 695 120 712]/A<</S/URI/URI(https://tides.example/)>>>>\
                <</Subtype/Widget/Rect[72 600 300 620]/FT/Tx/V(Ann)>>\
                <</Subtype/Widget/Rect[72 500 82 510]/FT/Btn/AS/Yes>>\
                <</Subtype/Widget/Rect[72 400 82 410]/FT/Btn/Ff 65536>>]";
    let content = line("F1", 10, 72, 700, "The tides");
    let decoded = decode(&pdf(&[content.as_bytes()], more));
    let body = body(&decoded);
    assert!(
        body.contains("<a href=\"https://tides.example/\">The tides</a>"),
        "{body}"
    );
    assert!(body.contains("<p>Ann</p><p>☑</p>"), "{body}");
    assert!(!body.contains('☐'), "{body}");
}

#[test]
fn turned_pages_are_read_upright() {
    let content = "BT /F1 10 Tf 0 1 -1 0 100 100 Tm (upright) Tj ET";
    for more in ["/Rotate 90", ""] {
        let decoded = decode(&pdf(&[content.as_bytes()], more));
        assert!(
            body(&decoded).contains("<p>upright</p>"),
            "{}",
            decoded.html
        );
    }
}

#[test]
fn artifacts_are_no_text_and_replacements_are() {
    let content = "/Artifact BMC BT /F1 10 Tf 72 700 Td (gone) Tj ET EMC\
                   /Span<</ActualText(whole)>>BDC BT /F1 10 Tf 72 650 Td (wh) Tj (le) Tj ET EMC";
    assert_eq!(shown(content), "<p>whole</p>");
}

#[test]
fn the_document_says_what_it_is() {
    let decoded = decode(&pdf(&[b""], ""));
    assert_eq!(decoded.metadata["title"], "Tides");
    assert_eq!(decoded.metadata["authors"], json!(["Ann", "Bert"]));
    assert_eq!(decoded.metadata["published"], "2024-01-02T03:04:05Z");
    assert!(decoded.html.contains("<html lang=\"en-GB\">"));
}

#[test]
fn damaged_files_are_read_as_far_as_they_can_be() {
    let file = pdf(&[line("F1", 10, 72, 700, "still here").as_bytes()], "");
    let text = String::from_utf8(file).expect("text");
    let (whole, _) = text.split_once("xref\n").expect("a table");
    let damaged = format!("{whole}trailer<</Root 1 0 R>>");
    let decoded = decode(damaged.as_bytes());
    assert!(decoded.html.contains("still here"), "{}", decoded.html);
    assert!(
        decoded
            .warnings
            .iter()
            .any(|warning| warning.contains("rebuilt"))
    );
}

#[test]
fn an_empty_password_opens_what_has_no_other() {
    let decoded = decode(include_bytes!("../cases/open.pdf"));
    assert!(
        body(&decoded).contains("Low water at three"),
        "{}",
        decoded.html
    );
    assert_eq!(decoded.metadata["title"], "Tides");
    assert_eq!(decoded.metadata["encrypted"], true);
    let secret = testkit::document("application/pdf", include_bytes!("../cases/secret.pdf"));
    assert_eq!(
        secret.decode::<Pdf>(json!({})),
        Err(Failure::Encrypted("it needs a password".to_owned()))
    );
}

#[test]
fn scanned_pages_are_said_to_have_no_text() {
    let decoded = decode(include_bytes!("../cases/scan.pdf"));
    assert_eq!(decoded.warnings, ["all pages are images without text"]);
}

#[test]
fn text_that_is_printed_byte_by_byte_is_joined() {
    let content = line(
        "F1",
        12,
        72,
        700,
        "Gesti\\303\\263n, p\\303\\241gina, \\302\\277qu\\303\\251",
    );
    let decoded = decode(&pdf(&[content.as_bytes()], ""));
    assert!(
        body(&decoded).contains("Gestión, página, ¿qué"),
        "{}",
        body(&decoded)
    );
    let warning = "characters printed byte by byte, as UTF-8, were joined";
    assert_eq!(decoded.warnings, [warning]);
}

#[test]
fn other_files_end_with_a_sentence() {
    let fails = |body: &[u8]| testkit::document("application/pdf", body).decode::<Pdf>(json!({}));
    assert!(matches!(fails(b"<p>no"), Err(Failure::Unsupported(_))));
    assert!(matches!(fails(b"%PDF-1.7\n"), Err(Failure::Damaged(_))));
}

#[test]
fn hostile_files_end() {
    // Forms in themselves, names of the page in its own resources, deep nesting.
    let deep = "q ".repeat(100_000) + &"[".repeat(100_000);
    decode(&pdf(&[deep.as_bytes()], ""));
    let own = "/Resources<</XObject<</X 11 0 R>>>>";
    decode(&pdf(&[b"/X Do /X Do"], own));
    let crowd = "BT /F1 10 Tf ".to_owned()
        + &"(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ".repeat(6_000);
    let failure =
        testkit::document("application/pdf", pdf(&[crowd.as_bytes()], "")).decode::<Pdf>(json!({}));
    assert!(matches!(failure, Err(Failure::Limit(_))), "{failure:?}");
}
