use super::Words;
use crate::words::Words as Starts;
use proptest::prelude::*;
use trawl_sdk::testkit;
use unicode_segmentation::UnicodeSegmentation;

/// Checks the pieces of a text, in which bars are where it is cut.
#[track_caller]
fn check(value: u32, expected: &str) {
    let text = expected.replace('¦', "");
    let pieces = testkit::pieces::<Words>(&text, value);
    assert_eq!(pieces.join("¦"), expected);
}

/// Checks the words of a text, separated by bars; each includes the marks after it.
#[track_caller]
fn check_words(expected: &str) {
    let text = expected.replace('|', "");
    let starts: Vec<usize> = Starts::of(&text).chain([text.len()]).collect();
    let words: Vec<&str> = starts.windows(2).map(|it| &text[it[0]..it[1]]).collect();
    assert_eq!(words.join("|"), expected);
}

#[test]
fn a_piece_ends_before_the_first_word_in_excess() {
    check(2, "  One, two. ¦Three!\n");
    check(1, "can't ¦stop");
    check(5, "a b");
}

#[test]
fn a_link_of_markdown_stays_whole() {
    check(4, "one two three ¦[four five](https://a.example/b) ¦six");
    check(2, "one ¦[two three](/a) ¦four five");
}

#[test]
fn the_size_is_an_option() {
    testkit::check_size::<Words>();
}

#[test]
fn the_pieces_of_any_text_are_the_text() {
    testkit::check_any_text::<Words>();
}

#[test]
fn characters_are_never_cut() {
    check(1, "e\u{301}é \u{301}¦a");
    check(1, "日¦本\u{fe00}¦語\u{301}¦か\u{3099}");
    check(1, "…—");
}

#[test]
fn words_of_ascii_and_of_other_scripts_with_spaces_are_those_of_unicode() {
    check_words("The |3.14 |isn't |1,000.5 |a.b |snake_case |x86 |a:b/|c");
    check_words(
        "Über |naïve |l’été |Привет, |мир! |Γειά |σου |שלום |ע״ל |한국어 |मुझे |हिन्दी |مرحبا |بكم",
    );
}

#[test]
fn marks_before_a_word_belong_to_it() {
    check_words("(one) |[two](|three) — |four |“five”\n|- six\n|> seven\n|## Eight");
}

#[test]
fn chinese_is_read_with_a_word_list() {
    check_words("今天|天气|很好，|我们|一起去|公园|散步|吧。");
    check_words("中国|的|首都|是|北京，|上海|是|最大|的|城市。");
    check_words("使用|Rust |语言|和|3.5|版本");
}

#[test]
fn japanese_is_read_with_a_word_list() {
    check_words("東京|は|日本|の|首都|です。");
    check_words("コンピューター|を|公園|に");
}

#[test]
fn southern_scripts_are_read_with_a_word_list() {
    check_words("ประเทศไทย|เป็น|ประเทศ|ที่|ตั้ง|อยู่|ใน|ภูมิภาค|เอเชีย");
    check_words("ສະບາຍດີ |ຂ້ອຍ|ຊື່ວ່າ |ປະເທດ|ລາວ");
    check_words("ប្រទេស|កម្ពុជា|ជា|ប្រទេស|មួយ|នៅ|អាស៊ី|អាគ្នេយ៍");
    check_words("မြန်မာနိုင်ငံ|သည် |အရှေ့တောင်");
}

#[test]
fn a_name_that_is_not_in_the_list_is_one_word() {
    check_words("กฌฌฎฌ |ฌฎ");
}

#[test]
fn two_hundred_words_of_chinese_are_about_that_many() {
    let text = "人工智能技术正在改变世界经济的发展方式，研究人员认为未来十年将会出现更多的变化。"
        .repeat(20);
    let piece = testkit::pieces::<Words>(&text, 200)[0];
    let ideographs = piece.chars().filter(|c| c.is_alphanumeric()).count();
    assert!((300..400).contains(&ideographs), "{ideographs}");
}

#[test]
fn a_url_is_not_cut_when_a_space_is_near() {
    check(8, "a b c d e https://example.com/one/¦two/three f");
    check(9, "a b c d e f g h ¦https://example.com/one");
}

#[test]
fn a_table_row_is_not_cut() {
    check(4, "x y z\n¦| a | b |\n|---|---|\n| c | d |\n¦| e | f |\n");
}

#[test]
fn a_row_longer_than_a_piece_is_cut() {
    check(3, "| a b c ¦d e f |\n");
}

#[test]
fn a_code_block_is_not_cut_when_an_edge_is_near() {
    check(4, "a b c\n\n¦    d e\n    f\n\ng");
    check(4, "a b c\n```\nd e\n```\n\n¦g h");
}

#[test]
fn a_long_code_block_is_cut_at_a_line_end() {
    check(6, "~~~\na b\nc d e\n¦f g h\ni j k\n~~~\n");
}

#[test]
fn a_heading_begins_a_piece() {
    check(5, "a b c d\n\n¦# E\n\nf g h");
    check(5, "a b c d\n\n¦# E F\n\ng h");
    check(5, "a b c d\n\nE\n=\n¦f");
    check(5, "a b c d\n\n¦E\n==\nf");
}

proptest! {
    #[test]
    fn ascii_has_the_words_of_unicode(text in "[ab12_.:,;'\" \n-]{0,40}") {
        prop_assert_eq!(Starts::of(&text).count(), text.unicode_words().count());
    }

    #[test]
    fn mixed_text_has_the_words_of_unicode(text in "[aé1ß_.:, \u{301}\u{200d}я-]{0,30}") {
        prop_assert_eq!(Starts::of(&text).count(), text.unicode_words().count());
    }

    #[test]
    fn every_word_begins_a_character(text in "(\\PC|[กำ日か\u{3099}က္ဥ្\u{200d}🇩👩a \n]){0,40}") {
        let characters: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        for start in Starts::of(&text) {
            prop_assert!(characters.binary_search(&start).is_ok(), "{:?} at {}", text, start);
        }
    }
}
