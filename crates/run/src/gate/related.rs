//! Gates that check only what is related to the change: the project provides the command, which gets the changed files
//! as arguments.
//!
//! Agents choose paths. Each path is one argument, never part of a shell line, and begins with `./`, so it cannot be an
//! option.

use std::borrow::Cow;

use acquit_core::gate::check::Plain;
use acquit_core::gate::{Check, Command, Gate};

use crate::leg::{Job, LegAbort};
use crate::workspace::LockedWorkspace;

/// Maximum number of files to pass to a command. A larger change is related to everything.
const MOST_FILES: usize = 500;

/// Returns the gates to run on this work. If the related files cannot be determined, a gate runs in full.
pub(super) fn resolve<'g>(
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    gates: Vec<&'g Gate>,
) -> Result<Vec<Cow<'g, Gate>>, LegAbort> {
    let wants = |gate: &&&Gate| matches!(&gate.check, Check::Command(Plain { related: Some(_), .. }));
    if gates.iter().find(wants).is_none() {
        return Ok(gates.into_iter().map(Cow::Borrowed).collect());
    }
    let head = workspace.work_head()?;
    let files = workspace.changed_files(&job.base(), &head)?.unwrap_or_default();
    let one = |gate: &'g Gate| match &gate.check {
        Check::Command(Plain { related: Some(related), .. })
            if !files.is_empty() && files.len() <= MOST_FILES =>
        {
            let run = with_files(related, &files);
            // Only its exit code decides, because a change may have no related test.
            let plain = Plain { run, report: None, related: None };
            Cow::Owned(Gate { check: Check::Command(plain), ..gate.clone() })
        }
        _ => Cow::Borrowed(gate),
    };
    Ok(gates.into_iter().map(one).collect())
}

/// Returns the command with the files as its last arguments. A shell line finds them in `"$@"`.
fn with_files(command: &Command, files: &[String]) -> Command {
    let files = files.iter().map(|file| format!("./{file}"));
    let words: Vec<String> = match command {
        Command::Program(words) => words.iter().cloned().chain(files).collect(),
        Command::Shell(line) => {
            ["sh", "-c", line, "sh"].into_iter().map(str::to_owned).chain(files).collect()
        }
    };
    Command::Program(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_becomes_an_option_or_a_part_of_the_line() {
        let files = ["--config=evil.js".to_owned(), "$(touch x).js".to_owned()];
        let list = Command::Program(vec!["jest".to_owned(), "--findRelatedTests".to_owned()]);
        let Command::Program(words) = with_files(&list, &files) else { panic!("a line") };
        assert_eq!(words, ["jest", "--findRelatedTests", "./--config=evil.js", "./$(touch x).js"]);
        let line = Command::Shell("jest \"$@\"".to_owned());
        let Command::Program(words) = with_files(&line, &files) else { panic!("a line") };
        assert_eq!(words, ["sh", "-c", "jest \"$@\"", "sh", "./--config=evil.js", "./$(touch x).js"]);
    }
}
