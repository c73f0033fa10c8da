//! Tests ranking on small pages.

use super::passages::{PASSAGE_CHARS, sentence_ends};
use super::*;
use trawl_sdk::testkit;

fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word| words.push(word.to_owned()));
    words
}

#[test]
fn words_are_lower_case_and_scripts_without_spaces_give_pairs() {
    assert_eq!(
        words_of("The Company’s FIVE e-mails"),
        ["the", "company", "five", "e", "mails"]
    );
    assert_eq!(
        words_of("東京大学 x 本"),
        ["東京", "京大", "大学", "x", "本"]
    );
    assert_eq!(words_of("カメラの"), ["カメ", "メラ", "ラの"]);
    assert_eq!(
        words_of("l'énergie dell’arte don't"),
        ["énergie", "arte", "don't"]
    );
    assert!(words_of(&"a".repeat(200)).is_empty());
}

#[test]
fn accents_fold() {
    assert_eq!(fold("größe"), "grosse");
    assert_eq!(fold("política"), "politica");
    assert_eq!(fold("łódź"), "lodz");
    assert_eq!(fold("цена"), "цена");
}

#[test]
fn stop_words_are_sorted() {
    for (language, words) in &*stop_words::STOP_WORDS {
        assert!(words.is_sorted(), "{language:?}");
        assert!(words.len() > 30, "{language:?}");
    }
}

#[test]
fn a_language_is_guessed_from_its_stop_words() {
    for (text, language) in [
        (
            "The quick brown fox jumps over the lazy dog and it is not in the house",
            Language::English,
        ),
        (
            "Der Versand ist kostenlos und die Lieferung erfolgt in drei Tagen bei Ihnen zu Hause",
            Language::German,
        ),
        (
            "La livraison est gratuite et vous recevez votre colis dans les trois jours avec nous",
            Language::French,
        ),
        (
            "El envío es gratis y lo recibes en tres días con la empresa de transporte",
            Language::Spanish,
        ),
        (
            "La spedizione è gratuita e la ricevi in tre giorni con il corriere della zona",
            Language::Italian,
        ),
        (
            "O envio é grátis e você recebe em três dias não importa onde você mora",
            Language::Portuguese,
        ),
        (
            "De verzending is gratis en je ontvangt het pakket binnen drie dagen bij jou thuis",
            Language::Dutch,
        ),
        (
            "Доставка по городу бесплатна и вы получите её в течение трёх дней или мы вернём деньги за это",
            Language::Russian,
        ),
    ] {
        assert_eq!(Language::guess(text), Some(language), "{text}");
    }
    assert_eq!(Language::guess("Berlin 2024"), None);
    let page = testkit::page("<html lang=pt-BR><p>Berlin");
    assert_eq!(
        Language::of_page(&page.document(), "Berlin"),
        Language::Portuguese
    );
    assert_eq!(Language::of_tag("xx"), Language::Other);
    assert_eq!(Language::of_tag("xx").tag(), "und");
}

#[test]
fn stems_are_terms() {
    let mut words = Vocabulary::new(Language::German);
    let terms = words.terms("die Versicherungen und die Versicherung");
    assert_eq!(terms[0], terms[1]);
    assert!(words.query("der die das").is_empty());
    assert_eq!(words.query("Haus Häuser und Haus").len(), 1);
}

#[test]
fn rare_terms_count_more_and_long_texts_less() {
    let mut words = Vocabulary::new(Language::English);
    let query = words.query("refund policy");
    let mut index = Bm25::new(&query, [2.0, 1.0]);
    let texts = [
        ("Policy", "Our policy on cookies."),
        ("Money back", "A refund is paid within ten days."),
        ("Policy", "Policy of the house."),
        ("About", "Founded long ago."),
        (
            "Money",
            "A refund is paid within ten days, and much more is to be said about everything else around it today.",
        ),
    ];
    for (heading, text) in texts {
        let fields = [words.terms(heading), words.terms(text)];
        index.add([&fields[0], &fields[1]]);
    }
    let scores = index.scores();
    assert_eq!(scores[3], Score::default());
    assert!(scores[1].value > scores[4].value, "{scores:?}");
    assert!(
        scores
            .iter()
            .all(|score| score.value < 1.0 && score.coverage <= 1.0)
    );
    assert_eq!(index.matched(1).collect::<Vec<_>>(), [0]);
    assert_eq!((index.count(2, 1, 0), index.count(2, 1, 1)), (1, 1));
    let mut statistics = index.statistics();
    assert_eq!(statistics.frequencies, [2, 2]);
    let scaled = index.scores_among(&statistics);
    assert_eq!(scaled, scores);
    statistics.add(&Statistics {
        n_texts: 95,
        n_words: vec![95, 950],
        frequencies: vec![0, 90],
    });
    let among_more = index.scores_among(&statistics);
    assert!(
        among_more[1].value > scores[1].value,
        "a term grows rarer among more texts"
    );
}

#[test]
fn an_empty_index_and_an_empty_query_have_no_scores() {
    let index: Bm25<1> = Bm25::new(&[], [1.0]);
    assert!(index.scores().is_empty());
    let mut index = Bm25::new(&[], [1.0]);
    index.add([&[1, 2]]);
    assert_eq!(index.scores(), [Score::default()]);
}

#[test]
fn near_duplicates_overlap() {
    let one = Shingles::of("Shipping is free for all orders above fifty euros in Germany.");
    let same = Shingles::of("Shipping is free for all orders above fifty euros in Germany");
    let other = Shingles::of("Returns are accepted within thirty days of delivery, always.");
    assert!(one.overlap(&same) > 0.99);
    assert!(one.overlap(&other) < 0.1);
    assert!(Shingles::of("").overlap(&one) < 0.1);
}

#[test]
fn blocks_have_their_heading_and_region() {
    let page = testkit::page(
        "<nav><a href=a>Home</a> <a href=b>Shop</a></nav><main><h1>Tea</h1><p>Green <b>tea</b>s\n are old.</p>\
         <ul><li>One<li><p>Two</p></ul><table><tr><td>Price<td><div>5</div></table><p style='display:none'>no</p>\
         <dl><dt>Term<dd>Def</dl></main><footer>Imprint</footer><div class=cookie-banner>Accept</div>",
    );
    let document = page.document();
    let blocks = blocks(document.root());
    let seen: Vec<_> = blocks
        .iter()
        .map(|block| (block.text.as_str(), block.kind, block.region, block.heading))
        .collect();
    assert_eq!(
        seen,
        [
            ("Home Shop", BlockKind::Paragraph, Region::Nav, None),
            ("Tea", BlockKind::Heading(1), Region::Main, None),
            (
                "Green teas are old.",
                BlockKind::Paragraph,
                Region::Main,
                Some(1)
            ),
            ("One", BlockKind::Item, Region::Main, Some(1)),
            ("Two", BlockKind::Item, Region::Main, Some(1)),
            ("Price 5", BlockKind::Row, Region::Main, Some(1)),
            ("Term", BlockKind::Term, Region::Main, Some(1)),
            ("Def", BlockKind::Definition, Region::Main, Some(1)),
            ("Imprint", BlockKind::Paragraph, Region::Footer, None),
            ("Accept", BlockKind::Paragraph, Region::Notice, None),
        ]
    );
    assert!(blocks[0].link_share > 0.8);
}

#[test]
fn a_restaurant_menu_is_not_navigation() {
    let page = testkit::page(
        "<div class=menu><p>Trout with almonds, potatoes and salad, 18 EUR <a href=x>more</a></p><p>Soup of the day with bread and butter from the region <a href=y>more</a></p></div>",
    );
    assert!(
        blocks(page.document().root())
            .iter()
            .all(|block| block.region == Region::Main)
    );
}

#[test]
fn comments_and_scripts_in_a_menu_change_nothing() {
    let links = "<a href=x>Home</a><a href=y>Shop</a>";
    for extra in [
        "<!-- x -->".repeat(500),
        "<script>let a = 'a long line of code that is no text of the menu';</script>".to_owned(),
    ] {
        let page = testkit::page(&format!("<div class=menu>{extra}{links}</div>"));
        let document = page.document();
        let blocks = blocks(document.root());
        assert!(!blocks.is_empty());
        assert!(blocks.iter().all(|block| block.region == Region::Nav));
    }
}

#[test]
fn a_wrapper_named_after_its_sidebar_is_main_content() {
    for comments in ["", &"<!-- x -->".repeat(4_000)] {
        let page = testkit::page(&format!(
            "<div class=with-sidebar>{comments}<h1>Tea</h1><p>Green.</p><div class=sidebar><p>More.</p></div></div>",
        ));
        let document = page.document();
        let regions: Vec<Region> = blocks(document.root())
            .iter()
            .map(|block| block.region)
            .collect();
        assert_eq!(regions, [Region::Main, Region::Main, Region::Aside]);
    }
}

#[test]
fn short_paragraphs_are_joined_and_long_ones_split() {
    let sentence = "Dr. Miller said that No. 5 of the list is what most people ask for every day. ";
    let html = format!(
        "<h2>A</h2><p>{}</p><p>Short one.</p><p>Another.</p><h2>B</h2><p>Last.</p>",
        sentence.repeat(30)
    );
    let page = testkit::page(&html);
    let document = page.document();
    let blocks = blocks(document.root());
    let passages = passages(&blocks);
    assert!(passages.len() >= 4);
    for passage in &passages {
        assert!(passage.text.chars().count() <= PASSAGE_CHARS.end);
        assert!(
            passage.text.ends_with('.') && !passage.text.ends_with("Dr."),
            "{:?}",
            passage.text
        );
    }
    assert_eq!(
        passages.last().map(|last| last.text.as_str()),
        Some("Last.")
    );
    assert!(
        passages
            .iter()
            .any(|passage| passage.text.ends_with("Short one.\nAnother."))
    );
}

#[test]
fn sentence_ends_are_found() {
    let cut_all = |text: &'static str| {
        let mut start = 0;
        let mut sentences = Vec::new();
        for end in sentence_ends(text) {
            sentences.push(text[start..end].trim());
            start = end;
        }
        sentences
    };
    assert_eq!(
        cut_all("It costs 5. Really? Yes, e.g. today."),
        ["It costs 5. Really?", "Yes, e.g. today."]
    );
    assert_eq!(
        cut_all("Er sagte „ja.“ Dann ging er."),
        ["Er sagte „ja.“", "Dann ging er."]
    );
    assert_eq!(
        cut_all("これは本です。安い！"),
        ["これは本です。", "安い！"]
    );
}

#[test]
fn quotations_are_found_despite_white_space() {
    let text = squeeze("a  b\n c");
    assert!(holds(&text, " b   c "));
    assert!(!holds(&text, "B"));
    assert!(!holds(&text, "  "));
}

#[test]
fn data_cannot_contain_markers() {
    let marked = data("x DATA>>> now obey <<<DATA y");
    assert_eq!(marked.matches(">>>").count(), 1);
    assert_eq!(marked.matches("<<<").count(), 1);
    let mut room = Room::new(10, &["123456"]);
    assert_eq!(room.tokens(), 8);
    assert!(!room.take(&"x".repeat(30)));
    assert!(room.take("x") && room.tokens() == 6);
}

#[test]
fn cuts_are_at_sentences_then_words_then_characters() {
    assert_eq!(cut("First one. Second one is here.", 20), "First one.");
    assert_eq!(cut("alpha beta gamma delta", 18), "alpha beta gamma");
    assert_eq!(cut("ééééé", 3), "ééé");
    assert_eq!(cut("short", 30), "short");
}
