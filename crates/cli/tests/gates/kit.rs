//! The table of kinds, and what runs a case.
#![allow(clippy::disallowed_methods, reason = "tests prepare the caches of real tools")]

use std::fmt::Write as _;
use std::fs;

use acquit_core::event::{Body, Event};
use acquit_core::gate::{Finding, Verdict};

use crate::common::Sandbox;

/// What a change is like, and what is to be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A test that fails by an assertion without the change.
    Honest,
    /// A test of something that is not there without the change.
    NewThing,
    /// A test of something that is not there without the change, which does not look at what that gives.
    Blind,
    /// A test that passes without the change too.
    Tautology,
    /// A test that no runner finds.
    NeverRan,
    /// A test that is skipped.
    Skipped,
    /// A test that does not compile, or breaks, without the change, because a signature changed.
    NewSignature,
    /// A test of a crash in the code under test, which needs no assertion.
    Crash,
    /// A test that does not load without the change, for a reason that is not in the change's code.
    OddRed,
    /// A test that fails with the change, too.
    StillRed,
    /// The change breaks what worked.
    Regression,
    /// A flaky test beside an honest one.
    FlakyToo,
    /// A flaky test alone.
    FlakyAlone,
    /// A test that failed before fails still; the change is honest.
    BrokenBefore,
    /// Test data makes an old test fail, and the change mends it.
    Fixture,
    /// Test data alone.
    FixtureOnly,
    /// A test file that was renamed, with an honest test in it.
    Renamed,
    /// No test.
    Untested,
    /// Nothing that needs a test.
    Docs,
    /// Tests inside of the source file.
    Inline,
    /// The same, but the test passes without the change too.
    InlineTautology,
    /// A new source file with tests inside.
    InlineNewFile,
    /// A file that cannot be loaded without the change beside one that fails honestly.
    OneUnloadable,
}

/// What is to be said.
pub(crate) enum Expected {
    /// It stands, and this is noted.
    Accepted(&'static [&'static str]),
    /// It does not, for one of these reasons: some languages compile, others find out later.
    Rejected(&'static [&'static str]),
}

impl Kind {
    /// Whether what is seen of it is up to the language and its runner: how a failure, a crash, a skipped test or a test that does not
    /// load is told. The other kinds are judged by rules that know of no language.
    fn shows_the_language(self) -> bool {
        match self {
            Self::Honest
            | Self::NewThing
            | Self::Blind
            | Self::NeverRan
            | Self::Skipped
            | Self::NewSignature
            | Self::Crash
            | Self::OddRed
            | Self::Inline
            | Self::InlineTautology
            | Self::InlineNewFile
            | Self::OneUnloadable => true,
            Self::Tautology
            | Self::StillRed
            | Self::Regression
            | Self::FlakyToo
            | Self::FlakyAlone
            | Self::BrokenBefore
            | Self::Fixture
            | Self::FixtureOnly
            | Self::Renamed
            | Self::Untested
            | Self::Docs => false,
        }
    }

    /// The verdict expected, the same in each language.
    pub(crate) fn expected(self) -> Expected {
        use Expected::{Accepted, Rejected};
        match self {
            Self::Honest | Self::Fixture | Self::Renamed | Self::Inline => Accepted(&["assert-red"]),
            Self::Crash => Accepted(&["crash-red"]),
            Self::NewThing | Self::InlineNewFile | Self::NewSignature => Accepted(&["weak-red"]),
            Self::OneUnloadable => Accepted(&["assert-red", "weak-red"]),
            Self::FlakyToo => Accepted(&["assert-red", "flaky"]),
            Self::BrokenBefore => Accepted(&["assert-red", "broken-before"]),
            Self::Docs => Accepted(&["exempt"]),
            Self::Tautology | Self::InlineTautology => Rejected(&["never-red"]),
            Self::Blind => Rejected(&["unnoticed"]),
            Self::NeverRan | Self::Skipped => Rejected(&["not-run"]),
            Self::OddRed => Rejected(&["compile-red", "error-red"]),
            Self::StillRed | Self::Regression => Rejected(&["new-failure"]),
            Self::FlakyAlone | Self::FixtureOnly => Rejected(&["unproven"]),
            Self::Untested => Rejected(&["untested"]),
        }
    }
}

/// Which kinds of a table are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    All,
    /// Those that show the language, where another language tries them all.
    OfTheLanguage,
}

impl Tried {
    /// These of the table.
    pub(crate) fn of(self, cases: &'static [Case]) -> impl Iterator<Item = &'static Case> {
        cases.iter().filter(move |case| self == Self::All || case.kind.shows_the_language())
    }
}

/// A change of the sample repository: files that are written, and files that go away.
pub(crate) struct Case {
    pub(crate) kind: Kind,
    /// What is otherwise on the base.
    pub(crate) base: &'static [(&'static str, &'static str)],
    pub(crate) write: &'static [(&'static str, &'static str)],
    pub(crate) remove: &'static [&'static str],
}

impl Case {
    pub(crate) const fn new(kind: Kind, write: &'static [(&'static str, &'static str)]) -> Self {
        Self { kind, base: &[], write, remove: &[] }
    }
}

/// A sample repository.
pub(crate) struct Sample {
    sandbox: Sandbox,
    tasks: u32,
}

const AGENT: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", "-c", "cp -R \"$0/change/.\" . && xargs -r rm < \"$0/gone\"", "@ROOT@"]
"#;

impl Sample {
    /// A repository of these files, with this gate.
    pub(crate) fn new(gate: &str, files: &[(&str, &str)], path: &str) -> Self {
        Self::set_up("", gate, files, path)
    }

    /// The same with more in the configuration.
    pub(crate) fn set_up(config: &str, gate: &str, files: &[(&str, &str)], path: &str) -> Self {
        let workflow = format!(
            "[budgets]\ntest = 0\nnothing = 0\nharness = 0\n[gates.proof]\nkind = \"test\"\ntimeout = \"1m\"\n{gate}\n\
             [stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = {{ pr_ready = \"done\" }}\n"
        );
        let sandbox = Sandbox::new(&format!("{AGENT}{config}"), &workflow, "").with("PATH", path);
        for (path, text) in files {
            sandbox.repo.write(path, text);
        }
        sandbox.repo.commit("the sample");
        Self { sandbox, tasks: 0 }
    }

    /// The home of whoever runs acquit.
    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.sandbox.place("home")
    }

    /// A place beside the repository, which programs of the leg reach.
    pub(crate) fn place(&self, name: &str) -> std::path::PathBuf {
        self.sandbox.place(name)
    }

    /// A file of the only leg of a task.
    pub(crate) fn leg_file(&self, task: u32, name: &str) -> std::path::PathBuf {
        self.sandbox.place(&format!("acquit/tasks/T-{task}/legs/1/{name}"))
    }

    /// Lets an agent make the change, and gives the verdict on it.
    pub(crate) fn judge(&mut self, case: &Case) -> Verdict {
        self.judge_task(case, "Do it")
    }

    /// The same for a task of these words.
    pub(crate) fn judge_task(&mut self, case: &Case, task: &str) -> Verdict {
        let repo = &self.sandbox.repo;
        let before = repo.git(&["rev-parse", "HEAD"]);
        if !case.base.is_empty() {
            for (path, text) in case.base {
                repo.write(path, text);
            }
            repo.commit("another base");
        }
        let change = self.sandbox.place("change");
        let _ = fs::remove_dir_all(&change);
        fs::create_dir_all(&change).unwrap();
        for (path, text) in case.write {
            acquit_testkit::repo::write(&change.join(path), text);
        }
        fs::write(self.sandbox.place("gone"), case.remove.join("\n")).unwrap();
        let ran = self.sandbox.acquit(&["run", task]);
        self.tasks += 1;
        let name = format!("T-{}", self.tasks);
        let log = self.sandbox.acquit(&["logs", &name, "--json", "--all"]).must(0);
        let events = log.out.lines().map(|line| serde_json::from_str::<Event>(line).unwrap());
        let verdict = events.filter_map(|event| match event.body {
            Body::Gate { verdict } => Some(*verdict),
            _ => None,
        });
        let verdict = verdict.reduce(|_, last| last);
        repo.git(&["reset", "--hard", "--quiet", &before]);
        verdict.unwrap_or_else(|| panic!("{:?}: no verdict\n{}\n{}", case.kind, ran.out, ran.err))
    }

    /// Judges these of the table. Tells of every one that did not come out as expected.
    pub(crate) fn table(&mut self, cases: &'static [Case], tried: Tried) {
        let mut wrong = String::new();
        for case in tried.of(cases) {
            let verdict = self.judge(case);
            let evidence = &verdict.evidence;
            let noted = |rule: &str| {
                let found = evidence.findings.iter().any(|finding| finding.rule == rule);
                found || evidence.figures.iter().any(|figure| figure.what == rule)
            };
            let right = match case.kind.expected() {
                Expected::Accepted(rules) => verdict.passed && rules.iter().all(|rule| noted(rule)),
                Expected::Rejected(rules) => {
                    let fails = |finding: &Finding| rules.contains(&finding.rule.as_str());
                    !verdict.passed && evidence.failing().any(fails)
                }
            };
            if !right {
                let message = verdict.failure.as_ref().map_or("", |failure| failure.message.as_str());
                let _ = writeln!(
                    wrong,
                    "\n## {:?}: passed {}\n{message}\n{evidence:#?}\n{}",
                    case.kind, verdict.passed, verdict.tail
                );
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }
}
