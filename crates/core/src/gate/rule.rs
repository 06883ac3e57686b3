//! Names of rules that several places act on. A finding is identified by its rule, never by its text.

/// No test ran.
pub const NOTHING_RAN: &str = "nothing-ran";

/// A test or file that is broken with the change was already broken.
pub const BROKEN_BEFORE: &str = "broken-before";

/// A test of the change passes without it too.
pub const NEVER_RED: &str = "never-red";

/// The change has no test of its own.
pub const UNTESTED: &str = "untested";

/// The change has tests, but nothing that they could prove.
pub const UNPROVEN: &str = "unproven";

/// The change touches nothing that needs a test.
pub const EXEMPT: &str = "exempt";

/// The change is too large to examine.
pub const TOO_LARGE: &str = "too-large";

/// A command's exit does not match its report.
pub const EXIT: &str = "exit";

/// The work does not build.
pub const BUILD: &str = "build";

/// A report is unreadable or incomplete.
pub const REPORT: &str = "report";

/// A test file cannot be loaded.
pub const BROKEN: &str = "broken";

/// A command that fails on the base has a complaint that it does not have there.
pub const NEW_COMPLAINT: &str = "new-complaint";
