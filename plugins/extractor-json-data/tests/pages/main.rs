//! Tests of the whole plugin, in one program: each more would link the SDK once more.

mod hostile;
mod sources;
mod variants;
