//! The caller's cookies. They are in the browser's own jar, where the site can renew and delete
//! them, but only the page's own origin gets them: they are bound to its port, and taken out before
//! the page leaves, since a jar sends them again when it returns. Decision D382.
//!
//! A jar that binds cookies to ports is a feature of Chromium that a flag turns on. Of a browser
//! without it, requests to other ports lose them where they are seen: those of the page, its frames
//! and its workers, not prefetches by speculation rules and early hints, nor WebSockets over a
//! connection that is open already.

use std::sync::OnceLock;

use chromiumoxide::cdp::browser_protocol::network::{
    Cookie, CookieParam, CookieSameSite, DeleteCookiesParams, GetCookiesParams, SetCookiesParams,
    TimeSinceEpoch,
};
use serde_json::{Map, Value};
use url::Url;

use trawl_net::egress::KeptCookies;
use trawl_plan::FetchPlan;

use super::cdp::{CallError, Connection};

/// The header, as a name.
pub(super) const COOKIE: &str = "cookie";

/// Most cookies of a caller: the browser's jar holds no more of one host.
const COOKIES_MAX: usize = 180;

/// The caller's cookies for one page.
#[derive(Debug, Default)]
pub(super) struct CallerCookies {
    /// Each name once.
    pairs: Vec<(String, String)>,
    /// Those that the browser's jar does not take, such as `__Secure-…` for an `http` page. They
    /// are sent as headers are.
    untaken: OnceLock<Vec<(String, String)>>,
    /// Those that the page's proxy keeps out of WebSockets to other ports.
    kept: KeptCookies,
}

impl CallerCookies {
    /// Those of `cookies`, and those of a header `Cookie` that are not named there.
    pub(super) fn of(fetch: &FetchPlan) -> Self {
        let mut pairs = fetch.cookies.clone();
        let headers = fetch.headers.iter().filter(|(name, _)| name == COOKIE);
        for (_, value) in headers {
            let line = String::from_utf8_lossy(value.as_bytes());
            pairs.extend(pairs_of(&line).map(|pair| match pair.split_once('=') {
                Some((name, value)) => (name.trim_end().to_owned(), value.trim_start().to_owned()),
                None => (String::new(), pair.to_owned()),
            }));
        }
        let mut own: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs.into_iter().take(COOKIES_MAX) {
            if own.iter().all(|(known, _)| *known != name) {
                own.push((name, value));
            }
        }
        Self {
            pairs: own,
            untaken: OnceLock::new(),
            kept: KeptCookies::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Has the page's proxy keep them out of WebSockets to other ports of its host, which the
    /// protocol has no way to change.
    pub(super) fn kept_by(&mut self, proxy: KeptCookies, home: &Url) {
        let pairs = self.pairs.iter().map(|(name, value)| pair(name, value));
        proxy.keep(home, pairs.collect());
        self.kept = proxy;
    }

    /// The cookies for the browser's jar, as those of this page.
    pub(super) fn for_jar(&self, url: &Url) -> Vec<CookieParam> {
        let cookies = self.pairs.iter().map(|(name, value)| {
            let mut cookie = CookieParam::new(name.as_str(), value.as_str());
            cookie.url = Some(url.to_string());
            cookie.path = Some("/".to_owned());
            cookie.secure = Some(url.scheme() == "https");
            // Not for pages of other sites that this one leads to or embeds.
            cookie.same_site = Some(CookieSameSite::Strict);
            // Nor for scripts of others in this one: session cookies are not, at their site.
            cookie.http_only = Some(true);
            cookie.source_port = port(url);
            cookie
        });
        cookies.collect()
    }

    /// Notes which of them the browser's jar did not take.
    pub(super) fn set_untaken(&self, untaken: Vec<(String, String)>) {
        let _once = self.untaken.set(untaken);
    }

    /// Whether a cookie of the browser's jar is the caller's, neither renewed nor replaced.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|(own, text)| own == name && text == value)
    }

    /// The `Cookie` header of a request to the page's origin that carries headers, if it is not
    /// what the browser sends: the jar's cookies, then those that it did not take.
    pub(super) fn completed(&self, present: Option<&str>) -> Option<String> {
        let untaken = self.untaken.get().filter(|untaken| !untaken.is_empty())?;
        let present: Vec<&str> = pairs_of(present.unwrap_or_default()).collect();
        let is_known = |name: &str| present.iter().any(|pair| name_of(pair) == name);
        let more = untaken.iter().filter(|(name, _)| !is_known(name));
        let more = more.map(|(name, value)| pair(name, value));
        let all = present.iter().map(|&pair| pair.to_owned()).chain(more);
        Some(all.collect::<Vec<_>>().join("; "))
    }

    /// The `Cookie` header of a request to another origin, if it is not what the browser sends:
    /// without the caller's cookies. It may be empty, since the browser writes one that is missing.
    pub(super) fn removed(&self, present: Option<&str>) -> Option<String> {
        let present = present?;
        let is_own = |text: &&str| {
            let mut pairs = self.pairs.iter();
            pairs.any(|(name, value)| pair(name, value) == *text)
        };
        let (own, kept): (Vec<&str>, Vec<&str>) = pairs_of(present).partition(is_own);
        (!own.is_empty()).then(|| kept.join("; "))
    }

    /// Has the upgrade of a page to `https` get the cookies that the jar has for the page and its
    /// port; of the caller's it alone has them from now on. Returns all of them as they stand in a
    /// header.
    ///
    /// # Errors
    /// [`CallError`]: some may be missing.
    pub(super) async fn upgrade(
        &self,
        connection: &Connection,
        session: &str,
        home: &Url,
        upgrade: &Url,
    ) -> Result<Vec<String>, CallError> {
        let mut pairs = Vec::new();
        for cookie in cookies_of(connection, session, home).await? {
            // Those of a domain are for all of its ports.
            if cookie.domain.starts_with('.') {
                continue;
            }
            if self.has(&cookie.name, &cookie.value) {
                delete(connection, session, &cookie).await?;
            }
            let pair = pair(&cookie.name, &cookie.value);
            let copy = SetCookiesParams::new(vec![copy(cookie, upgrade)]);
            match connection.call(Some(session), copy).await {
                Ok(_) => pairs.push(pair),
                Err(CallError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(pairs)
    }

    /// Takes them out of the browser's jar, but for those that the site has renewed or replaced.
    ///
    /// # Errors
    /// [`CallError`]: they may be in it still.
    pub(super) async fn leave(
        &self,
        connection: &Connection,
        session: &str,
        home: &Url,
    ) -> Result<(), CallError> {
        for cookie in cookies_of(connection, session, home).await? {
            if self.has(&cookie.name, &cookie.value) {
                delete(connection, session, &cookie).await?;
            }
        }
        // From now on what it has is the site's.
        self.kept.release();
        Ok(())
    }
}

/// Adds cookies to the `Cookie` header among those of a request, unless they are in it.
pub(super) fn add_cookies(headers: &mut Option<Map<String, Value>>, cookies: &[String]) {
    if cookies.is_empty() {
        return;
    }
    let headers = headers.get_or_insert_default();
    let mut names = headers.keys();
    let name = names.find(|name| name.eq_ignore_ascii_case(COOKIE));
    let name = name.cloned().unwrap_or_else(|| COOKIE.to_owned());
    let present = headers.get(&name).and_then(Value::as_str);
    let present: Vec<&str> = pairs_of(present.unwrap_or_default()).collect();
    let more = cookies.iter().map(String::as_str);
    let more = more.filter(|pair| !present.contains(pair));
    let all: Vec<&str> = present.iter().copied().chain(more).collect();
    let line = Value::from(all.join("; "));
    headers.insert(name, line);
}

/// The cookies that the browser's jar has for a URL.
async fn cookies_of(
    connection: &Connection,
    session: &str,
    url: &Url,
) -> Result<Vec<Cookie>, CallError> {
    let params = GetCookiesParams {
        urls: Some(vec![url.to_string()]),
    };
    Ok(connection.call(Some(session), params).await?.cookies)
}

/// Takes a cookie out of the browser's jar, for all ports.
async fn delete(connection: &Connection, session: &str, cookie: &Cookie) -> Result<(), CallError> {
    let mut params = DeleteCookiesParams::new(cookie.name.as_str());
    params.domain = Some(cookie.domain.clone());
    params.path = Some(cookie.path.clone());
    connection.call(Some(session), params).await?;
    Ok(())
}

/// A cookie as that of another port and scheme of its host.
fn copy(cookie: Cookie, url: &Url) -> CookieParam {
    let mut copy = CookieParam::new(cookie.name, cookie.value);
    copy.url = Some(url.to_string());
    copy.path = Some(cookie.path);
    copy.http_only = Some(cookie.http_only);
    copy.same_site = cookie.same_site;
    copy.expires = (!cookie.session).then(|| TimeSinceEpoch::new(cookie.expires));
    copy.source_port = port(url);
    copy
}

/// The port that a cookie of this URL is bound to.
fn port(url: &Url) -> Option<i64> {
    url.port_or_known_default().map(i64::from)
}

/// The pairs of a `Cookie` header.
fn pairs_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(';')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or("", |(name, _)| name)
}

/// A cookie as it is written in a header.
fn pair(name: &str, value: &str) -> String {
    match name {
        "" => value.to_owned(),
        name => format!("{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

    use super::*;

    fn cookies(cookies: &[(&str, &str)], header: Option<&str>) -> CallerCookies {
        let mut fetch = FetchPlan::bare(Duration::from_secs(1));
        let pairs = cookies.iter();
        fetch.cookies = pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        if let Some(line) = header {
            let name = COOKIE.parse().expect("a header name");
            let value = line.parse().expect("a header value");
            fetch.headers.push((name, value));
        }
        CallerCookies::of(&fetch)
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn those_of_a_header_are_cookies_too() {
        let own = cookies(&[("a", "1"), ("b", "2")], Some("b=3; c = 4=5 ;flag;; d="));
        let jar = own.for_jar(&url("https://a.example/x/y"));
        let pairs: Vec<(&str, &str)> = jar
            .iter()
            .map(|cookie| (cookie.name.as_str(), cookie.value.as_str()))
            .collect();
        let expected = [
            ("a", "1"),
            ("b", "2"),
            ("c", "4=5"),
            ("", "flag"),
            ("d", ""),
        ];
        assert_eq!(pairs, expected);
        for cookie in &jar {
            assert_eq!(cookie.http_only, Some(true));
            assert_eq!(cookie.secure, Some(true));
            assert_eq!(cookie.path.as_deref(), Some("/"));
            assert_eq!(cookie.same_site, Some(CookieSameSite::Strict));
            assert_eq!(cookie.source_port, Some(443));
        }
        let plain = own.for_jar(&url("http://a.example:8080/"));
        for cookie in &plain {
            assert_eq!(cookie.secure, Some(false));
            assert_eq!(cookie.source_port, Some(8_080));
        }
    }

    #[test]
    fn other_origins_get_the_cookies_of_the_site_alone() {
        let own = cookies(&[("sid", "secret"), ("", "flag")], None);
        for (present, sent) in [
            (Some("sid=secret"), Some("")),
            (Some("s=1; sid=secret; t=2"), Some("s=1; t=2")),
            (Some("s=1; flag"), Some("s=1")),
            // The site's own.
            (Some("sid=renewed"), None),
            (Some("s=1"), None),
            (None, None),
        ] {
            assert_eq!(own.removed(present).as_deref(), sent, "{present:?}");
        }
    }

    #[test]
    fn what_the_jar_does_not_take_is_added() {
        let own = cookies(&[("__Secure-a", "1"), ("b", "2")], None);
        assert_eq!(own.completed(Some("b=2")), None);
        own.set_untaken(vec![("__Secure-a".to_owned(), "1".to_owned())]);
        for (present, sent) in [
            (None, "__Secure-a=1"),
            (Some("b=2"), "b=2; __Secure-a=1"),
            (Some("__Secure-a=new; b=2"), "__Secure-a=new; b=2"),
        ] {
            assert_eq!(own.completed(present).as_deref(), Some(sent));
        }
    }

    #[test]
    fn only_unchanged_cookies_are_the_callers() {
        let own = cookies(&[("sid", "secret")], None);
        assert!(own.has("sid", "secret"));
        assert!(!own.has("sid", "renewed") && !own.has("other", "secret"));
    }
    /// A cookie of `a.example` as the browser lists it.
    fn listed(name: &str, value: &str, domain: &str) -> Value {
        json!({"name": name, "value": value, "domain": domain, "path": "/", "expires": -1,
            "size": 1, "httpOnly": true, "secure": false, "session": true, "sameSite": "Strict",
            "priority": "Medium", "sourceScheme": "NonSecure", "sourcePort": 80})
    }

    /// Answers the commands of a connection, with these cookies where they are asked for, and
    /// returns them when it is closed.
    async fn answering(browser: DuplexStream, cookies: Value) -> Vec<Value> {
        let (output, mut input) = tokio::io::split(browser);
        let mut output = BufReader::new(output);
        let mut commands = Vec::new();
        loop {
            let mut command = Vec::new();
            let _closed = output.read_until(0, &mut command).await;
            let Some(text) = command.strip_suffix(b"\0") else {
                return commands;
            };
            let command: Value = serde_json::from_slice(text).expect("JSON");
            let result = match command["method"].as_str() {
                Some("Network.getCookies") => json!({ "cookies": cookies }),
                _ => json!({}),
            };
            let answer = json!({"id": command["id"], "result": result});
            let answer = [answer.to_string().as_bytes(), &[0]].concat();
            input.write_all(&answer).await.expect("a reader");
            commands.push(command);
        }
    }

    #[tokio::test]
    async fn an_upgrade_takes_the_cookies_of_its_port_along() {
        let own = cookies(&[("sid", "secret")], None);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (output, input) = tokio::io::split(ours);
        let connection = Connection::open(input, output);
        let jar = json!([
            listed("sid", "secret", "a.example"),
            listed("s", "1", "a.example"),
            listed("all", "2", ".a.example"),
        ]);
        let browser = tokio::spawn(answering(theirs, jar));
        let (home, upgrade) = (url("http://a.example/"), url("https://a.example/x"));
        let moved = own.upgrade(&connection, "s", &home, &upgrade).await;
        assert_eq!(moved.expect("answers"), ["sid=secret", "s=1"]);
        drop(connection);
        let commands = browser.await.expect("no panic");
        let sent: Vec<_> = commands
            .iter()
            .map(|command| {
                let params = &command["params"];
                let cookie = params["cookies"].get(0).unwrap_or(params);
                let port = cookie["sourcePort"].as_i64();
                (command["method"].as_str(), cookie["name"].as_str(), port)
            })
            .collect();
        let expected = [
            (Some("Network.getCookies"), None, None),
            (Some("Network.deleteCookies"), Some("sid"), None),
            (Some("Network.setCookies"), Some("sid"), Some(443)),
            (Some("Network.setCookies"), Some("s"), Some(443)),
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn cookies_are_added_to_a_header_once() {
        let moved = ["a=1".to_owned(), "b=2".to_owned()];
        for (present, all) in [
            (json!({}), json!({"cookie": "a=1; b=2"})),
            (
                json!({"Cookie": "c=3; a=1"}),
                json!({"Cookie": "c=3; a=1; b=2"}),
            ),
        ] {
            let mut headers = present.as_object().cloned();
            add_cookies(&mut headers, &moved);
            assert_eq!(headers, all.as_object().cloned());
        }
        let mut headers = None;
        add_cookies(&mut headers, &[]);
        assert_eq!(headers, None);
    }
}
