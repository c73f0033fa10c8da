//! Which pages are stored, where, and which were used last. Pure.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::log::{BodySize, LogPosition, Replayed};
use super::{BodyHash, Key};

/// What files occupy is counted in blocks of this size.
const BLOCK_BYTES: u64 = 4096;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its record in the log.
    pub(super) position: LogPosition,
    /// Its body.
    pub(super) body: BodyHash,
    used: u64,
}

#[derive(Debug)]
struct Body {
    n_pages: u32,
    size: BodySize,
}

/// The index of all stored pages.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: FxHashMap<Key, Slot>,
    bodies: FxHashMap<BodyHash, Body>,
    by_use: BTreeMap<u64, Key>,
    n_uses: u64,
    body_bytes: u64,
    record_bytes: u64,
}

impl Index {
    /// Takes a record of the log, oldest first.
    pub(super) fn replay(&mut self, record: Replayed) {
        match record.body {
            Some((body, size)) => {
                self.insert(record.key, record.position, body, size);
            }
            None => {
                self.remove(&record.key);
            }
        }
    }

    /// Adds a page, replacing the one with this key. Returns a body that no page uses any more: its
    /// file can be deleted.
    pub(super) fn insert(
        &mut self,
        key: Key,
        position: LogPosition,
        body: BodyHash,
        size: BodySize,
    ) -> Option<BodyHash> {
        let entry = self.bodies.entry(body).or_insert(Body { n_pages: 0, size });
        entry.n_pages += 1;
        if entry.n_pages == 1 {
            self.body_bytes += on_disk(size.disk_bytes);
        }
        let unused = self.remove(&key);
        self.n_uses += 1;
        self.by_use.insert(self.n_uses, key);
        self.record_bytes += u64::from(position.len);
        let used = self.n_uses;
        self.slots.insert(
            key,
            Slot {
                position,
                body,
                used,
            },
        );
        unused
    }

    /// Removes a page. A body that no page has any more comes back: its file is to go.
    pub(super) fn remove(&mut self, key: &Key) -> Option<BodyHash> {
        let slot = self.slots.remove(key)?;
        self.by_use.remove(&slot.used);
        self.record_bytes -= u64::from(slot.position.len);
        let body = self.bodies.get_mut(&slot.body)?;
        body.n_pages -= 1;
        if body.n_pages > 0 {
            return None;
        }
        self.body_bytes -= on_disk(body.size.disk_bytes);
        self.bodies.remove(&slot.body);
        Some(slot.body)
    }

    /// Removes every page with this body. Rare, so it looks at all of them.
    pub(super) fn drop_body(&mut self, body: &BodyHash) {
        self.retain_bodies(|known| known != body);
    }

    /// Removes the pages whose bodies are missing.
    pub(super) fn retain_bodies(&mut self, is_wanted: impl Fn(&BodyHash) -> bool) {
        let slots = self.slots.iter();
        let unwanted: Vec<Key> = slots
            .filter(|(_, slot)| !is_wanted(&slot.body))
            .map(|(key, _)| *key)
            .collect();
        for key in unwanted {
            self.remove(&key);
        }
    }

    /// Evicts the least recently used pages until the rest is within both bounds. The files of the
    /// returned bodies can be deleted.
    pub(super) fn evict(&mut self, bytes_max: u64, pages_max: usize) -> Vec<BodyHash> {
        let mut unused = Vec::new();
        while self.bytes() > bytes_max || self.slots.len() > pages_max {
            let Some((_, key)) = self.by_use.first_key_value() else {
                break;
            };
            let key = *key;
            unused.extend(self.remove(&key));
        }
        unused
    }

    /// Where a page is; it counts as used.
    pub(super) fn touch(&mut self, key: &Key) -> Option<Slot> {
        let slot = self.slots.get_mut(key)?;
        self.by_use.remove(&slot.used);
        self.n_uses += 1;
        slot.used = self.n_uses;
        self.by_use.insert(slot.used, *key);
        Some(*slot)
    }

    /// Where a page is, without using it.
    pub(super) fn slot(&self, key: &Key) -> Option<Slot> {
        self.slots.get(key).copied()
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.slots.contains_key(key)
    }

    pub(super) fn has_body(&self, body: &BodyHash) -> bool {
        self.bodies.contains_key(body)
    }

    /// Bytes of the body of a page.
    pub(super) fn bytes_of(&self, key: &Key) -> Option<u64> {
        let slot = self.slots.get(key)?;
        self.bodies.get(&slot.body).map(|body| body.size.bytes)
    }

    /// Bytes that a known body takes on disk.
    pub(super) fn disk_bytes(&self, body: &BodyHash) -> Option<u64> {
        self.bodies.get(body).map(|body| body.size.disk_bytes)
    }

    /// Keys and records, those not used for longest first.
    pub(super) fn records(&self) -> Vec<(Key, LogPosition)> {
        let keys = self.by_use.values();
        keys.filter_map(|key| Some((*key, self.slots.get(key)?.position)))
            .collect()
    }

    /// Takes where records have moved to.
    pub(super) fn moved(&mut self, records: Vec<(Key, LogPosition)>) {
        for (key, position) in records {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.position = position;
            }
        }
    }

    /// Bytes of all records that count.
    pub(super) fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Bytes on disk: bodies and records.
    pub(super) fn bytes(&self) -> u64 {
        self.body_bytes + self.record_bytes
    }
}

fn on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES) * BLOCK_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: LogPosition = LogPosition {
        offset: 0,
        len: 100,
    };

    fn hash(name: &str) -> blake3::Hash {
        blake3::hash(name.as_bytes())
    }

    fn add(index: &mut Index, key: &str, body: &str) -> Option<BodyHash> {
        let size = BodySize {
            bytes: 30,
            disk_bytes: 10,
        };
        index.insert(hash(key), RECORD, hash(body), size)
    }

    #[test]
    fn pages_share_a_body_until_the_last_one_is_removed() {
        let mut index = Index::default();
        assert_eq!(add(&mut index, "a", "x"), None);
        assert_eq!(add(&mut index, "b", "x"), None);
        assert_eq!(index.bytes(), 4096 + 200);
        assert_eq!(index.remove(&hash("a")), None);
        assert_eq!(index.remove(&hash("b")), Some(hash("x")));
        assert_eq!(index.remove(&hash("b")), None);
        assert_eq!(index.bytes(), 0);
    }

    #[test]
    fn a_replaced_page_frees_its_body_unless_it_is_the_same() {
        let mut index = Index::default();
        add(&mut index, "a", "x");
        assert_eq!(add(&mut index, "a", "x"), None);
        assert_eq!(add(&mut index, "a", "y"), Some(hash("x")));
        assert_eq!(index.bytes(), 4096 + 100);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut index = Index::default();
        for key in ["a", "b", "c", "d"] {
            add(&mut index, key, key);
        }
        index.touch(&hash("a"));
        assert_eq!(index.evict(u64::MAX, 3), [hash("b")]);
        assert_eq!(index.evict(2 * 4196, usize::MAX), [hash("c")]);
        assert!(index.has(&hash("a")) && index.has(&hash("d")));
        assert_eq!(index.evict(0, 0), [hash("d"), hash("a")]);
        assert_eq!(index.bytes(), 0);
    }

    #[test]
    fn a_missing_body_removes_its_pages() {
        let mut index = Index::default();
        add(&mut index, "a", "x");
        add(&mut index, "b", "x");
        add(&mut index, "c", "y");
        index.drop_body(&hash("x"));
        assert!(!index.has(&hash("a")) && !index.has(&hash("b")) && index.has(&hash("c")));
    }
}
