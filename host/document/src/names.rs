//! A page's name table during parsing: every element and attribute name once, with its namespace.

use std::cell::{Cell, OnceCell, RefCell};

use html5ever::{LocalName, Namespace, Prefix, QualName, local_name, namespace_prefix, ns};
use rustc_hash::FxHashMap;

use super::Document;
use super::namespace;

/// Names in the first chunk of the table; every further chunk is twice as large as the one before.
/// Most pages have fewer.
const FIRST_CHUNK: usize = 128;
/// Maximum number of chunks: 2^32 names fit, more than a page has nodes.
const CHUNKS: usize = 25;
/// Slots of the cache in front of the hash map; a power of two.
const CACHE: usize = 256;

/// Names by number, and numbers by name. Entries never move, so that the tree builder can borrow an
/// element's name while the tree grows, without a run-time borrow.
pub(super) struct Names {
    chunks: [OnceCell<Box<[OnceCell<QualName>]>>; CHUNKS],
    len: Cell<u32>,
    cache: Box<[Cell<(u64, u64, u32)>; CACHE]>,
    numbers: RefCell<FxHashMap<QualName, u32>>,
}

impl Names {
    pub(super) fn new() -> Self {
        let names = Self {
            chunks: std::array::from_fn(|_| OnceCell::new()),
            len: Cell::new(0),
            cache: Box::new(std::array::from_fn(|_| Cell::new((0, 0, 0)))),
            numbers: RefCell::default(),
        };
        names.add(QualName::new(None, ns!(), local_name!("")));
        names
    }

    /// Name of an entry.
    pub(super) fn get(&self, number: u32) -> &QualName {
        let (chunk, offset) = position(number);
        self.chunks[chunk]
            .get()
            .and_then(|chunk| chunk[offset].get())
            .expect("a number of this table")
    }

    /// The number of a name, which is added if it is new.
    pub(super) fn number(&self, name: &QualName) -> u32 {
        // The packed words identify the atoms; a prefix follows from namespace and local name.
        let key = (name.local.unsafe_data(), name.ns.unsafe_data());
        let mixed = (key.0 ^ key.1.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &self.cache[(mixed >> 56) as usize % CACHE];
        let (local, space, number) = slot.get();
        if (local, space) == key {
            return number;
        }
        let number = self.number_uncached(name);
        slot.set((key.0, key.1, number));
        number
    }

    #[cold]
    fn number_uncached(&self, name: &QualName) -> u32 {
        if let Some(&number) = self.numbers.borrow().get(name) {
            return number;
        }
        let number = self.add(name.clone());
        self.numbers.borrow_mut().insert(name.clone(), number);
        number
    }

    fn add(&self, name: QualName) -> u32 {
        let number = self.len.get();
        let (chunk, offset) = position(number);
        let slots = self.chunks[chunk]
            .get_or_init(|| vec![OnceCell::new(); FIRST_CHUNK << chunk].into_boxed_slice());
        slots[offset]
            .set(name)
            .expect("each number is assigned once");
        self.len.set(number + 1);
        number
    }

    /// Writes the table into a document.
    pub(super) fn write(&self, document: &mut Document) {
        let len = self.len.get();
        document.name_ends.reserve_exact(len as usize);
        document.name_spaces.reserve_exact(len as usize);
        for number in 0..len {
            let name = self.get(number);
            push_prefix(&mut document.name_text, name.prefix.as_ref());
            document.name_text.push_str(&name.local);
            document.name_ends.push(document.name_text.len() as u32);
            document.name_spaces.push(space(&name.ns));
        }
    }
}

fn position(number: u32) -> (usize, usize) {
    let shifted = number as usize + FIRST_CHUNK;
    let chunk = (shifted.ilog2() - FIRST_CHUNK.ilog2()) as usize;
    (chunk, shifted - (FIRST_CHUNK << chunk))
}

fn push_prefix(text: &mut String, prefix: Option<&Prefix>) {
    let Some(prefix) = prefix.filter(|prefix| **prefix != namespace_prefix!("")) else {
        return;
    };
    text.push_str(prefix);
    text.push(':');
}

fn space(name: &Namespace) -> u8 {
    match *name {
        ns!(html) | ns!() => namespace::HTML,
        ns!(svg) => namespace::SVG,
        ns!(mathml) => namespace::MATHML,
        _ => namespace::OTHER,
    }
}

/// Local names by their spelling, cached from page to page: saves the hashing of the global table
/// for recurring names.
pub(super) struct Spellings {
    slots: Box<[(Spelling, LocalName)]>,
}

/// A lower-case name of at most 16 bytes, padded with zeros.
type Spelling = [u8; 16];

/// Slots of the spelling cache; a power of two.
const SPELLINGS: usize = 512;

impl Spellings {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![([0; 16], local_name!("")); SPELLINGS].into_boxed_slice(),
        }
    }

    /// The atom of a name as written in a tag: ASCII letters are lowered, NUL becomes U+FFFD.
    pub(super) fn atom(&mut self, written: &str) -> LocalName {
        let bytes = written.as_bytes();
        if bytes.len() > 16 || bytes.contains(&0) {
            return LocalName::from(written.to_ascii_lowercase().replace('\0', "\u{fffd}"));
        }
        let mut spelling = [0; 16];
        for (low, byte) in spelling.iter_mut().zip(bytes) {
            *low = byte.to_ascii_lowercase();
        }
        let word = u128::from_le_bytes(spelling);
        let mixed = (word as u64 ^ ((word >> 64) as u64).rotate_left(29))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.slots[(mixed >> 55) as usize % SPELLINGS];
        if slot.0 != spelling {
            let lowered = std::str::from_utf8(&spelling[..bytes.len()])
                .expect("lowering ASCII letters keeps UTF-8");
            *slot = (spelling, LocalName::from(lowered));
        }
        slot.1.clone()
    }
}
