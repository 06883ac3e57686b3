//! Outcomes with the same meaning in every workflow.

/// Any agent can ask a person something.
pub const NEEDS_INPUT: &str = "needs_input";
/// Any agent can report that it cannot do the work.
pub const FAILED: &str = "failed";
/// The gates of a check stage passed.
pub const PASSED: &str = "passed";
/// The gates of a check stage rejected the work, if the workflow has a transition for it.
pub const REJECTED: &str = "rejected";
/// An action completed.
pub const DONE: &str = "done";
/// A review, or comments on a pull request, ask for changes.
pub const CHANGES_REQUESTED: &str = "changes_requested";
