//! The folder of one test: plugin manifest, components, data directory, and the settings of its
//! server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use trawl::config::{
    AccessLogSetting, AiSettings, BotSettings, BrowserSettings, HttpSettings, LimitSettings,
    ProxySettings, TraceConfig,
};
use trawl_test_guests::Guest;

/// A folder with everything that a server needs. It is removed on drop.
pub struct World {
    folder: TempDir,
    /// Initial balance of the account in dollars, as decimal text.
    pub dollars: &'static str,
    /// Private IP ranges that requests may reach.
    pub allow_private: &'static [&'static str],
    /// The browser and its settings; the default here is `tabs: 0`, which means no browser.
    pub browser: BrowserSettings,
    /// How the server names itself to sites.
    pub bot: BotSettings,
    /// Connections of callers.
    pub http: HttpSettings,
    /// Where trace context is sent, and spans.
    pub trace: TraceConfig,
    /// Limits of a server in the test's process; requests a minute are not limited here.
    pub limits: LimitSettings,
    /// Upstream proxies.
    pub proxies: Vec<ProxySettings>,
    /// The language model; none by default.
    pub ai: Option<AiSettings>,
    /// Whether a server in this process keeps pages.
    pub keeps_pages: bool,
    /// Environment variables of the server.
    pub environment: Vec<(String, String)>,
    /// Additional configuration of a server that is a child process.
    pub config: String,
    /// Port of a server that is a child process, whose output then goes nowhere; otherwise it has
    /// any free one, and what it prints says which.
    pub port: Option<u16>,
    /// Most files and sockets that a server that is a child process may open; inherited when it is
    /// `None`.
    pub descriptors_max: Option<u32>,
    /// Value of `RUST_LOG` for the server; inherited when it is empty.
    pub log: &'static str,
    /// What becomes of the log of a server that is a child process.
    pub log_to: LogTo,
    /// The search services that are asked, by name; empty for the default.
    pub searches: Vec<String>,
    /// Base URL of the fake vendors: each provider of the manifest uses its name below it.
    vendors: Option<String>,
    /// The same for search services.
    search_services: Option<String>,
}

/// Where the log of a server goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTo {
    /// To the file `log` in the folder.
    File,
    /// To a full disk.
    FullDisk,
    /// Into a pipe whose reader is gone.
    ClosedPipe,
}

impl LogTo {
    /// An output that goes there.
    ///
    /// # Panics
    /// When it cannot be opened.
    pub fn open(self, file: &Path) -> Stdio {
        match self {
            Self::File => fs::File::create(file).expect("a log").into(),
            Self::FullDisk => {
                let full = fs::OpenOptions::new().write(true).open("/dev/full");
                full.expect("a device").into()
            }
            Self::ClosedPipe => {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                writer.into()
            }
        }
    }
}

impl World {
    /// A world with the first-party plugins, 127.0.0.1 allowed, and 100 dollars.
    ///
    /// # Panics
    /// When the plugins are not built: `cargo xtask guests`.
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// The same in a folder below this one.
    ///
    /// # Panics
    /// When the plugins are not built: `cargo xtask guests`.
    pub fn new_in(parent: &Path) -> Self {
        let folder = TempDir::new_in(parent).expect("a temporary folder");
        let world = Self {
            folder,
            dollars: "100",
            allow_private: &["127.0.0.1/32"],
            browser: BrowserSettings {
                tabs: 0,
                ..BrowserSettings::default()
            },
            bot: BotSettings::default(),
            http: HttpSettings {
                access_log: AccessLogSetting::Off,
                ..HttpSettings::default()
            },
            trace: TraceConfig::default(),
            limits: LimitSettings {
                requests_per_minute: 1_000_000,
                free_disk_mib: Some(0),
                ..LimitSettings::default()
            },
            proxies: Vec::new(),
            ai: None,
            keeps_pages: true,
            environment: Vec::new(),
            config: String::new(),
            port: None,
            descriptors_max: None,
            log: "",
            log_to: LogTo::File,
            searches: Vec::new(),
            vendors: None,
            search_services: None,
        };
        fs::create_dir(world.data()).expect("a folder for data");
        // All tests share the cache of compiled components: compiling takes longer than most tests.
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

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a component next to the manifest.
    pub fn put(&self, guest: &Guest) {
        self.write(&format!("{}.wasm", guest.name), &guest.build());
    }

    /// Replaces a file atomically, so that a watcher sees the old or the new content.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let new = self.path(&format!(".{name}.new"));
        fs::write(&new, bytes).expect("a file");
        fs::rename(new, self.path(name)).expect("a file in its place");
    }

    /// Writes the manifest: the repository's own entries and `more`.
    pub fn manifest(&self, more: &str) {
        self.manifest_without(&[], more);
    }

    /// Writes the same without the repository's entries for these plugins.
    fn manifest_without(&self, guests: &[&Guest], more: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = root.canonicalize().expect("the checkout");
        let own = fs::read_to_string(root.join("plugins.toml")).expect("the checkout's manifest");
        let built = format!("component = \"{}/target/guests/", root.display());
        let own = own.replace("component = \"target/guests/", &built);
        let own = match &self.vendors {
            Some(address) => at_vendors(&own, "[[provider]]", address),
            None => own,
        };
        let own = match &self.search_services {
            Some(address) => at_vendors(&own, "[[search]]", address),
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

    /// Sends providers to the vendors at this address and sets these credentials in the
    /// environment.
    pub fn use_vendors(&mut self, address: std::net::SocketAddr, credentials: &[(&str, &str)]) {
        self.vendors = Some(format!("http://{address}"));
        let owned = credentials.iter();
        self.environment
            .extend(owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.manifest("");
    }

    /// Sends search adapters to the services at this address, of which these are asked, and sets
    /// these credentials in the environment.
    pub fn use_searches(
        &mut self,
        address: std::net::SocketAddr,
        names: &[&str],
        credentials: &[(&str, &str)],
    ) {
        self.search_services = Some(format!("http://{address}"));
        self.searches = names.iter().map(|name| (*name).to_owned()).collect();
        let owned = credentials.iter();
        self.environment
            .extend(owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.manifest("");
    }

    /// Adds these plugins to the manifest, each with the lines `more`.
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
    /// Adds these plugins to the manifest in place of the repository's plugins of the same kind and
    /// name.
    pub fn load_instead(&self, guests: &[&Guest]) {
        let mut entries = String::new();
        for guest in guests {
            self.put(guest);
            entries += &entry(guest, "");
        }
        self.manifest_without(guests, &entries);
    }
}

/// The manifest without the entries for these plugins.
fn without(manifest: &str, guests: &[&Guest]) -> String {
    let mut rest = String::new();
    for block in manifest.split_inclusive("\n\n") {
        let is_for = |guest: &&Guest| {
            block.contains(&format!("[[{}]]\nname = {:?}\n", guest.kind, guest.name))
        };
        if !guests.iter().any(is_for) {
            rest += block;
        }
    }
    rest
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The manifest with a base URL below this one for each entry with this head.
fn at_vendors(manifest: &str, head: &str, address: &str) -> String {
    let mut lines = Vec::new();
    let mut is_entry = false;
    for line in manifest.lines() {
        is_entry = (is_entry && !line.starts_with('[')) || line == head;
        if is_entry && line.starts_with("base = ") {
            continue;
        }
        lines.push(line.to_owned());
        if let Some(name) = line.strip_prefix("name = ").filter(|_| is_entry) {
            lines.push(format!("base = \"{address}/{}\"", name.trim_matches('"')));
        }
    }
    lines.join("\n")
}

/// The manifest entry of a plugin, with the lines `more`.
pub fn entry(guest: &Guest, more: &str) -> String {
    let (kind, name) = (guest.kind, &guest.name);
    format!("[[{kind}]]\nname = {name:?}\ncomponent = \"{name}.wasm\"\n{more}\n")
}
