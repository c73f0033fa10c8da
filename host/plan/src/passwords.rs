//! Fetch plans of URLs that have a password.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};

use super::expression::Allowance;
use super::{FetchPlan, PlanError};

/// Bytes of a cookie in memory in addition to its name and value.
const COOKIE_BYTES: usize = size_of::<(String, String)>();

/// The fetch plans of the URLs of a request object that have a user name and a password. Each is a
/// copy with the headers and cookies of the request, so URLs with the same ones share it.
#[derive(Debug)]
pub struct WithPassword<'a> {
    fetch: &'a Arc<FetchPlan>,
    /// By the value of `Authorization`.
    known: HashMap<Vec<u8>, Arc<FetchPlan>>,
}

impl<'a> WithPassword<'a> {
    /// Plans of URLs that are fetched like this.
    pub fn new(fetch: &'a Arc<FetchPlan>) -> Self {
        Self {
            fetch,
            known: HashMap::new(),
        }
    }

    /// The plan with this value of `Authorization`, unless the caller sets that header.
    ///
    /// # Errors
    /// The copies are larger than one request may make.
    pub fn of(
        &mut self,
        authorization: HeaderValue,
        allowance: &mut Allowance,
    ) -> Result<Arc<FetchPlan>, PlanError> {
        if let Some(known) = self.known.get(authorization.as_bytes()) {
            return Ok(Arc::clone(known));
        }
        let cookies = self.fetch.cookies.iter();
        let cookies = cookies.map(|(name, value)| COOKIE_BYTES + name.len() + value.len());
        // The values of headers are shared.
        let headers = self.fetch.headers.len() * size_of::<(HeaderName, HeaderValue)>();
        let n_bytes = size_of::<FetchPlan>() + headers + cookies.sum::<usize>();
        allowance.count_steps(n_bytes.div_ceil(1_024));
        let what = "copies of the headers and cookies for URLs with different passwords";
        allowance.make_bytes("url", n_bytes, what)?;
        let key = authorization.as_bytes().to_vec();
        let plan = Arc::new(self.fetch.with_authorization(authorization));
        self.known.insert(key, Arc::clone(&plan));
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn password(n: usize) -> HeaderValue {
        HeaderValue::from_str(&format!("Basic {n}")).expect("a value")
    }

    #[test]
    fn urls_with_the_same_password_share_a_plan_and_the_copies_are_bounded() {
        let long = "x".repeat(100_000);
        let fetch = Arc::new(FetchPlan {
            cookies: vec![("a".to_owned(), long)],
            ..FetchPlan::bare(Duration::from_secs(1))
        });
        let mut allowance = Allowance::default();
        let mut plans = WithPassword::new(&fetch);
        let first = plans.of(password(0), &mut allowance).expect("room");
        for _ in 0..1_000 {
            let same = plans.of(password(0), &mut allowance).expect("no copy");
            assert!(Arc::ptr_eq(&first, &same));
        }
        let mut others = (1..1_000).map(|n| plans.of(password(n), &mut allowance));
        let error = others.find_map(Result::err).expect("100 MB are too many");
        assert!(error.to_string().starts_with("url: copies of the headers"));
    }
}
