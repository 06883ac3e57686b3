//! Settings of the checks, as they are written in workflows.

use acquit_core::gate::check::{Dependencies, Naming, Style};
use acquit_core::gate::{Check, Gate};
use acquit_core::workflow::read;

fn gates(text: &str) -> Vec<Gate> {
    let names: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[gates.")?.strip_suffix(']'))
        .map(|name| format!("\"{name}\""))
        .collect();
    let stage = format!(
        "[stages.code]\nmode = \"implement\"\ngates = [{}]\non = {{ pr_ready = \"done\" }}\n",
        names.join(", ")
    );
    let name = "flow".parse().unwrap();
    let workflow = read("flow.toml", &name, &format!("{text}\n{stage}"), &[]);
    workflow.unwrap_or_else(|mistakes| panic!("{mistakes}")).gates
}

#[test]
fn settings_are_read_and_have_sensible_defaults() {
    let all = gates(
        "[gates.scope]\ncheck = \"scope\"\nmax_lines = 100\nmax_files = 7\nforbidden = [\"infra/**\"]\ndependencies = \"reject\"\nrecent = 10\n\
         [gates.scope2]\ncheck = \"scope\"\n[gates.commits]\ncheck = \"commits\"\nauthors = [\"*@example.org\"]\nstyle = \"conventional\"\n\
         [gates.dilution]\ncheck = \"dilution\"\nallow = [\"suppressed:gen/**\"]\n[gates.secrets]\ncheck = \"secrets\"\nallow = [\"keys/**\"]\n\
         [gates.mutation]\ncheck = \"mutation\"\nrun = \"x\"\nreport = { mutation = \"m.json\" }\nequivalents = 0\n\
         [gates.coverage]\ncheck = \"coverage\"\nrun = \"x\"\nreport = { cobertura = \"c.xml\" }\nmin = 95\n",
    );
    let mut seen = 0;
    for gate in &all {
        seen += 1;
        match (&gate.check, gate.name.as_str()) {
            (Check::Scope(scope), "scope") => {
                assert_eq!((scope.max_lines, scope.max_files, scope.recent), (100, Some(7), Some(10)));
                assert_eq!((scope.dependencies, scope.forbidden.as_slice().len()), (Dependencies::Reject, 1));
            }
            (Check::Scope(scope), _) => {
                assert_eq!((scope.max_lines, scope.dependencies), (500, Dependencies::Allow));
                assert!(scope.uncounted.compile().is_match("a/Cargo.lock"));
            }
            (Check::Commits(commits), _) => {
                assert_eq!((commits.task, commits.style), (Naming::Require, Style::Conventional));
                assert!(commits.types.contains(&"feat".to_owned()) && commits.max_subject == 72);
            }
            (Check::Dilution(dilution), _) => assert_eq!(dilution.allow, ["suppressed:gen/**"]),
            (Check::Secrets(secrets), _) => assert!(secrets.allow.compile().is_match("keys/a")),
            (Check::Mutation(mutation), _) => assert_eq!((mutation.min, mutation.equivalents), (80, 0)),
            (Check::Coverage(coverage), _) => {
                assert!(coverage.min == 95 && coverage.exempt.compile().is_match("tests/a.rs"));
            }
            (
                Check::Command(_) | Check::Tests(_) | Check::Tdd(_) | Check::Reproduced(_) | Check::Review(_),
                name,
            ) => {
                panic!("{name}")
            }
        }
        let again: Gate = serde_json::from_str(&serde_json::to_string(gate).unwrap()).unwrap();
        assert_eq!(&again, gate);
    }
    assert_eq!(seen, 7);
}
