//! The names of the rules of dilution.

/// The rules, by which settings and tasks can allow what they are about, each with what it is about.
pub const RULES: [(&str, &str); 19] = [
    (TEST_REMOVED, "a test is gone"),
    (TEST_SKIPPED, "a test does not run any more, or is not expected to pass"),
    (TEST_HIDDEN, "a file of tests has a name or a form by which no runner finds it"),
    (ASSERTIONS_REMOVED, "a test asserts less than before"),
    (ASSERTION_WEAKENED, "an assertion demands less of the same value, or is made only under a condition"),
    (ASSERTION_DEAD, "an assertion cannot fail, or is never reached"),
    (
        EXPECTATION_CHANGED,
        "a change of tests alone, or one that keeps the behaviour, expects another value than before",
    ),
    (SUBJECT_REPLACED, "a test replaces what it is about by a double or by a copy of its own"),
    (SPECIAL_CASED, "code gives a fixed answer to the very input of a test"),
    (TEST_DETECTED, "code finds out whether it is being tested"),
    (FEATURE_REMOVED, "a test is gone together with what it tests"),
    (
        TASK_UNASSERTED,
        "the task quotes a result that no test of the change looks for, or lists values of which the change has only some",
    ),
    (INPUT_UNREAD, "a parameter or an option is taken and nothing reads it"),
    (UNAWAITED, "code starts work and does not wait for it"),
    (RETRIES_ADDED, "a test that fails is tried again"),
    (FAILURE_IGNORED, "a command of the pipeline, or code, fails without anybody noticing"),
    (SUPPRESSED, "a warning is switched off where it is given"),
    (SETTINGS_LOOSENED, "lints, thresholds, pipelines or the choice of tests demand less than before"),
    (SNAPSHOT_REWRITTEN, "an expected output was written anew instead of being met"),
];

pub(crate) const TEST_REMOVED: &str = "test-removed";
pub(crate) const TEST_SKIPPED: &str = "test-skipped";
pub(crate) const TEST_HIDDEN: &str = "test-hidden";
pub(crate) const ASSERTIONS_REMOVED: &str = "assertions-removed";
pub(crate) const ASSERTION_WEAKENED: &str = "assertion-weakened";
pub(crate) const ASSERTION_DEAD: &str = "assertion-dead";
pub(crate) const EXPECTATION_CHANGED: &str = "expectation-changed";
pub(crate) const SUBJECT_REPLACED: &str = "subject-replaced";
pub(crate) const SPECIAL_CASED: &str = "special-cased";
pub(crate) const TEST_DETECTED: &str = "test-detected";
pub(crate) const FEATURE_REMOVED: &str = "feature-removed";
pub(crate) const TASK_UNASSERTED: &str = "task-unasserted";
pub(crate) const INPUT_UNREAD: &str = "input-unread";
pub(crate) const UNAWAITED: &str = "unawaited";
pub(crate) const RETRIES_ADDED: &str = "retries-added";
pub(crate) const FAILURE_IGNORED: &str = "failure-ignored";
pub(crate) const SUPPRESSED: &str = "suppressed";
pub(crate) const SETTINGS_LOOSENED: &str = "settings-loosened";
pub(crate) const SNAPSHOT_REWRITTEN: &str = "snapshot-rewritten";
