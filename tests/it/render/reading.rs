//! What is read of a page: the whole screen.

use serde_json::json;
use trawl_tests::FakeSite;

use super::{Stage, content};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_slot_that_is_handed_on_shows_its_text() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<x-outer><p>handed on</p></x-outer><x-outer></x-outer><script>\
         const define = (name, html) => customElements.define(name, class extends HTMLElement { \
           connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = html; } });\
         define('x-inner', '<section>[<slot></slot>]</section>');\
         define('x-outer', '<x-inner><slot>fallback</slot></x-inner>');</script>",
    );
    let entry = stage.rendered(&url, json!({})).await;
    let text = content(&entry);
    assert!(
        text.contains("handed on") && text.contains("fallback"),
        "{text}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn urls_of_a_frame_are_relative_to_the_frame() {
    let stage = Stage::new().await;
    stage.page(
        "/docs/v1/menu.html",
        "<a href=intro.html>Intro</a><img src=a.png srcset='b.png 1x, c.png 2x'>",
    );
    stage.page(
        "/based.html",
        "<base href=/other/><a href=there.html>There</a>",
    );
    let url = stage.page(
        "/",
        "<a href=own.html>Own</a><iframe src=/docs/v1/menu.html></iframe><iframe src=/based.html></iframe>",
    );
    let entry = stage
        .rendered(
            &url,
            json!({"return_page_links": true, "return_format": "raw"}),
        )
        .await;
    let links: Vec<_> = ["/own.html", "/docs/v1/intro.html", "/other/there.html"]
        .iter()
        .map(|path| stage.site.url(path))
        .collect();
    assert_eq!(entry["links"], json!(links), "{entry}");
    let html = content(&entry);
    for path in ["/docs/v1/a.png", "/docs/v1/b.png 1x", "/docs/v1/c.png 2x"] {
        assert!(html.contains(&stage.site.url(path)), "{path}: {html}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn framesets_and_any_number_of_frames_are_read() {
    let stage = Stage::new().await;
    stage.page("/nav", "<a href=/x>Navigation</a>");
    stage.page("/main", "<p>Main text</p>");
    let url = stage.page(
        "/set",
        "<html><head><title>t</title></head><frameset cols='20%,80%'><frame src=/nav><frameset><frame src=/main></frameset></frameset></html>",
    );
    let entry = stage
        .rendered(&url, json!({"return_page_links": true}))
        .await;
    assert!(content(&entry).contains("Main text"), "{entry}");
    assert_eq!(entry["links"], json!([stage.site.url("/x")]));
    // Frames are all that it has, so that is not a page for plain HTTP.
    let smart = json!({"url": url, "return_format": "text"});
    let entry = stage.app.fine(smart).await;
    assert!(content(&entry).contains("Main text"), "{entry}");

    for depth in 0..9 {
        let inner = format!(
            "<p>level {depth}</p><iframe src=/deep/{}></iframe>",
            depth + 1
        );
        stage.page(&format!("/deep/{depth}"), &inner);
    }
    stage.page("/deep/9", "<p>level 9</p>");
    let many: String = (0..60)
        .map(|number| format!("<iframe srcdoc='<p>frame {number}.'></iframe>"))
        .collect();
    let url = stage.page("/many", &format!("{many}<iframe src=/deep/0></iframe>"));
    let entry = stage.rendered(&url, json!({})).await;
    let text = content(&entry);
    for number in 0..60 {
        assert!(text.contains(&format!("frame {number}.")), "{number}");
    }
    assert!(text.contains("level 9"), "{text}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn names_of_fields_do_not_hide_the_page() {
    let stage = Stage::new().await;
    let names = [
        "prefix",
        "attributes",
        "childNodes",
        "nodeType",
        "shadowRoot",
        "localName",
        "parentNode",
        "outerHTML",
    ];
    let fields: String = names
        .iter()
        .map(|name| format!("<input name={name}>"))
        .collect();
    let html = format!(
        "<img name=querySelectorAll><form>{fields}<p>inside</p><noscript>x</noscript></form><p>after</p>"
    );
    let url = stage.page("/", &html);
    let entry = stage.rendered(&url, json!({"return_format": "raw"})).await;
    let html = content(&entry);
    assert!(
        html.contains("<form>") && html.contains("inside") && html.contains("after"),
        "{html}"
    );
    assert!(!html.contains("[object"), "{html}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn xhtml_and_the_mode_of_a_document_are_kept() {
    let stage = Stage::new().await;
    let xhtml = "<html xmlns='http://www.w3.org/1999/xhtml'><body><p><![CDATA[a <b> & c]]></p></body></html>";
    let url = stage.site.put("/x", "application/xhtml+xml", xhtml);
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("a <b> & c"), "{entry}");
    let url = stage.page(
        "/old",
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\"><p id=x>a<table class=Foo><tr><td>b</table>c",
    );
    let map = json!({"css_extraction_map": {"x": "#x", "foo": ".foo"}});
    let entry = stage.rendered(&url, map).await;
    assert_eq!(entry["css_extracted"]["foo"], "b", "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn trees_that_scripts_build_are_read_as_they_are() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<main id=place></main><p id=y>Price <x-price></x-price> only</p><script>\
         const make = (name, id, ...inside) => { \
           const made = document.createElement(name); made.id = id; made.append(...inside); return made; };\
         const script = make('script', 's', '<!' + '-- <' + 'script>'); script.type = 'text/plain';\
         const text = make('p', 'p', 'Long ', make('div', 'd', 'description'), ' and more');\
         const table = make('table', 't', make('tr', 'r', make('td', 'c', '5')));\
         const card = make('a', 'a', make('h2', 'h', 'Title'), make('a', 'b', 'Ada'), ' 5 min');\
         place.append(script, text, table, card);\
         customElements.define('x-price', class extends HTMLElement { \
           connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<div>19</div>'; } });</script>",
    );
    let map = json!({"text": "#p", "cell": "#t > tr > td", "card": "#a", "price": "#y"});
    let asked = json!({"css_extraction_map": map, "return_format": "markdown"});
    let entry = stage.rendered(&url, asked).await;
    let expected = json!({
        "text": "Long description and more", "cell": "5", "card": "Title Ada 5 min", "price": "Price 19 only",
    });
    assert_eq!(entry["css_extracted"], expected, "{entry}");
    assert!(content(&entry).contains("description"), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn fields_have_the_state_that_scripts_gave_them() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p>Order</p><form><input id=changed value=old><input id=emptied value=old><input id=slider type=range>\
         <input id=box type=checkbox><input id=cleared type=checkbox checked><input id=code type=password>\
         <textarea id=note>old</textarea><select><option id=a>a<option id=b>b<option id=c selected>c</select>\
         <select><option id=d disabled>d<option id=e>e</select></form>\
         <script>changed.value = 'new & \"old\"'; emptied.value = ''; box.checked = true; cleared.checked = false; \
         code.value = ['se', 'cret'].join(''); note.value = 'a <b>'; b.selected = true;</script>",
    );
    let field = |name: &str, selector: &str| json!({"name": name, "selectors": [selector]});
    let map = json!({"*": [
        field("changed", "#changed@value"), field("emptied", "#emptied@value"), field("slider", "#slider@value"),
        field("checked", ":checked@id"), field("selected", "[selected]@id"),
    ]});
    let entry = stage
        .rendered(
            &url,
            json!({"css_extraction_map": map, "return_format": "raw"}),
        )
        .await;
    let expected = json!({
        "changed": ["new & \"old\""], "emptied": [""], "checked": ["box", "b", "e"], "selected": ["b"],
    });
    assert_eq!(entry["css_extracted"], expected, "{entry}");
    let html = content(&entry);
    assert!(
        html.contains(r#"<textarea id="note">a &lt;b&gt;</textarea>"#),
        "{html}"
    );
    assert!(!html.contains("secret"), "{html}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_browser_tells_one_story() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p id=p></p><script>const show = () => { p.textContent = JSON.stringify([screen.width >= innerWidth, outerWidth >= innerWidth, \
         matchMedia('(hover: hover) and (pointer: fine)').matches, navigator.languages, navigator.platform, \
         (1234.5).toLocaleString(), screen.orientation.type, (navigator.userAgentData?.brands ?? []) \
         .some(({version}) => navigator.userAgent.includes('Chrome/' + version + '.'))]) }; \
         /* The browser gives a new page its outer window a moment after it has begun. */ \
         const look = () => outerWidth ? show() : setTimeout(look, 20); look()</script>",
    );
    let said = async |mut more: serde_json::Value| {
        more["wait_for"] =
            json!({"selector": {"selector": "p:not(:empty)", "timeout": {"secs": 10, "nanos": 0}}});
        let entry = stage.rendered(&url, more).await;
        serde_json::from_str::<serde_json::Value>(content(&entry).trim()).expect("JSON")
    };
    let plain = said(json!({})).await;
    assert_eq!(plain[0], true, "the screen holds the window: {plain}");
    assert_eq!(plain[1], true, "and the outer window the inner: {plain}");
    assert_eq!(plain[2], true, "a mouse: {plain}");
    assert_eq!(plain[3], json!(["en-US", "en"]), "{plain}");
    let heads = stage.site.requests().join("\n").to_lowercase();
    assert!(heads.contains("accept-language: en-us,en"), "{heads}");
    assert_eq!(plain[7], true, "hints of the same version: {plain}");
    let german = said(json!({"locale": "de-DE"})).await;
    assert_eq!(german[3], json!(["de-DE"]), "{german}");
    assert_eq!(german[5], "1.234,5", "numbers, too: {german}");
    let windows =
        said(json!({"user_agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140"}));
    assert_eq!(windows.await[4], "Win32");
    let phone = json!({"viewport": {"width": 390, "height": 844, "emulating_mobile": true, "has_touch": true}});
    assert_eq!(said(phone).await[6], "portrait-primary");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn frames_of_other_origins_and_sandboxed_ones_are_read() {
    let stage = Stage::new().await;
    let other = FakeSite::start().await;
    other.put("/deep", "text/html", "<p>third level</p>");
    let list = other.put(
        "/list",
        "text/html",
        "<h2>Listings</h2><a href=first.html>First</a><iframe sandbox=allow-same-origin src=/deep></iframe>",
    );
    let html = format!(
        "<p>before</p><iframe src='{list}'></iframe><p>between</p>\
         <iframe sandbox srcdoc='<p>boxed</p>'></iframe><iframe sandbox=allow-scripts src=/sealed></iframe><div><iframe srcdoc=\"<iframe src='{list}?again'></iframe>\"></iframe></div><p>after</p>"
    );
    other.put("/list?again", "text/html", "<p>inside the same origin</p>");
    stage.page("/sealed", "<p>sealed</p>");
    let url = stage.page("/", &html);
    let entry = stage
        .rendered(&url, json!({"return_page_links": true}))
        .await;
    let text = content(&entry);
    let mut at = 0;
    for part in [
        "before",
        "Listings",
        "third level",
        "between",
        "boxed",
        "sealed",
        "inside the same origin",
        "after",
    ] {
        let found = text[at..].find(part);
        at += found.unwrap_or_else(|| panic!("no {part}: {text}"));
    }
    let links = entry["links"].to_string();
    assert!(links.contains(&other.url("/first.html")), "{links}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_frame_has_its_own_character_set_and_base() {
    let stage = Stage::new().await;
    let latin =
        b"<base href=/base/><a href='x?q=\xe4'>l</a><img srcset='a.png?q=\xe4,1 1x,b.png 2x'>";
    let latin_1 = "text/html; charset=iso-8859-1";
    stage.site.put("/latin/frame", latin_1, latin.as_slice());
    stage.page("/utf/frame", "<a href='x?q=\u{e4}'>u</a>");
    let frames = "<iframe src=/latin/frame></iframe><iframe src=/utf/frame></iframe>";
    let own = b"<a href='own?q=\xe4'>o</a><img srcset='c.png?q=\xe4 1x, d.png?q=\xe4 2x'>";
    let page = [own.as_slice(), frames.as_bytes()].concat();
    for (kind, page, own) in [
        (
            latin_1,
            page,
            ["own?q=%E4", "c.png?q=%E4 1x, d.png?q=%E4 2x"],
        ),
        (
            "text/html; charset=utf-8",
            format!("<a href='own?q=\u{e4}'>o</a>{frames}").into_bytes(),
            ["own?q=\u{e4}", "own"],
        ),
    ] {
        let url = stage.site.put("/", kind, page);
        let entry = stage.rendered(&url, json!({"return_format": "raw"})).await;
        let html = content(&entry);
        let of_frames = [
            "/base/x?q=%E4",
            "/base/a.png?q=%E4,1 1x",
            "/base/b.png 2x",
            "/utf/x?q=%C3%A4",
        ];
        for path in of_frames {
            assert!(
                html.contains(&stage.site.url(path)),
                "{kind}: {path}: {html}"
            );
        }
        for part in own {
            assert!(html.contains(part), "{kind}: {part}: {html}");
        }
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn closed_components_are_read() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<x-closed><p>slotted</p></x-closed><x-late></x-late><script>\
         const define = (name, html, when) => customElements.define(name, class extends HTMLElement { \
           constructor() { super(); if (!when) this.fill(); } connectedCallback() { if (when) this.fill(); } \
           fill() { this.attachShadow({mode: 'closed'}).innerHTML = html; } });\
         define('x-closed', '<b>before</b><slot></slot><x-late></x-late>', false);\
         define('x-late', '<i>within</i>', true);</script>",
    );
    let entry = stage.rendered(&url, json!({})).await;
    let text = content(&entry);
    let places = ["before", "slotted", "within"].map(|part| text.find(part));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    assert_eq!(text.matches("within").count(), 2, "{text}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn workers_tell_the_story_of_their_page() {
    let stage = Stage::new().await;
    let tell = "JSON.stringify([navigator.userAgent, navigator.languages, navigator.platform, (1234.5).toLocaleString()])";
    let scripts = [
        ("/worker.js", format!("postMessage({tell})")),
        (
            "/shared.js",
            format!("onconnect = (event) => event.ports[0].postMessage({tell})"),
        ),
        (
            "/service.js",
            format!("onmessage = (event) => event.source.postMessage({tell})"),
        ),
    ];
    for (path, script) in &scripts {
        stage.site.put(path, "text/javascript", script.as_str());
    }
    let url = stage.page(
        "/",
        "<p id=p></p><script>const said = []; \
         const hear = (event) => { said.push(event.data); if (said.length === 3) p.textContent = `[${said}]`; }; \
         new Worker('/worker.js').onmessage = hear; \
         new SharedWorker('/shared.js').port.onmessage = hear; \
         navigator.serviceWorker.onmessage = hear; \
         navigator.serviceWorker.register('/service.js').then((made) => \
         (made.installing ?? made.waiting ?? made.active).postMessage(0));</script>",
    );
    let agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140";
    let more = json!({"user_agent": agent, "locale": "de-DE",
        "wait_for": {"selector": {"selector": "p:not(:empty)", "timeout": {"secs": 10, "nanos": 0}}}});
    let entry = stage.rendered(&url, more).await;
    let said: serde_json::Value = serde_json::from_str(content(&entry).trim()).expect("JSON");
    let story = json!([agent, ["de-DE"], "Win32", "1.234,5"]);
    assert_eq!(said, json!([story, story, story]));
    for (path, _) in scripts {
        let heads = stage.site.requests();
        let line = format!("GET {path} ");
        let head = heads.iter().find(|head| head.starts_with(&line));
        let head = head.expect("a request");
        assert!(head.contains(agent), "{head}");
    }
    stage.close().await;
}
