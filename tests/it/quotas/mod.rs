//! Limits of an account and of the disk, end to end.

mod disk;
mod storage;
