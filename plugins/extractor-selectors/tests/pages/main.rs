//! Tests of the whole plugin, in one program: each more would link the SDK once more.

mod chromium;
mod values;
mod variants;
