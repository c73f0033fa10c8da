//! Pages that are nothing but a refresh, which `smart` follows as it follows a redirect.

use url::Url;

use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Hop, Usage};
use trawl_net::fetch::{FetchError, Redirect};
use trawl_plan::Engine;
use trawl_plan::address::is_same_origin_or_upgrade;

use super::own_http::Target;
use super::own_stack::{OwnFailure, OwnStack};
use super::{Served, Visit, smart};

/// Most refreshes that are followed for one page. The page behind them is returned as it is.
const REFRESHES_MAX: usize = 5;

impl OwnStack {
    /// Gets a page by plain HTTP. In mode `smart` a refresh is followed as a redirect is: where
    /// robots.txt and the run's rules allow it, within the page's time, with the caller's headers
    /// and cookies on their own origin alone, and without charge.
    pub(super) async fn http_page(&self, visit: &mut Visit<'_>) -> Result<Served, OwnFailure> {
        let plan = visit.plan;
        let (mut served, mut redirects) = self.by_http(visit, Target::own(&plan.url)).await?;
        if plan.engine != Engine::Smart {
            return Ok(served);
        }
        let (mut url, mut is_callers_origin) = (plan.url.clone(), true);
        let mut known = Vec::new();
        while known.len() < REFRESHES_MAX
            && let Some(to) = smart::redirect(&served.signals(), &served.page.final_url)
            && !known.contains(&to)
        {
            Box::pin(visit.admission.follow(&to)).await?;
            known.push(to.clone());
            // Once lost it stays lost, as for redirects.
            is_callers_origin &=
                stays(&url, &redirects) && is_same_origin_or_upgrade(&served.page.final_url, &to);
            if visit.clock.left().is_zero() {
                return Err(FetchError::TimedOut(visit.clock.time()).into());
            }
            url = without_userinfo(to);
            let target = Target {
                url: &url,
                is_callers_origin,
            };
            let (page, way) = self.by_http(visit, target).await?;
            (served, redirects) = (behind(served, page, &url), way);
        }
        Ok(served)
    }
}

/// Whether all redirects from this URL stay on its origin.
fn stays(url: &Url, redirects: &[Redirect]) -> bool {
    let mut at = url;
    redirects.iter().all(|redirect| {
        let stays = is_same_origin_or_upgrade(at, &redirect.to);
        at = &redirect.to;
        stays
    })
}

/// The page that another one led to, by a refresh to this URL: one more hop of its way.
fn behind(before: Served, page: Served, to: &Url) -> Served {
    let refresh = Hop {
        status: Some(before.page.status),
        to: to.to_string(),
    };
    let mut redirects = before.page.redirects;
    redirects.push(refresh);
    redirects.extend(page.page.redirects);
    let mut cookies = before.page.cookies;
    cookies.retain(|(name, _)| page.page.cookies.iter().all(|(new, _)| new != name));
    cookies.extend(page.page.cookies);
    Served {
        page: FetchedPage {
            requested_url: before.page.requested_url,
            redirects,
            cookies,
            ..page.page
        },
        usage: Usage {
            compute: before.usage.compute + page.usage.compute,
            ..page.usage
        },
        ..page
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    /// A page that was reached by these hops.
    fn reached(status: u16, hops: &[(u16, &str)]) -> Served {
        let hops = hops.iter().map(|(status, to)| Hop {
            status: Some(*status),
            to: (*to).to_owned(),
        });
        Served::new(FetchedPage {
            requested_url: url("http://a.example/"),
            final_url: url("http://a.example/"),
            redirects: hops.collect(),
            status,
            headers: Vec::new(),
            cookies: Vec::new(),
            body: Bytes::new(),
            content_type: String::new(),
        })
    }

    #[test]
    fn a_page_behind_a_refresh_has_the_whole_way() {
        let before = reached(200, &[(301, "http://b.example/")]);
        let page = reached(404, &[(302, "http://d.example/")]);
        let page = behind(before, page, &url("http://c.example/")).page;
        assert_eq!(page.status, 404);
        let hops = page
            .redirects
            .iter()
            .map(|hop| (hop.status, hop.to.as_str()));
        let expected = [
            (Some(301), "http://b.example/"),
            (Some(200), "http://c.example/"),
            (Some(302), "http://d.example/"),
        ];
        assert_eq!(hops.collect::<Vec<_>>(), expected);
    }
}
