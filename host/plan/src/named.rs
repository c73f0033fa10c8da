//! Values that requests name.

/// A value with its names. The first is the ordinary one; the others mean the same.
pub type Named<T> = (T, &'static [&'static str]);

/// The value with this name, which is compared without case.
pub(crate) fn named<T: Copy>(values: &[Named<T>], name: &str) -> Option<T> {
    let name = name.trim().to_lowercase();
    let mut values = values.iter();
    let found = values.find(|(_, names)| names.contains(&name.as_str()));
    found.map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetching::{ENGINES, POOLS};
    use crate::router::{FUNDINGS, MODES};
    use crate::search::FRESHNESS;
    use crate::{Engine, Pool};

    #[test]
    fn names_are_compared_without_case_and_space() {
        assert_eq!(named(&ENGINES, " SmartMode "), Some(Engine::Smart));
        assert_eq!(named(&POOLS, "Mobile"), Some(Pool::Residential));
        assert_eq!(named(&POOLS, "unlimited"), None, "not for requests");
        assert_eq!(named(&ENGINES, ""), None);
    }

    #[test]
    fn each_name_means_one_value() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(values: &[Named<T>]) {
            for (value, names) in values {
                assert!(!names.is_empty(), "{value:?}");
                for name in *names {
                    assert_eq!(named(values, name), Some(*value), "{name}");
                }
            }
        }
        check(&ENGINES);
        check(&POOLS);
        check(&MODES);
        check(&FUNDINGS);
        check(&FRESHNESS);
    }
}
