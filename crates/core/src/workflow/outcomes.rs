//! The outcomes that mean the same in every workflow.

/// The outcome by which any agent can ask a person something.
pub const NEEDS_INPUT: &str = "needs_input";
/// The outcome by which any agent can say that it cannot do it.
pub const FAILED: &str = "failed";
/// How a check stage ends when its gates pass.
pub const PASSED: &str = "passed";
/// How a check ends that gates rejected, where the workflow says what follows.
pub const REJECTED: &str = "rejected";
/// How an action stage ends.
pub const DONE: &str = "done";
/// People want something changed: a review, or comments on a request.
pub const CHANGES_REQUESTED: &str = "changes_requested";
