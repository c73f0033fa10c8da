//! The modules of a crate and what each uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::code;
use super::graph::{Graph, Module};
use super::paths::{self, Leaf};

/// Files through which a name may be passed on.
const PASSED_ON_MAX: usize = 8;

/// The modules of a crate that have a file.
pub(super) struct Modules(BTreeMap<Module, Source>);

struct Source {
    code: String,
    /// Where the names come from that the file imports or re-exports.
    names: BTreeMap<String, Vec<String>>,
}

impl Modules {
    /// Reads a folder of sources.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let has_library = folder.join("lib.rs").is_file();
        let mut modules = BTreeMap::new();
        for file in crate::tidy::files::rust_files(folder)? {
            let relative = file.strip_prefix(folder).unwrap_or(&file);
            // Programs next to a library are crates of their own.
            let is_program =
                relative.starts_with("bin") || has_library && relative == Path::new("main.rs");
            if is_program || code::is_of_tests(folder, relative) {
                continue;
            }
            let code = code::of(&std::fs::read_to_string(&file)?);
            let names = BTreeMap::new();
            modules.insert(module_path(relative), Source { code, names });
        }
        let mut modules = Self(modules);
        modules.read_names();
        Ok(modules)
    }

    fn read_names(&mut self) {
        let mut all = Vec::new();
        for (module, source) in &self.0 {
            let leaves = paths::imports(&source.code).into_iter();
            let named = leaves.filter_map(|leaf| {
                let path = self.absolute(&leaf.path, module)?;
                Some((leaf.name, path))
            });
            all.push((module.clone(), named.collect()));
        }
        for (module, names) in all {
            if let Some(source) = self.0.get_mut(&module) {
                source.names = names;
            }
        }
    }

    /// Which modules each module uses.
    pub(super) fn uses(&self) -> Graph {
        let uses = |module: &Module| {
            let named = self.named(module).into_iter();
            let owners = named.filter_map(|leaf| self.owner(self.absolute(&leaf.path, module)?));
            owners.filter(|owner| owner != module).collect()
        };
        let modules = self.0.keys();
        modules
            .map(|module| (module.clone(), uses(module)))
            .collect()
    }

    /// The paths into the crate that the code of a module names.
    fn named(&self, module: &Module) -> Vec<Leaf> {
        let code = paths::without_lists(&self.0[module].code);
        let mut words: BTreeSet<&str> = ["crate", "self", "super"].into();
        words.extend(self.children(module));
        words
            .iter()
            .flat_map(|word| paths::beginning_with(&code, word))
            .collect()
    }

    fn children<'a>(&'a self, module: &'a Module) -> impl Iterator<Item = &'a str> {
        let below = self
            .0
            .keys()
            .filter(move |other| other.len() == module.len() + 1 && other.starts_with(module));
        below.filter_map(|other| other.last().map(String::as_str))
    }

    /// A path from the crate's root; `None` of a path into another crate.
    fn absolute(&self, path: &[String], module: &Module) -> Option<Vec<String>> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child if self.children(module).any(|name| name == child) => {}
            _ => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that defines what a path names. `None` of what is in a file elsewhere.
    fn owner(&self, mut path: Vec<String>) -> Option<Module> {
        for _ in 0..PASSED_ON_MAX {
            let length = (0..=path.len()).rev();
            let mut prefixes = length.filter(|length| self.0.contains_key(&path[..*length]));
            let length = prefixes.next()?;
            let source = &self.0[&path[..length]];
            let Some(name) = path.get(length) else {
                return Some(path);
            };
            let declared = [format!("mod {name};"), format!("mod {name} {{")];
            if declared.iter().any(|text| source.code.contains(text)) {
                return None;
            }
            let Some(origin) = source.names.get(name) else {
                path.truncate(length);
                return Some(path);
            };
            let rest = path.split_off(length + 1);
            path = origin.iter().cloned().chain(rest).collect();
        }
        None
    }
}

/// `page/mod.rs` is `[page]`, `page/outcome.rs` is `[page, outcome]`, `lib.rs` and `main.rs` are
/// `[]`.
fn module_path(relative: &Path) -> Module {
    let parts = relative.with_extension("");
    let names = parts.iter().map(|part| part.to_string_lossy().into_owned());
    names
        .filter(|name| !["mod", "lib", "main"].contains(&name.as_str()))
        .collect()
}
