//! Guest build.
