//! The whole: two PostgreSQL servers, an object store, three nodes, and a proxy on each of their
//! ways.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::node::{Node, Programs};
use crate::postgres::{self, End, Server};
use crate::proxy::{Proxy, Weather};
use crate::s3::{BUCKET, S3};

/// Nodes of a cluster.
pub const NODES: usize = 3;
/// How long the first node may take to serve: it compiles the plugins if no cache has them.
const START_MAX: Duration = Duration::from_secs(240);
/// The name of the account, and its dollars.
pub const ACCOUNT: &str = "caller";
const DOLLARS: &str = "1000";

/// A running cluster. Everything ends and is removed when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The way of each node to the database.
    pub to_database: Vec<Proxy>,
    /// The way of each node to the object store; empty if that is a folder.
    pub to_objects: Vec<Proxy>,
    /// An API key of the account.
    pub key: String,
    primary: Server,
    standby: Option<Server>,
    s3: Option<S3>,
    n_databases: u32,
    // Removed after everything that uses it.
    folder: TempDir,
}

impl Cluster {
    /// Starts everything and waits until a node serves.
    ///
    /// # Errors
    /// Something is missing or does not start.
    pub fn start(programs: &Programs, postgres: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in("/tmp").context("no temporary folder")?;
        let databases = postgres::Programs::find(postgres)?;
        let place = folder.path().join("postgres");
        std::fs::create_dir(&place)?;
        databases.own(&place)?;
        // Others may pass through it.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open)?;
        let primary = Server::primary(&databases, &place.join("0"))?;
        let standby = primary.standby(&place.join("1"))?;
        let s3 = S3::start(folder.path())?;
        let mut cluster = Self {
            nodes: Vec::new(),
            to_database: Vec::new(),
            to_objects: Vec::new(),
            key: String::new(),
            primary,
            standby: Some(standby),
            s3,
            n_databases: 2,
            folder,
        };
        for n in 0..NODES {
            cluster.add_node(programs, n)?;
        }
        let created = cluster.nodes[0].account(&["create", ACCOUNT, "--top-up", DOLLARS])?;
        let key = created["api_key"].as_str().context("no key")?;
        cluster.key = key.to_owned();
        for node in &mut cluster.nodes {
            node.start()?;
        }
        cluster.serving(START_MAX)?;
        Ok(cluster)
    }

    fn add_node(&mut self, programs: &Programs, n: usize) -> anyhow::Result<()> {
        let database = Proxy::start(self.primary.address())?;
        let url = format!(
            "postgres://trawl@{}/postgres?sslmode=disable",
            database.address()
        );
        let mut environment = vec![("TRAWL_STORE", url)];
        match &self.s3 {
            Some(s3) => {
                let objects = Proxy::start(s3.address())?;
                environment.extend([
                    ("TRAWL_OBJECTS", format!("s3://{BUCKET}/cluster")),
                    ("AWS_ENDPOINT", format!("http://{}", objects.address())),
                    ("AWS_ALLOW_HTTP", "true".to_owned()),
                    ("AWS_REGION", "us-east-1".to_owned()),
                    ("AWS_ACCESS_KEY_ID", "cluster".to_owned()),
                    ("AWS_SECRET_ACCESS_KEY", "cluster".to_owned()),
                ]);
                self.to_objects.push(objects);
            }
            None => {
                let objects = self.path("objects");
                std::fs::create_dir_all(&objects)?;
                let url = format!("file://{}", objects.display());
                environment.push(("TRAWL_OBJECTS", url));
            }
        }
        let folder = self.path(&format!("node-{n}"));
        self.nodes.push(Node::new(programs, &folder, environment)?);
        self.to_database.push(database);
        Ok(())
    }

    /// The node that serves, once there is one.
    ///
    /// # Errors
    /// None does within this time.
    pub fn serving(&self, time_max: Duration) -> anyhow::Result<usize> {
        let deadline = Instant::now() + time_max;
        loop {
            let mut nodes = self.nodes.iter();
            if let Some(at) = nodes.position(|node| node.serves(&self.key)) {
                return Ok(at);
            }
            if Instant::now() >= deadline {
                bail!("no node serves after {} s", time_max.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the primary in this way, and starts it again after this time.
    ///
    /// # Errors
    /// It does not start again.
    pub fn restart_database(&mut self, how: End, after: Duration) -> anyhow::Result<()> {
        self.primary.end(how)?;
        std::thread::sleep(after);
        self.primary.start_again()
    }

    /// The primary dies, its standby is promoted, and a new standby is made.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn fail_over(&mut self) -> anyhow::Result<()> {
        self.primary.end(End::Killed)?;
        let standby = self.standby.take().context("there is no standby")?;
        standby.promote()?;
        for proxy in &self.to_database {
            proxy.lead_to(standby.address());
        }
        self.primary = standby;
        let data = self.path(&format!("postgres/{}", self.n_databases));
        self.n_databases += 1;
        self.standby = Some(self.primary.standby(&data)?);
        Ok(())
    }

    /// All is well again: every way is open, and every node runs.
    ///
    /// # Errors
    /// A node does not start.
    pub fn heal(&mut self) -> anyhow::Result<()> {
        for proxy in self.to_database.iter().chain(&self.to_objects) {
            proxy.set(Weather::Fair);
        }
        for node in &mut self.nodes {
            // One that was replaced has ended.
            if !node.is_up()? {
                node.start()?;
            }
        }
        Ok(())
    }

    /// Addresses of all nodes.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// Whether pages are in an S3 server, not in a folder.
    pub const fn has_s3(&self) -> bool {
        self.s3.is_some()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
