//! Parts of a task in the forms that many services take as parameters.

use serde_json::Value;

use super::{Failure, Task, base64, country_name, header_object};

impl Task {
    /// Timeout of the service itself, in milliseconds: the remaining time of the conversation
    /// without `grace_ms`, in which its reply arrives, but not below or above the limits.
    pub fn timeout_ms(&self, grace_ms: u32, (least, most): (u32, u32)) -> u32 {
        let timeout_ms = self.time_ms.saturating_sub(grace_ms);
        timeout_ms.min(most).max(least)
    }

    /// The CSS selector of the element to wait for.
    pub fn selector(&self) -> Option<&str> {
        self.wait_for.as_ref().map(|wait| wait.selector.as_str())
    }

    /// The headers as a JSON object ([`header_object`]); `None` without headers.
    pub fn header_object(&self) -> Option<Value> {
        (!self.headers.is_empty()).then(|| header_object(&self.headers))
    }

    /// The headers as a JSON list, each item made of a name and its value; `None` without headers.
    pub fn header_list(&self, item: impl Fn(&str, &str) -> Value) -> Option<Value> {
        list(&self.headers, item)
    }

    /// The cookies as a JSON list, each item made of a name and its value; `None` without cookies.
    pub fn cookie_list(&self, item: impl Fn(&str, &str) -> Value) -> Option<Value> {
        list(&self.cookies, item)
    }

    /// The body in base64; `None` without a body.
    pub fn body_base64(&self) -> Option<String> {
        (!self.body.is_empty()).then(|| base64(&self.body))
    }

    /// The body as text, for services that take it as a JSON string; `None` without a body.
    ///
    /// # Errors
    /// [`Class::Unsupported`](super::Class::Unsupported) if the body is not UTF-8.
    pub fn body_text(&self) -> Result<Option<&str>, Failure> {
        match std::str::from_utf8(&self.body) {
            Ok("") => Ok(None),
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Failure::unsupported(
                "the vendor accepts no request body that is not UTF-8",
            )),
        }
    }

    /// The English name of the country: the service's own by its code, otherwise the common one
    /// ([`country_name`]); `None` if no country is requested.
    ///
    /// # Errors
    /// [`Class::Unsupported`](super::Class::Unsupported) if the code has no name.
    pub fn country_named(
        &self,
        own_names: &[(&str, &'static str)],
    ) -> Result<Option<&'static str>, Failure> {
        let Some(code) = self.country.as_deref() else {
            return Ok(None);
        };
        let own = own_names.iter().find(|(known, _)| *known == code);
        match own.map(|(_, name)| *name).or_else(|| country_name(code)) {
            Some(name) => Ok(Some(name)),
            None => Err(Failure::unsupported(format!(
                "the vendor does not support the country `{code}`"
            ))),
        }
    }
}

fn list(pairs: &[(String, String)], item: impl Fn(&str, &str) -> Value) -> Option<Value> {
    let items = pairs.iter().map(|(name, value)| item(name, value));
    (!pairs.is_empty()).then(|| items.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::Class;

    fn task() -> Task {
        Task::new("https://shop.example/", "https://api.acme.example")
    }

    #[test]
    fn what_is_not_requested_is_no_parameter() {
        let task = task();
        let item = |name: &str, value: &str| json!([name, value]);
        assert_eq!((task.selector(), task.body_base64()), (None, None));
        assert_eq!((task.header_object(), task.header_list(item)), (None, None));
        assert_eq!(task.cookie_list(item), None);
        assert_eq!(task.body_text(), Ok(None));
        assert_eq!(task.country_named(&[("US", "USA")]), Ok(None));
    }

    #[test]
    fn the_timeout_of_the_service_is_within_its_limits() {
        let check = |time_ms: u32, expected: u32| {
            let task = Task { time_ms, ..task() };
            let timeout_ms = task.timeout_ms(5_000, (1_000, 30_000));
            assert_eq!(timeout_ms, expected, "{time_ms}");
        };
        check(12_000, 7_000);
        check(4_000, 1_000);
        check(600_000, 30_000);
    }

    #[test]
    fn names_of_countries_are_the_services_own_or_the_common_ones() {
        let named = |code: &str| {
            let country = Some(code.to_owned());
            Task { country, ..task() }.country_named(&[("US", "USA")])
        };
        assert_eq!(named("US"), Ok(Some("USA")));
        assert_eq!(named("DE"), Ok(Some("Germany")));
        let class = named("XX").map_err(|failure| failure.class);
        assert_eq!(class, Err(Class::Unsupported));
    }
}
