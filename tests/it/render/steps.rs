//! Steps as a person does them.

use serde_json::{Value, json};

use super::{Stage, content};

/// What steps report, and the page's text.
async fn after(stage: &Stage, url: &str, steps: Value) -> (Value, String) {
    let entry = stage
        .rendered(url, json!({"automation_scripts": {"*": steps}}))
        .await;
    let reported = entry["metadata"]["automation_data"].clone();
    (reported, content(&entry).to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn scrolling_shows_each_part_of_the_page() {
    let stage = Stage::new().await;
    let lazy = "<script>const watch = new IntersectionObserver((entries) => { for (const entry of entries) \
        if (entry.isIntersecting) entry.target.textContent = 'part ' + entry.target.id + ';'; });\
        for (const part of document.querySelectorAll('section')) watch.observe(part);</script>";
    let parts: String = (0..20)
        .map(|number| format!("<section id={number} style='height:700px'></section>"))
        .collect();
    let window = stage.page("/window", &format!("{parts}{lazy}"));
    let list = format!("<div style='height:600px;overflow:auto'>{parts}</div>{lazy}");
    let list = stage.page("/list", &list);
    for url in [window, list] {
        for more in [
            json!({"scroll": 4_000}),
            json!({"automation_scripts": {"*": [{"InfiniteScroll": 20}]}}),
        ] {
            let entry = stage.rendered(&url, more).await;
            for number in 0..20 {
                let part = format!("part {number};");
                assert!(content(&entry).contains(&part), "{part} of {url}: {entry}");
            }
        }
    }
    let slow = "<ul id=u></ul><script>let n = 0, busy = false; \
        const more = () => { for (let i = 0; i < 20; i++) u.insertAdjacentHTML('beforeend', '<li style=\"height:100px\">item ' + n++ + ';</li>'); };\
        more(); addEventListener('scroll', async () => { if (busy || n >= 80 || innerHeight + scrollY < document.body.scrollHeight - 50) return; \
          busy = true; await fetch('/slow/2500'); more(); busy = false; });</script>";
    let url = stage.page("/slow-list", slow);
    let (reported, text) = after(&stage, &url, json!([{"InfiniteScroll": 3}])).await;
    assert!(text.contains("item 79;"), "{reported}: {text}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn clicks_reach_the_element_that_they_name() {
    let stage = Stage::new().await;
    let said = "onclick=\"document.body.append(' clicked'); return false\"";
    // The middle of its box is next to both of its lines.
    let wrapped = format!(
        "<div style='width:300px;font:20px monospace'>xxxxxxxxxxxxxxxxxx <a href=/x {said}>aaaa bbbb</a> yyyyyyyyyyyyyyyyyyyy</div>"
    );
    let shadow = "<x-box></x-box><script>customElements.define('x-box', class extends HTMLElement { connectedCallback() { \
        this.attachShadow({mode: 'open'}).innerHTML = '<a id=deep>Deep</a>'; \
        this.shadowRoot.querySelector('a').onclick = () => document.body.append(' clicked'); } });</script>";
    let disabled = format!(
        "<button id=b disabled {said}>B</button><script>setTimeout(() => b.disabled = false, 1000)</script>"
    );
    let framed = "<iframe srcdoc=\"<button id=inner onclick='parent.document.body.append(&quot; clicked&quot;)'>I</button>\"></iframe>";
    let leaving = format!(
        "<button id=c {said}>C</button><div id=veil style='position:fixed;inset:0;background:white'></div>\
         <script>setTimeout(() => veil.remove(), 1000)</script>"
    );
    let moving = format!(
        "<style>@keyframes move {{ to {{ transform: translateX(400px) }} }} #e {{ animation: move 1s }}</style>\
         <button id=e {said}>E</button>"
    );
    for (html, selector) in [
        (wrapped.as_str(), "a"),
        (shadow, "#deep"),
        (&disabled, "#b"),
        (framed, "#inner"),
        (&leaving, "#c"),
        (&moving, "#e"),
    ] {
        let url = stage.page("/", html);
        let steps = json!([{"WaitFor": selector}, {"Click": selector}]);
        let (reported, text) = after(&stage, &url, steps).await;
        assert_eq!(reported, Value::Null, "{html}");
        assert!(text.contains("clicked"), "{html}: {text}");
    }
    let covered = format!(
        "<button id=d {said}>D</button><div id=banner style='position:fixed;inset:0'>Cookies</div>"
    );
    let url = stage.page("/", &covered);
    let (reported, _) = after(&stage, &url, json!([{"Click": "#d"}])).await;
    let error = reported[0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("`div#banner` lies over it"), "{reported}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn fields_are_typed_into_and_filled_by_their_kinds() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<input id=search><p id=keys></p><script>let n = 0; search.addEventListener('keyup', (event) => { keys.textContent += event.key; });</script>",
    );
    let steps = json!([{"Click": "#search"}, {"Type": "Ab 1é"}]);
    let (_, text) = after(&stage, &url, steps).await;
    assert!(text.contains("Ab 1é"), "a key each: {text}");

    let url = stage.page(
        "/form",
        "<input id=date type=date><input id=time type=time><input id=range type=range max=10><input id=color type=color>\
         <input id=box type=checkbox><select id=pick><option value=1>One<option value=2>Two</select>\
         <input id=fixed readonly value=f><p id=out></p>",
    );
    let fill =
        |id: &str, value: &str| json!({"Fill": {"selector": format!("#{id}"), "value": value}});
    let steps = json!([
        fill("date", "2026-11-25"), fill("time", "12:30"), fill("range", "7"), fill("color", "#102030"),
        fill("box", "true"), fill("pick", "Two"),
        {"Evaluate": "['date', 'time', 'range', 'color', 'pick'].map((id) => document.getElementById(id).value).concat(box.checked).join()"},
    ]);
    let (reported, _) = after(&stage, &url, steps).await;
    let values = "2026-11-25,12:30,7,#102030,2,true";
    assert_eq!(reported[0]["result"], values, "{reported}");
    let shadow = stage.page(
        "/shadow",
        "<x-box></x-box><p id=out></p><script>customElements.define('x-box', class extends HTMLElement { connectedCallback() { \
         const root = this.attachShadow({mode: 'open'}); root.innerHTML = '<input id=deep>'; \
         root.querySelector('input').oninput = (event) => { out.textContent = event.target.value; }; } });</script>",
    );
    let (reported, text) = after(&stage, &shadow, json!([fill("deep", "typed within")])).await;
    assert!(text.contains("typed within"), "{reported}: {text}");
    for (id, value, reason) in [
        ("fixed", "x", "read-only"),
        ("date", "tomorrow", "does not take this value"),
        ("pick", "Three", "no option"),
        ("out", "x", "is no field"),
    ] {
        let (reported, _) = after(&stage, &url, json!([fill(id, value)])).await;
        let error = reported[0]["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "{id}: {reported}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn routes_of_an_application_are_navigations_and_functions_are_called() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<a id=go href=/next onclick=\"history.pushState({}, '', '/next'); document.body.append(' moved'); return false\">Go</a>",
    );
    let steps = json!([{"Click": "#go"}, "WaitForNavigation", {"Evaluate": "() => location.pathname"},
        {"Evaluate": "async function () { return document.title.length }"}]);
    let (reported, text) = after(&stage, &url, steps).await;
    assert!(text.contains("moved"), "{text}");
    let results = json!([{"step": 3, "type": "Evaluate", "result": "/next"}, {"step": 4, "type": "Evaluate", "result": 0}]);
    assert_eq!(reported, results);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn scripts_run_where_the_page_has_replaced_eval() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<p>x<script>window.eval = () => { throw new Error('no') }; var shared = 1</script>",
    );
    let steps = json!([{"Evaluate": "let own = shared; var kept = 2; own + 1"}, {"Evaluate": "let own = 'x'; own + kept"},
        {"Evaluate": "({a: [1, null]})"}, {"Evaluate": "() => fetch('/page').then((page) => page.status)"},
        {"Evaluate": "function () { return 'y'.repeat(20_000) }"}, {"Evaluate": "'z'.repeat(20_000)"},
        {"Evaluate": "throw new Error('own')"}]);
    let (reported, _) = after(&stage, &url, steps).await;
    let results: Vec<_> = (0..4).map(|at| reported[at]["result"].clone()).collect();
    let expected = [json!(2), json!("x2"), json!({"a": [1, null]}), json!(200)];
    assert_eq!(results, expected, "{reported}");
    for (at, part) in [
        (4, "20000 characters"),
        (5, "20000 characters"),
        (6, "Error: own"),
    ] {
        let error = reported[at]["error"].as_str().unwrap_or_default();
        assert!(error.contains(part), "{part}: {reported}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_step_tells_of_the_window_that_it_opened() {
    let stage = Stage::new().await;
    let url = stage.page(
        "/",
        "<a id=a href=/page target=_blank>Open</a><script>open('/before')</script>",
    );
    let steps = json!([{"Evaluate": "1"}, {"Click": "#a"}, {"Evaluate": "open('/own'); 2"}]);
    let (reported, _) = after(&stage, &url, steps).await;
    let expected = json!([
        {"step": 1, "type": "Evaluate", "result": 1},
        {"step": 2, "type": "Click", "windows": [stage.site.url("/page")]},
        {"step": 3, "type": "Evaluate", "result": 2, "windows": [stage.site.url("/own")]},
    ]);
    assert_eq!(reported, expected);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_screenshot_of_a_step_that_is_cut_says_so() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p style='height:40000px'>x");
    let steps = json!([{"Screenshot": {"full_page": true}}, {"Screenshot": {"full_page": false}}]);
    let more = json!({"viewport": {"width": 200, "height": 200}, "request_timeout": 60,
        "automation_scripts": {"*": steps}});
    let entry = stage.rendered(&url, more).await;
    let reported = &entry["metadata"]["automation_data"];
    let cut = reported[0]["screenshot"].as_str().unwrap_or_default();
    assert!(cut.contains("200 × 32767 of 200 × "), "{cut}");
    assert!(reported[0]["result"].is_string(), "{cut}");
    assert!(reported[1]["result"].is_string(), "{cut}");
    assert_eq!(reported[1].get("screenshot"), None);
    stage.close().await;
}
