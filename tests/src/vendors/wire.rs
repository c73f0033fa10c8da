//! Requests for pages: what the caller wants of the target, and what the vendor refuses.

use serde_json::Value;
use url::{Host, Url};

use super::description::Wire;
use super::kind::parsed;
use super::place::{Input, Source};
use super::{Asked, TargetRequest, cookies_of};

/// English country names that tests use, with their codes.
const COUNTRIES: [(&str, &str); 5] = [
    ("United States", "US"),
    ("Germany", "DE"),
    ("France", "FR"),
    ("United Kingdom", "GB"),
    ("Japan", "JP"),
];

type NamedValues = Vec<(String, String)>;

impl Wire {
    /// The request to the target, or why the vendor refuses.
    pub(super) fn read(&self, asked: &Asked) -> Result<TargetRequest, String> {
        let json = if self.forwards {
            Value::Null
        } else {
            asked.json()
        };
        let input = Input { asked, body: &json };
        let javascript = self.javascript.holds(input);
        self.check(input, javascript)?;
        let url = self.url.text(input)?.ok_or("url is required")?;
        self.check_url(&url)?;
        let (method, body) = if self.forwards {
            (Some(asked.method.clone()), asked.body.clone())
        } else {
            let body = self.body.text(input)?.unwrap_or_default();
            (self.method.text(input)?, body.into_bytes())
        };
        let (headers, cookies) = self.named_values(input);
        let country = self.country.text(input)?;
        let method = method.map_or_else(|| "GET".to_owned(), |name| name.to_uppercase());
        if !self.forwards && method == "GET" && !body.is_empty() {
            return Err("a GET request has no body".to_owned());
        }
        Ok(TargetRequest {
            method,
            body,
            headers,
            cookies,
            javascript,
            wait_ms: self.wait_ms.milliseconds(input)?,
            wait_for: self.wait_for.text(input)?,
            script: self.script.text(input)?,
            country: country.as_deref().map(country_code).transpose()?,
            residential: self.residential.holds(input),
            screenshot: if self.full_page.holds(input) {
                Some("full_page")
            } else {
                self.window.holds(input).then_some("window")
            },
            ..TargetRequest::new(&url)
        })
    }

    /// Refuses what is not the URL of a page.
    fn check_url(&self, url: &str) -> Result<(), String> {
        let rest = url.strip_prefix("https://");
        let rest = rest.or_else(|| url.strip_prefix("http://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Err("url must begin with http:// or https://".to_owned());
        }
        if self.url_bytes_max.is_some_and(|most| url.len() > most) {
            return Err("url is too long".to_owned());
        }
        let parsed = Url::parse(url).ok();
        let host = parsed.as_ref().and_then(Url::host);
        if self.no_addresses && !matches!(host, Some(Host::Domain(_))) {
            return Err("url has no host name".to_owned());
        }
        Ok(())
    }

    /// Refuses requests of another form, unknown parameters, and those that do not go together.
    fn check(&self, input: Input<'_>, javascript: bool) -> Result<(), String> {
        self.check_form(input)?;
        let parameters = input.asked.query.iter();
        let parameters =
            parameters.map(|(name, value)| (Source::Query, name.as_str(), parsed(value)));
        let members = input.body.as_object().into_iter().flatten();
        let members = members.map(|(name, value)| (Source::Body, name.as_str(), value.clone()));
        let sent: Vec<(Source, &str, Value)> = parameters.chain(members).collect();
        for (source, name, value) in &sent {
            if !self.knows(*source, name) {
                return Err(format!("{name} is not a parameter"));
            }
            if self.kinds.get(*name).is_some_and(|kind| !kind.fits(value)) {
                return Err(format!("{name} cannot be {value}"));
            }
        }
        let is_sent = |name: &String| sent.iter().any(|(_, known, _)| known == name);
        let excluded = if javascript {
            &self.plain_only
        } else {
            &self.browser_only
        };
        if let Some(name) = excluded.iter().find(|name| is_sent(name)) {
            return Err(format!("{name} does not go with this kind of page"));
        }
        let mut needs = self.needs.iter();
        if let Some((name, other)) = needs.find(|(name, other)| is_sent(name) && !is_sent(other)) {
            return Err(format!("{name} needs {other}"));
        }
        let mut excludes = self.excludes.iter();
        if let Some((name, other)) = excludes.find(|(name, other)| is_sent(name) && is_sent(other))
        {
            return Err(format!("{name} does not go with {other}"));
        }
        if self.always.iter().all(|place| place.holds(input)) {
            Ok(())
        } else {
            Err("a parameter is missing without which the replies are others".to_owned())
        }
    }

    /// Refuses other methods, and anything but JSON from those that send JSON.
    fn check_form(&self, input: Input<'_>) -> Result<(), String> {
        let method = &input.asked.method;
        if !self.methods.is_empty() && !self.methods.contains(method) {
            return Err(format!("{method} is not supported"));
        }
        if self.forwards {
            return Ok(());
        }
        let media = input.asked.header("content-type").unwrap_or_default();
        if media.split(';').next().map(str::trim) != Some("application/json") {
            return Err("the content type must be application/json".to_owned());
        }
        if !input.body.is_object() {
            return Err("the body must be a JSON object".to_owned());
        }
        Ok(())
    }

    fn knows(&self, source: Source, parameter: &str) -> bool {
        let places = [
            &self.url,
            &self.method,
            &self.body,
            &self.javascript,
            &self.wait_ms,
            &self.wait_for,
            &self.script,
            &self.country,
            &self.residential,
            &self.window,
            &self.full_page,
        ];
        let mut names = places.into_iter().chain(&self.always);
        names.any(|place| place.name(source) == Some(parameter))
            || self.headers.knows(source, parameter)
            || self.cookies.knows(source, parameter)
            || match source {
                Source::Query => self.also_query.iter().any(|known| known == parameter),
                Source::Body => self.also.iter().any(|known| known == parameter),
            }
    }

    /// Headers and cookies for the target.
    fn named_values(&self, input: Input<'_>) -> (NamedValues, NamedValues) {
        let headers = self.headers.read(input).into_iter();
        let mut headers: NamedValues = headers
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect();
        let has_type = headers.iter().any(|(name, _)| name == "content-type");
        if self.forwards && !has_type && !input.asked.body.is_empty() {
            let media = input.asked.header("content-type");
            headers.extend(media.map(|media| ("content-type".to_owned(), media.to_owned())));
        }
        let (lines, headers): (NamedValues, NamedValues) =
            headers.into_iter().partition(|(name, _)| name == "cookie");
        let lines = lines.iter().flat_map(|(_, line)| cookies_of(line));
        let mut cookies: NamedValues = lines.collect();
        cookies.extend(self.cookies.read(input));
        (headers, cookies)
    }
}

/// The code of a country by its code or English name.
fn country_code(country: &str) -> Result<String, String> {
    if country.len() == 2 && country.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        return Ok(country.to_uppercase());
    }
    let known = COUNTRIES.iter().find(|(name, _)| *name == country);
    known
        .map(|(_, code)| (*code).to_owned())
        .ok_or(format!("unknown country {country}"))
}
