//! Tests of the whole plugin, in one program: each more would link the SDK once more.

mod cases;
mod constructs;
mod hostile;
mod options;
mod source;
mod variants;
