//! Hints for a disk that is full or read-only.

/// Returns a hint for a disk that cannot be written to. Matches the messages of the system, SQLite and git, because no
/// error code says it.
pub(super) fn of_disk(words: &str) -> Option<&'static str> {
    const FULL: [&str; 2] = ["disk is full", "No space left on device"];
    const READ_ONLY: [&str; 3] = ["Read-only file system", "is read-only", "readonly database"];
    // Git does not report the reason.
    const UNWRITABLE: [&str; 2] = ["unable to create directory for", "Unable to create '"];
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    if has(&FULL) {
        Some(
            "make room on that disk, then `acquit run …` with the task's id continues it; nothing that was written is lost",
        )
    } else if has(&READ_ONLY) {
        Some(
            "acquit must be able to write there: make it writable, or set ACQUIT_HOME (or ACQUIT_STORE) to another place",
        )
    } else if has(&UNWRITABLE) {
        Some("acquit keeps refs of its own in the repository: is it read-only, not yours, or its disk full?")
    } else {
        None
    }
}
