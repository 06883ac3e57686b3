//! The head of a merge queue: rebases candidates onto the current branch, gates the result and moves the branch.
//!
//! Candidates are stacked in their order and gated once, at the top. If the gates pass, the branch moves once: to the
//! candidate's own commit if there is only one, otherwise to a merge of all of them. So every state of the branch has
//! been gated. If the gates fail, the stack is halved, and each half is tried on the branch of that moment, until the
//! culprit is alone. It is sent back with the findings of the gates. A candidate that conflicts with those before it is
//! sent back as well.
//!
//! *Crash-safe at every step.* The branch moves with compare-and-swap. The store records the new commit before the
//! branch moves. After a crash, the next head sees in the branch itself whether it moved.

use acquit_core::delivery::queue::{Entry, Queue, Settled};
use acquit_core::event::Level;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::Purpose;

use crate::fault;
use crate::git::{CommitId, Signing};
use crate::harness::perform::judge;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{Landed, LockedWorkspace, Move, Rebased};

/// Maximum number of retries when someone else moves the branch while the gates run.
const TRIES: u32 = 5;

/// State of a queue head.
pub(crate) struct Head<'j> {
    /// Job of its own leg.
    pub(crate) job: &'j Job<'j>,
    pub(crate) queue: Queue,
    /// Gates that every candidate must pass.
    pub(crate) gates: Vec<Name>,
    /// How to sign merge commits.
    pub(crate) signing: Option<Signing>,
    /// A separate, unused tree.
    pub(crate) working_tree: LockedWorkspace,
}

/// A task whose candidate is not in the stack, and why.
type SetAside = (TaskId, Settled);

/// A candidate on top of those before it.
struct Stacked {
    task: TaskId,
    commit: CommitId,
}

/// Result of trying some candidates.
enum Tried {
    /// All of them are settled.
    Settled,
    /// These fail together; the others are settled.
    Red(Vec<Entry>),
}

impl Head<'_> {
    /// Settles every one of these candidates.
    pub(crate) fn merge(&mut self, ctx: &mut LegContext<'_>, entries: &[Entry]) -> Result<(), LegAbort> {
        let open = self.settle_done(ctx, entries)?;
        self.divide(ctx, &open)
    }

    /// Settles those that are already in the branch. Returns the others.
    fn settle_done(&mut self, ctx: &mut LegContext<'_>, entries: &[Entry]) -> Result<Vec<Entry>, LegAbort> {
        let now = self.branch(ctx)?;
        let (mut open, mut done) = (Vec::new(), Vec::new());
        for entry in entries {
            let known = [entry.planned.as_deref(), Some(entry.candidate.commit.as_str())];
            let mut found = None;
            for commit in known.into_iter().flatten().filter_map(|text| text.parse::<CommitId>().ok()) {
                if found.is_none() && self.working_tree.contains(&now, &commit)? {
                    found = Some(commit);
                }
            }
            match found {
                Some(commit) => done.push((entry.task(), Settled::Merged { commit: commit.to_string() })),
                None => open.push(entry.clone()),
            }
        }
        self.settle(ctx, &done)?;
        Ok(open)
    }

    /// Tries them together, and in halves if they fail.
    fn divide(&mut self, ctx: &mut LegContext<'_>, entries: &[Entry]) -> Result<(), LegAbort> {
        let Tried::Red(open) = self.attempt(ctx, entries)? else { return Ok(()) };
        ctx.notice(Level::Info, format!("{} do not stand together: tried in halves", names(&open)));
        let (first, second) = open.split_at(open.len() / 2);
        self.divide(ctx, first)?;
        self.divide(ctx, second)
    }

    /// Stacks them on the current branch, gates the stack and moves the branch.
    fn attempt(&mut self, ctx: &mut LegContext<'_>, entries: &[Entry]) -> Result<Tried, LegAbort> {
        let mut open = entries.to_vec();
        for _ in 0..TRIES {
            let now = self.branch(ctx)?;
            let (stack, set_aside) = self.stack(&now, &open)?;
            self.settle(ctx, &set_aside)?;
            // A candidate that was already settled must not be merged after all because it applies to a smaller stack.
            open.retain(|entry| stack.iter().any(|one| one.task == entry.task()));
            let Some(top) = stack.last() else { return Ok(Tried::Settled) };
            let top = top.commit.clone();
            let failures = if self.is_proven(&stack, &now) {
                ctx.notice(Level::Info, format!("the gates passed on {} already", now.short()));
                Vec::new()
            } else {
                ctx.notice(
                    Level::Info,
                    format!("gating {} on {} of {}", tasks(&stack), now.short(), self.queue.branch),
                );
                judge(ctx, self.job, &now, &top, &self.gates, &self.working_tree)?
            };
            if !failures.is_empty() {
                if let [alone] = &stack[..] {
                    self.settle(ctx, &[(alone.task, Settled::Rejected { failures })])?;
                    return Ok(Tried::Settled);
                }
                return Ok(Tried::Red(open));
            }
            let result = self.result(&now, &stack)?;
            let planned: Vec<_> = stack.iter().map(|one| (one.task, one.commit.to_string())).collect();
            ctx.store.plan_merges(ctx.hold, &self.queue, &planned)?;
            fault::point("merge-planned", &ctx.runtime.environment);
            match self.working_tree.land(&self.job.source, &self.queue.branch, &result, &now)? {
                Landed::Elsewhere => continue,
                Landed::Moved => {}
            }
            fault::point("merge-moved", &ctx.runtime.environment);
            let words = format!("{} moved to {}: {}", self.queue.branch, result.short(), tasks(&stack));
            ctx.notice(Level::Info, words);
            let merged: Vec<_> =
                planned.into_iter().map(|(task, commit)| (task, Settled::Merged { commit })).collect();
            self.settle(ctx, &merged)?;
            fault::point("merge-settled", &ctx.runtime.environment);
            return Ok(Tried::Settled);
        }
        let words =
            format!("somebody else moves {} each time before it can be merged into", self.queue.branch);
        Err(LegAbort::failed(acquit_core::failure::kind::HARNESS, words))
    }

    /// Returns whether the gates already passed for exactly this commit on exactly this base: the work of this task
    /// alone, as delivered, on a branch that has not moved since. A merge stage with its own gates runs them anyway.
    fn is_proven(&self, stack: &[Stacked], now: &CommitId) -> bool {
        let task = &self.job.task;
        let own = self.job.stage.gates.is_empty() || self.job.entry.purpose == Purpose::Merge;
        let same = |one: &Stacked| one.task == task.id() && one.commit.as_str() == task.tip;
        own && matches!(stack, [one] if same(one)) && task.proven.as_deref() == Some(now.as_str())
    }

    /// Stacks each candidate on top of those before it. Also returns those that conflict, or are already in the branch,
    /// with their result.
    fn stack(&self, now: &CommitId, entries: &[Entry]) -> Result<(Vec<Stacked>, Vec<SetAside>), LegAbort> {
        let (mut stack, mut set_aside) = (Vec::new(), Vec::new());
        let mut top = now.clone();
        for entry in entries {
            let task = entry.task();
            let parse = |text: &str| text.parse::<CommitId>().map_err(|error| LegAbort::harness(&error));
            let (from, tip) = (parse(&entry.candidate.base)?, parse(&entry.candidate.commit)?);
            let commit = if from == top {
                tip
            } else {
                let words = format!("{task}: the work, on another base\n\nTask: {task}\n");
                let work = Move { from: &from, onto: &top, tip: &tip };
                match self.working_tree.rebase(work, &words, self.signing.as_ref())? {
                    Rebased::Clean(commit) => commit,
                    Rebased::Absorbed => {
                        set_aside.push((task, Settled::Merged { commit: top.to_string() }));
                        continue;
                    }
                    Rebased::Conflict(_) => {
                        set_aside.push((task, Settled::Conflict));
                        continue;
                    }
                }
            };
            top = commit.clone();
            stack.push(Stacked { task, commit });
        }
        Ok((stack, set_aside))
    }

    /// Returns the commit the branch moves to: the only candidate, or a merge of all.
    fn result(&self, now: &CommitId, stack: &[Stacked]) -> Result<CommitId, LegAbort> {
        match stack {
            [.., last] if stack.len() > 1 => {
                let trailer = &self.job.definition.config.commit.trailer;
                let line = |one: &Stacked| format!("\n{trailer}: {}", one.task);
                let lines: Vec<String> = stack.iter().filter(|_| !trailer.is_empty()).map(line).collect();
                let blank = if lines.is_empty() { "" } else { "\n" };
                let message = format!("Merge {}{blank}{}\n", tasks(stack), lines.concat());
                let author = &self.job.definition.author;
                let author = crate::git::Identity::new(&author.name, &author.email);
                let committer = &super::committer(self.job, &author);
                let signing = self.signing.as_ref();
                let seal = crate::workspace::Seal { author: &author, committer, signing };
                Ok(self.working_tree.join_stack(now, &last.commit, &message, &seal)?)
            }
            [one] => Ok(one.commit.clone()),
            _ => Ok(now.clone()),
        }
    }

    fn settle(&mut self, ctx: &mut LegContext<'_>, settled: &[(TaskId, Settled)]) -> Result<(), LegAbort> {
        if !settled.is_empty() {
            ctx.flush()?;
            ctx.store.settle_merges(ctx.hold, &self.queue, settled)?;
        }
        Ok(())
    }

    fn branch(&self, ctx: &LegContext<'_>) -> Result<CommitId, LegAbort> {
        let gone = || {
            let words = format!("the base branch {} is gone", self.queue.branch);
            LegAbort::failed(acquit_core::failure::kind::HARNESS, words)
        };
        let found = self.job.source.branch_known_at(&ctx.runtime.git, &self.queue.branch, &self.job.base());
        found.map_err(|error| LegAbort::harness(&error))?.ok_or_else(gone)
    }
}

fn names(entries: &[Entry]) -> String {
    entries.iter().map(|entry| entry.task().to_string()).collect::<Vec<_>>().join(", ")
}

fn tasks(stack: &[Stacked]) -> String {
    stack.iter().map(|one| one.task.to_string()).collect::<Vec<_>>().join(", ")
}
