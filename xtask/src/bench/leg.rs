//! A whole durable leg, beside what a shell takes for the same with `git worktree add`.
//!
//! The limit is the plain way that people script today: a linked worktree per task, the agent in it, the gate after it,
//! one, two or sixty-four at once. Nothing is tried again: `git worktree add` fails now and then when it runs in
//! parallel, and such a leg is counted as failed.

use std::fmt::Write;
use std::path::Path;

use super::measure::{Cost, Quantity, Row, cost, in_turns};
use crate::{Stop, shell};

/// Files in the repository of every leg.
const FILES: usize = 100;
/// How many legs run at once.
const AT_ONCE: &[u32] = &[1, 2, 64];
/// Ours may take this share of the shell's time.
const TARGET: f64 = 0.5;

/// What the agent and the gate do, in both ways the same: change a file, and look whether it is there.
const AGENT: &str = "echo changed > file-0";
const GATE: &str = "test -s file-0";

/// `$1` the repository, `$2` where the worktrees go, `$3` how many, `$4` agent, `$5` gate. Prints how many failed.
const SHELL: &str = r#"
pids=
for i in $(seq "$3"); do
    ( git -C "$1" worktree add --quiet -b "leg-$i" "$2/$i" && cd "$2/$i" && sh -c "$4" && sh -c "$5" ) >/dev/null 2>&1 &
    pids="$pids $!"
done
failed=0
for pid in $pids; do wait "$pid" || failed=$((failed + 1)); done
echo "$failed"
"#;

pub(super) fn run(_acquit: &Path, dir: &Path) -> Result<Vec<Row>, Stop> {
    let template = dir.join("template");
    repository(&template)?;
    let mut rows = Vec::new();
    for &at_once in AT_ONCE {
        let (mut round, mut failed) = (0, 0);
        let mut shell = || {
            round += 1;
            let (cost, failures) =
                by_shell(&template, &dir.join(format!("shell-{at_once}-{round}")), at_once)?;
            failed += failures;
            Ok(cost)
        };
        let [limit] = in_turns([&mut shell])?.map(|cost| cost.per(at_once));
        let row = |what: &str, limit| Row {
            thing: format!("one of {at_once} legs, {what} (shell: {failed} failed)"),
            ours: None,
            limit: Quantity::Time(limit),
            target: TARGET,
        };
        rows.extend([row("wall", limit.wall), row("CPU", limit.cpu)]);
    }
    Ok(rows)
}

/// A repository with [`FILES`] files and one commit.
pub(super) fn repository(at: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(at).map_err(Stop::doing("make a repository"))?;
    for index in 0..FILES {
        let mut text = String::new();
        for line in 0..40 {
            let _ = writeln!(text, "line {line} of file {index}");
        }
        std::fs::write(at.join(format!("file-{index}")), text).map_err(Stop::doing("fill a repository"))?;
    }
    let identity =
        ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgSign=false"];
    git(at, &["init", "--quiet", "--initial-branch=main"])?;
    git(at, &["add", "--all"])?;
    git(at, &[&identity[..], &["commit", "--quiet", "--message=sample"]].concat())
}

fn git(at: &Path, arguments: &[&str]) -> Result<(), Stop> {
    let mut command = shell::program("git");
    command.arg("-C").arg(at).args(arguments);
    if shell::succeeds(&mut command)? {
        Ok(())
    } else {
        Err(Stop(format!("git {} failed", arguments.join(" "))))
    }
}

/// One batch of `at_once` legs by the shell, in a fresh copy of the repository: with every worktree that exists the
/// next takes longer. Gives the whole batch's cost and how many legs failed.
pub(super) fn by_shell(template: &Path, dir: &Path, at_once: u32) -> Result<(Cost, u32), Stop> {
    std::fs::create_dir_all(dir).map_err(Stop::doing("make a folder for worktrees"))?;
    let repo = dir.join("repo");
    if !shell::succeeds(shell::program("cp").arg("-a").arg(template).arg(&repo))? {
        return Err(Stop("copying the repository failed".to_owned()));
    }
    let mut command = shell::program("sh");
    command.args(["-c", SHELL, "legs"]).arg(&repo).arg(dir).args([&at_once.to_string(), AGENT, GATE]);
    let (said, cost) = cost(|| Ok(shell::first_line(&mut command)))?;
    let failed = said
        .and_then(|line| line.parse().ok())
        .ok_or_else(|| Stop("the shell's legs did not run".to_owned()))?;
    Ok((cost, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_runs_each_leg_in_its_worktree_and_counts_those_that_fail() {
        let dir = tempfile::tempdir().expect("a folder");
        let template = dir.path().join("template");
        repository(&template).expect("a repository");
        let (_, failed) = by_shell(&template, &dir.path().join("good"), 2).expect("legs");
        assert_eq!(failed, 0);
        assert_eq!(
            std::fs::read_to_string(dir.path().join("good/2/file-0")).expect("a worktree"),
            "changed\n"
        );

        std::fs::create_dir_all(dir.path().join("bad/2")).expect("a folder");
        std::fs::write(dir.path().join("bad/2/in-the-way"), "").expect("a file");
        let (_, failed) = by_shell(&template, &dir.path().join("bad"), 2).expect("legs");
        assert_eq!(failed, 1);
    }
}
