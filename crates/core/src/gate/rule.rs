//! Names of rules that more than one place acts on. A finding is known by its rule, never by its words.

/// No test was executed.
pub const NOTHING_RAN: &str = "nothing-ran";

/// A test or file that is broken with the change was broken before.
pub const BROKEN_BEFORE: &str = "broken-before";

/// A test of the change passes without it too.
pub const NEVER_RED: &str = "never-red";

/// The change has no test of its own.
pub const UNTESTED: &str = "untested";

/// The change has tests, but nothing that they could prove.
pub const UNPROVEN: &str = "unproven";

/// The change touches nothing that needs a test.
pub const EXEMPT: &str = "exempt";

/// The change is too large to be examined.
pub const TOO_LARGE: &str = "too-large";

/// A command ended in a way that its report does not explain.
pub const EXIT: &str = "exit";

/// The work does not build.
pub const BUILD: &str = "build";

/// A report cannot be read, or is incomplete.
pub const REPORT: &str = "report";

/// A file of tests cannot be loaded.
pub const BROKEN: &str = "broken";

/// A command that fails on the base complains about something that it did not complain about there.
pub const NEW_COMPLAINT: &str = "new-complaint";
