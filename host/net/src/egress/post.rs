//! Requests with a body to a service that the operator names.

use bytes::Bytes;
use http::{HeaderMap, Method};
use reqwest::Request;
use url::Url;

use super::{Egress, EgressError, Reply};

impl Egress {
    /// Posts to a URL that the configuration grants. Never pass a URL that a caller wrote.
    ///
    /// # Errors
    /// As [`Egress::send_granted`].
    pub async fn post_granted(
        &self,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Reply, EgressError> {
        let mut request = Request::new(Method::POST, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        self.send_granted(request).await
    }
}
