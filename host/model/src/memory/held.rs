//! Bytes together with the lease that covers them.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

use super::{MemoryError, MemoryKind, MemoryLease, PageMemory};

/// Long buffers have room in steps of so many bytes: an allocator keeps memory for each size that
/// it gives out, and pages have thousands of sizes.
const ROOM_BYTES: usize = 16 * 1024;
/// A finished buffer keeps empty room of at most one part in so many of its bytes.
const EMPTY_PARTS_MAX: usize = 8;

/// Bytes together with the lease that covers them, given back on drop. Only a lease makes them
/// ([`MemoryLease::hold`]), and it covers at least their length.
pub struct Held<B> {
    bytes: B,
    lease: MemoryLease,
}

/// Bytes that grow under their lease: there is memory for them before they are copied here.
#[derive(Debug)]
pub struct HeldBuffer {
    bytes: Vec<u8>,
    bytes_max: usize,
    lease: MemoryLease,
}

impl MemoryLease {
    /// These bytes with this lease. If it covers fewer, the rest is recorded.
    pub fn hold<B: AsRef<[u8]>>(mut self, bytes: B) -> Held<B> {
        self.record_at_least(bytes.as_ref().len());
        Held { bytes, lease: self }
    }

    /// A value with this lease, which covers the bytes in it: who takes the lease counts them.
    pub fn hold_value<V>(self, value: V) -> Held<V> {
        Held {
            bytes: value,
            lease: self,
        }
    }

    /// These bytes, which hold the lease until the last clone of them is dropped.
    pub fn attach(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        self.hold(bytes).into_bytes()
    }
}

impl<B: AsRef<[u8]> + Send + 'static> Held<B> {
    /// The bytes alone, which hold the lease until the last clone of them is dropped.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl<B> Held<B> {
    /// What is held, and its lease: for one that is used up part by part.
    pub fn into_parts(self) -> (B, MemoryLease) {
        (self.bytes, self.lease)
    }

    /// Other bytes, made of these, under the same lease; it is changed to what they need.
    pub fn replace<C: AsRef<[u8]>>(self, bytes: C) -> Held<C> {
        let mut lease = self.lease;
        lease.record(bytes.as_ref().len());
        lease.hold(bytes)
    }
}

impl HeldBuffer {
    /// An empty buffer for at most `bytes_max` bytes, which takes from this claim.
    pub fn new(memory: &PageMemory, kind: MemoryKind, bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            bytes_max,
            lease: memory.lease_for(kind),
        }
    }

    /// Number of bytes in it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that can be appended without waiting.
    pub fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes room for so many more bytes, or for as many as fit below the maximum; waits while the
    /// account is at its share. Cancel-safe.
    ///
    /// # Errors
    /// [`MemoryError::Waited`]: the buffer is unchanged.
    pub async fn reserve(&mut self, more: usize) -> Result<(), MemoryError> {
        let needed = self.bytes.len().saturating_add(more).min(self.bytes_max);
        if needed > self.bytes.capacity() {
            let capacity = self.grown(needed);
            self.lease.grow_to(capacity).await?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        Ok(())
    }

    /// Appends bytes, as many as fit below the maximum, once there is memory for them. Returns how
    /// many were appended. Cancel-safe.
    ///
    /// # Errors
    /// [`MemoryError::Waited`]: nothing is appended.
    pub async fn extend(&mut self, bytes: &[u8]) -> Result<usize, MemoryError> {
        let fitting = &bytes[..bytes.len().min(self.bytes_max - self.bytes.len())];
        self.reserve(fitting.len()).await?;
        self.bytes.extend_from_slice(fitting);
        Ok(fitting.len())
    }

    /// The bytes. If little of their room is empty they stay where they are: without it they would
    /// be moved.
    pub fn finish(mut self) -> Held<Bytes> {
        if self.room() > self.bytes.len() / EMPTY_PARTS_MAX {
            self.bytes.shrink_to_fit();
        }
        self.lease.shrink_to(self.bytes.capacity());
        self.lease.hold(self.bytes.into())
    }

    /// The capacity for so many bytes: by half more than before, so that long bytes are moved a
    /// few times only.
    fn grown(&self, needed: usize) -> usize {
        let capacity = self.bytes.capacity();
        let wanted = needed.max(capacity + capacity / 2);
        let rounded = match wanted {
            0..ROOM_BYTES => wanted,
            _ => wanted.next_multiple_of(ROOM_BYTES),
        };
        rounded.min(self.bytes_max)
    }
}

impl<B> Deref for Held<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.bytes
    }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Held<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl<B> fmt::Debug for Held<B> {
    /// Without the bytes, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.lease).finish()
    }
}
