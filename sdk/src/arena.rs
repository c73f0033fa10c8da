//! Global allocator for components: a bump allocator. An instance lives for one call and is then
//! discarded as a whole, so memory is rarely freed: only the most recent allocation can grow,
//! shrink or be freed in place. A fresh instance has enough memory for most pages (the linker's
//! `--initial-heap`) and grows in large steps.

#![expect(
    unsafe_code,
    reason = "an allocator works with raw memory; WebAssembly without threads has one thread"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::cell::Cell;
use std::ptr;

const PAGE_BYTES: usize = 64 * 1024;
/// Minimum growth in pages, because growing is a call into the host.
const GROWTH_PAGES_MIN: usize = 32;

unsafe extern "C" {
    /// Start of the heap, set by the linker.
    static __heap_base: u8;
}

/// Allocates upwards from `__heap_base`.
struct Arena {
    /// First free byte; 0 before the first use.
    top: Cell<usize>,
    /// End of usable memory.
    end: Cell<usize>,
}

// SAFETY: components are built without threads, so there is only one.
unsafe impl Sync for Arena {}

#[global_allocator]
static ARENA: Arena = Arena {
    top: Cell::new(0),
    end: Cell::new(0),
};

impl Arena {
    /// Grows memory so that it reaches up to `end`; `false` if that fails.
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

// SAFETY: every allocation lies between the start of the heap and the end of memory, is aligned,
// and overlaps no other: `top` moves past an allocation when it is made and moves back only over
// the most recent one.
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
        // SAFETY: the caller upholds the contract of `alloc`.
        let pointer = unsafe { self.alloc(layout) };
        if !pointer.is_null() {
            // The memory may have been used by an allocation that was freed.
            // SAFETY: `alloc` returned this many bytes.
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
        // SAFETY: the caller guarantees a size that fits a layout of this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as for `alloc`; the new allocation is larger and overlaps no other.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(pointer, moved, layout.size());
            }
            moved
        }
    }
}
