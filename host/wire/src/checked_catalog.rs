//! Bounds how often a request has plugins check its options. Each check may call the plugin.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

use trawl_plan::{Catalog, PluginKind};

/// Most different options objects of one request. Request objects that repeat them count once, so
/// this is enough for a few hundred sites with selectors of their own.
const OPTIONS_MAX: usize = 500;
/// Most bytes that the different options objects of one request have together. The time of a check
/// grows with them.
const OPTIONS_BYTES_MAX: usize = 1_000_000;

/// The catalog of one request: it checks the same options once.
pub(crate) struct CheckedCatalog<'a> {
    catalog: &'a dyn Catalog,
    checked: RefCell<Checked>,
}

#[derive(Default)]
struct Checked {
    results: HashMap<(PluginKind, String, String), Result<(), String>>,
    n_bytes: usize,
}

impl<'a> CheckedCatalog<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog) -> Self {
        Self {
            catalog,
            checked: RefCell::default(),
        }
    }
}

impl Catalog for CheckedCatalog<'_> {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        self.catalog.has(kind, name)
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        self.catalog.names(kind)
    }

    fn own_credentials(&self) -> Vec<(String, String)> {
        self.catalog.own_credentials()
    }

    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String> {
        let text = options.to_string();
        let n_bytes = text.len();
        let key = (kind, name.to_owned(), text);
        let mut checked = self.checked.borrow_mut();
        if let Some(known) = checked.results.get(&key) {
            return known.clone();
        }
        checked.n_bytes += n_bytes;
        if checked.results.len() == OPTIONS_MAX {
            return Err(format!(
                "more than {OPTIONS_MAX} different options objects in one request, split the \
                 request"
            ));
        }
        if checked.n_bytes > OPTIONS_BYTES_MAX {
            return Err(format!(
                "the options objects of one request have more than {OPTIONS_BYTES_MAX} bytes, \
                 split the request"
            ));
        }
        let result = self.catalog.check_options(kind, name, options);
        checked.results.insert(key, result.clone());
        result
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Counts its calls.
    #[derive(Default)]
    struct Counting(RefCell<usize>);

    impl Catalog for Counting {
        fn has(&self, _: PluginKind, _: &str) -> bool {
            true
        }

        fn names(&self, _: PluginKind) -> Vec<String> {
            Vec::new()
        }

        fn own_credentials(&self) -> Vec<(String, String)> {
            Vec::new()
        }

        fn check_options(&self, _: PluginKind, _: &str, _: &Value) -> Result<(), String> {
            *self.0.borrow_mut() += 1;
            Ok(())
        }
    }

    #[test]
    fn the_same_options_are_checked_once_and_different_ones_are_bounded() {
        let catalog = Counting::default();
        let checked_catalog = CheckedCatalog::new(&catalog);
        let check =
            |options: Value| checked_catalog.check_options(PluginKind::Filter, "mine", &options);
        for n in 0..10 * OPTIONS_MAX {
            assert_eq!(check(json!({"n": n % OPTIONS_MAX})), Ok(()));
        }
        assert_eq!(*catalog.0.borrow(), OPTIONS_MAX);
        let error = check(json!({"n": OPTIONS_MAX})).expect_err("one more");
        assert!(error.contains("more than 500 different options"), "{error}");
        assert_eq!(check(json!({"n": 1})), Ok(()));
    }

    #[test]
    fn their_bytes_are_bounded() {
        let catalog = Counting::default();
        let checked_catalog = CheckedCatalog::new(&catalog);
        let check = |n: usize| {
            let options = json!({"n": n, "long": "x".repeat(OPTIONS_BYTES_MAX / 3)});
            checked_catalog.check_options(PluginKind::Filter, "mine", &options)
        };
        assert_eq!((check(1), check(2), check(1)), (Ok(()), Ok(()), Ok(())));
        assert!(check(3).is_err_and(|error| error.contains("more than 1000000 bytes")));
        assert_eq!(*catalog.0.borrow(), 2);
    }
}
