//! The handlers of a path, with the names of the methods that they serve. `axum` knows the names
//! too, but only for the header `Allow`, which it adds outside of every layer. Decision D196.
//!
//! A handler that is added here gets no query parameters: they are a 400 before it is called. One
//! that is added `with_query` reads them itself. Decision D257.

use std::future::ready;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::MethodRouter;

use super::cors;
use super::error::ApiError;
use super::params::refuse_query;
use crate::Api;

/// A path with its handlers. `{name}` in the path is a parameter.
pub(crate) type Endpoint = (&'static str, Methods);

/// The handlers of a path by method.
#[derive(Clone, Default)]
pub(crate) struct Methods {
    router: MethodRouter<Api>,
    /// Their names in the order in which they were added; empty if one handler serves all.
    names: Vec<&'static str>,
}

impl Methods {
    /// Adds the handler of GET, which serves HEAD, too.
    pub(crate) fn get<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.get_with_query(handler.layer(from_fn(without_query)))
    }

    /// The same for a handler that reads the query.
    pub(crate) fn get_with_query<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.with("GET", |router| router.get(handler))
    }

    /// Adds the handler of POST.
    pub(crate) fn post<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.post_with_query(handler.layer(from_fn(without_query)))
    }

    /// The same for a handler that reads the query.
    pub(crate) fn post_with_query<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.with("POST", |router| router.post(handler))
    }

    /// Adds the handler of PUT.
    pub(crate) fn put<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        let handler = handler.layer(from_fn(without_query));
        self.with("PUT", |router| router.put(handler))
    }

    /// Adds the handler of DELETE.
    pub(crate) fn delete<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.delete_with_query(handler.layer(from_fn(without_query)))
    }

    /// The same for a handler that reads the query.
    pub(crate) fn delete_with_query<H: Handler<T, Api>, T: 'static>(self, handler: H) -> Self {
        self.with("DELETE", |router| router.delete(handler))
    }

    /// The handlers for the router. Other methods get a 405 that names those which are served, a
    /// preflight their list.
    pub(crate) fn into_router(self) -> MethodRouter<Api> {
        if self.names.is_empty() {
            return self.router;
        }
        let served: Arc<str> = listed(&self.names).into();
        let allowed: Arc<str> = self.names.join(", ").into();
        self.router.fallback(move |request: Request| {
            ready(match cors::is_preflight(&request) {
                true => Ok(cors::preflight(&allowed)),
                false => Err(ApiError::Method(served)),
            })
        })
    }

    fn with(
        self,
        name: &'static str,
        add: impl FnOnce(MethodRouter<Api>) -> MethodRouter<Api>,
    ) -> Self {
        let mut names = self.names;
        names.push(name);
        Self {
            router: add(self.router),
            names,
        }
    }
}

/// A path with a handler of GET, which serves HEAD, too.
pub(crate) fn get<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().get(handler)
}

/// A path with a handler of GET that reads the query.
pub(crate) fn get_with_query<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().get_with_query(handler)
}

/// A path with a handler of POST.
pub(crate) fn post<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().post(handler)
}

/// A path with a handler of POST that reads the query.
pub(crate) fn post_with_query<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().post_with_query(handler)
}

/// A path with a handler of PUT.
pub(crate) fn put<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().put(handler)
}

/// A path with a handler of DELETE.
pub(crate) fn delete<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().delete(handler)
}

/// A path with a handler of DELETE that reads the query.
pub(crate) fn delete_with_query<H: Handler<T, Api>, T: 'static>(handler: H) -> Methods {
    Methods::default().delete_with_query(handler)
}

/// Refuses query parameters of an endpoint that has none.
async fn without_query(request: Request, next: Next) -> Result<Response, ApiError> {
    refuse_query(request.method(), request.uri())?;
    Ok(next.run(request).await)
}

/// The names as a list for people: `GET, POST or DELETE`.
fn listed(names: &[&str]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_listed_as_people_do() {
        let check = |names: &[&str], expected: &str| assert_eq!(listed(names), expected);
        check(&["POST"], "POST");
        check(&["GET", "POST"], "GET or POST");
        check(&["GET", "POST", "DELETE"], "GET, POST or DELETE");
    }
}
