//! A least-recently-used cache in memory, bounded in bytes.
//!
//! One lock for all entries, held for a look-up or for removing entries, never while a value is
//! made or dropped.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Overhead of one entry: key, position in both maps, allocations.
const ENTRY_BYTES: u64 = 256;

/// Values by key. Clones of a value share it.
#[derive(Debug)]
pub struct Lru<K, V> {
    bytes_max: u64,
    value_bytes_max: u64,
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K, V> {
    by_key: FxHashMap<K, CachedValue<V>>,
    by_use: BTreeMap<u64, K>,
    n_uses: u64,
    bytes: u64,
}

#[derive(Debug)]
struct CachedValue<V> {
    value: Arc<V>,
    bytes: u64,
    used: u64,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    /// A cache of `bytes_max` bytes. A value of more than `1 / part` of them is not stored: it
    /// would evict too much for one.
    pub fn new(bytes_max: u64, part: u64) -> Self {
        Self {
            bytes_max,
            value_bytes_max: bytes_max / part,
            entries: Mutex::new(Entries {
                by_key: FxHashMap::default(),
                by_use: BTreeMap::new(),
                n_uses: 0,
                bytes: 0,
            }),
        }
    }

    /// Whether a value of so many bytes would be stored.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        bytes <= self.value_bytes_max && bytes.saturating_add(ENTRY_BYTES) <= self.bytes_max
    }

    /// The value of a key; marks it as used.
    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        self.with(|entries| {
            let used = entries.next_use();
            let entry = entries.by_key.get_mut(key)?;
            entries.by_use.remove(&entry.used);
            entry.used = used;
            entries.by_use.insert(used, *key);
            Some(Arc::clone(&entry.value))
        })
    }

    /// Stores a value of so many bytes, replacing the one with this key. One that is too large is
    /// not stored, and removes the one with this key.
    pub fn insert(&self, key: K, value: Arc<V>, bytes: u64) {
        let has_room = self.has_room_for(bytes);
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        // Dropped after the lock is released.
        let _evicted = self.with(|entries| {
            let mut evicted = Vec::new();
            evicted.extend(entries.remove(&key));
            if !has_room {
                return evicted;
            }
            while entries.bytes + bytes > self.bytes_max {
                let Some((_, oldest)) = entries.by_use.first_key_value() else {
                    break;
                };
                let oldest = *oldest;
                evicted.extend(entries.remove(&oldest));
            }
            let used = entries.next_use();
            entries.by_use.insert(used, key);
            entries.bytes += bytes;
            entries
                .by_key
                .insert(key, CachedValue { value, bytes, used });
            evicted
        });
    }

    /// Removes the value of a key.
    pub fn remove(&self, key: &K) {
        let _evicted = self.with(|entries| entries.remove(key));
    }

    /// Removes all values if none was stored or asked for since this returned `n_uses`. Returns the
    /// number of uses so far.
    pub fn clear_unless_used(&self, n_uses: u64) -> u64 {
        let (now, _removed) = self.with(|entries| {
            if entries.n_uses != n_uses {
                return (entries.n_uses, None);
            }
            entries.bytes = 0;
            entries.by_use.clear();
            (n_uses, Some(std::mem::take(&mut entries.by_key)))
        });
        now
    }

    /// Bytes of all entries.
    pub fn bytes(&self) -> u64 {
        self.with(|entries| entries.bytes)
    }

    fn with<T>(&self, use_entries: impl FnOnce(&mut Entries<K, V>) -> T) -> T {
        use_entries(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: Copy + Eq + Hash, V> Entries<K, V> {
    fn next_use(&mut self) -> u64 {
        self.n_uses += 1;
        self.n_uses
    }

    fn remove(&mut self, key: &K) -> Option<Arc<V>> {
        let entry = self.by_key.remove(key)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of three values of this size.
    const VALUE: u64 = 1_000;

    fn three() -> Lru<u32, u32> {
        Lru::new(3 * (VALUE + ENTRY_BYTES), 2)
    }

    fn store(lru: &Lru<u32, u32>, key: u32) {
        lru.insert(key, Arc::new(key * 10), VALUE);
    }

    fn value(lru: &Lru<u32, u32>, key: u32) -> Option<u32> {
        lru.get(&key).map(|value| *value)
    }

    #[test]
    fn the_least_recently_used_value_is_evicted_first() {
        let lru = three();
        for key in 1..=3 {
            store(&lru, key);
        }
        assert_eq!(value(&lru, 1), Some(10));
        store(&lru, 4);
        assert_eq!(value(&lru, 2), None);
        for key in [1, 3, 4] {
            assert_eq!(value(&lru, key), Some(key * 10));
        }
    }

    #[test]
    fn the_bound_holds_for_values_of_any_size() {
        let lru = three();
        for key in 0..1_000 {
            let bytes = u64::from(key * 7_919 % 1_500);
            lru.insert(key % 50, Arc::new(key), bytes);
            assert!(lru.bytes() <= 3 * (VALUE + ENTRY_BYTES));
        }
        for key in 0..50 {
            lru.remove(&key);
        }
        assert_eq!(lru.bytes(), 0);
    }

    #[test]
    fn a_replaced_value_frees_its_bytes() {
        let lru = three();
        store(&lru, 1);
        lru.insert(1, Arc::new(2), VALUE);
        assert_eq!(lru.bytes(), VALUE + ENTRY_BYTES);
        assert_eq!(value(&lru, 1), Some(2));
    }

    #[test]
    fn a_value_that_is_too_large_removes_the_old_one() {
        let lru = three();
        store(&lru, 1);
        store(&lru, 2);
        let too_large = 3 * (VALUE + ENTRY_BYTES) / 2 + 1;
        assert!(!lru.has_room_for(too_large));
        lru.insert(1, Arc::new(0), too_large);
        assert_eq!((value(&lru, 1), value(&lru, 2)), (None, Some(20)));
    }

    #[test]
    fn values_that_nobody_uses_are_removed_together() {
        let lru = three();
        store(&lru, 1);
        store(&lru, 2);
        let seen = lru.clear_unless_used(0);
        assert_eq!(value(&lru, 1), Some(10), "they were stored since");
        let seen = lru.clear_unless_used(seen);
        assert_eq!(value(&lru, 2), Some(20), "one was asked for since");
        let seen = lru.clear_unless_used(seen);
        assert!(lru.bytes() > 0);
        lru.clear_unless_used(seen);
        assert_eq!(lru.bytes(), 0);
        assert_eq!((value(&lru, 1), value(&lru, 2)), (None, None));
        store(&lru, 1);
        assert_eq!(value(&lru, 1), Some(10));
    }

    #[test]
    fn no_capacity_stores_nothing() {
        let lru = Lru::new(0, 2);
        store(&lru, 1);
        assert_eq!((value(&lru, 1), lru.bytes()), (None, 0));
    }
}
