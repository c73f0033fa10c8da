//! Output lines, each with the prefixes of its block quotes and list items.

/// Maximum number of bytes that block quotes and list items may put before a line. Deeper ones are
/// not marked: every line repeats its prefix, so the output of a deeply nested page would otherwise
/// grow quadratically.
const PREFIX_BYTES_MAX: usize = 96;

/// Gap between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The next block starts on the next line.
    Line,
    /// An empty line in between.
    Blank,
}

/// The start of a container's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// A block quote.
    Quote,
    /// A bullet list item, with its bullet.
    Bullet(char),
    /// An ordered list item, with its number and delimiter.
    Number(u32, char),
    /// Three blanks, the most that have no meaning.
    Indent,
}

#[derive(Debug)]
struct Container {
    marker: Marker,
    /// Length of `prefix` outside this container, once it has been written.
    outside: usize,
}

/// The output and the open containers. A container is written with its first content, so an empty
/// one leaves no trace.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The output so far.
    pub(crate) out: String,
    /// Start of the current line's content in `out`.
    pub(crate) line_start: usize,
    /// Gap before the next block.
    pub(crate) gap: Gap,
    prefix: String,
    containers: Vec<Container>,
    n_written: usize,
}

impl Lines {
    /// Empty output with a capacity of `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            line_start: 0,
            gap: Gap::Blank,
            prefix: String::new(),
            containers: Vec::new(),
            n_written: 0,
        }
    }

    /// Starts the first line of a block, along with all open containers that are still empty.
    pub(crate) fn begin_block(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
            if self.gap == Gap::Blank {
                self.out.push_str(self.prefix.trim_end());
                self.out.push('\n');
            }
            self.out.push_str(&self.prefix);
        }
        while self.n_written < self.containers.len() {
            self.write_marker();
        }
        self.gap = Gap::Blank;
        self.line_start = self.out.len();
    }

    fn write_marker(&mut self) {
        let container = &mut self.containers[self.n_written];
        self.n_written += 1;
        container.outside = self.prefix.len();
        if self.prefix.len() >= PREFIX_BYTES_MAX {
            return;
        }
        let start = self.out.len();
        match container.marker {
            Marker::Quote => {
                self.out.push_str("> ");
                self.prefix.push_str("> ");
                return;
            }
            Marker::Indent => {
                self.out.push_str("   ");
                self.prefix.push_str("   ");
                return;
            }
            Marker::Bullet(bullet) => self.out.push(bullet),
            Marker::Number(number, delimiter) => {
                self.out.push_str(&number.to_string());
                self.out.push(delimiter);
            }
        }
        self.out.push(' ');
        let width = self.out.len() - start;
        self.prefix.extend(std::iter::repeat_n(' ', width));
    }

    /// Starts the next line of the same block.
    pub(crate) fn next_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&self.prefix);
        self.line_start = self.out.len();
    }

    /// Writes an empty line within a block.
    pub(crate) fn empty_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(self.prefix.trim_end());
        self.line_start = self.out.len();
    }

    /// Enters a block quote or list item.
    pub(crate) fn enter(&mut self, marker: Marker) {
        self.containers.push(Container { marker, outside: 0 });
    }

    /// Re-enters the last item of a list: what follows belongs to it, indented by `width` bytes.
    pub(crate) fn enter_again(&mut self, width: usize) {
        while self.n_written < self.containers.len() {
            self.begin_block();
        }
        let outside = self.prefix.len();
        let marker = Marker::Quote;
        self.containers.push(Container { marker, outside });
        self.n_written += 1;
        self.prefix.extend(std::iter::repeat_n(' ', width));
    }

    /// Leaves the innermost container. An empty ordered item is written anyway, to preserve the
    /// numbering.
    pub(crate) fn leave(&mut self) {
        let is_last_unwritten = self.n_written < self.containers.len();
        if is_last_unwritten
            && let Some(Container {
                marker: Marker::Number(..),
                ..
            }) = self.containers.last()
        {
            self.gap = Gap::Blank;
            self.begin_block();
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        let Some(container) = self.containers.pop() else {
            return;
        };
        if self.n_written > self.containers.len() {
            self.n_written = self.containers.len();
            self.prefix.truncate(container.outside);
        }
    }

    /// Whether the innermost container is still empty.
    pub(crate) fn is_container_empty(&self) -> bool {
        self.n_written < self.containers.len()
    }

    /// Whether the innermost container is an indentation.
    pub(crate) fn is_indented(&self) -> bool {
        let last = self.containers.last();
        last.is_some_and(|container| container.marker == Marker::Indent)
    }

    /// Whether the current position is in a block quote or list item.
    pub(crate) fn is_contained(&self) -> bool {
        !self.containers.is_empty()
    }
}
