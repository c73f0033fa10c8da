//! Decisions taken from bytes.

/// Takes decisions from the bytes of a fuzzer's input, so that the engine that makes the input also
/// shrinks what follows from it. Used up, it only answers zero.
pub struct Recipe<'a>(&'a [u8]);

impl<'a> Recipe<'a> {
    /// Reads from the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether no bytes are left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let high = usize::from(self.byte());
        let number = match end {
            0..=256 => high,
            _ => high << 8 | usize::from(self.byte()),
        };
        number % end.max(1)
    }

    /// One of these.
    ///
    /// # Panics
    /// When there are none.
    pub fn one_of<'b, T>(&mut self, these: &'b [T]) -> &'b T {
        &these[self.below(these.len())]
    }

    /// Whether something that happens once in `n` times happens now.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Up to `max` bytes of the input itself.
    pub fn bytes(&mut self, max: usize) -> &'a [u8] {
        let len = self.below(max + 1);
        self.take(len)
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
