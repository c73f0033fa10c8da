//! Every view of the console: what axe-core finds in it in both themes, and what becomes of hostile
//! texts in whatever the server answers.
//! Without a browser these tests are ignored: see `build.rs`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::console::{Stage, evaluate, png, screenshot};
use super::console_pages::{HOSTILE, signed_in, site, step};

/// The rules of accessibility that pages are checked against.
const AXE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../target/clients/node_modules/axe-core/axe.min.js"
);

/// What axe-core finds in the document, with the first elements of each rule.
const AUDIT: &str = "const { violations } = await axe.run(document, { resultTypes: ['violations'], iframes: false }); \
    return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((one) => [one.target.join(' '), one.failureSummary])]);";

/// Names of members that say when and which, and are parts of addresses.
const KEPT: &str = "/^(id|key|at|created|created_at|ended|ended_at|time|timestamp|from|to|day|due|last_used|revoked|cursor|next_cursor|status|state|metric)$/";

/// The addresses of the views that the navigation and the tabs lead to, each with a text that is
/// there once the view is complete.
fn views(crawl: &str) -> Vec<(String, &'static str)> {
    let of_crawl = |tab: &str| format!("#/crawls?id={crawl}&tab={tab}");
    let own = |page: &str, tab: &str| format!("#/{page}?tab={tab}");
    vec![
        ("#/playground?e=/map".to_owned(), "Send the request"),
        ("#/playground?e=/transform".to_owned(), "Send the request"),
        ("#/crawls".to_owned(), "deleted after 7 days"),
        ("#/crawls?new=1".to_owned(), "Seed URL"),
        (of_crawl("live"), "Pages per second"),
        (of_crawl("tree"), "Path"),
        (of_crawl("pages"), "3 of 3 pages"),
        (of_crawl("skipped"), "Reason"),
        (of_crawl("request"), "return_format"),
        (own("account", "balance"), "Limits"),
        (own("account", "spending"), "Most frequent reason"),
        (own("account", "statement"), "entries"),
        (own("account", "keys"), "active key"),
        (own("account", "webhooks"), "Signing secret"),
        (own("operator", "server"), "Memory by kind"),
        (own("operator", "accounts"), "1 account."),
        (own("operator", "providers"), "Since the server started"),
        (own("operator", "plugins"), "Generation 1"),
        (own("operator", "log"), "Lines with this text"),
    ]
}

/// The id of a crawl of the site that has ended.
async fn crawled(stage: &Stage) -> String {
    let request = json!({
        "url": site(stage), "request": "http", "return_format": "markdown", "blacklist": ["/private"],
        "run_in_background": true,
    });
    let begun = stage.console.post("/crawl", &[], &request).await.json();
    let id = begun["id"].as_str().expect("an id").to_owned();
    stage
        .console
        .crawl_ended(&id, Duration::from_secs(30))
        .await;
    id
}

/// A step that opens a view and waits for its text; then it does more.
fn opened(address: &str, word: &str, more: &str) -> Value {
    step(&format!(
        "location.hash = '{address}'; const missing = await has('{word}'); \
         if (missing.length > 0) return missing; {more}"
    ))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_clients),
    ignore = "no axe-core or no Chromium: install chromium-headless-shell, run cargo xtask clients"
)]
async fn axe_core_finds_nothing_in_any_view() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let axe = fs::read_to_string(AXE).expect("axe-core");
    let stage = Stage::with_script(&axe).await;
    let views = views(&crawled(&stage).await);
    for theme in ["light", "dark"] {
        for part in views.chunks(7) {
            let mut steps = vec![
                signed_in(&stage, "account"),
                json!({"Fill": {"selector": "#header select", "value": theme}}),
            ];
            let looks = part
                .iter()
                .map(|(address, word)| opened(address, word, AUDIT));
            steps.extend(looks);
            let results = stage.visit(steps).await;
            for ((address, _), found) in part.iter().zip(&results[1..]) {
                assert_eq!(*found, json!([]), "{theme} {address}");
            }
        }
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_clients),
    ignore = "no axe-core or no Chromium: install chromium-headless-shell, run cargo xtask clients"
)]
async fn axe_core_finds_nothing_in_any_view_of_an_answer() {
    let axe = fs::read_to_string(AXE).expect("axe-core");
    let stage = Stage::with_script(&axe).await;
    // Its headings leave out levels.
    let page = "<title>Tides</title><h1>High tide</h1><h4>Today</h4><p>At <b>noon</b>.</p><a href=/next>Next</a>\
        <p style='display: none'>Not for readers.</p><table><tr><th>Day<th>Height<tr><td>Monday<td>3.1 m</table>";
    let url = stage.site.put("/tides", "text/html", page);
    for theme in ["light", "dark"] {
        let mut steps = vec![json!({"Fill": {"selector": "#header select", "value": theme}})];
        steps.extend(stage.sent(&url));
        // Once more, so that there is an answer to compare with.
        steps.push(evaluate(
            "const { textContent } = document.querySelector('.answer .summary'); document.querySelector('form.request .primary').click(); \
             await until(() => document.querySelector('.answer [data-view=compare]')); return textContent;",
        ));
        steps.push(evaluate(&format!(
            "const audit = async () => {{ {AUDIT} }}; const all = []; \
             for (const tab of document.querySelectorAll('.answer [role=tab]')) {{ \
               tab.click(); await new Promise((done) => setTimeout(done, 300)); \
               all.push([tab.dataset.view, await audit()]); }} return all;"
        )));
        let results = stage.visit(steps).await;
        let audits = results[1].as_array().expect("views");
        let names: Vec<&str> = audits.iter().filter_map(|one| one[0].as_str()).collect();
        for name in ["rendered", "page", "fields", "served", "compare"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for audit in audits {
            assert_eq!(audit[1], json!([]), "{theme} {}", audit[0]);
        }
    }
    stage.close().await;
}

/// What is seen without a key, what opens above a page, and what is opened within it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_clients),
    ignore = "no axe-core or no Chromium: install chromium-headless-shell, run cargo xtask clients"
)]
async fn axe_core_finds_nothing_in_dialogs_and_other_states() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let axe = fs::read_to_string(AXE).expect("axe-core");
    let stage = Stage::with_script(&axe).await;
    let crawl = crawled(&stage).await;
    let within = |body: &str| {
        step(&format!(
            "{body} const audit = async () => {{ {AUDIT} }}; return await audit();"
        ))
    };
    let mut steps: Vec<Value> = ["playground", "crawls", "account", "operator", "nowhere"]
        .map(|page| within(&format!("location.hash = '#/{page}'; await until(() => document.querySelector('main h1') && !document.querySelector('main [role=status].state'));")))
        .into();
    steps.push(within("document.querySelector('#keys').click();"));
    steps.push(evaluate(
        "document.querySelector('dialog').close(); return 'closed';",
    ));
    steps.push(signed_in(&stage, "account"));
    let dialog = "await until(() => document.querySelector('dialog[open]'));";
    let close = "document.querySelector('dialog').close();";
    steps.push(within(&format!(
        "tab('keys'); await has('1 active key.'); press('New key'); {dialog}"
    )));
    steps.push(within(&format!("{close} open('Keys', 'tr_'); {dialog}")));
    steps.push(within(&format!("{close} location.hash = '#/operator?tab=accounts'; await has('1 account.'); open('Accounts', 'caller'); await has('Hosts and failures');")));
    steps.push(within(&format!("press('Top up'); {dialog}")));
    steps.push(within(&format!("{close} location.hash = '#/operator?tab=plugins&plugin=format%2Fmarkdown'; await has('Mean time of a call');")));
    steps.push(within(&format!("location.hash = '#/crawls?id={crawl}&tab=pages&page=1'; await has('The rest of the entry');")));
    let results = stage.visit(steps).await;
    let audits = results.iter().filter(|result| result.is_array());
    let audits: Vec<&Value> = audits.collect();
    assert_eq!(audits.len(), 12, "{results:?}");
    for (n, found) in audits.iter().enumerate() {
        assert_eq!(**found, json!([]), "state {n}");
    }
    stage.close().await;
}

/// Adds a hostile text to nearly every text that the server answers, names of plugins, accounts,
/// hosts and metrics included.
fn hostile_answers() -> String {
    format!(
        "const hostile = (value, name) => {{ \
           if (typeof value === 'string') return {KEPT}.test(name) ? value : value + {hostile}; \
           if (Array.isArray(value)) return value.map((one) => hostile(one, name)); \
           if (value === null || typeof value !== 'object') return value; \
           return Object.fromEntries(Object.entries(value).map(([own, one]) => [own, hostile(one, own)])); }}; \
         const honest = window.fetch; window.hostiles = 0; \
         window.fetch = async (...given) => {{ \
           const response = await honest(...given); \
           if (String(given[0]).endsWith('/openapi.json') || !(response.headers.get('content-type') ?? '').includes('json')) return response; \
           window.hostiles += 1; \
           return new Response(JSON.stringify(hostile(await response.json(), '')), {{ status: response.status, headers: response.headers }}); }};",
        hostile = json!(HOSTILE),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn hostile_texts_in_every_answer_stay_texts_in_every_view() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let stage = Stage::with_script(&hostile_answers()).await;
    let views = views(&crawled(&stage).await);
    let markup = "return [document.querySelectorAll('main img, main script, main iframe').length, window.hostiles > 0];";
    let mut steps = vec![signed_in(&stage, "account")];
    let looks = views
        .iter()
        .map(|(address, word)| opened(address, word, markup));
    steps.extend(looks);
    // A plugin that is opened shows all that it says of itself.
    steps.push(step(
        "location.hash = '#/operator?tab=plugins'; await has('Generation 1'); open('Plugins', 'markdown'); \
         return [await has('Mean time of a call', '<script>'), document.querySelectorAll('main img, main script').length];",
    ));
    let results = stage.visit(steps).await;
    for ((address, _), found) in views.iter().zip(&results[1..]) {
        assert_eq!(*found, json!([0, true]), "{address}");
    }
    assert_eq!(results.last(), Some(&json!([[], 0])), "a plugin");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_is_open_has_an_address() {
    let stage = Stage::new().await;
    let crawl = crawled(&stage).await;
    let back = "const at = location.hash; location.hash = '#/account'; await has('Reserved'); location.hash = at;";
    let steps = vec![
        signed_in(&stage, "operator"),
        step(&format!(
            "tab('plugins'); await has('Generation 1'); open('Plugins', 'markdown'); await has('Mean time of a call'); \
             {back} return [at, await has('Mean time of a call', 'markdown (format)')];"
        )),
        step(&format!(
            "location.hash = '#/crawls?id={crawl}&tab=pages'; await has('3 of 3 pages'); open('Pages of the crawl', '/docs/a'); \
             await has('The first page.'); {back} return await has('The first page.');"
        )),
    ];
    let results = stage.visit(steps).await;
    let address = "#/operator?tab=plugins&plugin=format%2Fmarkdown";
    assert_eq!(results[1], json!([address, []]));
    assert_eq!(results[2], json!([]), "a page of a crawl");
    stage.close().await;
}

/// An answer that was asked for before does not come over a newer one, and what was only read for a
/// page ends when that is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn old_answers_are_not_shown_and_a_page_that_was_left_reads_no_more() {
    let stage = Stage::new().await;
    let pause = "const pause = () => new Promise((done) => setTimeout(done, 100));";
    let steps = vec![
        evaluate(&format!(
            "{pause} const {{ view }} = await import(`${{location.origin}}/console/views.js`); \
             const box = document.createElement('div'); let answer; \
             view(box, () => new Promise((done) => {{ answer = done; }}), (text) => text); \
             view(box, async () => 'second', (text) => text); await until(() => box.textContent === 'second'); \
             answer('first'); await pause(); return box.textContent;"
        )),
        evaluate(&format!(
            "{pause} const {{ follow }} = await import(`${{location.origin}}/console/crawls/follow.js`); const seen = []; \
             const response = {{ ok: true, json: {{ state: 'running' }}, headers: new Headers() }}; let answer; \
             const api = () => new Promise((done) => {{ answer = () => done(response); }}); \
             const stop = follow({{ api }}, 'x', () => seen.push('shown'), () => seen.push('failed')); \
             stop(); answer(); await pause(); answer(); await pause(); return seen;"
        )),
        evaluate(
            "const honest = window.fetch; let signal; \
             window.fetch = (url, options) => { \
               if (!String(url).includes('/account/statement')) return honest(url, options); \
               signal = options.signal; return new Promise(() => {}); }; \
             sessionStorage.setItem('trawl.key', 'tr_any'); location.hash = '#/account?tab=statement'; \
             await until(() => signal !== undefined); const before = signal.aborted; location.hash = '#/playground'; \
             await until(() => signal.aborted); window.fetch = honest; return [before, signal.aborted];",
        ),
    ];
    let results = stage.visit(steps).await;
    assert_eq!(results[0], "second");
    assert_eq!(results[1], json!([]), "a crawl that is no longer followed");
    assert_eq!(results[2], json!([false, true]), "the statement");
    stage.close().await;
}

/// The sizes that the browser itself has seen until the form is there; what other pages need is
/// not loaded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_first_page_loads_little() {
    let stage = Stage::new().await;
    let loaded = "await until(() => performance.getEntriesByName('first-contentful-paint').length > 0); const files = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/console/')); \
        return [files.reduce((sum, file) => sum + file.transferSize, 0), \
          files.filter(({ name }) => /\\/(crawls|account|operator)\\//.test(name)).map(({ name }) => name), \
          performance.getEntriesByName('first-contentful-paint').length, files.length];";
    let results = stage.visit(vec![evaluate(loaded)]).await;
    let bytes = results[0][0].as_u64().expect("bytes");
    assert!((10_000..80_000).contains(&bytes), "{bytes} bytes");
    assert_eq!(results[0][1], json!([]), "files of other pages");
    assert_eq!(results[0][2], 1, "a first paint");
    stage.close().await;
}

/// The pictures of README: fields of the sample site in the playground, in both themes. They are
/// copied to `docs/pictures` by `cargo xtask pictures`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn pictures_of_the_readme_are_taken() {
    let stage = Stage::new().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/console");
    fs::create_dir_all(&folder).expect("a folder");
    let request = json!({
        "url": "http://sample.trawl.test/tides", "return_format": ["markdown", "raw"], "metadata": true,
        "css_extraction_map": {"title": "h1", "rule": "main p", "chapter": "nav a@href"},
    });
    let mut pictures = Vec::new();
    for theme in ["light", "dark"] {
        let results = stage
            .visit(vec![
                signed_in(&stage, "playground"),
                json!({"Fill": {"selector": "#header select", "value": theme}}),
                step(&format!(
                    "document.querySelector('aside.linked button').click(); \
                     location.hash = `#/playground?v=fields&b=${{encodeURIComponent(JSON.stringify({request}))}}`; \
                     await has('css_extraction_map'); const map = () => document.querySelector('.parameter[data-name=css_extraction_map] textarea'); \
                     await until(() => map()?.value.includes('chapter')); document.querySelector('form.request .primary').click(); \
                     const found = () => [...document.querySelectorAll('.field-picked .matches')].map((one) => one.textContent); \
                     await until(() => found().length === 3 && found().every((text) => text !== '')); \
                     await new Promise((done) => setTimeout(done, 1000)); return found();"
                )),
                screenshot(),
            ])
            .await;
        let found = results[1].as_array().expect("what the selectors find");
        let finds = |value: &Value| {
            value
                .as_str()
                .is_some_and(|text| !text.starts_with("nothing"))
        };
        assert!(found.len() == 3 && found.iter().all(finds), "{found:?}");
        let picture = png(&results[2]);
        let file = folder.join(format!("readme-{theme}.png"));
        fs::write(file, &picture).expect("a file");
        pictures.push(picture);
    }
    assert_ne!(pictures[0], pictures[1], "the themes differ");
    stage.close().await;
}
