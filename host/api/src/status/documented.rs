//! The reports of this folder as the document describes them. Their JSON comes from other crates;
//! tests compare it with these types.
#![expect(dead_code, reason = "these types document JSON that is made elsewhere")]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Whether pages can be served.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "status": "ok",
    "engines": {"http": {"ok": true, "milliseconds": 2, "error": null}, "browser": {"ok": false, "error": "no browser is installed"}},
    "ledger": {"ok": true}, "memory": {"bytes": 1048576, "bytes_max": 1073741824, "waiting": 0, "held": {"request_bodies": 65536,
        "page_bodies": 786432, "outputs": 196608, "answers": 0, "stored": 0, "webhooks": 0}},
    "connections": {"open": 12, "max": 57056, "waiting": 0},
    "pages": {"in_flight": 3, "max": 4096, "waiting": 0},
    "disk": {"ok": true, "free_bytes": 52110233600_u64, "floor_bytes": 1073741824},
    "plugins": {"ok": true, "generation": 1}, "plugins_generation": 1, "uptime_seconds": 3600, "version": "0.1.0",
}))]
pub(super) struct Health {
    /// `ok` or `failing`.
    status: String,
    /// The engines.
    engines: EnginesHealth,
    /// Whether charges are booked.
    ledger: PartHealth,
    /// The memory budget: bodies, pages, answers and all that is read back from the store.
    memory: MemoryHealth,
    /// Connections to sites.
    connections: ConnectionsHealth,
    /// Pages of all accounts.
    pages: PagesHealth,
    /// The disk of the data directory.
    disk: DiskHealth,
    /// The plugins.
    plugins: PluginsHealth,
    /// The same as `plugins.generation`.
    plugins_generation: u64,
    /// Seconds since the server started.
    uptime_seconds: u64,
    /// Version of the server.
    version: String,
}

/// The engines, each tried with a page of the built-in sample site.
#[derive(Serialize, ToSchema)]
struct EnginesHealth {
    /// Plain HTTP.
    http: EngineHealth,
    /// The browser.
    browser: EngineHealth,
}

/// Whether an engine can serve a page.
#[derive(Serialize, ToSchema)]
struct EngineHealth {
    /// Whether it can.
    ok: bool,
    /// How long the page took; absent if the engine is not installed.
    milliseconds: Option<u64>,
    /// Why it cannot; null if it can.
    error: Option<String>,
}

/// Whether a part of the server works.
#[derive(Serialize, ToSchema)]
struct PartHealth {
    /// Whether it does.
    ok: bool,
}

/// The memory budget.
#[derive(Serialize, ToSchema)]
struct MemoryHealth {
    /// Bytes in use.
    bytes: u64,
    /// Most bytes.
    bytes_max: u64,
    /// Pages, request bodies and readers that wait for memory.
    waiting: u64,
    /// `bytes` by what they are for.
    held: HeldMemory,
}

/// Connections to sites, those kept open for later requests among them.
#[derive(Serialize, ToSchema)]
struct ConnectionsHealth {
    /// Connections that are open.
    open: u64,
    /// Most connections.
    max: u64,
    /// Requests that wait for one.
    waiting: u64,
}

/// Pages of all accounts.
#[derive(Serialize, ToSchema)]
struct PagesHealth {
    /// Pages that are being made.
    in_flight: u64,
    /// Most pages at once.
    max: u64,
    /// Pages that wait for their turn.
    waiting: u64,
}

/// Bytes of the memory budget in use, by what they are for. Their sum is `bytes`.
#[derive(Serialize, ToSchema)]
struct HeldMemory {
    /// Bodies of requests, until they are planned and served.
    request_bodies: u64,
    /// Bodies of pages, robots.txt files, sitemaps and replies of providers, and screenshots.
    page_bodies: u64,
    /// Documents, outputs, and page entries until they are recorded and sent.
    outputs: u64,
    /// Responses that are collected before they are sent: with an `Idempotency-Key`, content of
    /// `/fetch`.
    answers: u64,
    /// What is read back from the store: entries of crawls, lists, statements.
    stored: u64,
    /// Webhook events that are being delivered.
    webhooks: u64,
}

/// The disk of the data directory.
#[derive(Serialize, ToSchema)]
struct DiskHealth {
    /// Whether more than the floor is free.
    ok: bool,
    /// Free bytes.
    free_bytes: Option<u64>,
    /// Free bytes below which nothing more is stored.
    floor_bytes: Option<u64>,
}

/// Whether the plugins are up to date with the files on disk.
#[derive(Serialize, ToSchema)]
struct PluginsHealth {
    /// Whether the last reload succeeded.
    ok: bool,
    /// How often plugins were loaded.
    generation: u64,
}

/// The loaded plugins.
#[derive(Serialize, ToSchema)]
pub(crate) struct PluginList {
    /// How often plugins were loaded.
    generation: u64,
    /// The plugins, in the order of the manifest.
    plugins: Vec<Plugin>,
    /// Why the last reload failed; absent if it did not.
    last_error: Option<ReloadFailure>,
}

/// A plugin and its calls since it was loaded.
#[derive(Serialize, ToSchema)]
struct Plugin {
    /// `format`, `filter`, `extractor`, `chunker`, `analyst`, `decoder`, `provider` or
    /// `search`.
    kind: String,
    /// Name in requests.
    name: String,
    /// Name that its author gave it.
    plugin: String,
    /// Its version.
    version: String,
    /// What it does.
    summary: String,
    /// The contract it was built for, such as `trawl:format@1.0.0`.
    contract: String,
    /// BLAKE3 hash of its file, in hex.
    hash: String,
    /// Bytes of its file.
    size_bytes: u64,
    /// Whether it is native code rather than a component.
    native: bool,
    /// `file` or `bundled`, inside the server's program.
    source: String,
    /// What one call may consume.
    limits: PluginLimits,
    /// Hosts that a provider's requests may go to; other plugins send none.
    grants: Vec<String>,
    /// Media types of the documents that a decoder reads; absent for other kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    media_types: Vec<String>,
    /// Parts of a page that it gets in addition to the document.
    needs: PluginNeeds,
    /// JSON Schema of its options.
    #[schema(value_type = Object)]
    options_schema: Value,
    /// All calls.
    calls: u64,
    /// Calls that returned a failure.
    failures: u64,
    /// Calls in which it misbehaved.
    traps: u64,
    /// Total time of all calls in milliseconds, with a fraction.
    busy_ms: f64,
    /// Highest memory peak of a call in bytes.
    memory_peak_bytes: u64,
}

/// What one call of a plugin may consume.
#[derive(Serialize, ToSchema)]
struct PluginLimits {
    /// Memory in mebibytes.
    memory_mib: u64,
    /// Time in milliseconds.
    time_ms: u64,
    /// Size of the result in mebibytes.
    output_mib: u64,
    /// Size of what it gets in mebibytes.
    input_mib: u64,
}

/// Parts of a page that a plugin gets in addition to the document.
#[derive(Serialize, ToSchema)]
struct PluginNeeds {
    /// The source as text.
    source: bool,
    /// The body as received.
    body: bool,
}

/// Why the last reload failed. The plugins of the one before stay in effect.
#[derive(Serialize, ToSchema)]
struct ReloadFailure {
    /// Which plugin, and what to do.
    reason: String,
    /// When, in seconds since 1970.
    at: u64,
    /// The same in RFC 3339.
    time: String,
}

/// The third-party providers, in the order of preference.
#[derive(Serialize, ToSchema)]
pub(super) struct ProviderList {
    /// With an account's key, what callers may know; with the admin key, all of it.
    providers: Vec<Provider>,
}

/// A provider for callers, or for the operator.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Provider {
    /// For callers.
    Offered(OfferedProvider),
    /// For the operator.
    Status(Box<ProviderStatus>),
}

/// A provider for callers.
#[derive(Serialize, ToSchema)]
struct OfferedProvider {
    /// Name in requests.
    name: String,
    /// Name of its vendor, which requests may use as well.
    vendor: Option<String>,
    /// Name of the product.
    label: String,
    /// Abilities without JavaScript.
    plain: Vec<String>,
    /// Abilities with JavaScript.
    rendered: Vec<String>,
    /// Names of its credentials.
    credentials: Vec<String>,
    /// Whether a request may bring a key for it.
    takes_own_key: bool,
    /// Whether it can run without a key of the caller's.
    is_pooled: bool,
    /// Prices of its units in dollars, before what is added to them.
    prices: BTreeMap<String, String>,
    /// The most that it can charge for a page, in dollars.
    most: String,
}

/// A provider for the operator.
#[derive(Serialize, ToSchema)]
struct ProviderStatus {
    /// Name in requests.
    name: String,
    /// Name of the product.
    label: String,
    /// Version of the adapter.
    version: String,
    /// What the configuration grants.
    grant: ProviderGrant,
    /// Whether the operator has credentials for it.
    has_pooled_credentials: bool,
    /// Credentials that are paused after failures.
    paused_credentials: u64,
    /// Seconds until the last of them is tried again.
    paused_seconds: u64,
    /// Abilities without JavaScript.
    plain: Vec<String>,
    /// Abilities with JavaScript.
    rendered: Vec<String>,
    /// Calls on keys of callers.
    own_keys: ProviderCalls,
    /// Calls on the operator's credentials.
    pooled: ProviderCalls,
}

/// What the configuration grants to a provider.
#[derive(Serialize, ToSchema)]
struct ProviderGrant {
    /// Hosts that its requests may go to.
    hosts: Vec<String>,
    /// Names of its credentials.
    credentials: Vec<String>,
    /// Base URL of the service.
    base: String,
    /// Whether it may run on the operator's credentials.
    pooled: bool,
    /// The operator's settings for it.
    #[schema(value_type = Object)]
    settings: Value,
    /// Its prices.
    prices: ProviderPrices,
}

/// Prices of a provider in dollars, as decimal text.
#[derive(Serialize, ToSchema)]
struct ProviderPrices {
    /// Date of the prices.
    date: String,
    /// Source of the prices.
    source: String,
    /// The most that a page can cost.
    most: String,
    /// What a page is assumed to cost when the service reports nothing.
    least: String,
    /// The price of each unit.
    units: BTreeMap<String, String>,
}

/// Calls of a provider since the server started. Amounts are dollars as decimal text.
#[derive(Serialize, ToSchema)]
struct ProviderCalls {
    /// All calls.
    calls: u64,
    /// Those that served a page.
    served: u64,
    /// The others by class.
    failures: BTreeMap<String, u64>,
    /// Mean time in milliseconds.
    mean_ms: u64,
    /// Longest time in milliseconds.
    slowest_ms: u64,
    /// What the service charged.
    vendor_cost: String,
    /// What was billed for its pages.
    billed: String,
    /// What was billed above the service's charge.
    margin: String,
}
