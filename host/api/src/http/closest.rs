//! The endpoint that a wrong path may mean.

/// Longest path that is compared.
const PATH_BYTES_MAX: usize = 64;
/// Edits by which a path may differ from the one that is meant.
const EDITS_MAX: usize = 2;

/// The path of the endpoint that is closest to a requested path: the same but for its case or
/// slashes at its end, or one with a few letters of difference.
pub(crate) fn closest(endpoints: &[&str], requested: &str) -> Option<String> {
    let version = if requested.starts_with("/v1/") {
        "/v1"
    } else {
        ""
    };
    let bare = requested.trim_start_matches("/v1").trim_end_matches('/');
    if bare.len() > PATH_BYTES_MAX {
        return None;
    }
    let folded = bare.to_ascii_lowercase();
    let distance = |endpoint: &str| {
        if fits(endpoint, bare) {
            return Some((0, bare.to_owned()));
        }
        // Other parameters of a path are not guessed.
        let n_edits = (!endpoint.contains('{')).then(|| edits(endpoint, &folded))?;
        let may_be_meant = n_edits <= EDITS_MAX && n_edits * 3 <= endpoint.len();
        may_be_meant.then(|| (n_edits, endpoint.to_owned()))
    };
    let candidates = endpoints.iter().filter_map(|endpoint| distance(endpoint));
    let (_, best) = candidates.min_by_key(|(n_edits, _)| *n_edits)?;
    Some(format!("{version}{best}")).filter(|best| best != requested)
}

/// Whether a path is one of an endpoint, whose parameters are in braces.
fn fits(endpoint: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (endpoint.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) => {
                let is_parameter = wanted.starts_with('{') && !wanted.starts_with("{*");
                if wanted != found && (!is_parameter || found.is_empty()) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Insertions, deletions and replacements between two texts.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_that_is_meant_is_found() {
        let endpoints = [
            "/scrape",
            "/screenshot",
            "/crawl",
            "/crawl/{id}",
            "/crawl/{id}/pages",
            "/fetch/{*target}",
            "/account/webhook-secret",
        ];
        let of = |requested: &str| closest(&endpoints, requested);
        let some = |path: &str| Some(path.to_owned());
        assert_eq!(of("/scrape/"), some("/scrape"));
        assert_eq!(of("/v1/Scrape"), some("/v1/scrape"));
        assert_eq!(of("/v1/v1/scrape"), some("/v1/scrape"));
        assert_eq!(of("/scrap"), some("/scrape"));
        assert_eq!(of("/crawl/c1/pages/"), some("/crawl/c1/pages"));
        assert_eq!(
            of("/account/webhook_secret"),
            some("/account/webhook-secret")
        );
        for far in [
            "/",
            "",
            "/nothing",
            "/v1",
            "/crawl/c1/none",
            "/fetch/",
            "/%00",
        ] {
            assert_eq!(of(far), None, "{far}");
        }
        assert_eq!(of(&"/scrape".repeat(100)), None);
    }
}
