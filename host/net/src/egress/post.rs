//! Requests with a body to a service that the operator names.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method};
use reqwest::Request;
use url::Url;

use super::{Egress, EgressError, EgressFault, Reply};

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

    /// Posts to a service that the operator names, and reads its answer, of `answer_bytes_max` at
    /// most. Never pass a URL that a caller wrote.
    ///
    /// # Errors
    /// As [`Egress::send`], or the answer is longer.
    pub async fn post_to_service(
        &self,
        request: http::Request<Bytes>,
        answer_bytes_max: usize,
    ) -> Result<http::Response<Bytes>, EgressError> {
        let request = Request::try_from(request);
        let request = request.map_err(|_| EgressError::NoHost)?;
        let mut reply = self.send_to_service(request, |_| true).await?;
        let mut body = BytesMut::new();
        while let Some(chunk) = reply.chunk().await? {
            if body.len() + chunk.len() > answer_bytes_max {
                return Err(EgressError::Broken {
                    fault: EgressFault::Malformed,
                    cause: "the answer is too long".into(),
                });
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = http::Response::new(body.freeze());
        *answer.status_mut() = reply.status();
        answer.headers_mut().clone_from(reply.headers());
        Ok(answer)
    }
}
