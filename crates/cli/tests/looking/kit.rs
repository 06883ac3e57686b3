//! A repository with one gate, and an agent that does what a script says.

use std::fs;

use acquit_core::event::{Body, Event};
use acquit_core::gate::Verdict;

use crate::common::Sandbox;

const AGENT: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", "@ROOT@/deed"]
"#;

/// A sample repository.
pub(crate) struct Sample {
    pub(crate) sandbox: Sandbox,
    tasks: u32,
}

impl Sample {
    /// A repository of these files, with this gate.
    pub(crate) fn new(gate: &str, files: &[(&str, &str)], path: &str) -> Self {
        let workflow = format!(
            "[budgets]\ngate = 0\nnothing = 0\nharness = 0\n[gates.look]\nkind = \"gate\"\ntimeout = \"5m\"\n{gate}\n\
             [stages.code]\nmode = \"implement\"\ngates = [\"look\"]\non = {{ pr_ready = \"done\" }}\n"
        );
        let sandbox = Sandbox::new(AGENT, &workflow, "").with("PATH", path);
        for (path, text) in files {
            sandbox.repo.write(path, text);
        }
        sandbox.repo.commit("the sample");
        Self { sandbox, tasks: 0 }
    }

    /// Lets an agent do this, in a shell, and gives the verdict on it.
    pub(crate) fn judge(&mut self, deed: &str, arguments: &[&str]) -> Verdict {
        fs::write(self.sandbox.place("deed"), format!("set -e\n{deed}\n")).unwrap();
        let mut words = vec!["run", "Do it"];
        words.extend(arguments);
        let ran = self.sandbox.acquit(&words);
        self.tasks += 1;
        let log = self.sandbox.acquit(&["logs", &format!("T-{}", self.tasks), "--json", "--all"]).must(0);
        let events = log.out.lines().map(|line| serde_json::from_str::<Event>(line).unwrap());
        let mut verdict = events.filter_map(|event| match event.body {
            Body::Gate { verdict } => Some(*verdict),
            _ => None,
        });
        verdict.next_back().unwrap_or_else(|| panic!("{deed}: no verdict\n{}\n{}", ran.out, ran.err))
    }
}

/// The rules that a verdict was given by, once each.
pub(crate) fn rules(verdict: &Verdict) -> Vec<&str> {
    let mut rules: Vec<&str> = verdict.evidence.failing().map(|finding| finding.rule.as_str()).collect();
    rules.dedup();
    assert_eq!(verdict.passed, rules.is_empty(), "{verdict:?}");
    rules
}
