//! Tests at the rooms' front doors, one file a subject.

mod egress;
mod fetch;
