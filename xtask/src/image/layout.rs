//! The OCI image layout: a folder of layers and of the JSON that names them by their hashes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::layer::{self, Layer};
use super::settings::{DATA, ENVIRONMENT, PROGRAM, USER, emptied};

/// The version of the workspace, which is the one of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Folder of layers and JSON below the layout.
const BLOBS: &str = "blobs/sha256";
/// Seconds in the nanoseconds that health checks are measured in.
const SECOND: u64 = 1_000_000_000;

/// Writes `folder/layout`: an image with a layer for each of these roots. Returns the layout.
pub(super) fn write(folder: &Path, roots: &[&Path], architecture: &str) -> anyhow::Result<PathBuf> {
    let layout = emptied(&folder.join("layout"))?;
    let blobs = layout.join(BLOBS);
    fs::create_dir_all(&blobs)?;
    let layers = roots.iter().map(|root| layer::write(root, &blobs));
    let layers = layers.collect::<anyhow::Result<Vec<_>>>()?;
    let config = blob(&blobs, &config(&layers, architecture), CONFIG)?;
    let manifest = blob(&blobs, &manifest(&config, &layers), MANIFEST)?;
    write_json(
        &layout,
        "oci-layout",
        &json!({"imageLayoutVersion": "1.0.0"}),
    )?;
    write_json(&layout, "index.json", &index(manifest, architecture))?;
    write_json(&layout, "manifest.json", &for_docker(&config, &layers))?;
    Ok(layout)
}

/// The files of an image's layers, the lowest first.
pub(super) fn layers(layout: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let blobs = layout.join(BLOBS);
    let read = |file: &Path| -> anyhow::Result<Value> {
        let text = fs::read(file).with_context(|| {
            format!(
                "there is no `{}`, run `cargo xtask image` first",
                file.display()
            )
        })?;
        Ok(serde_json::from_slice(&text)?)
    };
    let index = read(&layout.join("index.json"))?;
    let manifest = read(&blobs.join(hash(&index["manifests"][0])?))?;
    let layers = manifest["layers"].as_array().context("it has no layers")?;
    layers
        .iter()
        .map(|layer| Ok(blobs.join(hash(layer)?)))
        .collect()
}

/// The hash in a descriptor.
fn hash(descriptor: &Value) -> anyhow::Result<&str> {
    let digest = descriptor["digest"].as_str();
    let hash = digest.and_then(|digest| digest.strip_prefix("sha256:"));
    hash.context("a part of the image has no hash")
}

/// Media types of the OCI image specification 1.1.
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// How the program is started. `Healthcheck` is an addition of Docker's to the specification.
fn config(layers: &[Layer], architecture: &str) -> Value {
    let content = layers
        .iter()
        .map(|layer| format!("sha256:{}", layer.content_hash));
    let environment = ENVIRONMENT.map(|(name, value)| format!("{name}={value}"));
    json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": {"8700/tcp": {}},
            "Env": environment,
            "Entrypoint": [PROGRAM],
            "Cmd": ["serve"],
            "Volumes": {(DATA): {}},
            "WorkingDir": DATA,
            "StopSignal": "SIGTERM",
            "Labels": annotations(),
            "Healthcheck": {
                "Test": ["CMD", PROGRAM, "health"],
                "Interval": 30 * SECOND,
                "Timeout": 30 * SECOND,
                "StartPeriod": 60 * SECOND,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": content.collect::<Vec<_>>()},
        "history": [
            {"created_by": "Debian packages: browser, libraries, fonts, certificates"},
            {"created_by": "trawl with its plugins"},
        ],
    })
}

fn manifest(config: &Value, layers: &[Layer]) -> Value {
    let layers = layers
        .iter()
        .map(|layer| descriptor(LAYER, &layer.hash, layer.n_bytes));
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": layers.collect::<Vec<_>>(),
        "annotations": annotations(),
    })
}

fn index(mut manifest: Value, architecture: &str) -> Value {
    manifest["platform"] = json!({"architecture": architecture, "os": "linux"});
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": VERSION,
        "io.containerd.image.name": format!("docker.io/library/trawl:{VERSION}"),
    });
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]})
}

/// What `docker load` reads where it does not know the layout.
fn for_docker(config: &Value, layers: &[Layer]) -> Value {
    let file = |hash: &str| format!("{BLOBS}/{hash}");
    let layers = layers.iter().map(|layer| file(&layer.hash));
    json!([{
        "Config": hash(config).map(file).unwrap_or_default(),
        "RepoTags": [format!("trawl:{VERSION}")],
        "Layers": layers.collect::<Vec<_>>(),
    }])
}

fn annotations() -> Value {
    json!({
        "org.opencontainers.image.title": "trawl",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    })
}

fn descriptor(media_type: &str, hash: &str, n_bytes: u64) -> Value {
    json!({"mediaType": media_type, "digest": format!("sha256:{hash}"), "size": n_bytes})
}

/// Writes JSON under its hash. Returns its descriptor.
fn blob(blobs: &Path, value: &Value, media_type: &str) -> anyhow::Result<Value> {
    let bytes = serde_json::to_vec(value)?;
    let hash = layer::hash_of(&bytes);
    fs::write(blobs.join(&hash), &bytes)?;
    Ok(descriptor(media_type, &hash, bytes.len() as u64))
}

fn write_json(layout: &Path, name: &str, value: &Value) -> anyhow::Result<()> {
    Ok(fs::write(layout.join(name), serde_json::to_vec(value)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout of two small roots, and the folder it is in.
    fn layout() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let roots = ["lower", "upper"].map(|name| dir.path().join(name));
        for root in &roots {
            fs::create_dir_all(root.join("usr/bin")).expect("made");
            fs::write(root.join("usr/bin/program"), "code").expect("written");
        }
        let layout = write(dir.path(), &[&roots[0], &roots[1]], "amd64").expect("a layout");
        (dir, layout)
    }

    fn json_in(file: &Path) -> Value {
        serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON")
    }

    /// The JSON that a descriptor names, whose hash and size must be right.
    fn named(layout: &Path, descriptor: &Value) -> Value {
        let hash = hash(descriptor).expect("a hash");
        let bytes = fs::read(layout.join(BLOBS).join(hash)).expect("a blob");
        assert_eq!(layer::hash_of(&bytes), hash);
        assert_eq!(descriptor["size"], bytes.len());
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[test]
    fn each_part_is_named_by_its_hash() {
        let (_dir, layout) = layout();
        let index = json_in(&layout.join("index.json"));
        let manifest = named(&layout, &index["manifests"][0]);
        let config = named(&layout, &manifest["config"]);
        let files = layers(&layout).expect("the layers");
        assert_eq!(files.len(), 2);
        let docker = json_in(&layout.join("manifest.json"));
        for (number, file) in files.iter().enumerate() {
            let layer = docker[0]["Layers"][number].as_str().expect("a file");
            assert_eq!(&layout.join(layer), file);
            let bytes = fs::read(file).expect("a layer");
            assert_eq!(manifest["layers"][number]["size"], bytes.len());
            let content = config["rootfs"]["diff_ids"][number].as_str();
            assert!(content.is_some_and(|content| content.starts_with("sha256:")));
        }
        let config_file = docker[0]["Config"].as_str().expect("a file");
        assert!(layout.join(config_file).is_file(), "{config_file}");
    }

    #[test]
    fn the_program_runs_as_a_user_and_is_checked() {
        let (_dir, layout) = layout();
        let index = json_in(&layout.join("index.json"));
        let manifest = named(&layout, &index["manifests"][0]);
        let config = &named(&layout, &manifest["config"])["config"];
        assert_eq!(config["User"], "10001:10001");
        assert_eq!(config["Entrypoint"], json!(["/usr/bin/trawl"]));
        assert_eq!(config["Healthcheck"]["Test"][2], "health");
        assert_eq!(config["Volumes"], json!({"/var/lib/trawl": {}}));
        let environment = config["Env"].as_array().expect("variables");
        assert!(environment.contains(&json!("TRAWL_LISTEN=0.0.0.0:8700")));
        assert_eq!(index["manifests"][0]["platform"]["architecture"], "amd64");
    }

    #[test]
    fn the_examples_name_this_image() {
        let example = |name: &str| {
            let file = crate::workspace::root().join("docs").join(name);
            fs::read_to_string(file).expect("an example")
        };
        let compose = example("compose.yaml");
        assert!(compose.contains(&format!("image: trawl:{VERSION}\n")));
        assert!(compose.contains(&format!("- trawl:{DATA}\n")));
        let kubernetes = example("kubernetes.yaml");
        assert!(kubernetes.contains(&format!("/trawl:{VERSION}\n")));
        let nodes = example("compose-nodes.yaml");
        assert!(nodes.contains(&format!("image: trawl:{VERSION}\n")));
        for node in 1..=3 {
            assert!(
                nodes.contains(&format!("- trawl-{node}:{DATA}\n")),
                "{node}"
            );
            assert!(nodes.contains(&format!("TRAWL_ADDRESS: trawl-{node}:8700\n")));
        }
        let nodes = example("kubernetes-nodes.yaml");
        assert!(nodes.contains(&format!("/trawl:{VERSION}\n")));
        assert!(nodes.contains(&format!("mountPath: {DATA}\n")));
        for user in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert!(nodes.contains(&format!("{user}: {USER}\n")), "{user}");
            assert!(kubernetes.contains(&format!("{user}: {USER}\n")), "{user}");
        }
        assert!(kubernetes.contains(&format!("mountPath: {DATA}\n")));
    }

    #[test]
    fn a_missing_image_says_how_to_make_one() {
        let error = layers(Path::new("/nowhere")).expect_err("no image");
        assert!(error.to_string().contains("cargo xtask image"), "{error}");
    }
}
