use super::super::tests::{enough, prose, verdict};
use super::super::{PageSignals, Rule, Verdict, wall as wall_of};
use super::{CHALLENGE_MARKS, MARK_PARTS, VENDOR_MARKS, WIDGET_MARKS};

#[track_caller]
fn wall(status: u16, headers: &[(&str, &str)], body: &str) {
    let expected = Verdict::NeedsBrowser(Rule::BotWall);
    assert_eq!(verdict(status, headers, body), expected, "{body}");
}

#[test]
fn a_challenge_that_a_header_announces_is_a_wall() {
    wall(403, &[("cf-mitigated", "challenge")], "<p>Wait");
    wall(429, &[("x-vercel-mitigated", "challenge")], "");
    wall(202, &[("x-amzn-waf-action", "challenge")], "<html>");
    assert_eq!(
        verdict(200, &[("cf-mitigated", "none")], "<p>Hi"),
        Verdict::Enough
    );
}

#[test]
fn challenges_of_the_large_networks_are_walls() {
    // Cloudflare
    wall(
        503,
        &[("server", "cloudflare")],
        r#"<html><head><title>Just a moment...</title></head><body><h1>site.example</h1><p>Checking the connection before
        you go on.</p><noscript>Enable JavaScript and cookies</noscript><script>window._cf_chl_opt={cType:'managed'};
        var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8';
        document.head.appendChild(a)</script></body></html>"#,
    );
    // Akamai
    wall(
        200,
        &[],
        r#"<html><head><meta http-equiv="refresh" content="5; URL='/?bm-verify=AAQ'"></head><body><script>
        var i=1;xhr.open("POST","/_sec/verify?provider=interstitial")</script></body></html>"#,
    );
    wall(
        403,
        &[("set-cookie", "ak_bmsc=5D; Path=/"), ("server", "x")],
        r#"<html><body><h1>One step before the page</h1><script src="/Zk3/9sQ/a1"></script></body></html>"#,
    );
    // DataDome
    wall(
        403,
        &[("x-datadome", "protected")],
        r#"<html><head><title>shop.example</title></head><body><p id="cmsg">Please enable JS and disable any ad blocker</p>
        <script>var dd={'rt':'c','cid':'A','host':'geo.captcha-delivery.com'}</script></body></html>"#,
    );
    // Imperva
    wall(
        200,
        &[],
        r#"<html><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body><iframe id="main-iframe"
        src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=1" height="100%">Request unsuccessful. Incident ID: 4</iframe></body>"#,
    );
    wall(
        200,
        &[],
        r#"<html><head><script src="/_Incapsula_Resource?SWJIYLWA=71"></script></head><body></body></html>"#,
    );
    // HUMAN
    wall(
        403,
        &[],
        &format!(
            r#"<body><h1>Access denied</h1><p>{}</p><div id="px-captcha"></div>
            <script>window._pxAppId='PX1';</script></body>"#,
            prose(800)
        ),
    );
    // AWS
    wall(
        202,
        &[],
        r#"<html><head><script>window.awsWafCookieDomainList = [];window.gokuProps = {"key":"A"};</script>
        <script src="https://a1.token.awswaf.com/a1/challenge.js"></script></head><body><div id="challenge-container"></div>
        </body></html>"#,
    );
    // Kasada
    wall(
        429,
        &[("x-kpsdk-ct", "0a")],
        r#"<html><body><script>window.KPSDK={};</script><script src="/149/ips.js?x=1"></script></body></html>"#,
    );
}

#[test]
fn a_challenge_that_explains_itself_at_length_is_a_wall() {
    let body = format!(
        r#"<main><h1>Making sure you're not a bot!</h1><img src="/.within.website/x/cmd/anubis/static/img/wait.webp">
        <p>{}</p></main>"#,
        prose(2_000)
    );
    wall(
        200,
        &[("set-cookie", "techaro.lol-anubis-auth=; Max-Age=0")],
        &body,
    );
    assert_eq!(verdict(200, &[], &body), Verdict::Enough);
}

#[test]
fn pages_of_a_vendors_customers_are_enough() {
    let sensor = r#"<script>(function(){var a=document.createElement('script');window.__CF$cv$params={r:'8'};
        a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';document.head.appendChild(a)})();</script>"#;
    enough(&format!("<h1>Coming soon</h1>{sensor}"));
    assert_eq!(
        verdict(
            403,
            &[("server", "cloudflare")],
            &format!("<h1>403 Forbidden</h1>{sensor}")
        ),
        Verdict::Enough
    );
    enough(r#"<p>Open at nine.</p><script src="/_Incapsula_Resource?SWJIYLWA=71" async></script>"#);
    enough(
        r#"<p>What is px-captcha?</p><p>It is in the source: <code>px-captcha</code>.</p><script src=a.js></script>"#,
    );
}

#[test]
fn a_refusal_without_a_challenge_is_enough() {
    let body = "<html><body><h1>Access Denied</h1>You don't have permission.</body></html>";
    assert_eq!(
        verdict(403, &[("set-cookie", "ak_bmsc=5D; Path=/")], body),
        Verdict::Enough
    );
}

/// Whose wall a good answer is.
fn rule(status: u16, headers: &[(&str, &str)], body: &str) -> Option<&'static str> {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    wall_of(&PageSignals {
        status,
        headers: &headers,
        content_type: "text/html; charset=utf-8",
        body: body.as_bytes(),
    })
}

#[test]
fn walls_with_a_good_status_are_known_by_their_rule() {
    let check = |status, headers: &[(&str, &str)], body: &str, expected| {
        assert_eq!(rule(status, headers, body), Some(expected), "{body}");
    };
    let announced = [("x-amzn-waf-action", "captcha")];
    check(202, &announced, "<html><body></body></html>", "aws");
    check(
        200,
        &[],
        "<h1>shop.example</h1><p>A moment, the connection is looked at.</p><script>window._cf_chl_opt={}</script>",
        "cloudflare",
    );
    check(
        200,
        &[],
        &format!(
            r#"<h1>Before you go on</h1><p>{}</p><div id="px-captcha"></div><script src=/a.js></script>"#,
            prose(400)
        ),
        "human",
    );
    check(
        202,
        &[],
        &format!(
            r#"<p>{}</p><script src="https://geo.captcha-delivery.com/c.js"></script>"#,
            prose(900)
        ),
        "datadome",
    );
    check(
        200,
        &[],
        r#"<h1>One question first</h1><p>Our systems saw unusual traffic from your network. Tick the box so that we
        know you are human.</p><form><div class="g-recaptcha" data-sitekey="k"></div></form>
        <script src="https://www.google.com/recaptcha/api.js"></script>"#,
        "human_check",
    );
    check(
        200,
        &[],
        r#"<h1>Are you a human?</h1><p>Please verify you are human to continue.</p><div id=captcha></div>
        <script src=/check.js></script>"#,
        "human_check",
    );
}

#[test]
fn ordinary_pages_that_have_to_do_with_walls_are_none() {
    let none = |body: &str| assert_eq!(rule(200, &[], body), None, "{body}");
    // A contact form that is protected.
    none(
        r#"<h1>Write to us</h1><p>Tick the box so that we know you are human.</p><form><input name=mail><textarea name=text>
        </textarea><div class="h-captcha"></div></form><script src="https://hcaptcha.com/1/api.js"></script>"#,
    );
    none(
        r#"<h1>Write to us</h1><p>So that we know you are human:</p><form><input name=mail><div id="captcha"></div></form>
        <script src=/form.js></script>"#,
    );
    // An article about them, short or long.
    let about = "A captcha asks: are you a robot? The g-recaptcha element shows one.";
    none(&format!("<h1>Captchas</h1><p>{about}</p>"));
    none(&format!(
        r#"<h1>Captchas</h1><p>{about} {}</p><div class="g-recaptcha"></div>"#,
        prose(700)
    ));
    none("<h1>Security check</h1><p>Every lift has a security check once a year.</p>");
    // A page that is empty for other reasons.
    none(r#"<div id="root"></div><script src="/app.js"></script>"#);
    none("");
    let consent =
        r#"<p>We use cookies.</p><button>Accept all</button><script src=/consent.js></script>"#;
    none(consent);
}

#[test]
fn every_mark_is_looked_for_before_the_page_is_read() {
    let challenge = CHALLENGE_MARKS.into_iter().map(|(mark, _)| mark);
    for mark in challenge.chain(VENDOR_MARKS).chain(WIDGET_MARKS) {
        let page = format!("<body><p>Wait.</p><script src=\"/{mark}\"></script></body>");
        assert!(MARK_PARTS.are_in(page.as_bytes()), "{mark}");
    }
    assert!(!MARK_PARTS.are_in(prose(4_000).as_bytes()));
}
