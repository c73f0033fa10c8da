mod hostile;

use super::*;

pub(super) fn verdict(status: u16, headers: &[(&str, &str)], body: &str) -> Verdict {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers: Vec<_> = headers.iter().map(owned).collect();
    judge(&PageSignals {
        status,
        headers: &headers,
        content_type: "text/html; charset=utf-8",
        body: body.as_bytes(),
    })
}

#[track_caller]
fn needs(rule: Rule, body: &str) {
    assert_eq!(
        verdict(200, &[], body),
        Verdict::NeedsBrowser(rule),
        "{body}"
    );
}

#[track_caller]
pub(super) fn enough(body: &str) {
    assert_eq!(verdict(200, &[], body), Verdict::Enough, "{body}");
}

/// Text of about this many characters.
pub(super) fn prose(chars: usize) -> String {
    "The harbour was quiet in the morning and boats lay still. ".repeat(chars / 58 + 1)
}

// Empty shells.

#[test]
fn a_react_page_made_with_vite_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<!doctype html><html lang="en"><head><meta charset="UTF-8" /><link rel="icon" href="/vite.svg" />
        <title>Vite + React</title><script type="module" crossorigin src="/assets/index-Bq2.js"></script>
        <link rel="stylesheet" href="/assets/index-D1.css"></head><body><div id="root"></div></body></html>"#,
    );
}

#[test]
fn a_create_react_app_page_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<!doctype html><html><head><title>React App</title><script defer="defer" src="/static/js/main.1f.js"></script>
        </head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>"#,
    );
}

#[test]
fn a_vue_page_with_its_request_inside_the_mount_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<html><body><div id=app><strong>We're sorry but shop doesn't work properly without JavaScript enabled.
        Please enable it to continue.</strong></div><script src=/js/chunk-vendors.js></script></body></html>"#,
    );
}

#[test]
fn a_vue_page_with_templates_in_the_document_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<body><div id="app"><todo-list></todo-list><p>{{ greeting }}, {{ user.name }}</p></div>
        <script src="/vue.global.js"></script></body>"#,
    );
}

#[test]
fn a_svelte_page_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<html><head><script type=module src=/build/bundle.js></script></head><body>
        <main id='svelte'><!-- mounted here --></main></body></html>"#,
    );
}

#[test]
fn an_angular_page_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<!doctype html><html><head><base href="/"></head><body><app-root></app-root>
        <script src="polyfills.js" type="module"></script><script src="main.js" type="module"></script></body></html>"#,
    );
}

#[test]
fn an_old_angular_page_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<html ng-app="store"><body><h1>{{title}}</h1><div ng-view></div><script src="angular.min.js"></script></body></html>"#,
    );
}

#[test]
fn a_next_page_without_content_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<html><head><script src="/_next/static/chunks/main.js" defer=""></script></head><body><div id="__next"></div>
        <script id="__NEXT_DATA__" type="application/json">{"props":{},"page":"/dash"}</script></body></html>"#,
    );
}

#[test]
fn a_nuxt_page_with_only_its_spinner_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<html><body><div id="__nuxt"><div class="nuxt-loading"><svg><title>spinning</title></svg></div></div>
        <script>window.__NUXT__={config:{}}</script><script src="/_nuxt/entry.js" type="module"></script></body></html>"#,
    );
}

#[test]
fn a_splash_with_the_name_of_the_application_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<body><div id="root"><div class="splash-screen"><img src="/logo.svg" alt=""><h1>Harbour Desk</h1></div></div>
        <script src="/app.js"></script></body>"#,
    );
}

#[test]
fn a_shell_may_have_a_cookie_line_and_a_footer() {
    needs(
        Rule::EmptyShell,
        r#"<body><div id="root"></div><footer>We use cookies. <a href="/privacy">Read more</a> &copy; Harbour Ltd</footer>
        <script src="/app.js"></script></body>"#,
    );
}

#[test]
fn a_shell_cut_off_inside_its_mount_is_an_empty_shell() {
    needs(
        Rule::EmptyShell,
        r#"<head><script src=/a.js></script></head><body><DIV class=x ID = "Root" ><div class="skeleton"></div><p cla"#,
    );
}

#[test]
fn a_mount_that_the_server_filled_is_enough() {
    enough(r#"<body><div id="root"><h1>Hello</h1></div><script src="/app.js"></script></body>"#);
}

#[test]
fn a_mount_without_any_script_is_enough() {
    enough(r#"<body><div id="root"></div></body>"#);
}

#[test]
fn a_mount_of_images_is_enough() {
    enough(
        r#"<body><div id="__next"><img src=1.jpg><img src=2.jpg><img src=3.jpg></div><script src=/a.js></script></body>"#,
    );
}

#[test]
fn an_empty_mount_with_its_script_is_an_empty_shell_whatever_stands_around_it() {
    let links = "<a href=/x>Part</a> ".repeat(11);
    let banner = prose(300);
    for around in [
        format!("<nav>{links}</nav>"),
        format!("<div class=cookies>{banner}</div>"),
        format!(
            "<header>{links}{banner}</header><footer>{}</footer>",
            prose(9_000)
        ),
    ] {
        for mount in [
            "<div id=\"root\"></div><script src=/app.js></script>",
            "<DIV class=x id='App'><div class=spinner></div></DIV><script src=/app.js></script>",
            "<main id=app>Loading...</main><script type=module>import '/app.js'</script>",
            "<app-root></app-root><script src=main.js type=module></script>",
            "<body ng-app=shop><div ng-view></div><script src=angular.js></script>",
            "<div><router-view></router-view></div><script src=vue.js></script>",
        ] {
            needs(Rule::EmptyShell, &format!("{around}{mount}"));
            needs(Rule::EmptyShell, &format!("{mount}{around}"));
        }
    }
}

#[test]
fn an_empty_mount_without_an_application_beside_text_is_enough() {
    let text = prose(300);
    for rest in [
        r#"<div id="app"></div>"#,
        r#"<div id="app"></div><script>count(1)</script>"#,
        r#"<div id="app"></div><script src="https://www.googletagmanager.com/gtag/js"></script>"#,
        r#"<div id="apps"></div><div class="grid-view"></div><script src="/a.js"></script>"#,
        r#"<span id="application"></span><a id="react"></a><h2 id="vue"></h2><script src="/a.js"></script>"#,
        r#"<!-- <div id="app"></div> --><template><div id="app"></div></template><script src="/a.js"></script>"#,
        r#"<script>write('<div id="app"></div>')</script><script src="/a.js"></script>"#,
        r#"<pre>&lt;div id="app">&lt;/div> &lt;app-root></pre><script src="/a.js"></script>"#,
    ] {
        enough(&format!("<body><article>{text}</article>{rest}</body>"));
        enough(&format!("<body>{rest}<article>{text}</article></body>"));
    }
}

#[test]
fn a_long_page_in_its_mount_is_enough() {
    let text = prose(400);
    for page in [
        format!("<div id=__next><header></header><main>{text}</main></div>"),
        format!("<app-root><router-outlet></router-outlet><app-home>{text}</app-home></app-root>"),
        format!("<body id=app><p>{text}</p><div id=modal></div>"),
        format!("<my-app><template shadowrootmode=open><p>{text}</p></template></my-app>"),
        format!("<div id=root><img src=1><img src=2></div><p>{text}"),
    ] {
        enough(&format!("{page}<script src=/app.js></script>"));
    }
}

#[test]
fn an_empty_element_for_the_content_is_an_empty_shell_beside_a_header_and_a_footer() {
    let around = |content: &str| {
        format!(
            "<header>{}</header>{content}<footer>{}</footer><script src=/app.js></script>",
            prose(50),
            prose(50)
        )
    };
    needs(Rule::EmptyShell, &around("<div id=\"main\"></div>"));
    needs(Rule::EmptyShell, &around("<main></main>"));
    enough(&around("<main><p>Closed on Sundays.</main>"));
    enough(&around("<div id=\"side\"></div>"));
    enough("<header>Harbour Ltd</header><main></main><script>count(1)</script>");
}

// Hydration.

#[test]
fn a_next_page_with_content_is_enough() {
    enough(
        r#"<html><body><div id="__next"><h1>Opening hours</h1><p>Nine to five.</p></div><script id="__NEXT_DATA__"
        type="application/json">{"props":{"pageProps":{}}}</script><script src="/_next/main.js"></script></body></html>"#,
    );
}

#[test]
fn a_next_page_that_streams_its_data_only_is_hydration_without_text() {
    needs(
        Rule::HydrationWithoutText,
        r#"<html><body><script>(self.__next_f=self.__next_f||[]).push([0])</script><script>self.__next_f.push([1,"1:HL"])
        </script><script src="/_next/static/chunks/webpack.js" async=""></script></body></html>"#,
    );
}

#[test]
fn a_remix_page_without_text_is_hydration_without_text() {
    needs(
        Rule::HydrationWithoutText,
        r#"<html><body><nav><a href="/"><img src="/logo.png" alt="Harbour"></a></nav><main></main>
        <script>window.__remixContext = {"state":{"loaderData":{}}};</script><script type="module" src="/entry.js"></script>
        </body></html>"#,
    );
}

#[test]
fn a_remix_page_with_text_is_enough() {
    enough(
        r#"<html><body><h1>Ferries</h1><p>Next departure at noon.</p><script>window.__remixContext = {};</script>
        <script type="module" src="/entry.js"></script></body></html>"#,
    );
}

#[test]
fn a_sveltekit_page_without_text_is_hydration_without_text() {
    needs(
        Rule::HydrationWithoutText,
        r#"<body data-sveltekit-preload-data="hover"><div style="display: contents"><script>{__sveltekit_1x = {base: ""};
        Promise.all([import("/_app/start.js")])}</script></div></body>"#,
    );
}

#[test]
fn a_gatsby_page_made_beforehand_is_enough() {
    enough(
        r#"<html><body><div id="___gatsby"><div id="gatsby-focus-wrapper"><h1>About us</h1><p>A small yard by the sea.</p>
        </div></div><script id="gatsby-script-loader">window.pagePath="/about/";</script><script src="/app-9.js" async>
        </script></body></html>"#,
    );
}

// Appeals, script-only bodies, redirects.

#[test]
fn a_noscript_that_asks_for_javascript_beside_hardly_any_text_is_an_appeal() {
    needs(
        Rule::NoscriptAppeal,
        r#"<body><header>Harbour <b>Desk</b></header><noscript><p>Bitte aktivieren Sie <i>JavaScript</i>.</p></noscript>
        <div class="stage"></div><script src="/bundle.js"></script></body>"#,
    );
}

#[test]
fn a_noscript_that_leads_away_is_an_appeal() {
    needs(
        Rule::NoscriptAppeal,
        r#"<body>Harbour search<noscript><meta content="0;url=/basic?nojs=1" http-equiv="refresh"></noscript>
        <script src="/x.js"></script></body>"#,
    );
}

#[test]
fn a_noscript_with_a_counting_image_is_no_appeal() {
    enough(
        r#"<body><p>Closed on Sundays.</p><noscript><img src="https://count.example/javascript/p.gif"></noscript>
        <script src="/count.js"></script></body>"#,
    );
}

#[test]
fn a_short_text_that_asks_for_javascript_for_its_comments_is_enough() {
    enough(&format!(
        "<p>{}</p><noscript>Please enable JavaScript to see comments.</noscript><script src=c.js></script>",
        prose(116)
    ));
}

#[test]
fn a_page_without_comments_is_enough() {
    enough(
        "<p>Closed on Monday.</p><noscript>Please enable JavaScript to view the comments powered by Disqus.</noscript>
        <script src=https://blog.disqus.com/embed.js></script>",
    );
    enough(
        "<h1>Loading</h1><p>Bay 4 takes ships of up to ninety metres.</p><script src=a.js></script>",
    );
}

#[test]
fn a_request_for_a_password_is_enough() {
    let body = "<body><script src=/login.js></script></body>";
    needs(Rule::ScriptOnlyBody, body);
    assert_eq!(verdict(401, &[], body), Verdict::Enough);
}

#[test]
fn a_body_of_scripts_is_script_only() {
    needs(
        Rule::ScriptOnlyBody,
        r#"<html><head><title>Desk</title></head><body><script src="/flutter_bootstrap.js" async></script></body></html>"#,
    );
    needs(
        Rule::ScriptOnlyBody,
        r#"<html><head><script src=/bundle.js defer></script></head><body><div class="c1"><span></span></div></body></html>"#,
    );
    needs(
        Rule::ScriptOnlyBody,
        "<body><p>Loading&hellip;</p><script src=/a.js></script></body>",
    );
}

#[test]
fn a_body_of_bystanders_is_enough() {
    enough(
        r#"<body><script async src="https://www.googletagmanager.com/gtag/js?id=G-1"></script>
        <script>window.dataLayer=[];function gtag(){dataLayer.push(arguments)}gtag('js',new Date())</script>
        <script type="application/ld+json">{"@type":"Thing"}</script></body>"#,
    );
}

#[test]
fn a_script_that_goes_elsewhere_is_a_redirect() {
    for code in [
        "window.location.href = '/start';",
        "location.replace(\"/de/\")",
        "document.cookie='ok=1;path=/';setTimeout(function(){location.reload()},10)",
        "top.location='/login'",
    ] {
        needs(
            Rule::ScriptRedirect,
            &format!(
                "<html><head><script>{code}</script></head><body>Redirecting...</body></html>"
            ),
        );
    }
}

#[test]
fn a_form_that_submits_itself_is_a_redirect() {
    let form = "<form method=post action=https://sso.example/acs><input type=hidden name=SAMLResponse value=x>";
    for body in [
        format!("<body onload=\"document.forms[0].submit()\">{form}</form></body>"),
        format!(
            "<body onload='document.forms[0].submit()'><noscript>Press Continue.</noscript>{form}<input type=submit></form>"
        ),
        format!("{form}</form><script>document.forms[0].submit();</script>"),
    ] {
        needs(Rule::ScriptRedirect, &body);
    }
    enough(&format!("<body onload=\"focus()\">{form}</form></body>"));
    enough(&format!(
        "<body>{form}<input name=user><input name=code></form><script>f.submit()</script></body>"
    ));
}

#[test]
fn a_short_page_whose_script_compares_or_leaves_its_frame_is_enough() {
    enough(
        "<script>if(location.href==top.location.href)x();else top.location=self.location</script><p>Dock four.",
    );
}

#[test]
fn a_page_that_sends_its_reader_on_by_its_markup_is_enough() {
    enough(
        r#"<html><head><meta http-equiv="refresh" content="0; URL='guide/index.html'"></head><body>
        <p>Redirecting to <a href="guide/index.html">guide</a>...</p>
        <script>location.replace("guide/index.html" + location.search)</script></body></html>"#,
    );
    enough(r#"<meta http-equiv=refresh content=60><p>Tide: 2.1 m"#);
    enough(r#"<meta http-equiv=refresh content="300; url=/tide"><p>Tide: 2.1 m"#);
    enough(r#"<meta http-equiv=refresh content="0;url="><p>Tide: 2.1 m"#);
}

/// Where a page leads by its markup or header.
fn leads(status: u16, headers: &[(&str, &str)], body: &str) -> Option<String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers: Vec<_> = headers.iter().map(owned).collect();
    let signals = PageSignals {
        status,
        headers: &headers,
        content_type: "text/html",
        body: body.as_bytes(),
    };
    let page = Url::parse("https://a.example/x/page?q").expect("a URL");
    redirect(&signals, &page).map(String::from)
}

#[test]
fn a_page_of_frames_alone_needs_a_browser() {
    for frames in [
        "<iframe src=/list width=100%></iframe>",
        "<IFRAME srcdoc='<p>text'></IFRAME><img src=logo.png>",
        "<frameset cols='20%,80%'><frame src=/nav><FRAME SRC=/main></frameset><noframes>old</noframes>",
    ] {
        needs(Rule::Frames, &format!("<title>Listings</title>{frames}"));
    }
    for other in [
        "<iframe></iframe>".to_owned(),
        "<iframe src='about:blank'></iframe><iframe src=' JavaScript:0'></iframe>".to_owned(),
        "<iframe src=/list></iframe><p>The tide is at 2.1 m and falls until six.".to_owned(),
        "<iframe src=/list></iframe><form><input name=q></form>".to_owned(),
        format!("<iframe src=/map></iframe>{}", "<img src=x>".repeat(4)),
        "<noscript><iframe src=/count></iframe></noscript>".to_owned(),
    ] {
        enough(&other);
    }
    assert!(!Rule::Frames.speaks_for_host());
}

#[test]
fn a_page_that_is_nothing_but_a_refresh_leads_to_its_target() {
    let refresh = "<meta http-equiv=refresh content=";
    for (body, expected) in [
        ("'0; url=/target'>", "https://a.example/target"),
        ("0;/target>", "https://a.example/target"),
        (
            "\"0;URL='t?a=1&amp;b=2'\">",
            "https://a.example/x/t?a=1&b=2",
        ),
        (
            "10;url=///b.example><p>You will be redirected.",
            "https://b.example/",
        ),
        ("0;url=t><base href=/d/>", "https://a.example/d/t"),
        (
            "'0;url=/t'><p>Moved to <a href=/t>t</a></p><script>location='/u'</script>",
            "https://a.example/t",
        ),
    ] {
        let body = format!("<html><head>{refresh}{body}");
        assert_eq!(leads(200, &[], &body).as_deref(), Some(expected), "{body}");
    }
    let silent = format!("<noscript>{refresh}0;url=/t></noscript>");
    assert_eq!(
        leads(200, &[], &silent).as_deref(),
        Some("https://a.example/t")
    );
    let header = [("refresh", "0; url=/h")];
    assert_eq!(
        leads(200, &header, "Moved.").as_deref(),
        Some("https://a.example/h")
    );
}

#[test]
fn a_page_of_its_own_leads_nowhere() {
    let refresh = "<meta http-equiv=refresh content='0;url=/t'>";
    for body in [
        format!("{refresh}<p>{}", prose(250)),
        format!("{refresh}<form><input name=q></form>"),
        format!("{refresh}{}", "<img src=x>".repeat(4)),
        format!("<noscript>{refresh}</noscript><script src=/app.js></script>"),
        "<meta http-equiv=refresh content='11;url=/t'>".to_owned(),
        "<meta http-equiv=refresh content='0'>".to_owned(),
        "<meta http-equiv=refresh content='0;url=page?q#top'>".to_owned(),
        "<meta http-equiv=refresh content='0;url=mailto:a@b.example'>".to_owned(),
        "<meta http-equiv=refresh content='5; URL=/?bm-verify=AAQ'><script>x()</script>".to_owned(),
        "<p>The refresh comes later.".to_owned(),
    ] {
        assert_eq!(leads(200, &[], &body), None, "{body}");
    }
    assert_eq!(leads(404, &[], refresh), None);
    assert_eq!(leads(200, &[("cf-mitigated", "challenge")], refresh), None);
}

// Pages that are enough.

#[test]
fn short_static_pages_are_enough() {
    enough("<!doctype html><title>Hi</title><p>It works!");
    enough("<h1>Coming soon</h1><script src=/jquery.js></script>");
    enough(
        "<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center></body></html>",
    );
    enough("<html><body></body></html>");
    enough("");
}

#[test]
fn login_pages_are_enough() {
    enough(
        r#"<body><form action="/login" method=post><input type=hidden name=csrf value=1><input name=user
        placeholder="Name"><input type=password name=pass><button>Sign in</button></form><script src=/form.js></script>
        <noscript>JavaScript makes this page nicer.</noscript></body>"#,
    );
    enough(
        r#"<body><form><input name=user><input type=password><input type=submit></form><script src=/f.js></script></body>"#,
    );
}

#[test]
fn a_cookie_wall_of_the_server_is_enough() {
    enough(
        r#"<body><div class="consent"><h1>Before you continue</h1><p>We and our partners store cookies on your device
        to measure visits.</p><form action="/consent" method="post"><button name="all">Accept all</button>
        <button name="none">Reject</button></form></div><script src="/consent.js"></script></body>"#,
    );
}

#[test]
fn an_encyclopedia_page_is_enough_whatever_its_scripts_say() {
    enough(&format!(
        r#"<html class="client-nojs"><head><title>Harbour</title><script>document.documentElement.className="client-js";
        RLCONF={{"wgPageName":"Harbour"}};</script></head><body><div id="app"></div><p>{}</p><noscript>Enable JavaScript
        </noscript><script>location.replace("/x")</script><script>window.__NEXT_DATA__={{}}</script></body></html>"#,
        prose(TEXT_PLENTY)
    ));
}

#[test]
fn other_media_types_are_enough() {
    let shell = b"<body><div id=root></div><script src=a.js></script>";
    for content_type in [
        "application/json",
        "text/plain; charset=utf-8",
        "application/pdf",
        "image/svg+xml",
    ] {
        let signals = PageSignals {
            status: 403,
            headers: &[("cf-mitigated".to_owned(), "challenge".to_owned())],
            content_type,
            body: shell,
        };
        assert_eq!(judge(&signals), Verdict::Enough, "{content_type}");
    }
    for (content_type, body, expected) in [
        ("Text/HTML;charset=x", shell.as_slice(), true),
        ("application/xhtml+xml", shell.as_slice(), true),
        ("", shell.as_slice(), true),
        ("", b"{\"a\": \"<script src=a.js></script>\"}", false),
    ] {
        let signals = PageSignals {
            status: 200,
            headers: &[],
            content_type,
            body,
        };
        assert_eq!(
            judge(&signals) != Verdict::Enough,
            expected,
            "{content_type} {body:?}"
        );
    }
}

// Names.

#[test]
fn names_and_reasons_are_all_different() {
    let rules = [
        Rule::EmptyShell,
        Rule::NoscriptAppeal,
        Rule::ScriptOnlyBody,
        Rule::HydrationWithoutText,
        Rule::ScriptRedirect,
        Rule::BotWall,
    ];
    let names: std::collections::HashSet<_> = rules.iter().map(|rule| rule.name()).collect();
    let reasons: std::collections::HashSet<_> = rules.iter().map(|rule| rule.reason()).collect();
    assert_eq!((names.len(), reasons.len()), (rules.len(), rules.len()));
}

// Documents.

#[test]
fn urls_name_documents_by_the_ending_of_their_path() {
    for (url, expected) in [
        ("https://tides.example/a/b.PDF?x=1#y", true),
        ("https://tides.example/table.xlsm", true),
        ("https://tides.example/b.pdf/", false),
        ("https://tides.example/?file=b.pdf", false),
        ("https://tides.example/pdf", false),
    ] {
        let url = Url::parse(url).expect("a URL");
        assert_eq!(names_document(&url), expected, "{url}");
    }
}
