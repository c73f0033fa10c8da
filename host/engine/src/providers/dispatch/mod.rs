//! Turns an adapter's request into one that can be sent: its destination checked, credentials
//! filled in. No other code writes a provider's key anywhere.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use trawl_contract::provider::{Credential, Reply, Request, Task};
use trawl_model::header;
use trawl_model::secret::Secret;
use trawl_net::fetch::ACCEPTED_ENCODING;
use trawl_plugins::Grant;

use super::scrub::Scrubber;

/// Our `User-Agent` to providers.
const OWN_USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("Trawl/", env!("CARGO_PKG_VERSION")));
/// Largest body of a request: what providers accept, and enough for a page's form.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Methods that providers forward to a target.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];

/// Credentials by name.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    secrets: BTreeMap<String, Secret>,
    /// Built on first use: once per page.
    scrubber: OnceLock<Arc<Scrubber>>,
}

impl Keys {
    /// The values.
    fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.values().map(Secret::expose)
    }

    /// Finds them in a provider's replies.
    pub(super) fn scrubber(&self) -> &Arc<Scrubber> {
        self.scrubber
            .get_or_init(|| Arc::new(Scrubber::new(self.secrets())))
    }

    /// A reply of the provider without these credentials.
    pub fn scrubbed(&self, reply: Reply<'_>) -> Reply<'static> {
        let scrubber = self.scrubber();
        let body = scrubber.scrub(reply.body.into_owned().into());
        Reply {
            headers: scrubber.pairs(reply.headers),
            body: Vec::<u8>::from(body).into(),
            status: reply.status,
            elapsed_ms: reply.elapsed_ms,
        }
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.secrets.iter();
        pairs.map(|(name, secret)| (name.as_str(), secret.expose()))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(Secret::expose)
    }
}

impl FromIterator<(String, Secret)> for Keys {
    fn from_iter<T: IntoIterator<Item = (String, Secret)>>(pairs: T) -> Self {
        Self {
            secrets: pairs.into_iter().collect(),
            scrubber: OnceLock::new(),
        }
    }
}

/// Why a request is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The adapter requests something that it may not have.
    #[error("{0}")]
    Adapter(String),
    /// What the caller requests cannot be sent: a header that is too long, or a credential in the
    /// page's own URL.
    #[error("{0}")]
    Task(String),
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self::Adapter(reason)
    }
}

/// The request as it is sent, with credentials.
///
/// # Errors
/// [`Refused`]: the adapter, or the caller through it, requests something it may not have.
pub fn prepare(
    request: &Request,
    task: &Task,
    grant: &Grant,
    keys: &Keys,
) -> Result<reqwest::Request, Refused> {
    let method = Method::from_bytes(request.method.as_bytes())
        .ok()
        .filter(|method| METHODS.contains(method))
        .ok_or_else(|| format!("it requests the method `{}`", shown(&request.method)))?;
    let mut url = Url::parse(&request.url).map_err(|_| "it requests an invalid URL".to_owned())?;
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "it sends credentials in the URL, declare them under `credentials`";
        return Err(reason.to_owned().into());
    }
    if !grant.allows(&url) {
        let origin = shown(&url.origin().ascii_serialization());
        return Err(format!("it requests `{origin}`, which its `hosts` do not grant").into());
    }
    if request.body.len() > BODY_BYTES_MAX {
        let reason = format!(
            "it sends {} bytes, the limit is {BODY_BYTES_MAX}",
            request.body.len()
        );
        return Err(if task.body.len() > BODY_BYTES_MAX / 2 {
            Refused::Task(reason)
        } else {
            Refused::Adapter(reason)
        });
    }
    refuse_strays(request, task, grant, keys)?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, ACCEPTED_ENCODING);
    let of_caller = !task.headers.is_empty() || !task.cookies.is_empty();
    for (name, value) in &request.headers {
        let checked = header::check(name, value).map_err(|reason| match of_caller {
            // A header of the caller that the adapter's prefix made too long.
            true => Refused::Task(reason),
            false => Refused::Adapter(reason),
        });
        let (name, value) = checked?;
        headers.append(name, value);
    }
    for credential in &request.credentials {
        fill_in(credential, grant, keys, &mut url, &mut headers)?;
    }
    if !passes_headers(request, task) {
        headers.entry(USER_AGENT).or_insert(OWN_USER_AGENT);
    }
    let mut sent = reqwest::Request::new(method, url);
    *sent.headers_mut() = headers;
    if !request.body.is_empty() {
        *sent.body_mut() = Some(request.body.clone().into());
    }
    Ok(sent)
}

/// Whether the provider passes the headers of this request on to the target, so that a header of
/// ours would arrive there: the adapter sends the caller's as they are.
fn passes_headers(request: &Request, task: &Task) -> bool {
    let is_of_caller = |name: &str| {
        let mut names = task.headers.iter().map(|(name, _)| name);
        name.eq_ignore_ascii_case("cookie") && !task.cookies.is_empty()
            || names.any(|known| known.eq_ignore_ascii_case(name))
    };
    // These describe the request itself.
    let is_own = |name: &str| {
        name.eq_ignore_ascii_case("content-type") || name.eq_ignore_ascii_case("accept")
    };
    let mut names = request.headers.iter().map(|(name, _)| name.as_str());
    names.any(|name| !is_own(name) && is_of_caller(name))
}

/// Refuses a credential outside `credentials`: its value, or its name in braces as if it were
/// filled in there. A name in braces that the caller wrote is only text.
fn refuse_strays(
    request: &Request,
    task: &Task,
    grant: &Grant,
    keys: &Keys,
) -> Result<(), Refused> {
    let scrubber = keys.scrubber();
    let names = |bytes: &[u8]| {
        let braced = |name: &String| [format!("{{{name}}}"), format!("%7B{name}%7D")];
        let mut marks = grant.credentials.iter().flat_map(braced);
        marks.any(|mark| memchr::memmem::find(bytes, mark.as_bytes()).is_some())
    };
    let mut of_task = texts(task);
    if of_task.any(|text| scrubber.finds(text)) {
        let reason = "the requested page has a credential of the provider in it";
        return Err(Refused::Task(reason.to_owned()));
    }
    let is_named = texts(task).any(names);
    let is_stray = |bytes: &[u8]| scrubber.finds(bytes) || !is_named && names(bytes);
    let mut headers = request.headers.iter();
    let part = if is_stray(request.url.as_bytes()) {
        "URL"
    } else if is_stray(&request.body) {
        "body"
    } else if headers.any(|(name, value)| is_stray(name.as_bytes()) || is_stray(value.as_bytes())) {
        "headers"
    } else {
        return Ok(());
    };
    Err(format!(
        "it puts a credential into the {part}, credentials are only marked under `credentials`"
    )
    .into())
}

/// The parts of a task that the caller wrote.
fn texts(task: &Task) -> impl Iterator<Item = &[u8]> {
    let pairs = task.headers.iter().chain(&task.cookies);
    let pairs = pairs.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let script = task.script.iter().map(String::as_bytes);
    let selector = task.wait_for.iter().map(|wait| wait.selector.as_bytes());
    [task.url.as_bytes(), &task.body]
        .into_iter()
        .chain(pairs)
        .chain(script)
        .chain(selector)
}

fn fill_in(
    credential: &Credential,
    grant: &Grant,
    keys: &Keys,
    url: &mut Url,
    headers: &mut HeaderMap,
) -> Result<(), String> {
    let value = |name: &String| {
        if !grant.credentials.contains(name) {
            return Err(format!(
                "it requests the credential `{}`, which its `credentials` do not grant",
                shown(name)
            ));
        }
        let value = keys.get(name);
        value.ok_or_else(|| format!("there is no value for the credential `{name}`"))
    };
    match credential {
        Credential::Query(parameter, name) => {
            url.query_pairs_mut().append_pair(parameter, value(name)?);
        }
        Credential::Header(header, name) => {
            let (header, value) = header::check(header, value(name)?)
                .map_err(|_| format!("the credential `{name}` is not a valid header value"))?;
            headers.insert(header, sensitive(value));
        }
        Credential::Bearer(name) => {
            authorize(headers, &format!("Bearer {}", value(name)?), name)?;
        }
        Credential::Basic(user, password) => {
            let part = |name: &Option<String>| name.as_ref().map_or(Ok(""), value);
            let pair = format!("{}:{}", part(user)?, part(password)?);
            let shown = user.as_ref().or(password.as_ref());
            let name = shown.map_or("", String::as_str);
            authorize(headers, &format!("Basic {}", STANDARD.encode(pair)), name)?;
        }
    }
    Ok(())
}

fn authorize(headers: &mut HeaderMap, text: &str, name: &str) -> Result<(), String> {
    let value = HeaderValue::from_str(text)
        .map_err(|_| format!("the credential `{name}` is not a valid header value"))?;
    match headers.insert(AUTHORIZATION, sensitive(value)) {
        Some(_) => Err("it sets `authorization` twice".to_owned()),
        None => Ok(()),
    }
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests;
