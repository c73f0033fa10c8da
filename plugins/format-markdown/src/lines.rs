//! Lines of the output, each with the marks of the block quotes and list items it stands in.

/// Bytes that block quotes and list items may put before a line. Deeper ones leave no mark: every line repeats its prefix, so without
/// a bound a deeply nested page would grow with the square of its size.
const PREFIX_BYTES_MAX: usize = 96;

/// What is left between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The next block begins on the next line.
    Line,
    /// An empty line stands between.
    Blank,
}

/// What begins a container's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// A block quote.
    Quote,
    /// An item of a bulleted list, with its bullet.
    Bullet(char),
    /// An item of a numbered list, with its number and what follows it.
    Number(u32, char),
    /// Three blanks, the most that mean nothing.
    Indent,
}

#[derive(Debug)]
struct Container {
    marker: Marker,
    /// Bytes of `prefix` outside this container, once it has been written.
    outside: usize,
}

/// The text so far and the containers around the place of writing. Containers are written with their first content, so an empty
/// one leaves no trace.
#[derive(Debug)]
pub(crate) struct Lines {
    /// All that has been written.
    pub(crate) out: String,
    /// Where the content of the current line begins in `out`.
    pub(crate) line_start: usize,
    /// What the next block leaves before itself.
    pub(crate) gap: Gap,
    prefix: String,
    containers: Vec<Container>,
    n_written: usize,
}

impl Lines {
    /// Nothing written, with room for `bytes`.
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

    /// Begins the first line of a block, and with it all containers that have nothing in them yet.
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

    /// Goes on in the next line of the same block.
    pub(crate) fn next_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&self.prefix);
        self.line_start = self.out.len();
    }

    /// An empty line within a block.
    pub(crate) fn empty_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(self.prefix.trim_end());
        self.line_start = self.out.len();
    }

    /// Enters a block quote or list item.
    pub(crate) fn enter(&mut self, marker: Marker) {
        self.containers.push(Container { marker, outside: 0 });
    }

    /// Enters the last item of a list again: what follows belongs to it, `width` bytes in.
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

    /// Leaves the innermost container. A numbered item is written even when it is empty, for the sake of the numbers after it.
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

    /// Whether the innermost container has nothing in it yet.
    pub(crate) fn is_container_empty(&self) -> bool {
        self.n_written < self.containers.len()
    }

    /// Whether the innermost container is an indentation.
    pub(crate) fn is_indented(&self) -> bool {
        let last = self.containers.last();
        last.is_some_and(|container| container.marker == Marker::Indent)
    }

    /// Whether the place of writing is in a block quote or list item.
    pub(crate) fn is_contained(&self) -> bool {
        !self.containers.is_empty()
    }
}
