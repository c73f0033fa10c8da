//! Kinds of pages that programs set in ways of their own.

use super::{SENTENCE, body, decode, line, pdf, shown};

#[test]
fn the_signs_of_items_may_be_drawn() {
    let sign = |y: u32| {
        format!(
            "84 {y} m 84 {top} 80 {top} 80 {y} c 80 {bottom} 84 {bottom} 84 {y} c b\n",
            top = y + 2,
            bottom = y - 2
        )
    };
    let content = [
        line("F1", 10, 72, 700, "Take with you:"),
        sign(683),
        line("F1", 10, 98, 680, "bread, as much as you can carry, and"),
        line("F1", 10, 98, 668, "water"),
        sign(651),
        line("F1", 10, 98, 648, "salt"),
        // A line that is as long as it is wide is a box.
        "q 3 w 82 635.5 m 82 638.5 l S Q\n".to_owned(),
        line("F1", 10, 98, 634, "a lamp"),
        // A sign within a line is a part of a drawing.
        line("F1", 10, 72, 620, "low"),
        sign(623),
        line("F1", 10, 98, 620, "tide"),
    ]
    .concat();
    let shown = shown(&content);
    let list = "<ul><li>bread, as much as you can carry, and water</li><li>salt</li>\
                <li>a lamp</li></ul>";
    assert!(shown.contains(list), "{shown}");
    assert!(!shown.contains('•'), "{shown}");
}

#[test]
fn signs_far_from_their_items_are_no_column_beside_what_stands_left_of_them() {
    let mut content = String::new();
    for (row, item) in (0..).zip(["bread, as much as you can carry", "water", "salt"]) {
        content += &line("F1", 10, 150, 700 - 16 * row, "\\225");
        content += &line("F1", 10, 180, 700 - 16 * row, item);
    }
    content += &line("F1", 10, 72, 640, "Leave here");
    assert_eq!(
        shown(&content),
        "<ul><li>bread, as much as you can carry</li><li>water</li><li>salt</li></ul>\
         <p>Leave here</p>"
    );
}

#[test]
fn a_dash_before_a_script_without_spaces_is_a_sign() {
    let more = "/Resources<</Font<</F1 3 0 R/F4<</Type/Font/Subtype/Type0\
        /BaseFont/Ryumin-Light-H/Encoding/Identity-H/DescendantFonts[<</Type/Font\
        /Subtype/CIDFontType0/BaseFont/Ryumin-Light/DW 1000/CIDSystemInfo<</Registry(Adobe)\
        /Ordering(Japan1)/Supplement 2>>>>]>>>>>>";
    let item = |y: u32| {
        let sign = line("F1", 10, 80, y, "\\226");
        format!("{sign}BT /F4 10 Tf 90 {y} Td <0465034B> Tj ET\n")
    };
    let file = pdf(&[(item(700) + &item(688)).as_bytes()], more);
    let decoded = decode(&file);
    let list = "<ul><li>亜あ</li><li>亜あ</li></ul>";
    assert!(body(&decoded).contains(list), "{}", body(&decoded));
}

#[test]
fn dashes_in_a_row_are_no_signs() {
    let content = [
        line("F1", 10, 72, 700, "- low - at night"),
        line("F1", 10, 72, 688, "- high"),
        line("F1", 10, 72, 640, "- M2 - - M5"),
    ]
    .concat();
    let list = "<ul><li>low - at night</li><li>high</li></ul><p>- M2 - - M5</p>";
    assert_eq!(shown(&content), list);
}

#[test]
fn numbers_count_on_over_pages() {
    let first = line("F1", 10, 72, 700, "1. bread") + &line("F1", 10, 72, 688, "2. water");
    let after = |number: u32, heading: &str| {
        let head = line("F2", 20, 72, 740, heading);
        let item = line("F1", 10, 72, 700, &format!("{number}. salt"));
        let file = pdf(&[first.as_bytes(), (head + &item).as_bytes()], "");
        body(&decode(&file)).contains("<ol start=\"3\"><li>salt</li></ol>")
    };
    assert!(after(3, ""));
    assert!(!after(4, ""));
    assert!(!after(3, "Ships"));
}

#[test]
fn notes_at_the_end_of_a_document_are_no_list() {
    let page = |numbers: [&str; 2]| {
        [
            line("F1", 10, 72, 700, "High tide"),
            line("F1", 6, 112, 704, numbers[0]),
            line("F1", 10, 120, 700, "comes twice a day, as low tide does."),
            line("F1", 6, 292, 704, numbers[1]),
            line("F1", 10, 80, 600, "1. https://a.example/tides"),
            line("F1", 10, 80, 588, "2. Or ask a sailor."),
        ]
        .concat()
    };
    let notes = shown(&page(["1", "2"]));
    assert!(notes.contains("</p></section>"), "{notes}");
    assert!(
        notes.contains("<p id=\"note-1-1\"><sup>1</sup> <a href="),
        "{notes}"
    );
    assert!(!notes.contains("<li>"), "{notes}");
    // Nothing refers to it.
    let list = shown(&page(["7", "8"]));
    assert_eq!(list.matches("<li>").count(), 2, "{list}");
}

#[test]
fn terms_stand_further_apart_than_the_rows_of_a_table() {
    let rows = |leading: u32, x: u32| {
        let mut content = String::new();
        let words = [
            ("low", "of the moon"),
            ("high", "of the sun"),
            ("neap", "of both"),
        ];
        for (row, (term, text)) in (0..).zip(words) {
            let y = 700 - leading * row;
            content += &line("F1", 10, 72, y, term);
            content += &line("F1", 10, x, y, text);
        }
        content += &line("F1", 10, x, 688 - 2 * leading, "that are at right angles");
        content
    };
    let terms = "<dl><dt>low</dt><dd>of the moon</dd><dt>high</dt><dd>of the sun</dd>\
                 <dt>neap</dt><dd>of both that are at right angles</dd></dl>";
    let table = "<table><tr><td>low</td><td>of the moon</td></tr><tr><td>high</td>\
                 <td>of the sun</td></tr><tr><td>neap</td>\
                 <td>of both that are at right angles</td></tr></table>";
    for (leading, x, expected) in [
        (20, 130, terms),
        (16, 130, terms),
        (12, 130, table),
        // The texts of a list are near its terms, unless blank lines are between them.
        (16, 150, table),
        (20, 150, terms),
    ] {
        assert_eq!(shown(&rows(leading, x)), expected, "{leading} {x}");
    }
}

#[test]
fn code_in_columns_is_no_table() {
    let mut content = String::new();
    for (row, name) in (0..).zip(["low ", "high", "neap"]) {
        content += &line("F3", 10, 72, 700 - 12 * row, name);
        content += &line("F3", 10, 120, 700 - 12 * row, "= tide");
    }
    assert_eq!(
        shown(&content),
        "<pre><code>low     = tide\nhigh    = tide\nneap    = tide</code></pre>"
    );
}

#[test]
fn bold_text_that_is_hardly_larger_is_a_heading_and_a_term_is_none() {
    let mut content = String::new();
    for y in [730, 718, 706] {
        content += &line("F1", 10, 72, y, &format!("{SENTENCE} and"));
    }
    content += &line("F2", 11, 72, 680, "tide --low");
    content += &line("F1", 10, 72, 660, &format!("{SENTENCE}."));
    content += &line("F2", 10, 90, 630, "Spring tides");
    content += &line("F1", 10, 150, 610, &format!("{SENTENCE}."));
    let shown = shown(&content);
    assert!(shown.contains("tide --low</h"), "{shown}");
    assert!(shown.contains("<p>Spring tides</p>"), "{shown}");
}

#[test]
fn running_titles_of_short_sections_are_left_out() {
    let titles = [
        "Tides", "Tides", "Tides", "Ships", "Ships", "Ships", "Moon", "Sun",
    ];
    let contents: Vec<String> = titles
        .iter()
        .map(|title| {
            line("F1", 10, 72, 780, &format!("On {title}"))
                + &line("F1", 10, 72, 600, &format!("{SENTENCE}."))
        })
        .collect();
    let contents: Vec<&[u8]> = contents.iter().map(String::as_bytes).collect();
    let decoded = decode(&pdf(&contents, ""));
    assert!(!body(&decoded).contains("On "), "{}", body(&decoded));
}

#[test]
fn words_keep_the_hyphens_that_they_have_elsewhere() {
    let content = [
        line(
            "F1",
            10,
            72,
            700,
            "The low-water mark is far below the usual height; it is the low-",
        ),
        line(
            "F1",
            10,
            72,
            688,
            "water mark of spring tides that the keeper has seen, and the num-",
        ),
        line(
            "F1",
            10,
            72,
            676,
            "ber of ships at the quay is as small then as it is on other days.",
        ),
    ]
    .concat();
    let shown = shown(&content);
    assert!(
        shown.contains(
            "it is the low-water mark of spring tides that the keeper has seen, and the number"
        ),
        "{shown}"
    );
}

#[test]
fn urls_go_on_in_the_next_line() {
    let content = [
        line("F1", 10, 72, 700, "The height of every tide is at"),
        line("F3", 10, 210, 700, "https://tides.example."),
        line("F3", 10, 72, 688, "org/low-water"),
        line("F1", 10, 156, 688, "each day, and so are those of ships."),
    ]
    .concat();
    let shown = shown(&content);
    let link = "<a href=\"https://tides.example.org/low-water\">";
    assert!(shown.contains(link), "{shown}");
}

#[test]
fn numbers_count_on_after_the_paragraphs_of_an_item() {
    let mut content = String::new();
    for (x, y, text) in [
        (72, 760, "and"),
        (72, 748, "and"),
        (72, 736, "takes."),
        (84, 696, "and"),
        (84, 684, "leaves."),
        (72, 644, "and"),
        (72, 632, "comes back."),
    ] {
        content += &line("F1", 10, x, y, &format!("{SENTENCE} {text}"));
    }
    content += &line("F1", 10, 72, 716, "1. first");
    content += &line("F1", 10, 72, 664, "2. second");
    let shown = shown(&content);
    let list = format!(
        "<ol><li>first<p>{SENTENCE} and {SENTENCE} leaves.</p></li><li>second</li></ol><p>"
    );
    assert!(shown.contains(&list), "{shown}");
}

#[test]
fn contents_may_begin_with_chapters_and_leaders_do_not_join_words() {
    let content = [
        line("F2", 10, 72, 700, "1 Scope"),
        line("F2", 10, 300, 700, "1"),
        line("F2", 10, 72, 688, "2 Tides"),
        line("F2", 10, 300, 688, "3"),
        "BT /F1 10 Tf 84 676 Td [(2.1)-400(Low)-250(tides)-350(.)-400(.)-400(.)-400(.)-400(.)\
         -400(.)-400(.)-400(.)-400(.)-400(.)-400(.)-400(.)-400(.)-300(3)] TJ ET\n"
            .to_owned(),
        line("F1", 10, 84, 664, "2.2 High . . . . . . . . 7"),
    ]
    .concat();
    assert_eq!(
        shown(&content),
        "<nav><ul><li>1 Scope</li><li>2 Tides<ul><li>2.1 Low tides</li><li>2.2 High</li></ul></li>\
         </ul></nav>"
    );
}

#[test]
fn fonts_that_are_not_embedded_have_the_characters_of_their_collection() {
    let font = "/Resources<</Font<</F4<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light-H\
        /Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType0\
        /BaseFont/Ryumin-Light/DW 1000/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)\
        /Supplement 2>>>>]>>>>>>";
    let file = pdf(&[b"BT /F4 10 Tf 72 700 Td <0465034B> Tj ET"], font);
    let decoded = decode(&file);
    assert!(body(&decoded).contains("<p>亜あ</p>"), "{}", body(&decoded));
}

#[test]
fn the_columns_of_an_index_are_read_one_after_the_other() {
    let mut content = String::new();
    for row in 0..14 {
        for (x, side) in [(72, "low"), (320, "high")] {
            let text = format!("{side} tide {row}, {}", row + 20);
            content += &line("F1", 10, x, 700 - row * 12, &text);
        }
    }
    let shown = shown(&content);
    let (last, first) = (shown.find("low tide 13"), shown.find("high tide 0"));
    assert!(last.is_some() && last < first, "{shown}");
    assert!(!shown.contains("<table>"), "{shown}");
}

#[test]
fn a_cell_that_nearly_fills_its_column_is_one() {
    let mut content = String::new();
    for (row, (key, text)) in (0..).zip([
        ("low", "the moon"),
        ("high", "the sun"),
        ("spring tide", "both"),
        ("neap", "neither"),
    ]) {
        content += &line("F3", 10, 72, 700 - 12 * row, key);
        content += &line("F1", 10, 148, 700 - 12 * row, text);
    }
    let shown = shown(&content);
    assert!(
        shown.contains("<td><code>spring tide</code></td><td>both</td>"),
        "{shown}"
    );
}

#[test]
fn comments_beside_code_are_a_part_of_it() {
    let mut content = String::new();
    for (row, (code, comment)) in (0..).zip([
        ("tide --low", "# of the moon"),
        ("tide --high", "# of the sun"),
        ("tide --neap", "# of both"),
    ]) {
        content += &line("F3", 10, 72, 700 - 12 * row, code);
        content += &line("F1", 10, 198, 700 - 12 * row, comment);
    }
    assert_eq!(
        shown(&content),
        "<pre><code>tide --low           # of the moon\ntide --high          # of the sun\n\
         tide --neap          # of both</code></pre>"
    );
}
