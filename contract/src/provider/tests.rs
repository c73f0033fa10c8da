use super::{Abilities, Class};

const CONTRACT: &str = include_str!("../../../wit/provider/1/provider.wit");

/// Names of the cases of an enum or flags in the contract, with `_` for `-`.
fn cases(opening: &str) -> Vec<String> {
    let (_, rest) = CONTRACT.split_once(opening).expect("in the contract");
    let (body, _) = rest.split_once('}').expect("an end");
    let lines = body.lines().map(str::trim);
    let names = lines.filter(|line| !line.is_empty() && !line.starts_with("///"));
    names
        .map(|name| name.trim_end_matches(',').replace('-', "_"))
        .collect()
}

#[test]
fn classes_are_those_of_the_contract_in_its_order() {
    let names = Class::ALL.map(Class::name);
    assert_eq!(names.as_slice(), cases("enum class {"));
}

#[test]
fn abilities_are_those_of_the_contract_in_its_order() {
    let names = Abilities::NAMED.map(|(name, _)| name);
    assert_eq!(names.as_slice(), cases("flags abilities {"));
}
