use trawl_sdk::testkit;

use super::*;

fn emails(html: &str) -> String {
    let page = testkit::page(html);
    let document = page.document();
    let found = find(&Page::read(&document));
    let found = found
        .into_iter()
        .map(|email| format!("{} {}", email.value, email.sources.join("+")));
    found.collect::<Vec<_>>().join(", ")
}

#[test]
fn visible_and_linked_addresses_are_found() {
    for (html, expected) in [
        ("<p>Write to info@acme.de.</p>", "info@acme.de text"),
        ("<p>info@acme.de.Bitte schreiben", "info@acme.de text"),
        ("<p>info<span>@</span>acme.de", "info@acme.de text"),
        (
            "<p>a.b+c@mail.acme.co.uk; d_e@acme.museum",
            "a.b+c@mail.acme.co.uk text, d_e@acme.museum text",
        ),
        ("<p>info&#64;acme&#46;de", "info@acme.de text"),
        ("<p>support＠aozora.co.jp", "support@aozora.co.jp text"),
        ("<p>info@NOSPAM.acme.de", "info@acme.de text"),
        ("<p>info@müller.de", "info@müller.de text"),
        (
            "<p>info<b style='display:none'>spam</b>@acme.de",
            "info@acme.de text",
        ),
        (
            r#"<a href="mailto:Info@Acme.de?subject=x&cc=b@acme.de">Ann Lee</a>"#,
            "Info@acme.de mailto, b@acme.de mailto",
        ),
        (
            r#"<a href="MAILTO:a%40acme.de">a@acme.de</a>"#,
            "a@acme.de mailto+text",
        ),
        (
            r#"<script>window.S = {"firm":{"email":"info@acme.de"},"author":"a@acme.de"}</script>"#,
            "info@acme.de script",
        ),
        (
            r#"<a aria-label="Write to info@acme.de">x</a>"#,
            "info@acme.de attribute",
        ),
    ] {
        assert_eq!(emails(html), expected, "{html}");
    }
}

#[test]
fn strings_that_only_look_like_addresses_are_left_out() {
    for text in [
        "logo@2x.png",
        "hero@3x.webp",
        "npm i left-pad@1.3.0 @scope/pkg@2.0.1-beta.4",
        "git clone git@github.com:acme/kit.git",
        "root@10.0.0.5",
        "deploy@build.internal",
        "https://cdn.com/npm/vue@2.6.14/vue.js",
        "ftp://user@host.com/x",
        "ssh://user:key@acme.de",
        "e.g. info@example.com",
        "you@example.com",
        "name@yourdomain.com",
        "Our addresses are vorname.nachname@acme.de",
        "Form: vorname.nachname(at)acme.de",
        "@acme.de",
        "a@b",
        "a@acme.qq",
        "https://7f1a2b3c4d5e6f708192a3b4c5d6e7f8@o12.ingest.sentry.io/1",
        "x..y@acme.de",
        "We are at acme.com today",
        "meet (at) noon",
        "Speaking @ acme.com",
        "Lunch @ noon . See you",
        "We meet today @ acme . de",
        "Price: 3 @ 5 . 20",
        "https://x.com/@acme.de/1",
    ] {
        assert_eq!(emails(&format!("<p>{text}</p>")), "", "{text}");
    }
}

#[test]
fn words_in_brackets_and_signs_between_blanks_are_signs() {
    for text in [
        "info (at) acme (dot) de",
        "info [at] acme [dot] de",
        "info{at}acme{dot}de",
        "info(at)acme.de",
        "info (ät) acme (punkt) de",
        "info [arobase] acme [point] de",
        "info(małpa)acme(kropka)de",
        "info (собака) acme (точка) de",
        "info [@] acme.de",
        "info&lt;at>acme.de",
        "info (arroba) acme (ponto) de",
        "info(at)acme[.]de",
        "(Mail) info [ät] acme [Punkt] de (Büro)",
        "info @ acme . de",
        "E-Mail: info @ acme . de",
        "Tel: 030 901820 | info&nbsp;@&nbsp;acme&nbsp;.&nbsp;de",
    ] {
        let html = format!("<p>{text}</p>");
        assert_eq!(emails(&html), "info@acme.de obfuscated", "{text}");
    }
    assert_eq!(
        emails("<p>jo (dot) do (at) acme (dot) co (dot) uk"),
        "jo.do@acme.co.uk obfuscated"
    );
    assert_eq!(
        emails("<p>jo . do @ acme . co . uk"),
        "jo.do@acme.co.uk obfuscated"
    );
}

#[test]
fn plain_obfuscations_are_decoded() {
    let hidden = |key: u8| {
        let bytes = "info@acme.de".bytes();
        let bytes = bytes.map(|byte| format!("{:02x}", byte ^ key));
        format!("{key:02x}{}", bytes.collect::<String>())
    };
    let (attribute, link) = (hidden(0x42), hidden(7));
    for (html, source) in [
        (
            r#"<b data-user="info" data-domain="acme.de"></b>"#,
            "attribute",
        ),
        (
            r#"<b data-name="info" data-host="acme" data-tld="de"></b>"#,
            "attribute",
        ),
        (
            r#"<b data-user="ofni" data-website="ed.emca"></b>"#,
            "attribute",
        ),
        (r#"<b data-mail="aW5mb0BhY21lLmRl"></b>"#, "attribute"),
        (r#"<b data-mail="ed.emca@ofni"></b>"#, "attribute"),
        (r#"<b data-mail="vasb@npzr.qr"></b>"#, "attribute"),
        (r#"<bdo dir="rtl">ed.emca@ofni</bdo>"#, "reversed"),
        (
            r#"<i style="unicode-bidi:bidi-override;direction:rtl">ed.emca@ofni</i>"#,
            "reversed",
        ),
        (r#"<a href="mailto:info(at)acme.de">x</a>"#, "obfuscated"),
        (
            r#"<a href="javascript:linkTo_UnCryptMailto('nbjmup+jogpAbdnf/ef');">x</a>"#,
            "obfuscated",
        ),
        (
            r#"<a href="javascript:linkTo_UnCryptMailto(%27jxfiql7fkclXxzjb%2Bab%27);">x</a>"#,
            "obfuscated",
        ),
        (
            r##"<a href="#" data-mailto-token="ocknvq,kphqBceog0fg" data-mailto-vector="2">x</a>"##,
            "obfuscated",
        ),
        (
            &format!(r#"<a data-cfemail="{attribute}">x</a>"#),
            "cloudflare",
        ),
        (
            &format!(r#"<a href="/cdn-cgi/l/email-protection#{link}">x</a>"#),
            "cloudflare",
        ),
    ] {
        assert_eq!(emails(html), format!("info@acme.de {source}"), "{html}");
    }
}
