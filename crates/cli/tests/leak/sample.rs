//! Looks at all processes of a run, again and again, until it is over.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Sandbox};
use crate::look::Canary;

/// What was seen.
#[derive(Default)]
pub(crate) struct Sampled {
    /// Stage and secret of every agent that had one in its environment.
    pub(crate) had: BTreeSet<String>,
    /// Processes that had one where none may be.
    pub(crate) wrong: Vec<String>,
}

/// Samples until the run is over. An agent goes on when it has been seen.
#[allow(clippy::disallowed_methods, reason = "looks again until the run is over or a deadline passes")]
pub(crate) fn until_over(sandbox: &Sandbox, canaries: &[Canary], over: impl Fn() -> bool) -> Sampled {
    let mut sampled = Sampled::default();
    let root = sandbox.place("").to_string_lossy().into_owned();
    let deadline = Instant::now() + PATIENCE;
    while !over() && Instant::now() < deadline {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()) {
                let text = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
                sampled.process(&root, &text("cmdline"), &text("environ"), canaries);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    sampled
}

impl Sampled {
    fn process(&mut self, root: &str, arguments: &[u8], environment: &[u8], canaries: &[Canary]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (words, variables) = (text(arguments).replace('\0', " "), text(environment));
        // Without arguments it is just becoming another program, or over; it is looked at again.
        if words.is_empty() || !words.contains(root) && !variables.contains(root) {
            return;
        }
        let variable = |name: &str| {
            let begin = format!("{name}=");
            variables.split('\0').find_map(|line| line.strip_prefix(&begin).map(str::to_owned))
        };
        let stage = variable("ACQUIT_STAGE").unwrap_or_default();
        let granted: &[&str] = match stage.as_str() {
            "write" => &["A_KEY", "C_KEY"],
            "look" => &["B_KEY"],
            "again" => &["A_KEY"],
            "crash" => &["C_KEY"],
            _ => &[],
        };
        // The user started acquit with these; its harnesses, which are the same program, must find them again.
        let given = variable("ACQUIT_HOME").is_some() && stage.is_empty();
        for canary in canaries {
            // What an agent does with its own secrets among its own processes is its own affair.
            if canary.is_in(arguments) && !granted.contains(&canary.name) {
                self.wrong.push(format!("{} in the arguments {words}", canary.name));
            }
            if !canary.is_in(environment) {
                continue;
            }
            if granted.contains(&canary.name) {
                self.had.insert(format!("{stage} {}", canary.name));
            } else if !(given && words.contains("acquit") && ["A_KEY", "N_KEY"].contains(&canary.name)) {
                self.wrong.push(format!("{} in the environment of {words} (stage {stage:?})", canary.name));
            }
        }
        let seen = granted.iter().all(|name| self.had.contains(&format!("{stage} {name}")));
        if let Some(output) = variable("ACQUIT_OUTPUT").filter(|_| seen && !granted.is_empty()) {
            let _ = fs::write(format!("{output}/seen"), "");
        }
    }
}
