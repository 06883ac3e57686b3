//! git's `pre-push` hook: judges what is about to be pushed, and stops the push if the verdict is guilty.
//!
//! git writes a line for each ref: its local name and commit, its remote name and commit. If acquit cannot judge a
//! ref, it is pushed with a warning: users soon remove a hook that blocks for its own problems.

use std::io::Read;

use acquit_app::Error;
use acquit_app::prove::{Decision, Empty};

use crate::args::Proved;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::prove as show;
use crate::verbs::prove;

/// Input limit; there is a line for each ref.
const LARGEST: u64 = 1 << 20;

/// A ref that is about to be pushed.
#[derive(Debug, PartialEq, Eq)]
struct Pushed<'l> {
    name: &'l str,
    commit: &'l str,
    /// The remote's commit of it, if any.
    there: Option<&'l str>,
}

/// Runs the hook.
pub fn pre_push(cli: &Cli, args: &Proved) -> Result<Exit, Error> {
    let given =
        [("CHANGE", args.change.is_some()), ("--staged", args.staged), ("--working-tree", args.working_tree)];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::NoEffect { flag, with: "with --hook pre-push".to_owned() });
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_string(&mut text);
    read.map_err(|source| Error::File { doing: "read", path: "standard input".into(), source })?;
    let mut worst = Exit::Done;
    for pushed in text.lines().filter_map(parse) {
        cli.printer.say(&format!("acquit: judging {} before it is pushed", pushed.name));
        match judge(cli, args, &pushed) {
            Ok(Exit::Cancelled) => return Ok(Exit::Cancelled),
            Ok(Exit::Failed) => worst = Exit::Failed,
            Ok(_) => {}
            Err(error) => {
                cli.printer.error(&error);
                cli.printer.warn("acquit could not judge what is pushed; the push goes on");
            }
        }
    }
    if worst == Exit::Failed {
        cli.printer.say("acquit: the push is stopped; `git push --no-verify` pushes all the same");
    }
    Ok(worst)
}

fn judge(cli: &Cli, args: &Proved, pushed: &Pushed<'_>) -> Result<Exit, Error> {
    // If the remote's commit is unknown here, it does not tell where the branch left its base.
    let known = |commit: &&str| {
        cli.app.source().is_ok_and(|source| source.base(&cli.app.runtime.git, Some(commit)).is_ok())
    };
    let base = args.base.clone().or_else(|| pushed.there.filter(known).map(str::to_owned));
    let args = Proved { change: Some(pushed.commit.to_owned()), base, ..args.clone() };
    let report = prove::run(cli, &args, Empty::Pass)?;
    if report.claims.is_empty() && report.decision == Decision::Acquitted {
        return Ok(Exit::Done);
    }
    show::people(cli.printer, &report);
    if report.decision == Decision::Unjudged && !report.cancelled {
        cli.printer.warn("acquit could not judge what is pushed; the push goes on");
    }
    Ok(prove::exit(&report))
}

/// Parses a line of git's. Skips deleted branches and tags.
fn parse(line: &str) -> Option<Pushed<'_>> {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, commit, there_name, there] = words[..] else { return None };
    let none = |commit: &str| commit.bytes().all(|byte| byte == b'0');
    if none(commit) || there_name.starts_with("refs/tags/") {
        return None;
    }
    Some(Pushed { name, commit, there: (!none(there)).then_some(there) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_branches_and_tags_are_not_judged() {
        let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        let read = |line: &str| parse(line).map(|it| (it.name.to_owned(), it.there.map(str::to_owned)));
        let topic = |there: &str| format!("refs/heads/topic {one} refs/heads/topic {there}");
        assert_eq!(read(&topic(&zero)), Some(("refs/heads/topic".to_owned(), None)));
        assert_eq!(read(&topic(&two)), Some(("refs/heads/topic".to_owned(), Some(two.clone()))));
        assert_eq!(read(&format!("(delete) {zero} refs/heads/topic {two}")), None);
        assert_eq!(read(&format!("refs/tags/v1 {one} refs/tags/v1 {zero}")), None);
        assert_eq!(read("nonsense"), None);
    }
}
