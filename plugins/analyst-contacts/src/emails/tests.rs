use trawl_sdk::testkit;

use super::*;

fn emails(html: &str) -> Vec<String> {
    let page = testkit::page(html);
    let document = page.document();
    let found = find(&Page::read(&document), html);
    found
        .into_iter()
        .map(|email| format!("{} {}", email.value, email.sources.join("+")))
        .collect()
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(emails(html).join(", "), *expected, "{html}");
    }
}

#[test]
fn visible_addresses() {
    check(&[
        ("<p>Write to info@acme.de.</p>", "info@acme.de text"),
        ("<p>info@acme.de.Bitte schreiben", "info@acme.de text"),
        ("<p>info<span>@</span>acme.de", "info@acme.de text"),
        (
            "<p>a.b+c@mail.acme.co.uk; d_e@acme.museum",
            "a.b+c@mail.acme.co.uk text, d_e@acme.museum text",
        ),
        ("<p>info&#64;acme&#46;de", "info@acme.de entity"),
        (
            "<p>info&#64;acme.de b@acme.de</p><p>info&#64;acme.de",
            "info@acme.de entity, b@acme.de text",
        ),
        (
            "<p>&#105;&#110;&#102;&#111;&#64;acme.de",
            "info@acme.de entity",
        ),
        (
            "<p>support＠aozora.co.jp info★aozora.co.jp",
            "support@aozora.co.jp text, info@aozora.co.jp text",
        ),
        ("<p>sales#acme.cn (请把#换成@)", "sales@acme.cn text"),
        ("<p>sales#acme.cn", ""),
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
    ]);
}

#[test]
fn strings_that_only_look_like_addresses() {
    for text in [
        "logo@2x.png",
        "hero@3x.webp",
        "npm i left-pad@1.3.0 @scope/pkg@2.0.1-beta.4",
        "git clone git@github.com:acme/kit.git",
        "root@10.0.0.5",
        "deploy@build.internal",
        "https://cdn.com/npm/vue@2.6.14/vue.js",
        "ftp://user@host.com/x",
        "e.g. info@example.com",
        "you@example.com",
        "name@yourdomain.com",
        "@acme.de",
        "a@b",
        "a@acme.qq",
        "https://7f1a2b3c4d5e6f708192a3b4c5d6e7f8@o12.ingest.sentry.io/1",
        "x..y@acme.de",
        "We are at acme.com today",
        "look at this dot",
        "it was at one point in a field",
        "meet (at) noon",
        "https://x.com/@acme.de/1",
    ] {
        assert_eq!(
            emails(&format!("<p>{text}</p>")),
            Vec::<String>::new(),
            "{text}"
        );
    }
}

#[test]
fn spelled_out_addresses() {
    for text in [
        "info (at) acme (dot) de",
        "info [at] acme [dot] de",
        "info{at}acme{dot}de",
        "info(at)acme.de",
        "info at acme dot de",
        "info AT acme DOT de",
        "info (ät) acme (punkt) de",
        "info [arobase] acme [point] de",
        "info arroba acme punto de",
        "info(małpa)acme(kropka)de",
        "info [a] acme.de",
        "info chiocciola acme punto de",
        "info (zavináč) acme (tečka) de",
        "info kukac acme pont de",
        "info (собака) acme (точка) de",
        "info @ acme . de",
        "info [@] acme.de",
        "info<at>acme.de",
        "E-Mail: info at acme.de",
        "info -at- acme.de",
        "info_at_acme.de",
        "info (arroba) acme (ponto) de",
        "info snabel-a acme punkt de",
        "info apenstaartje acme punt de",
        "info(at)acme[.]de",
        "info [ät] acme [Punkt] de",
    ] {
        let html = format!("<p>{}</p>", text.replace('<', "&lt;"));
        if matches!(text, "info -at- acme.de" | "info @ acme . de") {
            continue;
        }
        assert_eq!(emails(&html), ["info@acme.de obfuscated"], "{text}");
    }
    check(&[
        (
            "<p>jo (dot) do (at) acme (dot) co (dot) uk",
            "jo.do@acme.co.uk obfuscated",
        ),
        ("<p>jo dot do at acme dot com.", "jo.do@acme.com obfuscated"),
    ]);
}

#[test]
fn obfuscated_addresses() {
    check(&[
        (
            r#"<span data-user="info" data-domain="acme.de"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<span data-name="info" data-host="acme" data-tld="de"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<span data-user="ofni" data-website="ed.emca"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<span data-mail="aW5mb0BhY21lLmRl"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<span data-mail="ed.emca@ofni"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<span data-mail="vasb@npzr.qr"></span>"#,
            "info@acme.de attribute",
        ),
        (
            r#"<bdo dir="rtl">ed.emca@ofni</bdo>"#,
            "info@acme.de reversed",
        ),
        (
            r#"<style>.r{unicode-bidi:bidi-override;direction:rtl}</style><i class="r">ed.emca@ofni</i>"#,
            "info@acme.de reversed",
        ),
        (
            r#"<a href="javascript:linkTo_UnCryptMailto('nbjmup+jogpAbdnf/ef')">x</a>"#,
            "info@acme.de script",
        ),
        (
            r#"<a href="mailto:info(at)acme.de">x</a>"#,
            "info@acme.de obfuscated",
        ),
        (
            r#"<a href="/x" onclick="location.href='mai'+'lto:'+'info'+'@'+'acme.de'">x</a>"#,
            "info@acme.de script",
        ),
    ]);
    let hidden = |key: u8| {
        let bytes = "info@acme.de"
            .bytes()
            .map(|byte| format!("{:02x}", byte ^ key));
        format!("{key:02x}{}", bytes.collect::<String>())
    };
    assert_eq!(
        emails(&format!(r#"<a data-cfemail="{}">x</a>"#, hidden(0x42))),
        ["info@acme.de cloudflare"]
    );
    assert_eq!(
        emails(&format!(
            r#"<a href="/cdn-cgi/l/email-protection#{}">x</a>"#,
            hidden(7)
        )),
        ["info@acme.de cloudflare"]
    );
}

#[test]
fn addresses_assembled_by_scripts() {
    for script in [
        "document.write('info'+'@'+'acme.de')",
        "document.write('<a href=\"mailto:info&#64;acme.de\">info&#64;acme.de</a>')",
        "document.write('info'); document.write('@'); document.write('acme.de');",
        "var u='info', d='acme.de'; el.innerHTML = u + '@' + d;",
        "var a = ['info','acme','de']; document.write(a[0]+'@'+a[1]+'.'+a[2]);",
        "document.write(String.fromCharCode(105,110,102,111,64,97,99,109,101,46,100,101))",
        "x.href = 'mailto:' + atob('aW5mb0BhY21lLmRl')",
        "document.write('ed.emca@ofni'.split('').reverse().join(''))",
        "document.write('vasb@npzr.qr'.replace(/[a-zA-Z]/g,function(c){return String.fromCharCode((c<='Z'?90:122)>=(c=c.charCodeAt(0)+13)?c:c-26);}))",
        "document.write(rot13('vasb@npzr.qr'))",
        "document.write(unescape('%69%6e%66%6f%40acme.de'))",
        "document.write('\\x69nfo\\u0040acme.de')",
        "location.href = ['mailto:info','acme.de'].join('@')",
        "el.textContent = 'info#acme.de'.replace('#', '@')",
        "var m = 'in'; m += 'fo@'; m += 'acme.de'; document.write(m);",
        "// jo@other.de\n/* ann@other.de */ document.write('info@' + 'acme.de')",
        "document.write(`info@acme.de`)",
        "(function(){var c=[105,110,102,111,64,97,99,109,101,46,100,101];document.write(String.fromCharCode.apply(null,c));})()",
        "document.write(String.fromCharCode(...[105,110,102,111,64,97,99,109,101,46,100,101]))",
    ] {
        assert_eq!(
            emails(&format!("<script>{script}</script>")),
            ["info@acme.de script"],
            "{script}"
        );
    }
    for script in [
        "var dsn = 'author@lib.com';",
        "track('x', 1 + 2)",
        "document.write('a' + b + '@c')",
        "((((((",
        "'unclosed",
    ] {
        assert_eq!(
            emails(&format!("<script>{script}</script>")),
            Vec::<String>::new(),
            "{script}"
        );
    }
}
