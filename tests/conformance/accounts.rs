//! Two accounts: what one was answered with its secrets, or for itself alone, the other never sees.
//! The judge is the rule: a page is shared only if every caller would have received it.

use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::{Caller, TestApp, WatchedBrowser, World};

use crate::chromium::turn;
use crate::draw::Draw;
use crate::site::{Site, response};
use crate::trial::{Exception, Trial};
use crate::world::world;

const EXCEPTIONS: [Exception; 0] = [];

const MONEY: Nanodollars = Nanodollars(1_000_000_000_000);
/// What makes a response one for its caller alone, in many spellings.
const PRIVATE: [&str; 20] = [
    "Cache-Control: private",
    "Cache-Control: no-store",
    "Cache-Control: PRIVATE",
    "cache-control: max-age=60, private",
    "Cache-Control: max-age=60,no-store",
    "Cache-Control: \"private\"",
    "Cache-Control: private=\"x\"",
    "Cache-Control: public; private",
    "Cache-Control: max-age=60 no-store",
    "Cache-Control: public\r\nCache-Control: no-store",
    "Cache-Control:private",
    "Cache-Control: ,,private,",
    "Cache-Control: 'no-store'",
    "Set-Cookie: sid=__TOKEN__",
    "Set-Cookie: sid=__TOKEN__; Path=/\r\nCache-Control: public, max-age=600",
    "Set-Cookie: __TOKEN__",
    "Vary: *",
    "Vary: Accept, *",
    "WWW-Authenticate: NTLM",
    "WWW-Authenticate: Negotiate",
];
/// What lets a response be shared.
const PUBLIC: [&str; 6] = [
    "",
    "Cache-Control: public, max-age=600",
    "Cache-Control: max-age=600",
    "Vary: Accept-Encoding",
    "ETag: \"1\"",
    "Cache-Control: s-maxage=600",
];
/// What browsers run in a page whose part is private.
const PARTS: [&str; 4] = [
    "<p id=p></p><script>fetch('__PART__').then(it => it.text()).then(it => { p.textContent = it })</script>",
    "<p id=p></p><script>let x = new XMLHttpRequest; x.onload = () => { p.textContent = x.responseText }; x.open('GET', '__PART__'); x.send()</script>",
    "<p id=p></p><script src='__PART__?script'></script>",
    "<iframe src='__PART__'></iframe>",
];

/// Two callers of one server that keeps pages, and a site.
struct Accounts {
    app: TestApp,
    other: Caller,
    site: Site,
}

/// What the accounts send, and what the site answers.
#[derive(Debug)]
struct Visit {
    target: String,
    /// Parameters with a secret; none when the answer is what is secret.
    secrets: Value,
    secret: Option<String>,
    /// The same of the second account.
    other_secrets: Value,
    other_secret: Option<String>,
    headers: String,
    is_shared: bool,
    /// The page without what it repeats; a rendered one has a part.
    html: String,
    has_part: bool,
}

impl Accounts {
    async fn of(world: World) -> Self {
        let app = TestApp::of(world).await;
        let (_, other) = app.another("other", MONEY).await;
        Self {
            app,
            other,
            site: Site::start().await,
        }
    }

    /// Lets both callers visit, and compares what the second one sees with the rule. If that one
    /// has a secret, too, the first one looks again.
    async fn visit(&self, visit: &Visit, engine: &str, trial: &mut Trial) {
        let url = self.put(visit);
        let plain = json!({
            "url": url, "request": engine, "return_format": ["raw", "text"], "metadata": true,
            "return_headers": true, "return_cookies": true, "return_page_links": true,
        });
        let with = |secrets: &Value| {
            let mut request = plain.clone();
            let fields = request.as_object_mut().expect("an object");
            fields.extend(secrets.as_object().expect("an object").clone());
            request
        };
        let ours = self.app.page(with(&visit.secrets)).await;
        let theirs = self.other.page(with(&visit.other_secrets)).await;
        let seen = theirs.to_string();
        let tokens = tokens(&ours.to_string());
        assert!(
            !tokens.is_empty(),
            "the first account saw no answer: {ours}"
        );
        let secret = visit.secret.iter().filter(|secret| seen.contains(*secret));
        let mut leaks: Vec<String> = secret.cloned().collect();
        if !visit.is_shared || visit.secret.is_some() {
            leaks.extend(tokens.into_iter().filter(|token| seen.contains(token)));
        }
        let input = format!("{engine}: {visit:?}");
        trial.compare(
            &input,
            "the second account sees []",
            &format!("the second account sees {leaks:?}"),
        );
        let Some(secret) = &visit.other_secret else {
            return;
        };
        let before = ours.to_string();
        let again = self.app.page(plain.clone()).await.to_string();
        let own = self::tokens(&seen).into_iter();
        let own = own.filter(|token| !before.contains(token));
        let leaks: Vec<String> = own
            .chain([secret.clone()])
            .filter(|it| again.contains(it))
            .collect();
        trial.compare(
            &input,
            "the first account sees []",
            &format!("the first account sees {leaks:?}"),
        );
    }

    /// Puts the page on the site. Each answer has a token of its own and repeats the request.
    fn put(&self, visit: &Visit) -> String {
        let part = format!(
            "{}/part",
            visit.target.split(['?', '#']).next().unwrap_or_default()
        );
        let html = visit.html.replace("__PART__", &part);
        let page_headers = if visit.has_part { "" } else { &visit.headers };
        let lines = lines_of("text/html", page_headers);
        let has_part = visit.has_part;
        for (end, media_type, body) in [
            ("", "text/html", "__TOKEN__"),
            (
                "?script",
                "text/javascript",
                "document.getElementById('p').textContent = '__TOKEN__'",
            ),
        ] {
            let lines = lines_of(media_type, &visit.headers);
            self.site
                .put_made(&format!("{part}{end}"), move |_, number| {
                    let own = token(number);
                    let [lines, body] =
                        [lines.as_str(), body].map(|it| it.replace("__TOKEN__", &own));
                    response(lines.as_bytes(), body.as_bytes())
                });
        }
        let target = visit.target.split('#').next().unwrap_or_default();
        self.site.put_made(target, move |head, number| {
            let own = if has_part {
                String::new()
            } else {
                token(number)
            };
            let repeated = head.replace(['<', '&'], " ");
            let body = format!(
                "<!DOCTYPE html><title>{own}</title>{html}<pre>{repeated}</pre><p>{own}</p>"
            );
            response(
                lines.replace("__TOKEN__", &token(number)).as_bytes(),
                body.as_bytes(),
            )
        });
        self.site.url(&visit.target)
    }
}

fn lines_of(media_type: &str, headers: &str) -> String {
    let end = if headers.is_empty() { "" } else { "\r\n" };
    format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{headers}{end}")
}

/// The token of an answer.
fn token(number: u64) -> String {
    format!("token{number:06}x")
}

/// The tokens in a text.
fn tokens(text: &str) -> Vec<String> {
    let starts = text.match_indices("token").map(|(at, _)| at);
    let found = starts.filter_map(|at| text.get(at..at + 12).filter(|it| it.ends_with('x')));
    let mut tokens: Vec<String> = found.map(str::to_owned).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_see_only_what_is_shared() {
    let accounts = Accounts::of(world()).await;
    let mut trial = Trial::of("two accounts", &EXCEPTIONS);
    let mut n_visits = 0;
    while let Some(mut draw) = trial.round() {
        accounts.site.clear();
        for _ in 0..20 {
            n_visits += 1;
            let visit = visit(&mut draw, n_visits);
            let engine = draw.one(&["http", "smart"]);
            accounts.visit(&visit, engine, &mut trial).await;
        }
    }
    trial.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_see_only_what_is_shared_in_the_browser() {
    let mut world = world();
    let browser = WatchedBrowser::put(&mut world);
    let accounts = Accounts::of(world).await;
    let mut trial = Trial::of("two accounts in the browser", &EXCEPTIONS);
    let mut n_visits = 0;
    loop {
        let _turn = turn().await;
        let Some(mut draw) = trial.round() else {
            break;
        };
        accounts.site.clear();
        for _ in 0..4 {
            n_visits += 1;
            let mut visit = visit(&mut draw, n_visits);
            if !visit.is_shared && visit.secret.is_none() && draw.often(70) {
                visit.has_part = true;
                visit.html = draw.one(&PARTS).to_owned();
            }
            accounts.visit(&visit, "browser", &mut trial).await;
        }
    }
    accounts.app.app.close().await;
    browser.assert_gone().await;
    trial.close();
}

fn visit(draw: &mut Draw, number: usize) -> Visit {
    let query = draw.one(&["", "", "?q=1", "#/route", "?q=1#at"]);
    let is_shared = draw.often(40);
    let headers = if is_shared {
        draw.one(&PUBLIC)
    } else {
        draw.one(&PRIVATE)
    };
    let (secrets, secret) = match draw.often(60) {
        true => secrets(draw, number),
        false => (json!({}), None),
    };
    let (other_secrets, other_secret) = other_secrets(number);
    Visit {
        target: format!("/{number}{query}"),
        secrets,
        secret,
        other_secrets,
        other_secret,
        headers: headers.to_owned(),
        is_shared,
        html: "<p>A page for one or for all.</p>".to_owned(),
        has_part: false,
    }
}

/// The secrets of the second account, which every third visit has.
fn other_secrets(number: usize) -> (Value, Option<String>) {
    let secret = format!("other{number}y");
    match number % 6 {
        0 => (json!({"cookies": format!("sid={secret}")}), Some(secret)),
        3 => (json!({"headers": {"X-Token": secret}}), Some(secret)),
        _ => (json!({}), None),
    }
}

/// Parameters with a secret, and the secret.
fn secrets(draw: &mut Draw, number: usize) -> (Value, Option<String>) {
    let secret = format!("secret{number}x{}y", draw.below(1_000_000));
    let parameters = match draw.below(7) {
        0 => json!({"cookies": format!("sid={secret}")}),
        1 => json!({"headers": {"Authorization": format!("Bearer {secret}")}}),
        2 => json!({"headers": {"X-Token": secret}}),
        3 => json!({"headers": {"cookie": format!("sid={secret}")}}),
        4 => json!({"user_agent": format!("Mozilla/5.0 {secret}")}),
        5 => json!({"headers": {"Accept": format!("text/html, text/{secret}")}}),
        _ => json!({"cookies": [{"name": "sid", "value": secret}]}),
    };
    (parameters, Some(secret))
}
