//! Runs tests, helpers and data of the base on the code of the change, and both versions on code that is broken
//! on purpose.
//!
//! Only for changes that edit existing test files; adding tests costs nothing here.

mod unneeded;

use std::collections::BTreeSet;

use acquit_core::check::dilution::Permits;
use acquit_core::check::source::Language;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::broken::{Way, broken};
use acquit_core::proof::earlier::{Edited, Part, Runs, blinded, part};
use acquit_core::proof::loosened::Lines;
use acquit_core::proof::replaced::Replaced;
use acquit_core::proof::turned::TestFile;
use acquit_core::proof::{Ran, Tree, inline, judge};
use acquit_core::results::{Known, Merged, TestId};
use acquit_core::time::Span;

use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, setup_aside};
use crate::workspace::{Become, Changed, LockedWorkspace, Scratch, Stored};

use unneeded::UNNEEDED;

/// Maximum number of changed files to read.
const MOST_FILES: usize = 500;

/// Maximum number of code files to break.
const MOST_BROKEN: usize = 400;

/// Maximum time for all runs on broken code. The first way to break it is always tried.
const MOST_TIME: u64 = 2 * 60 * 1000;

/// Time limit of tests on broken code, as a multiple of the time of the change's tests. They may never end.
const PATIENCE: u64 = 3;

/// Minimum of that limit.
const LEAST_TIME: u64 = 15 * 1000;

/// Minimum of that limit where a compiler starts anew.
const LEAST_TO_COMPILE: u64 = 60 * 1000;

/// Maximum number of named tests that no longer notice broken code.
const NAMED: usize = 5;

/// Results to compare with.
pub(super) struct Ends<'a> {
    pub(super) base: &'a CommitId,
    pub(super) head: &'a CommitId,
    /// Results of the tests on the base.
    pub(super) before: &'a Merged,
    /// Results with the change.
    pub(super) now: &'a Merged,
    /// How long they took.
    pub(super) took: u64,
}

/// Changes to existing test files.
#[derive(Default)]
pub(super) struct Beside {
    /// Tests, helpers and runner settings, as on the base.
    code: Vec<(String, Become)>,
    /// Tests of the base in source files, to be put into the changed code there.
    inline: Vec<(String, Stored, String)>,
    /// Data that tests read, as on the base.
    pub(super) data: Vec<(String, Become)>,
    /// Changed values in the data.
    replaced: Replaced,
    pub(super) edited: Edited,
    /// Lines of tests that only one side has.
    pub(super) test_lines: Lines,
    /// Whether anything else changed.
    others: bool,
}

/// Runs the tests of the base on the code of the change, if the change edits them.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    suite: &Suite<'_>,
    workspace: &LockedWorkspace,
    doings: &Doings,
    ends: &Ends<'_>,
    spent: &mut Spent,
) -> Result<Evidence, LegAbort> {
    let mut evidence = Evidence::default();
    let changed = match workspace.changed(ends.base, ends.head) {
        Ok(changed) => changed,
        Err(error) if is_too_large(&error) => return Ok(evidence),
        Err(error) => return Err(error.into()),
    };
    let beside = Beside::of(workspace, doings, changed)?;
    let edits = !beside.edited.is_nothing() || !doings.judges.is_empty();
    if !edits && beside.data.is_empty() {
        return Ok(evidence);
    }
    let scratch = workspace.scratch()?;
    let mut run = Run { ctx, job, workspace, scratch: &scratch, head: ends.head, spent };
    let mut all = beside.files(workspace, &[])?;
    let code = all.clone();
    all.extend(beside.data.iter().cloned());
    let earlier = if beside.others {
        run.once(suite, &all, "earlier")?
    } else {
        // Without other changes, this is the base itself.
        Some(Ran { merged: ends.before.clone(), ..Ran::default() })
    };
    let Some(mut earlier) = earlier else { return Ok(evidence) };
    let (before, now) = (ends.before, ends.now);
    let is_worse = |earlier: &Ran| Runs { base: before, now, earlier, new_data: None }.is_worse();
    if beside.others
        && is_worse(&earlier)
        && let Some(again) = run.once(suite, &all, "earlier-again")?
    {
        earlier.merged.join(again.merged);
    }
    let new_data =
        if beside.data.is_empty() || !edits { None } else { run.once(suite, &code, "earlier-code")? };
    let wish = &job.task.seed.wish;
    let task = format!("{}\n{}", wish.title, wish.description);
    let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
    let runs = Runs { base: before, now, earlier: &earlier, new_data: new_data.as_ref() };
    runs.conclude(&beside.edited, &doings.judges(), (&task, &beside.replaced), &mut evidence);
    evidence.findings.retain(|finding| !permits.allow(&finding.rule, None));
    if evidence.failing().next().is_none() && runs.is_worse() && !permits.allow(UNNEEDED, None) {
        unneeded::look(&mut run, suite, &beside, &runs, (ends.base, ends.took), &mut evidence)?;
    }
    if evidence.failing().next().is_none() && edits && !permits.allow("assertion-weakened", None) {
        run.broken(suite, &beside, &runs, ends.took, &mut evidence)?;
    }
    Ok(evidence)
}

impl Beside {
    pub(super) fn of(
        workspace: &LockedWorkspace,
        doings: &Doings,
        changed: Vec<Changed>,
    ) -> Result<Self, LegAbort> {
        let mut beside = Self::default();
        let mut files = Vec::new();
        let is_judge = |path: &String| doings.judges.iter().any(|(judge, _)| judge == path);
        let read = |stored: &Option<Stored>| match stored {
            Some(stored) => workspace.text(stored),
            None => Ok(None),
        };
        for file in changed.into_iter().take(MOST_FILES) {
            let before = file.old.clone().map_or(Become::Gone, Become::Stored);
            match part(&file.path) {
                Part::Tests => {
                    let (old, new) = (read(&file.old)?, read(&file.new)?);
                    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                    files.push(TestFile { path: file.path.clone(), old, new });
                    beside.code.push((file.path, before));
                }
                _ if is_judge(&file.path) => beside.code.push((file.path, before)),
                Part::Data if file.old.is_some() => {
                    let (old, new) = (read(&file.old)?, read(&file.new)?);
                    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                    beside.replaced.add_data(&file.path, &old, &new);
                    beside.data.push((file.path, before));
                }
                Part::Data => {}
                Part::Other if Language::of(&file.path) == Some(Language::Rust) => {
                    let (old, new) = (read(&file.old)?, read(&file.new)?);
                    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                    beside.others |= inline::without_tests(&old) != inline::without_tests(&new);
                    if let (Some(stored), Some(_)) = (file.new, inline::graft(&new, &old)) {
                        let tests = |text: &str| -> String {
                            let items = inline::test_items(text);
                            items.into_iter().map(|item| &text[item]).collect::<Vec<_>>().join("\n\n")
                        };
                        if inline::has_tests(&old) {
                            let (old, new) = (tests(&old), tests(&new));
                            files.push(TestFile { path: file.path.clone(), old, new });
                        }
                        beside.inline.push((file.path, stored, old));
                    }
                }
                Part::Other => beside.others = true,
            }
        }
        beside.edited = Edited::of(&files);
        beside.test_lines = Lines::of(&files);
        Ok(beside)
    }

    /// Returns tests, helpers and settings of the base, to replace files of the change.
    pub(super) fn files(
        &self,
        workspace: &LockedWorkspace,
        over: &[(String, Become)],
    ) -> Result<Vec<(String, Become)>, LegAbort> {
        let mut files = over.to_vec();
        for (path, stored, old) in &self.inline {
            let known = files.iter_mut().find(|(known, _)| known == path);
            let new = match &known {
                Some((_, Become::Text(_, text))) => text.clone(),
                Some(_) | None => workspace.text(stored)?.unwrap_or_default(),
            };
            let Some(text) = inline::graft(&new, old) else { continue };
            let becomes = Become::Text(stored.clone(), text);
            match known {
                Some(known) => known.1 = becomes,
                None => files.push((path.clone(), becomes)),
            }
        }
        files.extend(self.code.iter().cloned());
        Ok(files)
    }
}

/// Runs the tests on combined trees.
pub(super) struct Run<'a, 'c, 'w> {
    pub(super) ctx: &'a mut LegContext<'c>,
    pub(super) job: &'a Job<'a>,
    pub(super) workspace: &'a LockedWorkspace,
    pub(super) scratch: &'a Scratch<'w>,
    pub(super) head: &'a CommitId,
    pub(super) spent: &'a mut Spent,
}

impl Run<'_, '_, '_> {
    /// Runs the change with other files. Returns `None` if no test ran.
    pub(super) fn once(
        &mut self,
        suite: &Suite<'_>,
        files: &[(String, Become)],
        phase: &str,
    ) -> Result<Option<Ran>, LegAbort> {
        let working_tree = self.show(files)?;
        let tree = suite.tree(self.ctx, self.job, &working_tree, phase, 1, self.spent)?;
        Ok(told(tree))
    }

    /// The same, unless another gate has cached the result.
    pub(super) fn once_or_kept(
        &mut self,
        suite: &Suite<'_>,
        files: &[(String, Become)],
        phase: &str,
    ) -> Result<Option<Ran>, LegAbort> {
        let working_tree = self.show(files)?;
        let shown = self.scratch.shown().unwrap_or_else(|| self.head.clone());
        let kept = suite.kept(self.ctx, self.job, self.workspace, &shown)?;
        let runs = (phase, 1..=1);
        Ok(told(suite.runs(self.ctx, self.job, &working_tree, runs, Some(&kept), self.spent)?))
    }

    /// Shows the change with other files.
    fn show(&mut self, files: &[(String, Become)]) -> Result<WorkingTree, LegAbort> {
        self.scratch.show(&self.scratch.compose(self.head, files)?, self.head)?;
        setup_aside(self.ctx, self.job, self.scratch)?;
        Ok(WorkingTree::of_scratch(self.scratch))
    }

    /// Returns the code files of the change with their texts.
    pub(super) fn sources(&self) -> Result<Vec<(String, Stored, String)>, LegAbort> {
        self.sources_of(self.head)
    }

    /// The same for another commit.
    pub(super) fn sources_of(&self, commit: &CommitId) -> Result<Vec<(String, Stored, String)>, LegAbort> {
        // Files that setup reads would make it run again, and the tests don't see them.
        let setup = self.job.definition.config.setup.as_ref();
        let of_setup = |path: &str| setup.is_some_and(|setup| setup.lock_files.iter().any(|it| it == path));
        let is_code = |path: &str| {
            Language::of(path).is_some()
                && part(path) == Part::Other
                && !judge::judges(path, None, None, &[])
                && !of_setup(path)
        };
        let mut sources = Vec::new();
        for (path, stored) in self.workspace.files_of(commit, &is_code)?.into_iter().take(MOST_BROKEN) {
            if let Some(text) = self.workspace.text(&stored)? {
                sources.push((path, stored, text));
            }
        }
        Ok(sources)
    }

    /// Runs old and new tests on code that is broken in the same way.
    fn broken(
        &mut self,
        suite: &Suite<'_>,
        beside: &Beside,
        runs: &Runs<'_>,
        took: u64,
        evidence: &mut Evidence,
    ) -> Result<(), LegAbort> {
        let sound = runs.sound();
        if sound.is_empty() {
            return Ok(());
        }
        let sources = self.sources()?;
        let is_compiled =
            |path: &str| matches!(Language::of(path), Some(Language::Rust | Language::Go | Language::Java));
        let compiles = sources.iter().any(|(path, ..)| is_compiled(path));
        let least = took.saturating_mul(PATIENCE).max(if compiles { LEAST_TO_COMPILE } else { LEAST_TIME });
        let timeout = Span::from(least.min(u64::from(suite.gate.timeout)));
        let gate = Gate { timeout, ..suite.gate.clone() };
        let suite = Suite { gate: &gate, ..*suite };
        let began = self.spent.took;
        for way in Way::ALL {
            if self.spent.took > began && self.spent.took - began + 2 * took > MOST_TIME {
                break;
            }
            let files: Vec<(String, Become)> = sources
                .iter()
                .filter_map(|(path, stored, text)| {
                    Some((path.clone(), Become::Text(stored.clone(), broken(path, text, way)?)))
                })
                .collect();
            if files.is_empty() {
                continue;
            }
            let old = beside.files(self.workspace, &files)?;
            let mut blind: Option<Vec<TestId>> = None;
            // Try a finding twice, because a test may be flaky.
            for number in 1..=2 {
                let phase = |side: &str| format!("broken-{}-{side}-{number}", way.name());
                let Some(before) = self.once(&suite, &old, &phase("before"))? else { break };
                if !notices(&sound, &before.merged) {
                    break;
                }
                let Some(after) = self.once(&suite, &files, &phase("after"))? else { break };
                let mut found = blinded(&sound, &beside.edited, &before.merged, &after.merged);
                if let Some(known) = blind.take() {
                    found.retain(|id| known.contains(id));
                    blind = Some(found);
                    break;
                }
                if found.is_empty() {
                    break;
                }
                blind = Some(found);
            }
            if let Some(blind) = blind.filter(|blind| !blind.is_empty()) {
                for id in blind.iter().take(NAMED) {
                    let what = format!(
                        "{id} as it was fails on code in which {}, and with the change of the tests, their helpers or settings it passes \
                         there: it notices less. Restore what it noticed",
                        way.words()
                    );
                    evidence.find(Weight::Fails, "assertion-weakened", &what, None);
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns the results of a run; `None` if no test ran.
fn told(tree: Tree) -> Option<Ran> {
    match tree {
        Tree::Ran(ran) if ran.merged.results.executed() > 0 => Some(ran),
        Tree::Ran(_) | Tree::NotBuilt(_) => None,
    }
}

/// Returns whether one of these tests fails.
fn notices(sound: &BTreeSet<TestId>, broken: &Merged) -> bool {
    sound.iter().any(|id| matches!(broken.of(id), Known::Red(_)))
}
