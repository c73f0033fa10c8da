use super::Sentences;
use trawl_sdk::testkit;

/// Checks the sentences of a text, which bars separate.
#[track_caller]
fn check(expected: &str) {
    let text = expected.replace('¦', "");
    assert_eq!(testkit::pieces::<Sentences>(&text, 1).join("¦"), expected);
}

#[test]
fn a_piece_ends_before_the_first_sentence_in_excess() {
    let pieces = testkit::pieces::<Sentences>("One. Two! Three?", 2);
    assert_eq!(pieces, ["One. Two! ", "Three?"]);
}

#[test]
fn the_size_is_an_option() {
    testkit::check_size::<Sentences>();
}

#[test]
fn the_pieces_of_any_text_are_the_text() {
    testkit::check_any_text::<Sentences>();
}

#[test]
fn a_stop_within_a_word_does_not_end_a_sentence() {
    check("Pi is 3.14 here. ¦Yes.");
    check(
        "Use v1.2.3 of it. ¦See https://example.com/a.b?c=d!e for more. ¦Or ask me@example.co.uk. ¦Fine.",
    );
    check("A file is lib.rs or Cargo.toml here. ¦Next.");
}

#[test]
fn a_title_does_not_end_a_sentence() {
    check("Mr. Smith met Dr. Jones and Mrs. Brown. ¦They left.");
    check("Prof. Dr. Müller aus St. Gallen kam. ¦Er ging.");
    check("El Sr. López y la Dra. Ruiz hablan. ¦Sí.");
    check("M. Dupont et Mme. Durand sont là. ¦Bien.");
}

#[test]
fn initials_do_not_end_a_sentence() {
    check("J. R. R. Tolkien wrote it. ¦We read it.");
    check("It was plan B. ¦The end.");
    check("So do I. ¦They do too.");
}

#[test]
fn an_abbreviation_with_points_ends_a_sentence_only_before_a_starter() {
    check("The U.S. Army came. ¦It left.");
    check("He lives in the U.S. ¦The house is big.");
    check("Fruit, e.g. Apples, i.e. Food. ¦Good.");
    check("We met at 5 p.m. Monday. ¦We left at 6 a.m. ¦It rained.");
    check("Obst, z. B. Äpfel, d. h. Essen. ¦Gut.");
    check("Fruta, p. ej. Manzanas. ¦Bien.");
    check("Ein Ph.D. Student kam, u.a. Herr X. ¦Der ging.");
}

#[test]
fn a_company_or_a_list_may_end_a_sentence() {
    check("Acme Inc. Limited sells. ¦We buy from Acme Inc. ¦They sell.");
    check("We have pens, paper etc. ¦Ink too.");
    check("Martin Luther King Jr. spoke. ¦Good.");
}

#[test]
fn an_abbreviation_before_a_number_needs_one() {
    check("See No. 5 and Fig. 3 in Vol. IV now. ¦Yes.");
    check("Did he say no. ¦He left.");
    check("On Jan. 5 it snowed. ¦Cold.");
}

#[test]
fn an_ordinal_number_does_not_end_a_sentence() {
    check("Es war am 3. Mai in Wien. ¦Dann der 2. Weltkrieg. ¦Ende.");
    check("She was 12. ¦Then she left.");
    check("It was in 1990. ¦12 years later it ended.");
    check("Ludwig XIV. war König. ¦Ja.");
}

#[test]
fn three_points_end_a_sentence_before_a_capital() {
    check("Well... maybe. ¦Hm... ¦No.");
    check("Well… maybe. ¦Hm… ¦No.");
}

#[test]
fn a_lower_case_letter_continues_a_sentence() {
    check("\"Why?\" he asked. ¦\"Go!\" she said. ¦Done.");
    check("Yahoo! is a company. ¦Yes.");
    check("It is approx. right. ¦Yes.");
}

#[test]
fn closing_marks_belong_to_the_sentence() {
    check("(It is so.) ¦\"He said yes.\" ¦“Good.” ¦Then.");
    check("**Bold is this.** ¦_So is this._ ¦Then.");
    check("It was long ago.[12] ¦Or not.[3][4] ¦So.");
    check("See [what we said.](https://example.com/a) ¦Yes.");
    check("What?! ¦No!!! ¦Yes.");
}

#[test]
fn chinese_and_japanese_need_no_space() {
    check("一。¦二！¦三？");
    check("彼は「行く。」¦私は行かない。¦『何？』¦はい。");
    check("今天是3.5度。¦明天见！");
}

#[test]
fn other_scripts_have_stops_of_their_own() {
    check("यह एक वाक्य है। ¦यह दूसरा है॥ ¦डॉ. शर्मा आए।");
    check("كيف حالك؟ ¦أنا بخير. ¦شكرا.");
    check("یہ ایک جملہ ہے۔ ¦یہ دوسرا ہے۔");
    check("Սա նախադասություն է։ ¦Սա՝ երկրորդը։");
    check("Πού είναι; ¦Εδώ είναι. ¦Ναι.");
    check("ይህ ነው። ¦ያ ነው።");
    check("នេះជាប្រយោគ។ ¦មួយទៀត។");
    check("ဤသည်မှာ ဝါကျ။ ¦နောက်တစ်ခု။");
    check("Это г. Москва и т.д. и т.п. Потом. ¦Да.");
}

#[test]
fn a_space_ends_a_long_sentence_in_thai() {
    let clause = "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้ ";
    assert!(clause.len() >= 180);
    check(&format!("{clause}¦{clause}¦จบ"));
    check("สวัสดี ครับ วันนี้ ดี");
}

#[test]
fn headings_items_rows_and_paragraphs_are_sentences() {
    check("# A heading\n¦Text of it\n\n¦A paragraph\n");
    check("- one\n¦- two\n¦  - three\n¦1. four\n¦2. five\n");
    check("| a | b |\n|---|---|\n¦| c | d |\n");
    check("Home\n¦About us\n¦Contact\n");
    check("Mr.\n\n¦Smith\n");
    check("One.\n¦Two.\r\n¦Three.\r\n\r\n¦Four.");
}

#[test]
fn wrapped_text_is_continued() {
    check(
        "This is a line of text that somebody wrapped\nby hand, as in an old message. ¦Then it\n¦Ends",
    );
}

#[test]
fn marks_alone_stay_with_the_sentence_before() {
    check("A.\n\n***\n\n¦B.");
    check("A. — ! ? ¦B.");
    check("...");
}

#[test]
fn a_code_block_stays_whole() {
    let code = "```\na\nb\nc\n```\n";
    let text = format!("One. Two.\n{code}");
    assert_eq!(
        testkit::pieces::<Sentences>(&text, 3),
        ["One. Two.\n", code]
    );
}
