//! The pages of the console for crawls, the account and the operator, in a real browser: what an
//! analyst, an owner and an operator do, on a site whose texts are hostile.
//! Without a browser these tests are ignored: see `build.rs`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::console::{Stage, evaluate, png, screenshot};

/// A text that would run, if it became markup, and that a spreadsheet would calculate.
pub(crate) const HOSTILE: &str =
    "=1+1<img src=x onerror=\"window.wrong.push('ran')\"><script>window.wrong.push('ran')</script>";

/// What the steps share: a button by its label, a tab, the text of the page, and whether any of it
/// became markup.
const TOOLS: &str = "const press = (label) => [...document.querySelectorAll('main button, dialog button')]\
        .find((button) => button.textContent === label).click(); \
    const tab = (name) => document.querySelector(`main [data-view=${name}]`).click(); \
    const text = () => document.querySelector('main').textContent; \
    const has = (...words) => until(() => words.every((word) => text().includes(word))) \
        .then(() => words.filter((word) => !text().includes(word))); \
    const field = (label) => document.getElementById([...document.querySelectorAll('main label, dialog label')]\
        .find((one) => one.textContent === label).htmlFor); \
    const fill = (label, value) => { const input = field(label); input.value = value; \
        input.dispatchEvent(new Event('input', { bubbles: true })); }; \
    const open = (label, word) => [...document.querySelectorAll(`[aria-label=\"${label}\"] .rows [role=row]`)]\
        .find((row) => row.textContent.includes(word)).click(); \
    const markup = () => document.querySelectorAll('main img, main script, main iframe').length; ";

/// A step with these tools.
pub(crate) fn step(body: &str) -> Value {
    evaluate(&format!("{TOOLS} {body}"))
}

/// A step that signs in with an account's key and the operator's, and opens a page.
pub(crate) fn signed_in(stage: &Stage, page: &str) -> Value {
    let admin = stage.console.app.unused_admin_key();
    let admin = admin.expect("a first start").expose();
    let key = stage.console.key.as_str();
    step(&format!(
        "location.hash = 'key={key}&admin={admin}&page={page}'; \
         await until(() => location.hash === '#/{page}' && document.querySelector('main h1')); return location.hash;"
    ))
}

/// A site of three pages, one of which is missing and one private. Its texts are hostile.
pub(crate) fn site(stage: &Stage) -> String {
    let title = HOSTILE.replace('<', "&lt;");
    let page = |body: &str| format!("<title>{title}</title><p>{body}</p>");
    stage
        .site
        .put("/docs/a", "text/html", page("The first page."));
    stage
        .site
        .put("/private/b", "text/html", page("Not for crawls."));
    let links = "<a href=/docs/a>a</a> <a href=/private/b>b</a> <a href=/docs/missing>c</a>";
    stage.site.put("/", "text/html", page(links))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_analyst_previews_a_crawl_and_takes_its_pages_home() {
    let stage = Stage::new().await;
    let seed = site(&stage);
    let steps = vec![
        signed_in(&stage, "crawls"),
        step(
            "const missing = await has('No crawls yet'); location.hash = '#/crawls?new=1'; \
             await until(() => text().includes('Preview')); return missing;",
        ),
        step(&format!(
            "fill('Seed URL', '{seed}'); fill('Engine', 'http'); fill('Not these paths', '/private'); \
             press('Preview the links of the seed'); \
             return [await has('would be crawled', '/docs/a', 'left out: blacklist'), markup()];"
        )),
        step(
            "press('Begin'); await until(() => location.hash.includes('id=')); \
             return [await has('ended: completed', 'Pages per second'), markup()];",
        ),
        step(
            "tab('tree'); await has('docs'); open('The site by path', 'docs'); const tree = await has('missing'); \
             tab('pages'); const pages = await has('3 of 3 pages', '/docs/missing'); \
             fill('Search in URL, status and error', 'missing'); const found = await has('1 of 3 pages'); \
             fill('Search in URL, status and error', '/docs/a'); \
             const rows = () => document.querySelector('[aria-label=\"Pages of the crawl\"] .rows').textContent; \
             await until(() => rows().includes('/docs/a') && !rows().includes('missing')); \
             open('Pages of the crawl', '/docs/a'); const one = await has('The first page.'); \
             tab('skipped'); const skipped = await has('/private/b', 'blacklist'); \
             tab('request'); const request = await has('blacklist'); \
             return [tree, pages, found, one, skipped, request, markup()];",
        ),
        step(
            "const { FILES } = await import(`${location.origin}/console/crawls/files.js`); \
             const { api } = await import(`${location.origin}/console/api.js`); \
             const id = new URLSearchParams(location.hash.split('?')[1]).get('id'); \
             const made = (name) => FILES[name].make({ api }, id, { onprogress: () => undefined }); \
             const zip = new TextDecoder('latin1').decode(await (await made('zip')).arrayBuffer()); \
             return [await (await made('csv')).text(), await (await made('jsonl')).text(), zip];",
        ),
        step(
            "location.hash = '#/crawls'; await until(() => document.querySelector('[aria-label=Crawls] .rows [role=row]')); \
             return [await has('ended: completed'), markup()];",
        ),
    ];
    let results = stage.visit(steps).await;
    assert_eq!(results[1], json!([]), "the list without crawls");
    assert_eq!(results[2], json!([[], 0]), "the preview");
    assert_eq!(results[3], json!([[], 0]), "the crawl");
    assert_eq!(results[4], json!([[], [], [], [], [], [], 0]), "its views");
    let [csv, lines, zip] = [0, 1, 2].map(|n| results[5][n].as_str().expect("a file").to_owned());
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.contains("\"'=1+1<img"), "no formula: {csv}");
    assert_eq!(lines.lines().count(), 3, "{lines}");
    for line in lines.lines() {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        assert!(entry["url"].is_string(), "{line}");
    }
    assert!(zip.starts_with("PK\u{3}\u{4}"), "{zip:?}");
    assert!(zip.contains("/docs/a.md") && zip.contains("The first page."));
    assert!(!zip.contains("missing.md"), "a failed page is no file");
    assert_eq!(results[6], json!([[], 0]), "the list of crawls");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_owner_sees_what_was_spent_and_manages_keys() {
    let stage = Stage::new().await;
    let seed = site(&stage);
    let page = |url: &str| json!({"url": url, "request": "http", "return_format": "text"});
    stage.console.fine(page(&seed)).await;
    stage
        .console
        .failure(page(&stage.site.url("/nowhere")))
        .await;
    let host = stage.site.address.to_string();
    let name = json!(HOSTILE);
    let steps = vec![
        signed_in(&stage, "account"),
        step(
            "return [await has('Balance', 'Unlimited plan', 'requests per minute', 'stored bytes'), markup()];",
        ),
        step(&format!(
            "tab('spending'); return await has('Spent by day', '{host}', 'Most frequent reason');"
        )),
        step(&format!(
            "open('Usage by host', '{host}'); return await has('Pages', '1: ');"
        )),
        step(
            "tab('statement'); const all = await has('/nowhere', 'entries'); \
             fill('Search in URL, reason, request and key', 'nowhere'); const found = await has('1 of '); \
             return [all, found];",
        ),
        step(&format!(
            "tab('keys'); await has('1 active key.'); press('New key'); \
             await until(() => document.querySelector('dialog')); fill('Name', {name}); press('Create'); \
             await until(() => document.querySelector('dialog pre')); \
             const key = document.querySelector('dialog pre').textContent; press('Done'); \
             return [key, await has('2 active keys', '=1+1<img'), markup()];"
        )),
        step(
            "open('Keys', '=1+1'); await until(() => document.querySelector('dialog')); press('Revoke'); \
             const asked = () => [...document.querySelectorAll('dialog button')].some((one) => one.textContent === 'Revoke it'); \
             await until(asked); press('Revoke it'); \
             return await has('1 active key.');",
        ),
        step(
            "tab('webhooks'); const none = await has('Nothing was sent', 'No event waits'); press('Show it'); \
             return [none, await has('whsec_')];",
        ),
    ];
    let results = stage.visit(steps).await;
    assert_eq!(results[1], json!([[], 0]), "the balance");
    assert_eq!(results[2], json!([]), "the spending");
    assert_eq!(results[3], json!([]), "the reasons of a host");
    assert_eq!(results[4], json!([[], []]), "the statement");
    let key = results[5][0].as_str().expect("a key");
    assert!(key.starts_with("tr_"), "{key}");
    assert_eq!((&results[5][1], &results[5][2]), (&json!([]), &json!(0)));
    assert_eq!(results[6], json!([]), "the key is revoked");
    let revoked = stage.console.with_key(key).get("/account").await;
    assert_eq!(revoked.status, 401);
    assert_eq!(results[7], json!([[], []]), "the webhooks");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_operator_finds_out_why_pages_of_a_host_fail() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let stage = Stage::new().await;
    let url = stage.site.url("/nowhere");
    let page = json!({"url": url, "request": "http", "return_format": "text"});
    let (status, reason) = stage.console.failure(page).await;
    assert_eq!(status, 404, "{reason}");
    let host = stage.site.address.to_string();
    let steps = vec![
        signed_in(&stage, "operator"),
        step(
            "const missing = await has('Plain HTTP', 'Memory by kind', 'page bodies', 'Memory of the process'); \
             const select = field('Curves of the last'); const label = select.previousElementSibling; \
             const [own, before] = [select, label].map((one) => one.getBoundingClientRect()); \
             return [missing, own.left >= before.right && own.top < before.bottom, own.width < 300];",
        ),
        step(&format!(
            "tab('accounts'); await has('caller'); open('Accounts', 'caller'); \
             const opened = await has('Hosts and failures', '{host}'); open('Usage by host', '{host}'); \
             const cost = [...document.querySelectorAll('main section .facts div')].filter((one) => one.firstChild.textContent === 'Cost'); \
             return [opened, [...document.querySelectorAll('main li')].map((item) => item.textContent), location.hash, \
               cost.map((one) => one.lastChild.textContent)];"
        )),
        step(
            "press('Top up'); await until(() => document.querySelector('dialog')); fill('Dollars', '7'); \
             press('Pay in'); return await has('$107.00');",
        ),
        step("tab('providers'); return await has('Since the server started');"),
        step(
            "tab('plugins'); const all = await has('Generation 1'); fill('Search', 'markdown'); \
             await until(() => document.querySelector('[aria-label=Plugins] .rows').textContent.startsWith('formatmarkdown')); \
             open('Plugins', 'markdown'); \
             return [all, await has('Mean time of a call', 'Options')];",
        ),
        step(
            "tab('log'); await until(() => document.querySelector('main .state, [aria-label^=\"Lines\"]')); return text().includes('Lines with this text');",
        ),
        step(
            "fill('Lines with this text', 'tide'); location.hash = '#/account'; \
             await new Promise((done) => setTimeout(done, 800)); const left = location.hash; \
             location.hash = '#/operator?tab=log'; await has('Lines with this text'); return left;",
        ),
        step(
            "sessionStorage.removeItem('trawl.admin'); dispatchEvent(new CustomEvent('keys')); \
             return await has(\"for the server's operator\");",
        ),
    ];
    let results = stage.visit(steps).await;
    let choice = "the choice is beside its label, as wide as its texts";
    assert_eq!(results[1], json!([[], true, true]), "the server: {choice}");
    assert_eq!(results[2][0], json!([]), "the account");
    let reasons = results[2][1].as_array().expect("reasons");
    let says = |item: &Value| item.as_str().is_some_and(|text| text.starts_with("1: "));
    assert!(reasons.iter().any(says), "{reasons:?}");
    let address = results[2][2].as_str().expect("an address");
    assert!(
        address.starts_with("#/operator?tab=accounts&account=acc_"),
        "{address}"
    );
    assert_eq!(
        results[2][3],
        json!(["$0.00"]),
        "what its failed pages cost"
    );
    assert_eq!(results[3], json!([]), "the top-up");
    assert_eq!(results[4], json!([]), "the providers");
    assert_eq!(results[5], json!([[], []]), "the plugins");
    assert_eq!(results[6], true, "the log");
    assert_eq!(results[7], "#/account", "the address of the next page");
    assert_eq!(results[8], json!([]), "without the operator's key");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn thirty_thousand_pages_are_a_tree_of_which_only_what_is_seen_is_drawn() {
    let stage = Stage::new().await;
    let made = "const { treeView } = await import(`${location.origin}/console/crawls/tree.js`); \
        const { curves } = await import(`${location.origin}/console/crawls/follow.js`); \
        const pages = Array.from({ length: 30_000 }, (_, at) => ({ seq: at + 1, url: `https://a.test/${at % 300}/${at}`, status: at % 10 ? 200 : 404, \
            error: at % 10 ? null : 'missing', cause: null, bytes: 100, total_cost: 1e-9, at: new Date(1.7e12 + at * 10).toISOString() })); \
        const tree = treeView({ address: () => '#' }, () => undefined); document.body.append(tree.element); \
        tree.update({ pages }); \
        const rows = () => [...tree.element.querySelectorAll('.rows [role=row]')].map((row) => row.textContent); \
        const { speed, bytes, cost, statuses } = curves(pages); \
        return [rows()[0], tree.element.getAttribute('aria-rowcount'), rows().length < 100, bytes.at(-1)[1], speed.length <= 150, \
            cost.length, [...statuses].map(([name, points]) => [name, points.at(-1)[1]])];";
    let results = stage.visit(vec![evaluate(made)]).await;
    let first = results[0][0].as_str().expect("a row");
    assert!(
        first.contains("a.test") && first.contains("30,000") && first.contains("3,000"),
        "{first}"
    );
    // The host, its 300 folders and the head.
    assert_eq!(results[0][1], "302");
    assert_eq!(
        (&results[0][2], &results[0][4]),
        (&json!(true), &json!(true))
    );
    assert_eq!(results[0][3], json!(3_000_000));
    assert_eq!(results[0][6], json!([["2xx", 27_000], ["4xx", 3_000]]));
    stage.close().await;
}

/// A crawl that is looked at while it runs is stopped in the console.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_crawl_that_runs_is_stopped() {
    let stage = Stage::new().await;
    let seed = stage.site.put_linked(200);
    let request = json!({
        "url": seed, "request": "http", "return_format": "empty", "delay": 200, "run_in_background": true,
    });
    let begun = stage.console.post("/crawl", &[], &request).await.json();
    let id = begun["id"].as_str().expect("an id");
    let steps = vec![
        signed_in(&stage, "crawls"),
        step(&format!(
            "location.hash = '#/crawls?id={id}'; \
             await until(() => [...document.querySelectorAll('main button')].some((button) => button.textContent === 'Stop')); \
             const shown = await has('waiting', 'in flight'); press('Stop'); \
             return [shown, await has('ended: cancelled')];"
        )),
    ];
    let results = stage.visit(steps).await;
    assert_eq!(results[1], json!([[], []]));
    let ended = stage.console.crawl_ended(id, Duration::from_secs(10)).await;
    assert_eq!(ended["stop_reason"], "cancelled");
    stage.close().await;
}

/// Leaves a picture of each page at three widths in both themes in `target/tmp/console`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn pages_fit_narrow_and_wide_windows_in_both_themes() {
    let _by_another_test = trawl_telemetry::start_metrics();
    let stage = Stage::new().await;
    let seed = site(&stage);
    let request = json!({"url": seed, "request": "http", "return_format": "markdown", "run_in_background": true});
    let begun = stage.console.post("/crawl", &[], &request).await.json();
    let id = begun["id"].as_str().expect("an id");
    stage.console.crawl_ended(id, Duration::from_secs(30)).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/console");
    fs::create_dir_all(&folder).expect("a folder");
    let pages = [
        ("crawls", "#/crawls".to_owned(), "1 crawl;"),
        ("crawls-new", "#/crawls?new=1".to_owned(), "Seed URL"),
        (
            "crawls-live",
            format!("#/crawls?id={id}"),
            "Pages per second",
        ),
        ("crawls-tree", format!("#/crawls?id={id}&tab=tree"), "docs"),
        (
            "account",
            "#/account?tab=spending".to_owned(),
            "Most frequent reason",
        ),
        ("operator", "#/operator".to_owned(), "Memory by kind"),
        (
            "operator-plugins",
            "#/operator?tab=plugins".to_owned(),
            "Generation 1",
        ),
    ];
    for theme in ["light", "dark"] {
        for width in [390, 900, 1600] {
            let mut steps = vec![
                signed_in(&stage, "account"),
                json!({"Fill": {"selector": "#header select", "value": theme}}),
            ];
            for (_, address, word) in &pages {
                steps.push(step(&format!(
                    "location.hash = '{address}'; const missing = await has('{word}'); scrollTo(0, 0); \
                     return [missing, document.documentElement.scrollWidth - innerWidth];"
                )));
                steps.push(screenshot());
            }
            let results = stage.visit_at(width, steps).await;
            for (n, (name, _, _)) in pages.iter().enumerate() {
                let (seen, picture) = (&results[1 + 2 * n], &results[2 + 2 * n]);
                assert_eq!(seen[0], json!([]), "{name} {theme} {width}");
                let beyond = seen[1].as_i64().expect("a number");
                assert!(
                    beyond <= 0,
                    "{name} {theme} {width}: {beyond} pixels too wide"
                );
                let file = folder.join(format!("{name}-{theme}-{width}.png"));
                fs::write(file, png(picture)).expect("a file");
            }
        }
    }
    stage.close().await;
}
