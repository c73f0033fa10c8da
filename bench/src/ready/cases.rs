//! The pages of the benchmark: how pages of today fill themselves, and what they never stop doing.

/// The text that a complete page shows.
pub(super) const TEXT: &str = "The ferry to the islands leaves at noon from the northern pier";
/// What precedes the moment when it was complete, in milliseconds since the epoch.
pub(super) const MARK: &str = "complete at ";
/// Where a document pauses for half a second while it is sent.
pub(super) const PART: &str = "<!--pause-->";
/// A function that shows the text.
pub(super) const DONE: &str = "<script>const done = () => { document.getElementById('p').textContent = \
    `The ferry to the islands leaves at noon from the northern pier, complete at ${Date.now()}`; }; \
    const get = (path) => fetch(path).then((answer) => answer.text()); const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));</script>";

/// A page whose text is complete at a known moment.
pub(super) struct Case {
    /// Its name, also in its URL.
    pub(super) name: &'static str,
    pub(super) html: String,
    /// What it shows when it is complete.
    pub(super) text: &'static str,
}

/// Scripts that fill a page.
const FILLED: &[(&str, &str)] = &[
    ("fetch at once", "get('/data/0').then(done)"),
    ("fetch 300", "get('/data/300').then(done)"),
    ("fetch 1000", "get('/data/1000').then(done)"),
    ("fetch 2000", "get('/data/2000').then(done)"),
    ("fetch 4000", "get('/data/4000').then(done)"),
    (
        "xhr 600",
        "const x = new XMLHttpRequest(); x.open('GET', '/data/600'); x.onload = done; x.send()",
    ),
    (
        "chain of 2",
        "get('/data/200').then(() => get('/data/200?2')).then(done)",
    ),
    (
        "chain of 3",
        "(async () => { for (let n = 0; n < 3; n++) await get('/data/700?' + n); done() })()",
    ),
    (
        "chain of 8",
        "(async () => { for (let n = 0; n < 8; n++) await get('/data/100?' + n); done() })()",
    ),
    (
        "parallel",
        "Promise.all([get('/data/300'), get('/data/1500')]).then(done)",
    ),
    (
        "twelve parts",
        "Promise.all([...Array(12).keys()].map((n) => get('/data/' + n * 60))).then(done)",
    ),
    ("timer 200", "setTimeout(done, 200)"),
    (
        "timer then fetch",
        "setTimeout(() => get('/data/800').then(done), 150)",
    ),
    (
        "fetch then timer",
        "get('/data/300').then(() => setTimeout(done, 150))",
    ),
    (
        "retry",
        "get('/failure/100').then(() => get('/data/400')).then(done)",
    ),
    (
        "two frames of animation",
        "requestAnimationFrame(() => requestAnimationFrame(done))",
    ),
    ("idle callback", "requestIdleCallback(done)"),
    (
        "idle callback then fetch",
        "requestIdleCallback(() => get('/data/500').then(done))",
    ),
    (
        "microtasks",
        "(async () => { for (let n = 0; n < 1000; n++) await null; done() })()",
    ),
    (
        "busy thread",
        "const end = performance.now() + 700; while (performance.now() < end); setTimeout(done, 0)",
    ),
    (
        "busy then fetch",
        "setTimeout(() => { const end = performance.now() + 500; while (performance.now() < end); get('/data/200').then(done) }, 0)",
    ),
    ("dom ready", "addEventListener('DOMContentLoaded', done)"),
    ("load event", "addEventListener('load', done)"),
    (
        "load event then fetch",
        "addEventListener('load', () => get('/data/600').then(done))",
    ),
    (
        "script 800",
        "const s = document.createElement('script'); s.src = '/script/800'; document.body.append(s)",
    ),
    (
        "module",
        "import('data:text/javascript,export default 1').then(() => get('/data/300')).then(done)",
    ),
    (
        "worker",
        "const w = new Worker(URL.createObjectURL(new Blob(['setTimeout(() => postMessage(1), 150)']))); w.onmessage = done",
    ),
    ("streamed body", "get('/stream/60').then(done)"),
    ("body not read", "fetch('/data/300').then(done)"),
    (
        "status only",
        "fetch('/data/500').then((answer) => { if (answer.ok) done() })",
    ),
    (
        "first event of a stream",
        "new EventSource('/events/200').onmessage = done",
    ),
    (
        "shadow root",
        "const host = document.getElementById('host').attachShadow({mode: 'open'}); host.innerHTML = '<p>in the shade</p>'; get('/data/400').then(done)",
    ),
    (
        "route",
        "history.pushState({}, '', location.pathname + '?step=2'); get('/data/500').then(done)",
    ),
    (
        "skeleton",
        "document.body.insertAdjacentHTML('beforeend', '<div class=skeleton aria-busy=true></div>'); get('/data/1500').then(() => { document.querySelector('.skeleton').remove(); done() })",
    ),
    (
        "style sheet 500",
        "const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = '/style/500'; l.onload = done; document.head.append(l)",
    ),
    (
        "framework",
        "document.body.insertAdjacentHTML('beforeend', '<div id=root></div>'); setTimeout(() => { get('/data/600').then(() => { document.getElementById('root').textContent = 'mounted'; done() }) }, 20)",
    ),
    (
        "observer",
        "new MutationObserver(() => get('/data/250').then(done)).observe(document.getElementById('host'), {childList: true}); setTimeout(() => document.getElementById('host').append('x'), 50)",
    ),
    (
        "visible part",
        "new IntersectionObserver((seen) => { if (seen[0].isIntersecting) get('/data/350').then(done) }).observe(document.getElementById('host'))",
    ),
    (
        "custom element",
        "customElements.define('late-part', class extends HTMLElement { connectedCallback() { get('/data/450').then(done) } }); document.body.append(document.createElement('late-part'))",
    ),
    (
        "message",
        "addEventListener('message', () => get('/data/200').then(done)); postMessage('x', '*')",
    ),
    (
        "abort then fetch",
        "const c = new AbortController(); fetch('/never/0', {signal: c.signal}).catch(() => get('/data/300').then(done)); setTimeout(() => c.abort(), 200)",
    ),
    (
        "cross frame",
        "const f = document.createElement('iframe'); f.src = '/frame/0'; f.onload = () => get('/data/200').then(done); document.body.append(f)",
    ),
];

/// What a complete page continues to do.
const ENDLESS: &[(&str, &str)] = &[
    ("nothing else", ""),
    ("one fetch", "<script>get('/data/0')</script>"),
    ("picture never", "<img src=/never/0>"),
    ("picture 3000", "<img src=/picture/3000>"),
    (
        "five pictures",
        "<img src=/picture/100><img src=/picture/200><img src=/picture/300><img src=/picture/400><img src=/picture/500>",
    ),
    (
        "five endless requests",
        "<script>for (let n = 0; n < 5; n++) get('/never/0?' + n)</script>",
    ),
    (
        "long polling",
        "<script>const poll = () => get('/data/25000').then(poll); poll()</script>",
    ),
    (
        "polling 50",
        "<script>const poll = () => get('/data/0').then(() => setTimeout(poll, 50)); poll()</script>",
    ),
    (
        "polling 500",
        "<script>setInterval(() => get('/data/0'), 500)</script>",
    ),
    (
        "polling 2000",
        "<script>setInterval(() => get('/data/0'), 2000)</script>",
    ),
    (
        "event source",
        "<script>new EventSource('/events/60000')</script>",
    ),
    (
        "beacon",
        "<script>navigator.sendBeacon('/never/0', 'x')</script>",
    ),
    (
        "worker ends",
        "<script>new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])))</script>",
    ),
    (
        "worker polls",
        "<script>new Worker(URL.createObjectURL(new Blob(['setInterval(() => fetch(`' + location.origin + '/data/0`), 300)'])))</script>",
    ),
    (
        "ticker",
        "<p id=t></p><script>setInterval(() => { t.textContent = new Date().toISOString() }, 100)</script>",
    ),
    (
        "animation",
        "<style>@keyframes turn { to { transform: rotate(1turn) } }</style><div style='animation: turn 1s infinite'>o</div>",
    ),
    (
        "frames of animation",
        "<script>const step = () => requestAnimationFrame(step); step()</script>",
    ),
    ("video", "<video src=/never/0 autoplay muted></video>"),
    (
        "font",
        "<style>@font-face { font-family: x; src: url(/never/0) }</style><p style='font-family: x, serif'>in a font</p>",
    ),
    ("advertisement", "<script async src=/never/0></script>"),
    ("preload", "<link rel=preload as=image href=/picture/4000>"),
    (
        "failing requests",
        "<script>setInterval(() => get('/failure/0'), 200)</script>",
    ),
];

/// Documents that are something else than a page and a script.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "slow document",
        "<p>First part</p><!--pause--><p>Second part</p><!--pause--><p id=p></p>DONE<script>done()</script>",
    ),
    (
        "deferred script",
        "<p id=p></p>DONE<script defer src=/script/700></script>",
    ),
    (
        "async script",
        "<p id=p></p>DONE<script async src=/script/700></script>",
    ),
    (
        "frame 600",
        "<h1>Harbour</h1><iframe src=/frame/600></iframe>",
    ),
    (
        "meta refresh",
        "<meta http-equiv=refresh content='0; url=/frame/300'>",
    ),
    (
        "moves on",
        "<p>One moment</p><script>setTimeout(() => location.replace('/frame/200'), 200)</script>",
    ),
    (
        "top level await",
        "<p id=p></p>DONE<script type=module>await get('/data/500'); done()</script>",
    ),
    (
        "written",
        "<p id=p></p>DONE<script>document.write('<script src=/script/300><\\/script>')</script>",
    ),
];

/// All pages.
pub(super) fn all() -> Vec<Case> {
    let filled = FILLED.iter().map(|(name, script)| {
        let html = format!(
            "<!doctype html><meta charset=utf-8><h1>Harbour</h1><div id=host></div><p id=p>Loading</p>{DONE}<script>{script}</script>"
        );
        (*name, html)
    });
    let endless = ENDLESS.iter().map(|(name, rest)| {
        let html = format!(
            "<!doctype html><meta charset=utf-8><h1>Harbour</h1><p id=p></p>{DONE}<script>done()</script>{rest}"
        );
        (*name, html)
    });
    let documents = DOCUMENTS.iter().map(|(name, html)| {
        (
            *name,
            format!("<!doctype html>{}", html.replace("DONE", DONE)),
        )
    });
    let cases = filled.chain(endless).chain(documents);
    cases
        .map(|(name, html)| Case {
            name,
            html,
            text: TEXT,
        })
        .collect()
}
