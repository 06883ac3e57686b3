//! A whole durable leg, compared with the same in a shell script with `git worktree add`.
//!
//! The limit is how people script this today: a linked worktree per task, the agent in it, then the gate; one, two or
//! sixty-four at once. Nothing is retried: `git worktree add` sometimes fails when it runs in parallel, and such a
//! leg counts as failed.
#![allow(clippy::disallowed_methods, reason = "xtask waits for files that measured programs write")]

use std::fmt::Write;
use std::path::Path;

use super::Setting;
use super::measure::{Cost, Quantity, Row, cost, in_turns};
use super::project::Project;
use crate::{Stop, shell};

/// Files in the repository of each leg.
const FILES: usize = 100;
/// Numbers of legs to run at once.
const AT_ONCE: &[u32] = &[1, 2, 64];
/// Maximum acceptable share of the shell's time.
const TARGET: f64 = 0.5;

/// The work of agent and gate in both variants: change a file, and check that it exists.
const AGENT: &str = "echo changed > file-0";
const GATE: &str = "test -s file-0";

/// `$1` the repository, `$2` the directory for worktrees, `$3` how many, `$4` agent, `$5` gate. Prints how many
/// failed.
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

/// The same as an acquit project: one stage, one gate, done.
const CONFIG: &str = "agent = \"bench\"\n[agents.bench]\nadapter = \"command\"\n";
const WORKFLOW: &str = "\
[stages.code]
mode = \"implement\"
gates = [\"gate\"]
on = { pr_ready = \"done\" }
";
/// `$1` the program, the rest are tasks. Runs all at once and prints how many legs failed.
const LEGS: &str = r#"
acquit=$1
shift
pids=
for task in "$@"; do
    "$acquit" leg --once --task "$task" >/dev/null 2>&1 &
    pids="$pids $!"
done
failed=0
for pid in $pids; do wait "$pid" || failed=$((failed + 1)); done
echo "$failed"
"#;
/// Memory limit of a harness, including its share of shared memory.
const MEMORY: u64 = 5_000_000;

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let Setting { acquit, dir, size, .. } = setting;
    let template = dir.join("template");
    repository(&template)?;
    let mut rows = Vec::new();
    let batches = size.pick(AT_ONCE, &AT_ONCE[1..2]);
    for &at_once in batches {
        let (mut round, mut failed) = (0, 0);
        let mut shell = || {
            round += 1;
            let (cost, failures) =
                by_shell(&template, &dir.join(format!("shell-{at_once}-{round}")), at_once)?;
            failed += failures;
            Ok(cost)
        };
        let mut our_round = 0;
        let mut ours = || {
            our_round += 1;
            by_acquit(acquit, &template, &dir.join(format!("acquit-{at_once}-{our_round}")), at_once)
        };
        let [limit, ours] =
            in_turns(setting.rounds(), [&mut shell, &mut ours])?.map(|cost| cost.per(at_once));
        let row = |what: &str, ours, limit, target| Row {
            thing: format!("one of {at_once} legs, {what} (failed: shell {failed}, acquit 0)"),
            ours: Quantity::Time(ours),
            limit: Quantity::Time(limit),
            target,
        };
        rows.push(row("wall", ours.wall, limit.wall, Some(TARGET)));
        // For information only: the shell records nothing and contains no process.
        rows.push(row("CPU", ours.cpu, limit.cpu, None));
    }
    rows.push(memory(acquit, &template, &dir.join("memory"), batches[batches.len() - 1])?);
    Ok(rows)
}

/// Runs one batch of `at_once` legs with acquit. All of them must pass.
fn by_acquit(acquit: &Path, template: &Path, dir: &Path, at_once: u32) -> Result<Cost, Stop> {
    let (project, tasks) = tasks(acquit, template, dir, AGENT, "", at_once)?;
    let program = project.acquit(&[]);
    let mut command = shell::program("sh");
    command.args(["-c", LEGS, "legs"]).arg(acquit).args(&tasks);
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (said, cost) = cost(|| Ok(shell::first_line(&mut command)))?;
    let done = project.count("done")?;
    if said.as_deref() != Some("0") || done != at_once as usize {
        return Err(Stop(format!("{done} of {at_once} legs passed; failed harnesses: {said:?}")));
    }
    Ok(cost)
}

/// Creates a project with tasks that are ready to run.
fn tasks(
    acquit: &Path,
    template: &Path,
    dir: &Path,
    agent: &str,
    access: &str,
    count: u32,
) -> Result<(Project, Vec<String>), Stop> {
    let config = format!("{CONFIG}run = {}\n{access}", toml::Value::from(agent));
    let workflow = format!("[gates.gate]\nrun = {}\n\n{WORKFLOW}", toml::Value::from(GATE));
    let project = Project::new(acquit, template, dir, &config, &workflow)?;
    let tasks = (0..count).map(|index| project.add(&format!("leg {index}"))).collect::<Result<_, _>>()?;
    Ok((project, tasks))
}

/// Measures the proportional memory of a harness with a running agent, and of the processes that contain the agent,
/// with `at_once` others.
fn memory(acquit: &Path, template: &Path, dir: &Path, at_once: u32) -> Result<Row, Stop> {
    // The agents wait for a file, so that all harnesses are measured while they watch an agent. The file must be
    // where agents may write, which is not on the tmpfs.
    let meeting = tempfile::tempdir().map_err(Stop::doing("make a folder"))?;
    let (stop, started) = (meeting.path().join("stop"), meeting.path().join("started"));
    let agent = format!(
        "echo . >> {started}; while [ ! -e {stop} ]; do sleep 0.2; done; {AGENT}",
        started = started.display(),
        stop = stop.display()
    );
    let access =
        format!("[access]\nwrite = [{}]\n", toml::Value::from(meeting.path().to_string_lossy().as_ref()));
    let (project, tasks) = tasks(acquit, template, dir, &agent, &access, at_once)?;
    let mut harnesses = Vec::new();
    for task in &tasks {
        let child = project.acquit(&["leg", "--once", "--task", task]).spawn();
        harnesses.push(child.map_err(Stop::doing("start a harness"))?);
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while std::fs::read(&started).map_or(0, |text| text.len() / 2) < tasks.len() {
        if std::time::Instant::now() > deadline {
            return Err(Stop("the agents did not start".to_owned()));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let shares: Vec<u64> =
        harnesses.iter().map(|harness| proportional_of_all(acquit, harness.id())).collect();
    std::fs::write(&stop, "").map_err(Stop::doing("end the agents"))?;
    for mut harness in harnesses {
        harness.wait().map_err(Stop::doing("wait for a harness"))?;
    }
    if shares.contains(&0) {
        return Err(Stop("the memory of a harness cannot be read".to_owned()));
    }
    let mean = shares.iter().sum::<u64>() / (shares.len() as u64).max(1);
    Ok(Row {
        thing: format!("memory of one of {} harnesses and its helpers (PSS)", shares.len()),
        ours: Quantity::Bytes(mean),
        limit: Quantity::Bytes(MEMORY),
        target: Some(1.0),
    })
}

/// Returns the proportional set size of a process and of all descendants that run the same program.
fn proportional_of_all(program: &Path, root: u32) -> u64 {
    let (mut sum, mut next) = (0, vec![root]);
    while let Some(pid) = next.pop() {
        if std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program) {
            sum += proportional(pid).unwrap_or(0);
        }
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        next.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    sum
}

/// Returns a process's proportional set size in bytes.
fn proportional(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Creates a repository with [`FILES`] files and one commit.
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

/// Runs one batch of `at_once` legs with the shell, in a fresh copy of the repository: each existing worktree slows
/// the next one down. Returns the cost of the batch and how many legs failed.
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
