use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use trawl_test_guests::Guest;

use super::footer::{FOOTER_BYTES, Footer};
use super::index::{Blob, BundledComponent, Index};
use super::*;
use crate::error::LoadError;
use crate::registry::reload::{Plugins, PluginsConfig};

const PROGRAM: &[u8] = b"#!/bin/sh\nexit 0\n";

/// A folder with a program, components and a manifest.
struct Shelf(TempDir);

impl Shelf {
    fn new() -> Self {
        let shelf = Self(tempfile::tempdir().expect("a folder"));
        shelf.write("trawl", PROGRAM);
        shelf.put(&Guest::echo_format("echo"));
        shelf.put(&Guest::whole_chunker("whole"));
        let manifest = "# The default plugins.\n[[format]]\nname = \"echo\"\n\
                        component = \"built/echo.wasm\" # echoes\n\n\
                        [[format]]\nname = \"again\"\ncomponent = \"built/echo.wasm\"\n\n\
                        [[chunker]]\nname = \"whole\"\ncomponent = 'built/whole.wasm'\n\
                        limits = { time_ms = 500 }\n";
        shelf.write("plugins.toml", manifest.as_bytes());
        shelf
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, bytes).expect("written");
    }

    fn put(&self, guest: &Guest) {
        self.write(&format!("built/{}.wasm", guest.name), &guest.build());
    }

    /// Embeds the plugins; gives the lines of progress.
    fn embed(&self, program: &str, output: &str) -> Result<Vec<String>, BundleError> {
        let lines = Mutex::new(Vec::new());
        let note = |line: &str| lines.lock().expect("no panic").push(line.to_owned());
        let (program, output) = (self.path(program), self.path(output));
        crate::embed(&program, &self.path("plugins.toml"), &output, &note)?;
        let mut lines = lines.into_inner().expect("no panic");
        lines.sort();
        Ok(lines)
    }

    fn bundle(&self, name: &str) -> Arc<Bundle> {
        let bundle = Bundle::open(&self.path(name)).expect("readable");
        Arc::new(bundle.expect("a bundle"))
    }

    fn start(
        &self,
        manifest: &Path,
        bundle: Option<Arc<Bundle>>,
    ) -> Result<Arc<Plugins>, LoadError> {
        let config = PluginsConfig {
            manifest: manifest.to_owned(),
            cache_dir: self.path("compiled"),
        };
        Plugins::start_with(config, bundle, None)
    }

    /// Files in the cache of compiled code.
    fn n_compiled(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let Ok(files) = fs::read_dir(folder) else {
                return 0;
            };
            files
                .map(|file| file.expect("an entry").path())
                .map(|path| if path.is_dir() { count(&path) } else { 1 })
                .sum()
        }
        count(&self.path("compiled"))
    }
}

/// Kind, name and source of each plugin.
fn sources(plugins: &Plugins) -> Vec<String> {
    let status = serde_json::to_value(plugins.status()).expect("JSON");
    let plugins = status["plugins"].as_array().expect("a list");
    let text = |plugin: &serde_json::Value, field: &str| {
        plugin[field].as_str().expect("a text").to_owned()
    };
    let line = |plugin| ["kind", "name", "source"].map(|field| text(plugin, field));
    plugins
        .iter()
        .map(|plugin| line(plugin).join(" "))
        .collect()
}

#[test]
fn an_embedded_bundle_loads_without_compiling() {
    let shelf = Shelf::new();
    let lines = shelf.embed("trawl", "out/trawl").expect("embedded");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let written = fs::read(shelf.path("out/trawl")).expect("written");
    assert!(written.starts_with(PROGRAM));
    let mode = fs::metadata(shelf.path("out/trawl")).expect("there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o755);

    let bundle = shelf.bundle("out/trawl");
    assert_eq!(bundle.program_bytes(), PROGRAM.len() as u64);
    assert!(bundle.manifest().contains("component = \"whole.wasm\"\n"));
    let plugins = shelf.start(&shelf.path("out/trawl"), Some(bundle));
    let plugins = plugins.expect("it loads");
    assert_eq!(
        sources(&plugins),
        [
            "format echo bundled",
            "format again bundled",
            "chunker whole bundled"
        ]
    );
    assert_eq!(plugins.folders(), Vec::<PathBuf>::new(), "nothing to watch");
    plugins.reload().expect("it reloads");
    assert_eq!(plugins.snapshot().generation(), 1);
    assert_eq!(shelf.n_compiled(), 0);
}

#[test]
fn a_manifest_uses_the_bundled_code_of_the_same_component() {
    let shelf = Shelf::new();
    shelf.embed("trawl", "out/trawl").expect("embedded");
    let bundle = shelf.bundle("out/trawl");
    let start = || shelf.start(&shelf.path("plugins.toml"), Some(Arc::clone(&bundle)));
    let plugins = start().expect("it loads");
    assert!(sources(&plugins).iter().all(|it| it.ends_with(" file")));
    assert_eq!(shelf.n_compiled(), 0);
    shelf.put(&Guest::echo_format("echo").when_asked("(nop)"));
    start().expect("it loads");
    assert_ne!(shelf.n_compiled(), 0);
}

#[test]
fn embedding_again_replaces_the_bundle_and_reuses_its_code() {
    let shelf = Shelf::new();
    shelf.embed("trawl", "out/trawl").expect("embedded");
    let first = fs::read(shelf.path("out/trawl")).expect("written");
    let lines = shelf.embed("out/trawl", "out/trawl").expect("embedded");
    assert!(
        lines.iter().all(|line| line.starts_with("reused ")),
        "{lines:?}"
    );
    assert!(first == fs::read(shelf.path("out/trawl")).expect("written"));
    shelf.write(
        "plugins.toml",
        b"[[format]]\nname = \"echo\"\ncomponent = \"built/echo.wasm\"",
    );
    shelf.embed("out/trawl", "out/trawl").expect("embedded");
    let bundle = shelf.bundle("out/trawl");
    assert_eq!(bundle.component_names().collect::<Vec<_>>(), ["echo.wasm"]);
    assert_eq!(bundle.program_bytes(), PROGRAM.len() as u64);
}

#[test]
fn native_code_that_does_not_fit_is_compiled_instead() {
    let shelf = Shelf::new();
    let component = Guest::echo_format("echo").build();
    shelf.write(
        "trawl",
        &with_code(&component, b"\x7fELF of another machine"),
    );
    let plugins = shelf.start(&shelf.path("trawl"), Some(shelf.bundle("trawl")));
    assert_eq!(
        sources(&plugins.expect("it loads")),
        ["format echo bundled"]
    );
    assert_ne!(shelf.n_compiled(), 0);
}

#[test]
fn ejected_plugins_load_again_and_nothing_is_overwritten() {
    let shelf = Shelf::new();
    shelf.embed("trawl", "out/trawl").expect("embedded");
    let bundle = shelf.bundle("out/trawl");
    let folder = shelf.path("mine");
    let written = eject(&bundle, &folder).expect("ejected");
    let names = [
        "components/echo.wasm",
        "components/whole.wasm",
        "plugins.toml",
    ];
    assert_eq!(written, names.map(|name| folder.join(name)));
    let text = fs::read_to_string(folder.join("plugins.toml")).expect("written");
    assert!(text.starts_with("# The default plugins.\n"), "{text}");
    let plugins = shelf.start(&folder.join("plugins.toml"), None);
    assert_eq!(
        sources(&plugins.expect("it loads")),
        [
            "format echo file",
            "format again file",
            "chunker whole file"
        ]
    );

    let error = eject(&bundle, &folder).expect_err("it is there");
    assert!(error.to_string().contains("exists already"), "{error}");
    fs::remove_dir_all(folder.join("components")).expect("removed");
    eject(&bundle, &folder).expect_err("the manifest is there");
    assert!(!folder.join("components").exists(), "something was written");
}

#[test]
fn what_cannot_be_bundled_is_named() {
    let shelf = Shelf::new();
    let refused = |manifest: &str, says: &str| {
        shelf.write("plugins.toml", manifest.as_bytes());
        let error = shelf.embed("trawl", "out/trawl").expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
        assert!(!shelf.path("out/trawl").exists());
    };
    let entry =
        |name: &str, path: &str| format!("[[format]]\nname = \"{name}\"\ncomponent = \"{path}\"\n");
    shelf.write("other/echo.wasm", &Guest::echo_format("other").build());
    let same = entry("a", "built/echo.wasm") + &entry("b", "other/echo.wasm");
    refused(&same, "the same file name");
    refused(&entry("a", "nowhere.wasm"), "format `a`: `");
    shelf.write("text.wasm", b"no component");
    refused(
        &entry("a", "text.wasm"),
        "`text.wasm` is not a valid component",
    );
    let native = "allow_native = true\n[[format]]\nname = \"a\"\nnative = \"a.so\"\n";
    refused(native, "native code cannot be bundled");
}

#[test]
fn a_bundle_cannot_name_native_code_or_what_it_lacks() {
    let shelf = Shelf::new();
    let refused = |manifest: &str, says: &str| {
        let index = Index {
            manifest: manifest.to_owned(),
            components: Vec::new(),
        };
        shelf.write("trawl", &joined(&[], &index));
        let started = shelf.start(&shelf.path("trawl"), Some(shelf.bundle("trawl")));
        let error = started.err().expect("it is refused");
        assert!(error.to_string().contains(says), "{error}");
    };
    let native = "allow_native = true\n[[format]]\nname = \"a\"\nnative = \"/lib/libc.so.6\"\n";
    refused(native, "native code cannot be bundled");
    let path = "[[format]]\nname = \"a\"\ncomponent = \"../a.wasm\"\n";
    refused(path, "not among the bundled components");
}

#[test]
fn a_file_without_a_footer_has_no_bundle() {
    let shelf = Shelf::new();
    for content in [&b""[..], PROGRAM, &[0; 500], &[b'T'; FOOTER_BYTES]] {
        shelf.write("trawl", content);
        assert!(matches!(Bundle::open(&shelf.path("trawl")), Ok(None)));
    }
    assert!(Bundle::open(&shelf.path("nowhere")).is_err());
}

#[test]
fn a_damaged_bundle_is_refused_or_none_at_all() {
    let shelf = Shelf::new();
    shelf.embed("trawl", "out/trawl").expect("embedded");
    let whole = fs::read(shelf.path("out/trawl")).expect("written");
    let open = |bytes: &[u8]| {
        shelf.write("damaged", bytes);
        Bundle::open(&shelf.path("damaged"))
    };
    // Cut anywhere, the magic is gone.
    for bytes in [
        0,
        1,
        FOOTER_BYTES - 1,
        FOOTER_BYTES,
        whole.len() / 2,
        whole.len() - 1,
    ] {
        assert!(matches!(open(&whole[..bytes]), Ok(None)), "{bytes}");
    }
    // A footer whose archive is not there.
    for kept in [0, 1, 1000] {
        let tail = &whole[whole.len() - FOOTER_BYTES - kept..];
        assert!(open(tail).is_err(), "{kept}");
    }
    // A changed byte of the footer, of the index, of a blob.
    let footer_at = whole.len() - FOOTER_BYTES;
    for at in (footer_at..whole.len()).chain([footer_at - 1, footer_at - 100]) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        let is_unused = (footer_at + 52..footer_at + 56).contains(&at);
        assert_eq!(matches!(open(&changed), Ok(Some(_))), is_unused, "{at}");
    }
    let mut changed = whole.clone();
    changed[PROGRAM.len() + 10] ^= 1;
    let bundle = open(&changed)
        .expect("its index is whole")
        .expect("a bundle");
    let error = bundle.component("echo.wasm").expect_err("a damaged blob");
    assert!(error.contains("a blob has another hash"), "{error}");
}

#[test]
fn absurd_lengths_are_refused_before_anything_is_allocated() {
    let footer = |archive_bytes, index_bytes| {
        let footer = Footer {
            index_hash: blake3::hash(b""),
            archive_bytes,
            index_bytes,
        };
        Footer::decode(&footer.encode(), 100 << 20)
    };
    assert!(matches!(footer(1 << 20, 1 << 10), Ok(Some(_))));
    for (archive, index) in [
        (u64::MAX, 0),
        (u64::MAX, u64::MAX),
        (100 << 20, 10),
        (10, 11),
        (90 << 20, 9 << 20),
    ] {
        assert!(footer(archive, index).is_err(), "{archive} {index}");
    }

    let blob = |offset, stored_bytes, bytes| Blob {
        offset,
        stored_bytes,
        bytes,
        hash: String::new(),
    };
    let decode = |name: &str, component: Blob, code: Blob| {
        let index = Index {
            manifest: String::new(),
            components: vec![BundledComponent {
                name: name.to_owned(),
                hash: String::new(),
                component,
                code,
            }],
        };
        Index::decode(&serde_json::to_vec(&index).expect("JSON"), 1000)
    };
    let good = || blob(0, 1000, 1 << 20);
    decode("a.wasm", good(), good()).expect("good");
    for bad in [
        blob(1, 1000, 1),
        blob(u64::MAX, 2, 1),
        blob(0, u64::MAX, 1),
        blob(0, 1, u64::MAX),
    ] {
        assert!(decode("a.wasm", bad.clone(), good()).is_err(), "{bad:?}");
        assert!(decode("a.wasm", good(), bad.clone()).is_err(), "{bad:?}");
    }
    for name in ["", ".", "..", "../a", "/a", "a/b", "a/"] {
        assert!(decode(name, good(), good()).is_err(), "{name}");
    }
}

#[test]
fn a_blob_that_is_larger_than_it_says_is_refused() {
    let component = Guest::echo_format("echo").build();
    let shelf = Shelf::new();
    let mut program = with_code(&component, b"code");
    let says = format!("\"bytes\":{}", component.len());
    let lies = format!("\"bytes\":{}", component.len() - 1);
    shelf.write("trawl", &program);
    let bundle = shelf.bundle("trawl");
    let json = serde_json::to_string(bundle.index()).expect("JSON");
    let index: Index = serde_json::from_str(&json.replacen(&says, &lies, 1)).expect("an index");
    let index_at = program.len() - FOOTER_BYTES - json.len();
    program.truncate(index_at);
    shelf.write("trawl", &joined(&program[PROGRAM.len()..], &index));
    let error = shelf.bundle("trawl").component("echo.wasm");
    assert!(error.expect_err("a lie").contains("another length"));
}

/// A program whose bundle has this component as the format `echo`, and this native code of it.
fn with_code(component: &[u8], code: &[u8]) -> Vec<u8> {
    let frames = [component, code].map(|it| zstd::bulk::compress(it, 1).expect("compressed"));
    let blob = |offset: usize, frame: &[u8], content: &[u8]| Blob {
        offset: offset as u64,
        stored_bytes: frame.len() as u64,
        bytes: content.len() as u64,
        hash: blake3::hash(frame).to_hex().to_string(),
    };
    let index = Index {
        manifest: "[[format]]\nname = \"echo\"\ncomponent = \"echo.wasm\"\n".to_owned(),
        components: vec![BundledComponent {
            name: "echo.wasm".to_owned(),
            hash: blake3::hash(component).to_hex().to_string(),
            component: blob(0, &frames[0], component),
            code: blob(frames[0].len(), &frames[1], code),
        }],
    };
    joined(&frames.concat(), &index)
}

/// A program with these blobs and this index.
fn joined(blobs: &[u8], index: &Index) -> Vec<u8> {
    let index = serde_json::to_vec(index).expect("JSON");
    let footer = Footer {
        index_hash: blake3::hash(&index),
        archive_bytes: (blobs.len() + index.len()) as u64,
        index_bytes: index.len() as u64,
    };
    [PROGRAM, blobs, &index, &footer.encode()].concat()
}
