//! The checks that look at a change.

mod diff;
