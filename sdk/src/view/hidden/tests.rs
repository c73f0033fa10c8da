//! Tests which elements count as hidden.

use crate::testkit;

/// Checks what hides the first `<x-x>` element of a page, or the element `#x`.
#[track_caller]
fn check(html: &str, expected: &str) {
    let page = testkit::page(html);
    let document = page.document();
    let element = document.select("#x, x-x").unwrap().next().unwrap();
    let by = element.hidden_by().map(super::HiddenBy::name);
    assert_eq!(by.unwrap_or_default(), expected, "{html}");
}

#[track_caller]
fn check_style(style: &str, expected: &str) {
    check(&format!("<x-x style=\"{style}\">text</x-x>"), expected);
}

#[test]
fn the_hidden_attribute_hides_unless_searchable_or_displayed() {
    check("<p hidden id=x>a", "hidden_attribute");
    check("<p hidden=hidden id=x>a", "hidden_attribute");
    check("<p hidden=Until-Found id=x>a", "");
    check("<p hidden style='display:block' id=x>a", "");
    check("<p hidden style='color:red' id=x>a", "hidden_attribute");
}

#[test]
fn an_open_dialog_is_visible() {
    check("<dialog id=x>a", "closed_dialog");
    check("<dialog open id=x>a", "");
    check("<dialog style='display:flex' id=x>a", "");
    check("<details id=x><summary>a</summary>b", "");
}

#[test]
fn the_last_or_important_declaration_wins() {
    check_style("color:red; Display : NONE !important", "display");
    check_style("display:none;display:block", "");
    check_style("display:none !important;display:block", "display");
    check_style("display:none;display:block ! IMPORTANT;display:none", "");
    check_style("background:url('a;display:none');margin:0", "");
    check_style(
        "background:url(data:image/png;base64,AA);display:none",
        "display",
    );
    check_style("display:;;none", "");
    check_style("xdisplay:none", "");
}

#[test]
fn visibility_hides() {
    check_style("visibility:hidden", "visibility");
    check_style("visibility:collapse", "visibility");
    check_style("visibility:visible", "");
}

#[test]
fn opacity_hides_unless_a_script_may_reveal_it() {
    check_style("opacity:0", "transparent");
    check_style("opacity:0.0", "transparent");
    check_style("opacity:0%", "transparent");
    check_style("opacity:0.1", "");
    check_style("opacity:0;transition:opacity 1s", "");
    check_style("opacity:0;-webkit-transform:translateY(60px)", "");
    check("<p class=fade style='opacity:0' id=x>a", "");
    check("<x-x data-animate style='opacity:0'>a", "");
    check(
        "<x-x class=tip style='opacity:0;pointer-events:none'>a",
        "transparent",
    );
}

#[test]
fn a_zero_size_box_hides_unless_it_expands_or_has_padding() {
    check_style("height:0;overflow:hidden", "zero_size");
    check_style("width:1px;height:1px;overflow:hidden", "zero_size");
    check_style("max-height:0px;overflow-y:hidden", "zero_size");
    check_style("height:0", "");
    check_style("height:0;overflow:hidden;padding-bottom:56%", "");
    check_style("height:0;overflow:hidden;padding:0", "zero_size");
    check_style("height:0;overflow:hidden;transition:height 1s", "");
    check_style("height:10px;overflow:hidden", "");
}

#[test]
fn font_size_zero_hides_text_without_its_own_font_size() {
    check_style("font-size:0", "zero_size");
    check_style("font-size:0px", "zero_size");
    check_style("font-size:1px", "");
    check("<x-x style='font-size:0'><b>a</b></x-x>", "zero_size");
    check(
        "<x-x style='font-size:0'><b style='font-size:12px'>a</b></x-x>",
        "",
    );
    check("<x-x style='font-size:0'><b class=c>a</b></x-x>", "");
}

#[test]
fn clipped_elements_are_hidden() {
    check_style("position:absolute;clip:rect(0 0 0 0)", "clipped");
    check_style("position:absolute;clip:rect(1px, 1px, 1px, 1px)", "clipped");
    check_style("position:absolute;clip:rect(0,100px,50px,0)", "");
    check_style("position:absolute;clip:rect(auto,0,0,0)", "");
    check_style("clip:rect(0 0 0 0)", "");
    check_style("clip-path:inset(50%)", "clipped");
    check_style("clip-path:inset(10%)", "");
    check_style("clip-path:circle(0)", "clipped");
    check_style("clip-path:circle(40%)", "");
}

#[test]
fn off_screen_elements_are_hidden() {
    check_style("position:absolute;left:-9999px", "off_screen");
    check_style("position:fixed;top:-99em", "off_screen");
    check_style("left:-9999px", "");
    check_style("position:absolute;left:-20px", "");
    check_style("text-indent:-9999px", "off_screen");
    check_style("margin-left:-9999px", "off_screen");
    check_style("position:relative;left:-2400px;width:9600px", "");
    check_style("position:absolute;left:-100%", "");
}

#[test]
fn text_in_the_colour_of_its_background_is_hidden() {
    check_style("color:white;background:#fff", "same_colour");
    check_style(
        "color:#FFFFFF;background-color:rgb(255, 255, 255)",
        "same_colour",
    );
    check_style("color:#fff;background:#fffffe", "");
    check_style("color:#fff", "");
    check_style("color:#fff;background:#fff url(a.png)", "");
    check_style(
        "color:#fff;background-color:#fff;background:linear-gradient(red,blue)",
        "",
    );
    check_style("color:rgba(255,255,255,.5);background:#fff", "");
    check_style("color:nonsense;background:nonsense", "");
}

#[test]
fn backgrounds_of_ancestors_count_up_to_one_with_a_class() {
    let around = |inner: &str| format!("<div style='background:white'>{inner}</div>");
    check(&around("<p><x-x style='color:#fff'>a</x-x>"), "same_colour");
    check(&around("<p class=card><x-x style='color:#fff'>a</x-x>"), "");
    check(&around("<x-x class=button style='color:#fff'>a</x-x>"), "");
    check(
        &around("<p style='background:black'><x-x style='color:#fff'>a</x-x>"),
        "",
    );
    check(
        "<x-x style='color:#fff;background:#fff'><b style='color:red'>a</b></x-x>",
        "",
    );
}

#[test]
fn aria_hidden_hides_what_is_closed_but_not_what_is_on_the_screen() {
    for closed in [
        "role=dialog id=x",
        "class='js-Modal' id=x",
        "id=x class='offCanvasMenu nav'",
        "id=x class=visually-hidden",
        "id=x class=icon-home",
        "id=x class='swiper-slide swiper-slide-duplicate'",
    ] {
        check(&format!("<p aria-hidden=true {closed}>a"), "aria_hidden");
    }
    check("<nav aria-hidden=true id=x>a", "aria_hidden");
    check("<x-x aria-hidden=true>$ 5", "");
    check("<x-x aria-hidden=true class=unit>mins", "");
    check("<x-x aria-hidden=false role=dialog>a", "");
    check("<x-x aria-hidden=true role=dialog><img src=a></x-x>", "");
    check(
        "<x-x aria-hidden=true class='Carousel__cell is-loading'>a",
        "",
    );
}

#[test]
fn panels_are_one_click_away() {
    check("<div hidden role=tabpanel id=x>a", "");
    check("<div style='display:none' role=region id=x>a", "");
    check("<div aria-hidden=true aria-labelledby=t id=x>a", "");
    check("<div hidden class=Accordion__panel id=x>a", "");
    check(
        "<div hidden class='nav collapsed' id=x>a",
        "hidden_attribute",
    );
    check(
        "<div hidden role=dialog aria-labelledby=t id=x>a",
        "hidden_attribute",
    );
    check("<ul hidden aria-labelledby=t id=x>a", "hidden_attribute");
}

#[test]
fn streamed_content_is_visible() {
    check("<x-x hidden id='S:1f'>a", "");
    check("<x-x hidden id='S:'>a", "hidden_attribute");
    check("<x-x hidden id='PS:fox'>a", "hidden_attribute");
}

#[test]
fn a_wrapper_around_the_page_is_visible() {
    check("<body id=x style='display:none'>a", "");
    check("<main id=x style='opacity:0'>a", "");
    let page = |inside: &str| format!("<p>a</p><x-x style='visibility:hidden'>{inside}</x-x>");
    check(
        &page(&format!("<h1>t</h1>{}", "<p>water</p>".repeat(200))),
        "",
    );
    check(&page(&"<p>water</p>".repeat(200)), "visibility");
    check(&page("<h1>t</h1>"), "visibility");
    let comments = "<!-- water -->".repeat(2_000);
    check(&page(&format!("<h1>t</h1>{comments}")), "visibility");
    let heading = format!("<h1>{}</h1>", "water ".repeat(100));
    check(&format!("{comments}{}", page(&heading)), "");
}

#[test]
fn detection_takes_bounded_time() {
    let style = "a:b;".repeat(200_000);
    check_style(&format!("{style}display:none"), "display");
    let deep = "<div style='color:#fff'>".repeat(400);
    let wide = "<b style='color:#fff'>a</b>".repeat(20_000);
    check(&format!("{deep}{wide}<x-x style='color:#fff'>a"), "");
}

#[test]
fn icon_names_are_not_text() {
    let page = testkit::page("<i class='material-icons md-18'>home</i><p class=material-icons>a");
    let text = page.document().text();
    assert_eq!(text, "a");
}

#[test]
fn comments_and_blanks_do_not_hide_that_there_is_text() {
    let comments = "<!-- x --> ".repeat(60);
    for inside in ["text", "<p>text</p>", "<script>x</script><b>text</b>"] {
        let html = format!("<div id=x class=modal aria-hidden=true>{comments}{inside}");
        check(&html, "aria_hidden");
    }
    let html = format!("<div id=x class=modal aria-hidden=true>{comments}<script>x</script>");
    check(&html, "");
    for name in [
        "close",
        "<!-- -->close",
        "<!-- -->cl<!-- -->ose ",
        "<span>close</span>",
    ] {
        check(
            &format!("<span id=x class=icon aria-hidden=true>{name}</span>"),
            "aria_hidden",
        );
    }
    check(
        "<span id=x class=icon aria-hidden=true><b>close</b></span>",
        "",
    );
    check(
        "<span id=x class=icon aria-hidden=true>5 <!-- -->EUR</span>",
        "",
    );
}
