//! The allocator of components. An instance lives for one call and is thrown away whole, so memory is handed out one piece
//! after another and hardly ever taken back: only the newest piece can grow, shrink or be freed where it is. A fresh
//! instance has room for most pages from the start (the linker's `--initial-heap`) and asks for more in large steps.

#![expect(
    unsafe_code,
    reason = "an allocator hands out raw memory; WebAssembly without threads has one thread"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::cell::Cell;
use std::ptr;

const PAGE_BYTES: usize = 64 * 1024;
/// Least growth in pages: growing is a call into the host.
const GROWTH_PAGES_MIN: usize = 32;

unsafe extern "C" {
    /// Where the linker says that memory is free.
    static __heap_base: u8;
}

/// Hands out memory upwards from `__heap_base`.
struct Arena {
    /// First free byte; 0 before the first use.
    top: Cell<usize>,
    /// One past the last byte that may be used.
    end: Cell<usize>,
}

// SAFETY: components are built without threads, so there is only ever one.
unsafe impl Sync for Arena {}

#[global_allocator]
static ARENA: Arena = Arena {
    top: Cell::new(0),
    end: Cell::new(0),
};

impl Arena {
    /// Makes sure that memory reaches up to `end`.
    fn reach(&self, end: usize) -> bool {
        if end <= self.end.get() {
            return true;
        }
        let missing = (end - self.end.get()).div_ceil(PAGE_BYTES);
        let grown = [missing.max(GROWTH_PAGES_MIN), missing]
            .into_iter()
            .any(|pages| memory_grow(0, pages) != usize::MAX);
        if grown {
            self.end.set(memory_size(0).saturating_mul(PAGE_BYTES));
        }
        grown
    }

    fn top(&self) -> usize {
        if self.top.get() == 0 {
            self.top.set(ptr::addr_of!(__heap_base) as usize);
            self.end.set(memory_size(0).saturating_mul(PAGE_BYTES));
        }
        self.top.get()
    }

    fn is_newest(&self, pointer: *mut u8, size: usize) -> bool {
        pointer as usize + size == self.top.get()
    }
}

// SAFETY: every piece lies between the heap's base and the end of memory, is aligned, and overlaps no other: `top` only passes
// a piece when it is handed out and only comes back over the newest one.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(start) = self.top().checked_next_multiple_of(layout.align()) else {
            return ptr::null_mut();
        };
        match start.checked_add(layout.size()) {
            Some(end) if self.reach(end) => {
                self.top.set(end);
                start as *mut u8
            }
            _ => ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `alloc`.
        let pointer = unsafe { self.alloc(layout) };
        if !pointer.is_null() {
            // Memory may have been used by a piece that was freed.
            // SAFETY: `alloc` gave this many bytes.
            unsafe { ptr::write_bytes(pointer, 0, layout.size()) };
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if self.is_newest(pointer, layout.size()) {
            self.top.set(pointer as usize);
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let end = (pointer as usize).checked_add(size);
        if self.is_newest(pointer, layout.size())
            && let Some(end) = end
            && self.reach(end)
        {
            self.top.set(end);
            return pointer;
        }
        if size <= layout.size() {
            return pointer;
        }
        // SAFETY: the caller promises a size that fits a layout of this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as for `alloc`; the new piece is larger and overlaps nothing.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(pointer, moved, layout.size());
            }
            moved
        }
    }
}
