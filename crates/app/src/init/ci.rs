//! CI jobs that run `acquit prove` on a pull request or merge request.
//!
//! A job uses the base's `.acquit/`, so a pull request cannot relax its own rules. Names from the pull request reach
//! the job as variables, never as part of a script.

use std::path::PathBuf;

use super::Plan;

/// A forge with a supported CI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

const GITHUB: &str = include_str!("../../templates/github.yml");
const GITLAB: &str = include_str!("../../templates/gitlab.yml");
const GITLAB_ROOT: &str = "include:\n  - local: .gitlab/acquit.yml\n";

/// Plans the files for a forge. `has` returns whether the repository has a file.
pub fn plan(forge: Forge, has: &dyn Fn(&str) -> bool) -> Plan {
    let mut notes = vec!["commit it; the job runs on the next request".to_owned()];
    let files: Vec<(PathBuf, String)> = match forge {
        Forge::Github => vec![(".github/workflows/acquit.yml".into(), GITHUB.to_owned())],
        Forge::Gitlab => {
            let mut files = vec![(PathBuf::from(".gitlab/acquit.yml"), GITLAB.to_owned())];
            if has(".gitlab-ci.yml") {
                notes.insert(
                    0,
                    "add to .gitlab-ci.yml: `include: [{ local: .gitlab/acquit.yml }]`".to_owned(),
                );
            } else {
                files.push((".gitlab-ci.yml".into(), GITLAB_ROOT.to_owned()));
            }
            files
        }
    };
    Plan { files, seen: Vec::new(), recognised: true, has_agent: true, notes }
}
