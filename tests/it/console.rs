//! The console in a real browser: a second server opens it and does what a person would.
//! Without a browser these tests are ignored: see `build.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use trawl_tests::{FakeSite, TestApp, WatchedBrowser, World};

/// Collects in `wrong` what a person would find in the browser's log.
const RECORDER: &str = "window.wrong = []; const add = (text) => window.wrong.push(String(text));\
    addEventListener('error', (event) => add(event.message || event.target?.src || event.target?.href), true);\
    addEventListener('unhandledrejection', (event) => add(event.reason));\
    addEventListener('securitypolicyviolation', (event) => add(`${event.violatedDirective} ${event.blockedURI}`));\
    addEventListener('message', (event) => { if (event.data === 'ran') add('a script of the page ran'); });\
    const { error } = console; console.error = (...all) => { add(all.join(' ')); error(...all); };";

/// Resolves once `condition` is true, or after 10 s.
const UNTIL: &str = "const until = async (condition) => { \
    for (let tries = 0; tries < 200 && !condition(); tries += 1) await new Promise((done) => setTimeout(done, 50)); };";

/// A server with its console, a site that it scrapes, and a server whose browser visits it.
pub(crate) struct Stage {
    pub(crate) console: TestApp,
    pub(crate) site: FakeSite,
    visitor: TestApp,
    browser: WatchedBrowser,
    /// Runs before the scripts of a page.
    before_load: String,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let mut world = World::new();
        let browser = WatchedBrowser::put(&mut world);
        world.keeps_pages = false;
        Self {
            console: TestApp::start().await,
            site: FakeSite::start().await,
            visitor: TestApp::of(world).await,
            browser,
            before_load: RECORDER.to_owned(),
        }
    }

    /// The same, with a script that runs before those of the console.
    pub(crate) async fn with_script(script: &str) -> Self {
        let mut stage = Self::new().await;
        stage.before_load = format!("{RECORDER}\n{script}");
        stage
    }

    /// Opens the console in a wide window, does these steps, and returns the results of those that
    /// have one. No step may fail, and the browser's log stays empty.
    pub(crate) async fn visit(&self, steps: Vec<Value>) -> Vec<Value> {
        self.visit_at(1400, steps).await
    }

    /// The same in a window of this width, in CSS pixels.
    pub(crate) async fn visit_at(&self, width: u32, steps: Vec<Value>) -> Vec<Value> {
        let mut all = vec![json!({"WaitFor": "form.request"})];
        all.extend(steps);
        all.push(json!({"Evaluate": "window.wrong"}));
        let url = format!("{}/", self.console.base);
        let mut results = self.results(&url, width, &all).await;
        assert_eq!(results.pop(), Some(json!([])), "the browser's log");
        results
    }

    /// The results of the steps on a page.
    async fn results(&self, url: &str, width: u32, steps: &[Value]) -> Vec<Value> {
        let entry = self
            .visitor
            .fine(json!({
                "url": url, "request": "browser", "return_format": "text", "request_timeout": 90,
                "evaluate_on_new_document": self.before_load, "automation_scripts": {"*": steps},
                "viewport": {"width": width, "height": 1000},
            }))
            .await;
        let reported = entry["metadata"]["automation_data"].as_array();
        let reported = reported.expect("the results of steps");
        let mut results = Vec::new();
        for step in reported.iter().filter(|step| step["type"].is_string()) {
            assert!(step["error"].is_null(), "{step}");
            if step.get("result").is_some() {
                results.push(step["result"].clone());
            }
        }
        results
    }

    /// The share of the pixels of a screenshot that are pure green.
    pub(crate) async fn green(&self, screenshot: &Value) -> f64 {
        self.site.put("/shot.png", "image/png", png(screenshot));
        let url = self
            .site
            .put("/shot", "text/html", "<p>A shot <img src=/shot.png>");
        let count = "async () => { const image = document.querySelector('img'); await image.decode(); \
            const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext('2d'); \
            canvas.drawImage(image, 0, 0); \
            const { data } = canvas.getImageData(0, 0, image.naturalWidth, image.naturalHeight); let green = 0; \
            for (let at = 0; at < data.length; at += 4) \
              if (data[at] === 0 && data[at + 1] === 255 && data[at + 2] === 0) green += 1; \
            return green / (data.length / 4); }";
        let results = self
            .results(&url, 1400, &[json!({"Evaluate": count})])
            .await;
        results[0].as_f64().expect("a share")
    }

    /// Steps that add the key and send the request for a URL.
    pub(crate) fn sent(&self, url: &str) -> Vec<Value> {
        vec![
            json!({"Click": "#keys"}),
            json!({"Fill": {"selector": "dialog input[name=key]", "value": self.console.key}}),
            json!({"Click": "dialog .primary"}),
            json!({"Fill": {"selector": ".parameter[data-name=url] input", "value": url}}),
            json!({"Click": "form.request .primary"}),
            json!({"WaitFor": ".answer .summary"}),
        ]
    }

    pub(crate) async fn close(self) {
        self.visitor.app.close().await;
        self.browser.assert_gone().await;
    }
}

/// The bytes of a screenshot that a step took.
pub(crate) fn png(screenshot: &Value) -> Vec<u8> {
    let text = screenshot.as_str().expect("base64");
    STANDARD.decode(text).expect("base64")
}

/// A step that takes a screenshot of the window.
pub(crate) fn screenshot() -> Value {
    json!({"Screenshot": {"full_page": false}})
}

/// A step that evaluates this body of a function, which may call `until`.
pub(crate) fn evaluate(body: &str) -> Value {
    json!({"Evaluate": format!("async () => {{ {UNTIL} {body} }}")})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_is_scraped_and_read_in_every_view() {
    let stage = Stage::new().await;
    let page = "<title>Tides</title><h1>High tide</h1><p>At <b>noon</b>.</p><a href=/next>Next</a>";
    let url = stage.site.put("/tides", "text/html", page);
    let mut steps = stage.sent(&url);
    let wanted = json!({
        "rendered": "High tide", "text": "noon", "source": "<h1>High tide</h1>", "links": "/next", "metadata": "Tides",
        "cost": "Bytes transferred", "served": "plugin markdown", "response": "total_cost",
    });
    steps.push(evaluate(&format!(
        "const missing = []; \
         for (const [view, text] of Object.entries({wanted})) {{ \
           document.querySelector(`.answer [data-view=${{view}}]`)?.click(); \
           const shown = document.querySelector('.answer [role=tabpanel]').textContent; \
           if (!shown.includes(text)) missing.push([view, shown.slice(0, 500)]); }} \
         return missing;"
    )));
    steps.push(evaluate(
        "await until(() => location.href.includes('tides')); \
         const all = (storage) => Object.fromEntries(Object.entries(storage)); \
         return [all(sessionStorage), all(localStorage), document.cookie, location.href];",
    ));
    let results = stage.visit(steps).await;
    assert_eq!(results[0], json!([]), "views without what is theirs");
    let key = stage.console.key.as_str();
    assert_eq!(results[1][0]["trawl.key"], key);
    assert_eq!(results[1][1], json!({}));
    assert_eq!(results[1][2], "");
    let address = results[1][3].as_str().expect("an address");
    assert!(address.contains("tides"), "{address}");
    assert!(!address.contains(key), "{address}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_hostile_page_in_the_frame_runs_and_loads_nothing() {
    let stage = Stage::new().await;
    let stolen = stage.site.url("/stolen");
    let run = "top.postMessage('ran', '*'); parent.parent.postMessage('ran', '*')";
    // A short page that refreshes would be a redirect.
    let words = "Many words. ".repeat(50);
    let page = format!(
        "<title>x</title><p>{words}</p><base href='{stolen}/'><meta http-equiv=refresh content='0;url={stolen}/a'>\
         <link rel=stylesheet href=b><style>@import url({stolen}/c); h1 {{ background: url({stolen}/d) }}</style>\
         <script>{run}</script><h1 style='background: url({stolen}/e)'>Harmless words</h1>\
         <img src=f onerror=\"{run}\"><svg onload=\"{run}\"><image href='{stolen}/g'/></svg>\
         <iframe src='{stolen}/h'></iframe><iframe srcdoc=\"<script>{run}</script>\"></iframe>\
         <object data='{stolen}/i'></object><video poster='{stolen}/j' src='{stolen}/k'></video>\
         <a href=\"javascript:{run}\">[go](javascript:alert(1))</a>\
         <div><template shadowrootmode=open><img src='{stolen}/l'></template></div>\
         <style>html {{ background: #00ff00 }}</style>"
    );
    let url = stage.site.put("/hostile", "text/html", page);
    let mut steps = stage.sent(&url);
    steps.push(json!({"Click": ".answer [data-view=page]"}));
    // Another origin's document says how many frames it has, and nothing else.
    steps.push(evaluate(
        "const shown = () => document.querySelector('iframe.frame')?.contentWindow.length; \
         await until(() => shown() === 1); await new Promise((done) => setTimeout(done, 1000)); \
         let inside; try { inside = document.querySelector('iframe.frame').contentDocument; } catch { inside = null; } \
         return [shown(), inside];",
    ));
    steps.push(screenshot());
    steps.push(json!({"Click": ".answer [data-view=rendered]"}));
    steps.push(evaluate(
        "const shown = document.querySelector('.rendered'); \
         return [shown.textContent.includes('Harmless words'), shown.querySelectorAll('script, img, iframe').length, \
           [...shown.querySelectorAll('a')].filter((link) => !link.href.startsWith('http')).length];",
    ));
    let results = stage.visit(steps).await;
    assert_eq!(results[0], json!([1, null]));
    assert_eq!(results[2], json!([true, 0, 0]));
    // It is shown with its own styles.
    let green = stage.green(&results[1]).await;
    assert!(green > 0.1, "{green}");
    let requests = stage.site.requests();
    let of = |path: &str| requests.iter().filter(|head| head.contains(path)).count();
    assert!(of("/hostile") > 0, "{requests:?}");
    assert_eq!(of("/stolen"), 0, "{requests:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_link_signs_in_and_another_opens_a_request_without_what_is_secret() {
    let stage = Stage::new().await;
    let key = stage.console.key.as_str();
    let signed_in = format!(
        "location.hash = 'key={key}&page=playground'; await until(() => sessionStorage.getItem('trawl.key')); \
         const said = () => document.querySelector('aside.linked p').textContent; await until(() => said().includes('acc_')); \
         return [location.hash, sessionStorage.getItem('trawl.key'), said().includes('caller (acc_')];"
    );
    // It says so until the person agrees, also for a link with the same key.
    let agreed = format!(
        "const notice = document.querySelector('aside.linked'); notice.querySelector('button').click(); const first = notice.hidden; \
         location.hash = 'key={key}'; await until(() => !location.hash.includes('key')); return [first, notice.hidden];"
    );
    // A tab without a key is signed in by a link, and the key is forgotten again.
    let undone = format!(
        "const {{ setKey }} = await import(`${{location.origin}}/console/api.js`); setKey(''); location.hash = 'key={key}'; \
         await until(() => sessionStorage.getItem('trawl.key')); const notice = document.querySelector('aside.linked'); \
         const before = notice.hidden; notice.querySelectorAll('button')[1].click(); \
         return [before, sessionStorage.getItem('trawl.key'), notice.hidden, document.activeElement.id];"
    );
    let results = stage
        .visit(vec![
            evaluate(&signed_in),
            evaluate(&agreed),
            json!({"Fill": {"selector": ".parameter[data-name=headers] textarea", "value": "{\"authorization\": \"hunter2\"}"}}),
            json!({"Fill": {"selector": ".parameter[data-name=max_size] input", "value": "77"}}),
            evaluate(
                "const program = () => document.querySelector('.programs pre').textContent; \
                 await until(() => location.hash.includes('max_size') && program().includes('max_size')); \
                 return [location.hash, program()];",
            ),
            evaluate(
                // The form of before has the same value until the link's is drawn.
                "const form = () => document.querySelector('form.request'); const before = form(); \
                 location.hash = location.hash.replace('%2Fscrape', '%2Fscrape&v=cost'); \
                 await until(() => form() !== null && form() !== before); \
                 const value = (name, kind) => document.querySelector(`.parameter[data-name=${name}] ${kind}`).value; \
                 return [value('max_size', 'input'), value('headers', 'textarea')];",
            ),
            evaluate(
                // A link of somebody else with the key of another account.
                "location.hash = 'key=tr_other&page=playground'; const button = () => document.querySelector('dialog .primary'); \
                 const names = () => document.querySelector('dialog .facts').textContent; \
                 await until(() => button() !== null && names().includes('acc_') && names().includes('refuses')); \
                 const asked = [location.hash, sessionStorage.getItem('trawl.key'), names().includes('This tabcaller (acc_')]; \
                 button().click(); await until(() => button() === null); \
                 return [...asked, sessionStorage.getItem('trawl.key'), document.querySelector('aside.linked').hidden];",
            ),
            evaluate(&undone),
        ])
        .await;
    assert_eq!(results[0], json!(["#/playground", key, true]));
    assert_eq!(results[1], json!([true, true]), "the notice is gone");
    let (link, program) = (&results[2][0], results[2][1].as_str().expect("a program"));
    assert!(!link.to_string().contains("hunter2"), "{link}");
    assert!(link.to_string().contains("max_size"), "{link}");
    // The program is the whole request, and its key is the reader's.
    assert!(program.contains("hunter2"), "{program}");
    assert!(!program.contains(key), "{program}");
    assert_eq!(results[3], json!(["77", ""]));
    assert_eq!(results[4], json!(["#/playground", key, true, key, true]));
    assert_eq!(results[5], json!([false, null, true, "main"]), "undone");
    stage.close().await;
}

/// Modules of the console, asked by themselves: links without passwords, names that objects have,
/// secrets of headers with dots, sums that are not quite zero, a broken link, the focus on what is
/// drawn anew, times too short for a number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn odd_names_and_values_are_taken_as_they_are() {
    let stage = Stage::new().await;
    let results = stage
        .visit(vec![
            evaluate(
                "const { withoutSecrets } = await import(`${location.origin}/console/pages/playground.js`); \
                 const url = ['http://u:p@ss@a.test/x', 'u:p@a.test', 'https://a.test/@u?c=d@e', 'https://a.test, https://u:p@b.test/']; \
                 return withoutSecrets({ url, data: [{ url: url[0], html: '//u@v' }], cookies: 'c' }, new Set(['cookies']));",
            ),
            evaluate(
                "const { withoutSecrets } = await import(`${location.origin}/console/pages/playground.js`); \
                 const names = ['Authorization', 'PROXY-AUTHORIZATION', 'Cookie', 'x-api-key', 'apiKey', 'APIKEY', 'password', 'proxyPassword', \
                   'passwd', 'webhook_secret', 'clientSecret', 'access_token', 'sessionId', 'credentials', 'sig']; \
                 const members = Object.fromEntries(names.map((name) => [name, 's3cret'])); \
                 return withoutSecrets({ ...members, headers: members, custom_headers: members, router: {}, webhook: {}, webhooks: {}, \
                   format_options: { markdown: { ...members, max_tokens: 9, author: 'a' }, list: [members] }, return_headers: true, \
                   url: 'https://a.test/?page=1&api_key=s3cret&Token=s3cret#access_token=s3cret', proxy: 'u:s3cret@p.test:1', \
                   prompt: 'of http://u:s3cret@a.test/ at me@a.test', whitelist: ['/@me', '[?]key=1'] }, new Set());",
            ),
            evaluate(
                "const { contentsOf } = await import(`${location.origin}/console/answer.js`); \
                 return [...contentsOf('/scrape', {}, { constructor: 'x', html: 'y' }).keys()].map(String);",
            ),
            evaluate(
                "const { put } = await import(`${location.origin}/console/crawls/one.js`); const made = {}; \
                 for (const path of ['headers.x.token', 'router.credentials.A', 'router.token', 'cookies']) put(made, path, path); \
                 return made;",
            ),
            evaluate(
                "const { dollars } = await import(`${location.origin}/console/ui.js`); \
                 return [0.1 + 0.2 - 0.3, 0.5, -0.00012, 1e-9, 12].map(dollars);",
            ),
            evaluate(
                "const { h, table } = await import(`${location.origin}/console/ui.js`); \
                 const { element, set } = table([{ label: 'Link', cell: (row) => h('a', { href: '#/' }, row) }], { label: 'Links' }); \
                 document.body.append(element); set(['a', 'b']); element.querySelectorAll('a')[1].focus(); set(['a', 'b', 'c']); \
                 return document.activeElement.textContent;",
            ),
            evaluate(
                "const endpoint = () => document.querySelector('#endpoint')?.value ?? 'none'; \
                 location.hash = `#/playground?e=/transform&b=${encodeURIComponent('{\"data\":\"x\"}')}`; \
                 await until(() => endpoint() === '/transform' || document.querySelector('main .failed')); return endpoint();",
            ),
            evaluate(
                "const choose = document.querySelector('#endpoint'); choose.value = '/links'; choose.dispatchEvent(new Event('change')); \
                 await until(() => document.activeElement.value === '/links'); return document.activeElement.id;",
            ),
            evaluate(
                "const { answerView } = await import(`${location.origin}/console/answer.js`); const turned = []; \
                 const json = [{ content: 'x', metadata: { page_count: 3 } }]; \
                 const response = { json, headers: new Headers(), text: '', milliseconds: 1 }; \
                 const nodes = answerView({ endpoint: '/scrape', request: { pages: '2' }, response, onchoose: () => {}, \
                   open: () => {}, turn: (pages) => turned.push(pages) }); \
                 document.body.append(...nodes.flat(Infinity).filter(Boolean)); \
                 const select = document.querySelector('[aria-label=\"Page of the document\"]'); const before = select.value; \
                 select.value = '3'; select.dispatchEvent(new Event('change')); \
                 return [before, ...turned, String(select.options.length)];",
            ),
            evaluate(
                "const { took } = await import(`${location.origin}/console/ui.js`); \
                 const { head } = await import(`${location.origin}/console/crawls/one.js`); \
                 const { means } = await import(`${location.origin}/console/operator/overview.js`); \
                 const created = '2026-01-01T00:00:00.000Z'; \
                 const crawl = { state: 'running', created, pages: 0, failed: 0, bytes: 0, costs: { total_cost: 0, credits: '0' } }; \
                 const of = (more) => [...head({ ...crawl, ...more }).children].map((one) => one.textContent) \
                   .filter((text) => /^(Took|Running)/.test(text)); \
                 const at = (ms) => of({ state: 'ended', ended: `2026-01-01T00:00:0${ms}Z` }); \
                 return [[0, 0.4, 12].map(took), of({}), at('0.000'), at('0.250'), at('3.400'), \
                   means([0, 60, 120], { first: 0, values: [1, 1, 7] }, { first: 0, values: [2, 2, 5] })];",
            ),
        ])
        .await;
    let link = json!({
        "url": ["http://a.test/x", "a.test", "https://a.test/@u?c=d@e", "https://a.test, https://b.test/"],
        "data": [{"url": "http://a.test/x", "html": "//u@v"}],
    });
    assert_eq!(results[0], link);
    let open = json!({
        "format_options": {"markdown": {"max_tokens": 9, "author": "a"}, "list": [{}]}, "return_headers": true,
        "url": "https://a.test/?page=1&api_key=&Token=#access_token=", "proxy": "p.test:1",
        "prompt": "of http://a.test/ at me@a.test", "whitelist": ["/@me", "[?]key=1"],
    });
    assert_eq!(results[1], open);
    assert_eq!(results[2], json!(["constructor", "raw"]));
    let secrets = json!({
        "headers": {"x.token": "headers.x.token"},
        "router": {"credentials": {"A": "router.credentials.A"}, "token": "router.token"},
        "cookies": "cookies",
    });
    assert_eq!(results[3], secrets);
    let amounts = json!(["$0.00", "$0.5", "−$0.00012", "$0.000000001", "$12.00"]);
    assert_eq!(results[4], amounts);
    assert_eq!(results[5], "b");
    assert_eq!(results[6], "/transform");
    assert_eq!(results[7], "endpoint");
    assert_eq!(results[8], json!(["2", "3", "4"]));
    let times = json!([
        ["< 1 ms", "0.4 ms", "12 ms"],
        [],
        ["Took< 1 ms"],
        ["Took250 ms"],
        ["Took3.4 s"],
        [[120_000, 2]],
    ]);
    assert_eq!(results[9], times);
    stage.close().await;
}

/// Views with a made-up server: a key is revoked once that is confirmed, and a top-up whose answer
/// was lost is sent again with the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn keys_are_not_revoked_and_payments_not_repeated_by_mistake() {
    const PRESS: &str = "const press = (text) => \
        [...document.querySelectorAll('dialog[open] button')].find((one) => one.textContent === text).click();";
    let stage = Stage::new().await;
    let results = stage
        .visit(vec![
            evaluate(&format!(
                "{PRESS} const {{ keysView }} = await import(`${{location.origin}}/console/account/keys.js`); const sent = []; \
                 const key = {{ key: 'abcd', name: 'x', created: '2026-01-31T00:00:00Z', last_used: null, month_spent: 0, \
                   monthly_budget: null, revoked: null }}; \
                 const api = async (method) => {{ sent.push(method); return {{ ok: true, json: {{ data: [key] }} }}; }}; \
                 const box = document.createElement('div'); document.body.append(box); \
                 box.append(...keysView({{ api, key: () => 'other' }})); \
                 const row = () => box.querySelector('[aria-rowindex]'); await until(row); \
                 row().click(); press('Revoke'); press('Keep it'); const kept = [...sent]; \
                 row().click(); press('Revoke'); press('Revoke it'); await until(() => sent.length === 3); return [kept, sent];"
            )),
            evaluate(&format!(
                "{PRESS} const {{ accountsView }} = await import(`${{location.origin}}/console/operator/accounts.js`); const ids = []; \
                 const account = {{ name: 'x', id: 'acc', balance: 1, reserved: 0, subscription: null, keys: [] }}; \
                 const api = async (method, path, body) => {{ \
                   if (method === 'POST') {{ ids.push(body.id); if (ids.length === 1) throw new Error('lost'); }} \
                   const json = path.endsWith('/accounts/x') ? account : {{ data: [], count: 0, hosts: [], n_hosts: 0, others: null, repeated: ids.length === 2 }}; \
                   return {{ ok: true, json }}; }}; \
                 const box = document.createElement('div'); document.body.append(box); \
                 box.append(...accountsView({{ api, query: new Map([['account', 'x']]), keep: () => undefined }}).flat()); \
                 const button = () => [...box.querySelectorAll('button')].find((one) => one.textContent === 'Top up' && !one.disabled); \
                 const pay = async () => {{ const before = ids.length; await until(button); button().click(); press('Pay in'); \
                   await until(() => ids.length > before); }}; \
                 await pay(); await pay(); await until(() => document.querySelector('dialog[open]')); press('Done'); await pay(); \
                 return [ids[0] === ids[1], ids[1] === ids[2], ids[0].length];"
            )),
        ])
        .await;
    assert_eq!(results[0], json!([["GET"], ["GET", "DELETE", "GET"]]));
    assert_eq!(results[1], json!([true, false, 40]));
    stage.close().await;
}

/// What looks at the same again and again would take minutes, or all the memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn hostile_pages_take_no_more_time_and_memory_than_others() {
    let stage = Stage::new().await;
    let results = stage
        .visit(vec![
            evaluate(
                "const { markdown } = await import(`${location.origin}/console/markdown.js`); const began = performance.now(); \
                 markdown(`|\n-${' '.repeat(300_000)}x`, 'https://a.test/'); \
                 const table = markdown(`|a|b|\n| :-- | --: | \n|1|2|`, 'https://a.test/'); \
                 return [performance.now() - began < 5_000, table[0].querySelectorAll('td').length];",
            ),
            evaluate(
                "const frame = document.createElement('iframe'); frame.src = '/console/frame/index.html'; \
                 frame.setAttribute('sandbox', 'allow-scripts'); document.body.append(frame); \
                 await new Promise((done) => { frame.onload = done; }); const began = performance.now(); \
                 frame.contentWindow.postMessage({ html: `<style>${'@font-face{'.repeat(100_000)}</style>` }, '*'); \
                 await until(() => frame.contentWindow.length === 1); \
                 return [frame.contentWindow.length, performance.now() - began < 5_000];",
            ),
            evaluate(
                "const { Zip } = await import(`${location.origin}/console/crawls/zip.js`); const zip = new Zip(); \
                 const began = performance.now(); for (let n = 0; n < 30_000; n += 1) zip.add('a.md', ''); \
                 const text = await zip.blob().text(); \
                 return [text.includes('a 30000.md'), text.includes('a 1.md'), performance.now() - began < 5_000];",
            ),
            evaluate(
                "const { Tree } = await import(`${location.origin}/console/crawls/tree.js`); const tree = new Tree(); \
                 tree.grow([{ url: `https://a.test/${'a/'.repeat(7_000)}`, error: null, bytes: 1, total_cost: 0 }]); \
                 let [at, depth] = [tree.root, 0]; \
                 while (at.below.size > 0) { [at] = at.below.values(); depth += 1; } return [depth < 100, at.pages];",
            ),
        ])
        .await;
    assert_eq!(results[0], json!([true, 2]));
    assert_eq!(results[1], json!([1, true]));
    assert_eq!(results[2], json!([true, false, true]));
    assert_eq!(results[3], json!([true, 1]));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_form_has_every_parameter_of_its_endpoint() {
    let stage = Stage::new().await;
    let document = stage.console.get("/openapi.json").await.json();
    let endpoints = [
        ("/scrape", "ScrapeRequest"),
        ("/screenshot", "ScreenshotRequest"),
        ("/links", "LinksRequest"),
        ("/map", "MapRequest"),
        ("/transform", "TransformRequest"),
    ];
    let steps = endpoints.map(|(path, _)| {
        let option = format!("POST {path}");
        evaluate(&format!(
            "location.hash = '#/playground?e={path}'; \
             await until(() => document.querySelector('#endpoint')?.selectedOptions[0].textContent === '{option}'); \
             return [...document.querySelectorAll('.parameter')].map((row) => row.dataset.name);"
        ))
    });
    let results = stage.visit(steps.into()).await;
    for ((path, schema), shown) in endpoints.iter().zip(&results) {
        let properties = document["components"]["schemas"][schema]["properties"].as_object();
        let described = properties.expect("parameters").iter();
        let is_alias = |schema: &Value| {
            let text = schema["description"].as_str().unwrap_or_default();
            text.starts_with("The same as ") && text.ends_with(", which wins.")
        };
        let expected: BTreeSet<&str> = described
            .filter(|(_, schema)| !is_alias(schema))
            .map(|(name, _)| name.as_str())
            .collect();
        let shown = shown.as_array().expect("names").iter();
        let shown: BTreeSet<&str> = shown.filter_map(Value::as_str).collect();
        assert!(!expected.is_empty(), "{path}");
        assert_eq!(shown, expected, "{path}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn parameters_are_found_and_tables_hold_what_is_in_view() {
    let stage = Stage::new().await;
    let results = stage
        .visit(vec![
            evaluate(
                "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true })); \
                 return document.activeElement.getAttribute('aria-label');",
            ),
            json!({"Type": "readability"}),
            evaluate(
                "return [...document.querySelectorAll('.parameter')].filter((row) => !row.hidden).map((row) => row.dataset.name);",
            ),
            evaluate(
                "const { table } = await import(`${location.origin}/console/ui.js`); \
                 const { element, set } = table([{ label: 'Number', cell: (row) => String(row) }], { label: 'Numbers' }); \
                 document.body.append(element); set(Array.from({ length: 10_000 }, (_, at) => at)); \
                 const drawn = () => [...element.querySelectorAll('[role=cell]')].map((cell) => cell.textContent); \
                 const before = drawn(); element.scrollTop = element.scrollHeight; await until(() => drawn().includes('9999')); \
                 return [before.includes('0'), before.length < 100, drawn().includes('9999'), drawn().length < 100];",
            ),
        ])
        .await;
    assert_eq!(results[0], "Find a parameter");
    let found = results[1].as_array().expect("names");
    assert!(found.contains(&json!("readability")), "{found:?}");
    assert!(!found.contains(&json!("proxy")), "{found:?}");
    assert_eq!(results[2], json!([true, true, true, true]));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_playground_fits_into_windows_of_every_width_in_both_themes() {
    let stage = Stage::new().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/console");
    fs::create_dir_all(&folder).expect("a folder");
    let page = "<title>Tides</title><h1>High tide</h1><p>At <b>noon</b>, and once more at midnight.</p>\
        <ul><li>Harbour<li>Beach</ul><table><tr><th>Day<th>Height<tr><td>Monday<td>3.1 m</table>";
    let url = stage.site.put("/tides", "text/html", page);
    for theme in ["light", "dark"] {
        for width in [390, 900, 1600] {
            let mut steps = vec![json!({"Fill": {"selector": "#header select", "value": theme}})];
            steps.extend(stage.sent(&url));
            steps.push(evaluate(
                "const colors = getComputedStyle(document.body); scrollTo(0, 0); \
                 return [document.documentElement.scrollWidth - innerWidth, colors.backgroundColor, colors.color];",
            ));
            steps.push(screenshot());
            for view in ["page", "fields", "cost", "served"] {
                steps.push(json!({"Click": format!(".answer [data-view={view}]")}));
                steps.push(evaluate(
                    "await new Promise((done) => setTimeout(done, 500)); scrollTo(0, 0); \
                     return document.documentElement.scrollWidth - innerWidth;",
                ));
                steps.push(screenshot());
            }
            let results = stage.visit_at(width, steps).await;
            let beyond = results[0][0].as_i64().expect("a number");
            assert!(beyond <= 0, "{theme} {width}: {beyond} pixels too wide");
            for (view, seen) in ["page", "fields", "cost", "served"]
                .iter()
                .zip(results[2..].chunks(2))
            {
                let beyond = seen[0].as_i64().expect("a number");
                assert!(
                    beyond <= 0,
                    "{view} {theme} {width}: {beyond} pixels too wide"
                );
                let file = folder.join(format!("playground-{view}-{theme}-{width}.png"));
                fs::write(file, png(&seen[1])).expect("a file");
            }
            let paper = if theme == "light" {
                "rgb(255, 255, 255)"
            } else {
                "rgb(20, 24, 28)"
            };
            assert_eq!(results[0][1], paper, "{theme} {width}");
            let file = folder.join(format!("playground-{theme}-{width}.png"));
            fs::write(file, png(&results[1])).expect("a file");
        }
    }
    stage.close().await;
}

/// In one column the answer is below the request: it is scrolled to, and the focus follows. Who
/// went elsewhere meanwhile stays there, and in a wide window nothing moves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn an_answer_below_the_request_is_scrolled_to() {
    let stage = Stage::new().await;
    let page = format!("<title>Tides</title><p>{}", "High water. <p>".repeat(200));
    let url = stage.site.put("/tides", "text/html", page);
    // How far the answer is below the header, and whether it has the focus.
    let place = "const answer = document.querySelector('.answer'); \
        const below = () => Math.round(answer.getBoundingClientRect().top - document.querySelector('#header').offsetHeight);";
    let sent = format!(
        "{place} const button = document.querySelector('form.request .primary'); button.focus(); button.click(); \
         await until(() => answer.querySelector('.state')); await until(() => answer.querySelector('.summary')); \
         await until(() => below() === 8); return [below(), document.activeElement === answer];"
    );
    let elsewhere = format!(
        "{place} const button = document.querySelector('form.request .primary'); button.focus(); button.click(); \
         document.querySelector('.parameter[data-name=url] input').focus(); scrollTo({{ top: 0, behavior: 'instant' }}); \
         await until(() => answer.querySelector('.summary')); await new Promise((done) => setTimeout(done, 500)); \
         return [below() > 100, document.activeElement === answer];"
    );
    let beside = format!(
        "{place} const button = document.querySelector('form.request .primary'); button.focus(); const before = scrollY; button.click(); \
         await until(() => answer.querySelector('.state')); await until(() => answer.querySelector('.summary')); \
         await new Promise((done) => setTimeout(done, 500)); return [scrollY - before, below() > 8, document.activeElement === answer];"
    );
    let mut steps = stage.sent(&url);
    steps.extend([evaluate(&sent), evaluate(&elsewhere)]);
    let results = stage.visit_at(900, steps).await;
    assert_eq!(results[0], json!([8, true]));
    assert_eq!(results[1], json!([true, false]), "elsewhere");
    let mut steps = stage.sent(&url);
    steps.push(evaluate(&beside));
    let results = stage.visit_at(1400, steps).await;
    assert_eq!(results[0], json!([0, true, false]), "a wide window");
    stage.close().await;
}
