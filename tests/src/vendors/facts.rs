//! Replies: their forms, filled with the facts of a request and of its page.

use serde_json::{Map, Value, json};
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::description::{Outcome, Price, Reply, When};
use super::place::Input;
use super::{Answered, Asked, IMAGE, Target, TargetPage, TargetRequest, to_base64};

/// Most bytes of a page in a reply in JSON, where a vendor has such a limit.
const JSON_BYTES_MAX: usize = 5_000_000;

/// The facts of a request and of its page.
pub(super) struct Facts<'a> {
    pub(super) asked: &'a Asked,
    pub(super) request: TargetRequest,
    pub(super) page: TargetPage,
    pub(super) price: &'static Price,
    /// Number of the run.
    pub(super) run: usize,
    /// Why the vendor refuses.
    pub(super) reason: String,
}

impl<'a> Facts<'a> {
    /// Those of a request that is not read yet.
    pub(super) fn new(asked: &'a Asked, price: &'static Price) -> Self {
        Self {
            asked,
            request: TargetRequest::default(),
            page: TargetPage::default(),
            price,
            run: 0,
            reason: String::new(),
        }
    }

    /// Fetches the page.
    pub(super) fn fetch(&mut self) -> Outcome {
        match Target::of(&self.request) {
            Target::Page(page) => {
                self.page = page;
                Outcome::Page
            }
            Target::Blocked => Outcome::Blocked,
            Target::Unreachable => Outcome::Unreachable,
            Target::Slow => Outcome::Slow,
            Target::VendorDown => Outcome::VendorDown,
            Target::Garbage => Outcome::Garbage,
            Target::Refused => Outcome::Refused,
        }
    }

    /// Whether the conditions of a reply hold.
    pub(super) fn fit(&self, when: &When) -> bool {
        let is = |expected: Option<bool>, actual: bool| expected.is_none_or(|it| it == actual);
        let statuses = when.statuses.as_ref();
        is(when.javascript, self.request.javascript)
            && is(when.screenshot, self.request.screenshot.is_some())
            && is(when.large, self.page.body.len() > JSON_BYTES_MAX)
            && is(when.html, self.is_html())
            && is(when.text, std::str::from_utf8(&self.page.body).is_ok())
            && statuses.is_none_or(|statuses| statuses.contains(&self.page.status))
            && self.fit_sent(when)
    }

    /// Whether the conditions on what was sent hold.
    fn fit_sent(&self, when: &When) -> bool {
        let body = self.asked.json();
        let asked = self.asked;
        let input = Input { asked, body: &body };
        let status = self.page.status;
        let (sent, accepted) = (when.sent.as_ref(), when.accepted.as_ref());
        sent.is_none_or(|place| place.holds(input))
            && accepted.is_none_or(|place| status < 400 || place.lists(input, status))
    }

    fn is_html(&self) -> bool {
        let media = self.page.header("content-type").split(';').next();
        media.is_some_and(|media| media.trim() == "text/html")
    }

    /// The reply of this form.
    pub(super) fn answered(&self, reply: &Reply) -> Answered {
        let status = reply.status.as_ref().map(|status| self.filled(status));
        let status = status.map_or(Some(200), |status| status.as_u64());
        let status = status.and_then(|status| u16::try_from(status).ok());
        let (media, body) = match (&reply.json, &reply.text) {
            (Some(form), _) => {
                let json = self.filled(form).to_string();
                ("application/json", json.into_bytes())
            }
            (None, Some(form)) => ("text/plain", self.text(form).into_bytes()),
            (None, None) => (self.page.header("content-type"), self.page.body.clone()),
        };
        let own = reply.media.as_deref().map(|form| self.text(form));
        let media = own.as_deref().unwrap_or(media);
        let mut answered = Answered::new(status.expect("a status"), media, body);
        for (name, form) in &reply.headers {
            answered = answered.header(name, self.text(form));
        }
        if let Some(passed) = &reply.pass {
            for (name, value) in &self.page.headers {
                if !passed.except.contains(name) {
                    answered = answered.header(&format!("{}{name}", passed.prefix), value);
                }
            }
        }
        answered
    }

    /// JSON with `{fact}` replaced: by its value where it is a whole text, otherwise by its text.
    fn filled(&self, form: &Value) -> Value {
        match form {
            Value::String(text) => {
                let name = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
                match name {
                    Some(name) if !name.contains('{') => self.value(name),
                    _ => Value::from(self.text(text)),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(members) => {
                let members = members.iter();
                let filled = members.map(|(name, form)| (name.clone(), self.filled(form)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, form: &str) -> String {
        let mut parts = form.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').expect("the end of a fact");
            match self.value(name) {
                Value::String(value) => text += &value,
                other => text += &other.to_string(),
            }
            text += rest;
        }
        text
    }

    fn value(&self, fact: &str) -> Value {
        let Self { request, page, .. } = self;
        match fact {
            "origin" => json!(self.asked.origin),
            "run" => json!(self.run),
            "reason" => json!(self.reason),
            "credits" => json!(self.price.credits(request, page)),
            "url" => json!(request.url),
            "url_in_query" => json!(byte_serialize(request.url.as_bytes()).collect::<String>()),
            "method" => json!(request.method),
            "host" => json!(host(&request.url)),
            "screenshot" => json!(request.screenshot.map(|_| to_base64(&IMAGE))),
            "status" => json!(page.status),
            "final_url" => json!(page.url),
            "type" => json!(page.header("content-type")),
            "x_target" => json!(page.header("x-target")),
            "text" => json!(page.text()),
            "content" => {
                // A page of JSON is a value of its own.
                let is_json = page.header("content-type").contains("json");
                let parsed = is_json.then(|| serde_json::from_slice(&page.body).ok());
                parsed.flatten().unwrap_or_else(|| json!(page.text()))
            }
            "base64" => json!(to_base64(&page.body)),
            "headers" => {
                let headers = page.headers.iter();
                let headers = headers.map(|(name, value)| json!({"name": name, "value": value}));
                headers.collect()
            }
            "header_object" => self.header_object().into(),
            "header_lists" => {
                let mut object = self.header_object();
                let lines = page.headers.iter().filter(|(name, _)| name == "set-cookie");
                object.insert(
                    "set-cookie".to_owned(),
                    lines.map(|(_, line)| json!(line)).collect(),
                );
                object.into()
            }
            "cookies" => {
                let host = host(&request.url);
                let cookie = |(name, value): &(String, String)| json!({"name": name, "value": value, "domain": host, "path": "/"});
                page.cookies().iter().map(cookie).collect()
            }
            "cookie_keys" => {
                let cookie =
                    |(name, value): &(String, String)| json!({"key": name, "value": value});
                page.cookies().iter().map(cookie).collect()
            }
            "cookie_line" => {
                let cookies = page.cookies();
                let cookies = cookies
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"));
                json!(cookies.collect::<Vec<_>>().join("; "))
            }
            other => panic!("`{other}` is not a fact"),
        }
    }

    /// The headers of the page without its cookies.
    fn header_object(&self) -> Map<String, Value> {
        let headers = self.page.headers.iter();
        let headers = headers.filter(|(name, _)| name != "set-cookie");
        headers
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect()
    }
}

fn host(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or_default().to_owned()
}

impl Price {
    /// Credits that a page costs; 0 if the vendor does not report them.
    fn credits(&self, request: &TargetRequest, page: &TargetPage) -> u64 {
        let kind = 2 * usize::from(request.residential) + usize::from(request.javascript);
        if self.unit.is_none() || self.free.contains(&page.status) {
            return 0;
        }
        let (included, step) = self.bytes.unwrap_or((usize::MAX, 1));
        let more = page.body.len().saturating_sub(included).div_ceil(step);
        let credits: u64 = self.by_kind[kind].parse().expect("a number of credits");
        credits + more as u64
    }
}
