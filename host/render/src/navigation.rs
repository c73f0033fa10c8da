//! The navigations of a page's main frame: the one whose document is shown, and the one that has
//! begun. What becomes of the second, a download for example, leaves the first as it is.

use url::Url;

use trawl_model::Hop;

/// Redirects that are remembered of all documents that led to the one that is shown: browsers
/// follow 20 for each.
const REDIRECTS_MAX: usize = 100;
/// Hosts of those documents that are remembered.
const HOSTS_MAX: usize = 100;

/// What led to a document: the documents before it, and redirects.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// The hosts that were requested, each once.
    pub(super) hosts: Vec<String>,
    pub(super) redirects: Vec<Hop>,
}

impl Way {
    fn visit(&mut self, url: &str, redirect: Option<u16>) {
        if redirect.is_some() && self.redirects.len() < REDIRECTS_MAX {
            self.redirects.push(Hop {
                status: redirect,
                to: url.to_owned(),
            });
        }
        if let Ok(url) = Url::parse(url) {
            self.add_host(url.host_str().unwrap_or_default());
        }
    }

    fn add_host(&mut self, host: &str) {
        if self.hosts.len() < HOSTS_MAX && self.hosts.iter().all(|known| known != host) {
            self.hosts.push(host.to_owned());
        }
    }

    /// The way to a document that this one led to.
    fn followed_by(mut self, next: Self) -> Self {
        for host in next.hosts {
            self.add_host(&host);
        }
        let room = REDIRECTS_MAX.saturating_sub(self.redirects.len());
        self.redirects.extend(next.redirects.into_iter().take(room));
        self
    }
}

/// The main document's response.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Document {
    /// Whether a challenge may answer like this: with a refusal, or marked by a header.
    pub(super) fn may_be_challenge(&self) -> bool {
        matches!(self.status, 202 | 403 | 405 | 406 | 429 | 503)
            || self
                .headers
                .iter()
                .any(|(name, _)| name.ends_with("-mitigated") || name == "x-amzn-waf-action")
    }
}

/// Whether the `Content-Security-Policy` among these headers has a `sandbox` without
/// `allow-scripts`: not even timers run in the document.
fn forbid_scripts(headers: &[(String, String)]) -> bool {
    let policies = headers.iter();
    let policies = policies.filter(|(name, _)| name == "content-security-policy");
    let mut directives = policies.flat_map(|(_, value)| value.split([';', ',']));
    directives.any(|directive| {
        let mut words = directive.split_ascii_whitespace();
        let is_sandbox = words
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("sandbox"));
        is_sandbox && !words.any(|flag| flag.eq_ignore_ascii_case("allow-scripts"))
    })
}

/// One navigation.
#[derive(Debug)]
struct Navigation {
    request: String,
    response: Option<Document>,
    /// The headers of the last answer as they came; every redirect has its own.
    headers: Option<Vec<(String, String)>>,
    /// The status of that answer.
    status: Option<u16>,
    /// Bytes of the body so far.
    bytes: u64,
    /// What led to it; that to the document before it is added when it is shown.
    way: Way,
}

/// The status of an answer about a copy of the page, of which the browser says nothing else.
pub(super) const NOT_MODIFIED: u16 = 304;

impl Navigation {
    fn new(request: String) -> Self {
        Self {
            request,
            response: None,
            headers: None,
            status: None,
            bytes: 0,
            way: Way::default(),
        }
    }

    fn document(&self) -> Option<Document> {
        let not_modified = self.status.filter(|status| *status == NOT_MODIFIED);
        let mut document = match (&self.response, not_modified) {
            (Some(response), _) => response.clone(),
            (None, Some(status)) => Document {
                request: self.request.clone(),
                status,
                ..Document::default()
            },
            (None, None) => return None,
        };
        if let Some(headers) = &self.headers {
            document.headers.clone_from(headers);
        }
        Some(document)
    }

    /// The headers of [`Self::document`]: the raw ones if they are known. None without an answer.
    fn document_headers(&self) -> &[(String, String)] {
        let of_response = self.response.as_ref().map(|response| &response.headers);
        let headers = self.headers.as_ref().or(of_response);
        headers.map(Vec::as_slice).unwrap_or_default()
    }
}

/// The navigations of a page.
#[derive(Debug, Default)]
pub(super) struct Navigations {
    shown: Option<Navigation>,
    /// The last one that has begun and is not shown: it may never be.
    begun: Option<Navigation>,
    /// The request of the document that the main frame has; none of the network's for a blank one.
    committed: Option<String>,
}

impl Navigations {
    /// A main document is requested at this URL; after a redirect of this status, again.
    pub(super) fn request(&mut self, request: &str, url: &str, redirect: Option<u16>) {
        self.begin(request);
        if let Some(navigation) = self.find(request) {
            navigation.way.visit(url, redirect);
        }
    }

    fn begin(&mut self, request: &str) {
        if self.find(request).is_none() {
            self.begun = Some(Navigation::new(request.to_owned()));
            self.settle();
        }
    }

    /// The response to a main document's request.
    pub(super) fn respond(&mut self, response: Document) {
        self.begin(&response.request);
        if let Some(navigation) = self.find(&response.request) {
            navigation.response = Some(response);
        }
    }

    /// The raw headers of an answer to this request, if it is a navigation's.
    pub(super) fn headers(&mut self, request: &str, headers: impl Fn() -> Vec<(String, String)>) {
        if let Some(navigation) = self.find(request) {
            navigation.headers = Some(headers());
        }
    }

    /// The status of an answer to this request, if it is a navigation's.
    pub(super) fn status(&mut self, request: &str, status: Option<u16>) {
        if let Some(navigation) = self.find(request) {
            navigation.status = status;
        }
    }

    /// More of the body arrived.
    pub(super) fn grow(&mut self, request: &str, bytes: u64) {
        if let Some(navigation) = self.find(request) {
            navigation.bytes = navigation.bytes.saturating_add(bytes);
        }
    }

    /// The main frame shows the document of this request.
    pub(super) fn commit(&mut self, request: Option<String>) {
        self.committed = request;
        self.settle();
    }

    /// The request of the document that the main frame has.
    pub(super) fn committed(&self) -> Option<&str> {
        self.committed.as_deref()
    }

    /// Whether the main frame shows the document of this request.
    pub(super) fn is_committed(&self, request: &str) -> bool {
        self.committed() == Some(request)
    }

    /// The document that is shown, with its raw headers if they are known.
    pub(super) fn document(&self) -> Option<Document> {
        self.shown.as_ref()?.document()
    }

    /// Whether the document that is shown runs no scripts, by its `Content-Security-Policy`.
    pub(super) fn runs_no_scripts(&self) -> bool {
        let shown = self.shown.as_ref();
        shown.is_some_and(|shown| forbid_scripts(shown.document_headers()))
    }

    /// What led to the document that is shown, or to the first one while none is.
    pub(super) fn way(&self) -> Way {
        let navigation = self.shown.as_ref().or(self.begun.as_ref());
        navigation.map_or_else(Way::default, |navigation| navigation.way.clone())
    }

    /// Bytes of the body of the document that is shown.
    pub(super) fn document_bytes(&self) -> u64 {
        self.shown.as_ref().map_or(0, |shown| shown.bytes)
    }

    /// The response of a navigation that is not shown.
    pub(super) fn not_shown(&self) -> Option<Document> {
        self.begun.as_ref()?.document()
    }

    /// Whether the site responded to the last request of a main document, displayed or not.
    pub(super) fn has_response(&self) -> bool {
        let last = self.begun.as_ref().or(self.shown.as_ref());
        last.is_some_and(|last| last.headers.is_some())
    }

    fn find(&mut self, request: &str) -> Option<&mut Navigation> {
        let mut both = [&mut self.begun, &mut self.shown].into_iter().flatten();
        both.find(|found| found.request == request)
    }

    /// What has begun and is committed is shown.
    fn settle(&mut self) {
        let committed = self.committed.as_deref();
        let begun = &mut self.begun;
        if let Some(mut shown) = begun.take_if(|begun| committed == Some(&*begun.request)) {
            let before = self.shown.take().map_or_else(Way::default, |last| last.way);
            shown.way = before.followed_by(shown.way);
            self.shown = Some(shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(request: &str, status: u16) -> Document {
        Document {
            request: request.to_owned(),
            status,
            ..Document::default()
        }
    }

    fn header(name: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), String::new())]
    }

    /// A page whose document is shown.
    fn shown() -> Navigations {
        let mut all = Navigations::default();
        all.begin("page");
        all.headers("page", || header("x-page"));
        all.respond(response("page", 200));
        all.commit(Some("page".to_owned()));
        all.grow("page", 7);
        all
    }

    #[test]
    fn a_download_leaves_the_document_as_it_is() {
        let mut all = shown();
        all.begin("file");
        all.headers("file", || header("x-file"));
        all.grow("file", 1_000);
        all.respond(response("file", 206));
        let document = all.document().expect("a document");
        assert_eq!((document.status, all.document_bytes()), (200, 7));
        assert_eq!(document.headers, header("x-page"));
        assert_eq!(all.not_shown().map(|found| found.status), Some(206));
        assert!(all.has_response());
        // The rest of the document may arrive after the download has begun.
        all.grow("page", 3);
        assert_eq!(all.document_bytes(), 10);
    }

    #[test]
    fn a_document_is_shown_in_whatever_order_its_events_come() {
        let mut all = shown();
        all.begin("next");
        all.commit(Some("next".to_owned()));
        assert!(all.is_committed("next") && all.document().is_none());
        all.respond(response("next", 404));
        all.headers("next", || header("x-next"));
        let document = all.document().expect("a document");
        assert_eq!((document.status, document.headers), (404, header("x-next")));
        let mut late = shown();
        late.commit(Some("late".to_owned()));
        late.respond(response("late", 201));
        assert_eq!(late.document().map(|found| found.status), Some(201));
    }

    #[test]
    fn a_blank_document_has_the_response_of_the_one_before() {
        let mut all = shown();
        all.commit(None);
        assert_eq!(all.document().map(|found| found.status), Some(200));
        assert!(!all.is_committed("page"));
    }

    #[test]
    fn only_what_led_to_the_document_is_its_way() {
        let mut all = Navigations::default();
        all.request("page", "http://a.example/", None);
        all.request("page", "http://b.example/", Some(301));
        assert_eq!(all.way().redirects.len(), 1, "it may show nothing");
        all.commit(Some("page".to_owned()));
        all.request("file", "http://files.example/", None);
        all.request("file", "http://mirror.example/", Some(302));
        let way = all.way();
        assert_eq!(way.hosts, ["a.example", "b.example"]);
        all.request("next", "http://b.example/next", None);
        all.request("next", "http://c.example/", Some(307));
        all.commit(Some("next".to_owned()));
        let way = all.way();
        assert_eq!(way.hosts, ["a.example", "b.example", "c.example"]);
        let hops = way
            .redirects
            .iter()
            .map(|hop| (hop.status, hop.to.as_str()));
        let expected = [
            (Some(301), "http://b.example/"),
            (Some(307), "http://c.example/"),
        ];
        assert_eq!(hops.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_sandboxed_document_runs_no_scripts_by_its_raw_headers() {
        let policy = |value: &str| {
            let name = "content-security-policy".to_owned();
            vec![(name, value.to_owned())]
        };
        for (value, expected) in [
            ("default-src 'self'", false),
            ("default-src 'self'; Sandbox", true),
            ("sandbox allow-forms allow-scripts", false),
        ] {
            let mut all = Navigations::default();
            assert!(!all.runs_no_scripts(), "nothing is shown");
            all.commit(Some("page".to_owned()));
            all.respond(Document {
                headers: policy(value),
                ..response("page", 200)
            });
            assert_eq!(all.runs_no_scripts(), expected, "{value}");
            all.headers("page", || policy("sandbox"));
            assert!(all.runs_no_scripts(), "the raw headers count");
        }
    }

    #[test]
    fn a_way_is_bounded() {
        let mut all = Navigations::default();
        for number in 0..3 * REDIRECTS_MAX {
            let (request, url) = (
                format!("page{}", number / 60),
                format!("http://h{number}.example/"),
            );
            all.request(&request, &url, Some(302));
            if number % 60 == 59 {
                all.commit(Some(request));
            }
        }
        let way = all.way();
        assert_eq!(way.redirects.len(), REDIRECTS_MAX);
        assert_eq!(way.hosts.len(), HOSTS_MAX);
    }

    #[test]
    fn redirects_have_the_headers_of_the_last() {
        let mut all = Navigations::default();
        assert!(!all.has_response());
        for name in ["x-first", "x-last"] {
            all.begin("page");
            all.headers("page", || header(name));
        }
        all.respond(response("page", 200));
        all.commit(Some("page".to_owned()));
        let document = all.document().expect("a document");
        assert_eq!(document.headers, header("x-last"));
    }
}
