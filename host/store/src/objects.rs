//! A store of immutable objects: a folder, or a bucket of an S3 service.

use std::fmt;
use std::fs::DirBuilder;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};

use crate::error::StoreError;

const PRIVATE_FOLDER: u32 = 0o700;
/// How often, and for how long, a request is repeated that the service did not take.
const RETRIES_MAX: usize = 5;
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);

/// Where objects are stored: `file:///folder` or `s3://bucket/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectsUrl(Location);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Folder(String),
    Bucket { name: String, prefix: String },
}

/// The text is not an [`ObjectsUrl`].
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither `file:///folder` nor `s3://bucket/prefix`")]
pub struct NotAnObjectsUrl(String);

impl FromStr for ObjectsUrl {
    type Err = NotAnObjectsUrl;

    fn from_str(text: &str) -> Result<Self, NotAnObjectsUrl> {
        let refusal = || NotAnObjectsUrl(text.to_owned());
        if let Some(folder) = text.strip_prefix("file://") {
            let is_absolute = folder.starts_with('/') && folder.len() > 1;
            let folder = is_absolute.then(|| folder.to_owned());
            return folder.map(Location::Folder).map(Self).ok_or_else(refusal);
        }
        let bucket = text.strip_prefix("s3://").ok_or_else(refusal)?;
        let (name, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
        // What names the user would be ignored, and a path of dots is none.
        let is_plain = !name.is_empty() && !name.contains(['@', ':', '?', '#']);
        if !is_plain || Path::parse(prefix).is_err() {
            return Err(refusal());
        }
        let (name, prefix) = (name.to_owned(), prefix.to_owned());
        Ok(Self(Location::Bucket { name, prefix }))
    }
}

impl fmt::Display for ObjectsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::Folder(folder) => write!(f, "file://{folder}"),
            Location::Bucket { name, prefix } => write!(f, "s3://{name}/{prefix}"),
        }
    }
}

/// The objects below a folder or a prefix. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Objects {
    /// Opens a store. A folder is created if it is missing. The credentials, the region and the
    /// endpoint of a bucket are those of the environment, in the variables of Amazon's own tools:
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`.
    ///
    /// # Errors
    /// [`StoreError::Objects`]: the folder cannot be created, or a variable is invalid.
    pub fn open(url: &ObjectsUrl) -> Result<Self, StoreError> {
        match &url.0 {
            Location::Folder(folder) => {
                let created = DirBuilder::new()
                    .recursive(true)
                    .mode(PRIVATE_FOLDER)
                    .create(folder);
                created.map_err(|error| failed("open", error.to_string(), false))?;
                let store = LocalFileSystem::new_with_prefix(folder).map_err(failed_to("open"))?;
                Ok(Self {
                    store: Arc::new(store.with_fsync(true)),
                    prefix: Path::default(),
                })
            }
            Location::Bucket { name, prefix } => {
                // It fails when there is a provider already, which is just as good.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let retries = RetryConfig {
                    max_retries: RETRIES_MAX,
                    retry_timeout: RETRY_TIME_MAX,
                    ..RetryConfig::default()
                };
                let store = AmazonS3Builder::from_env()
                    .with_bucket_name(name)
                    .with_retry(retries)
                    .build()
                    .map_err(failed_to("open"))?;
                let prefix = Path::parse(prefix)
                    .map_err(|error| failed("open", error.to_string(), false))?;
                Ok(Self {
                    store: Arc::new(store),
                    prefix,
                })
            }
        }
    }

    /// Writes an object, in place of one with the same name.
    ///
    /// # Errors
    /// [`StoreError::Objects`]; it may be there all the same.
    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let written = self.store.put(&self.path(name), bytes.into()).await;
        written.map(drop).map_err(failed_to("write an object"))
    }

    /// Reads a part of an object.
    ///
    /// # Errors
    /// [`StoreError::Objects`], also if there is no such object or no such part.
    pub(crate) async fn get(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let wanted = range.end - range.start;
        let read = self.store.get_range(&self.path(name), range).await;
        let bytes = read.map_err(failed_to("read an object"))?;
        if bytes.len() as u64 != wanted {
            let reason = format!("{} of {wanted} bytes", bytes.len());
            return Err(failed("read an object", reason, false));
        }
        Ok(bytes)
    }

    /// Deletes an object. A missing one is no error.
    ///
    /// # Errors
    /// [`StoreError::Objects`].
    pub(crate) async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed_to("delete an object")(error)),
        }
    }

    fn path(&self, name: &str) -> Path {
        self.prefix.clone().join("pages").join(name)
    }
}

fn failed(doing: &'static str, reason: String, is_passing: bool) -> StoreError {
    StoreError::Objects {
        doing,
        reason,
        is_passing,
    }
}

fn failed_to(doing: &'static str) -> impl Fn(object_store::Error) -> StoreError {
    move |error| {
        // The others say that the request is wrong.
        let is_passing = matches!(error, object_store::Error::Generic { .. });
        failed(doing, error.to_string(), is_passing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_folder_or_a_bucket() {
        let parsed = |text: &str| text.parse::<ObjectsUrl>().map(|url| url.to_string());
        for (text, shown) in [
            ("file:///srv/pages", "file:///srv/pages"),
            ("s3://bucket", "s3://bucket/"),
            ("s3://bucket/a/b", "s3://bucket/a/b"),
        ] {
            assert_eq!(parsed(text).expect(text), shown);
        }
        for text in [
            "",
            "/srv/pages",
            "file://pages",
            "file:///",
            "s3://",
            "s3:///a",
            "s3://key:secret@bucket/a",
            "s3://bucket/a/../b",
            "https://bucket/a",
        ] {
            let refusal = parsed(text).expect_err(text);
            assert!(refusal.to_string().contains("file:///folder"), "{refusal}");
        }
    }

    #[tokio::test]
    async fn objects_are_read_in_parts_and_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}/objects", folder.path().display());
        let url: ObjectsUrl = url.parse().expect("a URL");
        let objects = Objects::open(&url).expect("a store");
        objects
            .put("ab", b"0123456789".to_vec())
            .await
            .expect("written");
        assert_eq!(objects.get("ab", 2..5).await.expect("read"), &b"234"[..]);
        assert!(objects.get("ab", 8..12).await.is_err(), "it ends before");
        assert!(objects.get("cd", 0..1).await.is_err());
        objects.delete("ab").await.expect("deleted");
        objects.delete("ab").await.expect("deleted already");
        assert!(objects.get("ab", 0..1).await.is_err());
    }
}
