//! What can be told of a task once it is over, without what differs from run to run: ids, times, numbers of legs.

use std::collections::{BTreeMap, BTreeSet};

use acquit_core::agent::Usage;
use acquit_core::artifact::Artifact;
use acquit_core::change::Change;
use acquit_core::leg::{Ending, Purpose};
use acquit_core::task::Task;

use crate::common::{Ran, Sandbox};

/// A task's story. Two tasks with the same story ended the same way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Story {
    pub(crate) state: String,
    /// Stage, purpose and ending of every leg that was not lost, in order.
    pub(crate) outcomes: Vec<String>,
    /// What was spent, beside what lost legs spent.
    pub(crate) spent: BTreeMap<String, u32>,
    pub(crate) artifacts: BTreeSet<String>,
    pub(crate) learnings: Vec<String>,
    /// What the legs used that were not lost.
    pub(crate) usage: Usage,
    /// What is on the branch: tree, subjects of its commits over the base, the file that everybody appends to.
    pub(crate) branch: (String, String, String),
    /// How many legs were lost.
    pub(crate) lost: u32,
    /// How often an agent was started.
    pub(crate) agents: u32,
    /// How often the gate was run.
    pub(crate) gates: u32,
}

impl Story {
    /// Tells it, and checks what holds for every task however it went.
    pub(crate) fn of(sandbox: &Sandbox, ran: &Ran) -> Self {
        let task = sandbox.task();
        ran.said(&format!("{} is done", task.id()));
        check_history(&task, &sandbox.changes());
        let (lost, kept): (Vec<_>, Vec<_>) =
            task.past.iter().partition(|past| matches!(past.ending, Ending::Lost { .. }));
        let mut usage = Usage::default();
        for past in &kept {
            usage.add(&past.usage);
        }
        let spent = task.spent.iter().map(|(name, spent)| (name.to_string(), *spent));
        let mut spent: BTreeMap<String, u32> = spent.collect();
        let spent_on_lost = spent.remove("lost").unwrap_or(0);
        let lost = u32::try_from(lost.len()).unwrap();
        assert_eq!(spent_on_lost, lost, "each lost leg spends one of its own budget");
        let runs = |log: &str| {
            let legs = 1..=task.legs;
            u32::try_from(legs.filter(|leg| sandbox.leg_file(*leg, log).exists()).count()).unwrap()
        };
        let artifacts: Vec<String> = task.artifacts.iter().map(artifact).collect();
        let set: BTreeSet<String> = artifacts.iter().cloned().collect();
        assert_eq!(set.len(), artifacts.len(), "an artifact is there twice: {artifacts:?}");
        let git = |args: &[&str]| sandbox.repo.git(args);
        let branch = task.seed.branch.as_str();
        Self {
            state: task.state.word().to_owned(),
            outcomes: kept
                .iter()
                .map(|past| {
                    format!("{} {}", purpose(&past.entry.stage, &past.entry.purpose), ending(&past.ending))
                })
                .collect(),
            spent,
            artifacts: set,
            learnings: task.learnings.clone(),
            usage,
            branch: (
                // Against the base, which names a folder of this run in its settings.
                git(&["diff", "--raw", "main", branch]),
                git(&["log", "--format=%s", &format!("main..{branch}")]),
                git(&["show", &format!("{branch}:log.txt")]),
            ),
            lost,
            agents: runs("output.log"),
            gates: runs("check-count.log"),
        }
    }
}

/// The history is that of this task, and nothing in it happened twice.
fn check_history(task: &Task, changes: &[Change]) {
    let mut replayed = Task::replay(changes).expect("a history from the beginning");
    // The version counts transactions, which a history does not tell apart.
    replayed.version = task.version;
    assert_eq!(replayed, *task, "the history gives another task");
    let ends = changes.iter().filter(|change| matches!(change, Change::Ended { .. })).count();
    assert_eq!(ends, 1, "a task ends once");
    let (mut readied, mut ended) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            Change::LegReadied { leg, .. } => readied.push(*leg),
            Change::LegEnded { leg, .. } => ended.push(*leg),
            _ => {}
        }
    }
    let once: Vec<u32> = (1..=task.legs).collect();
    assert_eq!(readied, once, "every leg is readied once, in order");
    assert_eq!(ended, once, "every leg ends once, in order");
}

fn purpose(stage: &impl ToString, purpose: &Purpose) -> String {
    let stage = stage.to_string();
    match purpose {
        Purpose::Work => stage,
        Purpose::Fix { of, .. } => format!("{stage} for {of}"),
        Purpose::Recheck { .. } => format!("{stage} again"),
        Purpose::Merge => format!("{stage} merges"),
        Purpose::Resolve { of, .. } => format!("{stage} before {}", of.stage),
    }
}

fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Passed { outcome } => format!("passed {}", outcome.name),
        other => other.trouble().unwrap(),
    }
}

fn artifact(artifact: &Artifact) -> String {
    match artifact {
        Artifact::Plan { text } => format!("plan {text}"),
        Artifact::Branch { name, published, .. } => format!("branch {name} {published}"),
        Artifact::Commits { commits, .. } => {
            format!("commits {:?}", commits.iter().map(|commit| &commit.subject).collect::<Vec<_>>())
        }
        Artifact::Merged { branch, .. } => format!("merged {branch}"),
        Artifact::Diff(stats) => format!("diff {stats:?}"),
        Artifact::Pushed { branch, .. } => format!("pushed {branch}"),
        Artifact::PullRequest(request) => format!("request {}", request.number),
        Artifact::Report { stage, gate, passed, .. } => format!("report {stage} {gate} {passed}"),
        Artifact::File { stage, name, bytes, .. } => format!("file {stage} {name} {bytes}"),
    }
}
