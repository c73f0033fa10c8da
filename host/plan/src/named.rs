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
