//! The folder of one test: plugin manifest, guests, data directory, and how the server in it is set up.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trawl::config::{AiSettings, BrowserSettings, ProxySettings};
use trawl_test_guests::Guest;

/// A folder with everything a server needs, gone with the value.
pub struct World {
    folder: TempDir,
    /// Dollars on the account, as decimal text.
    pub dollars: &'static str,
    /// Ranges that are opened.
    pub allow_private: &'static [&'static str],
    /// The browser and how it is set up; `tabs: 0`, the default here, is none.
    pub browser: BrowserSettings,
    /// Upstream proxies.
    pub proxies: Vec<ProxySettings>,
    /// The language model; none by default.
    pub ai: Option<AiSettings>,
    /// Variables of the server's environment.
    pub environment: Vec<(String, String)>,
    /// Further lines of the configuration of a server that is a process of its own.
    pub config: String,
    /// What the server logs, as `RUST_LOG`; the process's own when empty.
    pub log: &'static str,
    /// Where the services of `[[provider]]` entries are instead: `http://…`, each below its name.
    vendors: Option<String>,
}

impl World {
    /// The first-party plugins, 127.0.0.1 open, and 100 dollars.
    ///
    /// # Panics
    /// When the guests are not built: `cargo xtask guests`.
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let world = Self {
            folder,
            dollars: "100",
            allow_private: &["127.0.0.1/32"],
            browser: BrowserSettings {
                tabs: 0,
                ..BrowserSettings::default()
            },
            proxies: Vec::new(),
            ai: None,
            environment: Vec::new(),
            config: String::new(),
            log: "",
            vendors: None,
        };
        fs::create_dir(world.data()).expect("a folder for data");
        // Compiled code is kept for all tests: compiling takes longer than most of them.
        let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/compiled-plugins");
        fs::create_dir_all(&compiled).expect("a folder for compiled code");
        std::os::unix::fs::symlink(compiled, world.data().join("compiled")).expect("a link");
        world.manifest("");
        world
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The plugin manifest.
    pub fn plugins(&self) -> PathBuf {
        self.path("plugins.toml")
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a guest's component beside the manifest.
    pub fn put(&self, guest: &Guest) {
        self.write(&format!("{}.wasm", guest.name), &guest.build());
    }

    /// Writes a file in one step: a watcher sees it as it was or as it is.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let new = self.path(&format!(".{name}.new"));
        fs::write(&new, bytes).expect("a file");
        fs::rename(new, self.path(name)).expect("a file in its place");
    }

    /// Writes the manifest: the checkout's own and `more`.
    pub fn manifest(&self, more: &str) {
        self.manifest_without(&[], more);
    }

    /// The same without the checkout's entries for these guests.
    fn manifest_without(&self, guests: &[&Guest], more: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = root.canonicalize().expect("the checkout");
        let own = fs::read_to_string(root.join("plugins.toml")).expect("the checkout's manifest");
        let built = format!("component = \"{}/target/guests/", root.display());
        let own = own.replace("component = \"target/guests/", &built);
        let own = match &self.vendors {
            Some(address) => at_vendors(&own, address),
            None => own,
        };
        let own = without(&own, guests);
        let wanted = root.join("target/guests/format_markdown.wasm");
        assert!(
            wanted.is_file(),
            "build the plugins first: cargo xtask guests"
        );
        self.write("plugins.toml", format!("{own}\n{more}").as_bytes());
    }

    /// Sends providers to services at this address, which have an account for each of these credentials.
    pub fn use_vendors(&mut self, address: std::net::SocketAddr, credentials: &[(&str, &str)]) {
        self.vendors = Some(format!("http://{address}"));
        let owned = credentials.iter();
        self.environment
            .extend(owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.manifest("");
    }

    /// Adds these guests to the manifest; `more` are further lines of each entry.
    pub fn load(&self, guests: &[&Guest], more: &str) {
        let mut entries = String::new();
        for guest in guests {
            self.put(guest);
            entries += &entry(guest, more);
        }
        self.manifest(&entries);
    }
}

impl World {
    /// Adds these guests to the manifest, each in the place of the checkout's own of its kind and name.
    pub fn load_instead(&self, guests: &[&Guest]) {
        let mut entries = String::new();
        for guest in guests {
            self.put(guest);
            entries += &entry(guest, "");
        }
        self.manifest_without(guests, &entries);
    }
}

/// The manifest without the entries for these guests.
fn without(manifest: &str, guests: &[&Guest]) -> String {
    let mut kept = String::new();
    for block in manifest.split_inclusive("\n\n") {
        let is_for = |guest: &&Guest| {
            block.contains(&format!("[[{}]]\nname = {:?}\n", guest.kind, guest.name))
        };
        if !guests.iter().any(is_for) {
            kept += block;
        }
    }
    kept
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The manifest with each provider's address below this one.
fn at_vendors(manifest: &str, address: &str) -> String {
    let mut lines = Vec::new();
    let mut is_provider = false;
    for line in manifest.lines() {
        lines.push(line.to_owned());
        is_provider = (is_provider && !line.starts_with('[')) || line == "[[provider]]";
        if let Some(name) = line.strip_prefix("name = ").filter(|_| is_provider) {
            lines.push(format!("base = \"{address}/{}\"", name.trim_matches('"')));
        }
    }
    lines.join("\n")
}

/// A manifest entry for a guest; `more` are further lines of it.
pub fn entry(guest: &Guest, more: &str) -> String {
    let (kind, name) = (guest.kind, &guest.name);
    format!("[[{kind}]]\nname = {name:?}\ncomponent = \"{name}.wasm\"\n{more}\n")
}
