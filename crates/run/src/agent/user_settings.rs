//! An agent's own settings: files in the user's home, and variables that name another server for its model.
//!
//! The sandbox hides both from an agent, unless the configuration lists them. Then an agent that works in the user's
//! terminal fails in a stage, or talks to another server, without saying why. So look for both and report what is
//! missing.

use std::collections::BTreeSet;

use acquit_core::sandbox::Host;

use super::product::Facts;
use crate::runtime::Environment;

/// Maximum size of a settings file.
const LARGEST: u64 = 256 * 1024;

/// Variables that move an agent's folder, and the folder that they replace.
const MOVED: [(&str, &str); 3] =
    [("CODEX_HOME", "~/.codex"), ("CLAUDE_CONFIG_DIR", "~/.claude"), ("XDG_CONFIG_HOME", "~/.config")];

/// Settings of the user that a stage lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Files that the user has and the sandbox hides.
    pub files: Vec<String>,
    /// Variables that are set for acquit but not passed to the agent.
    pub variables: Vec<&'static str>,
    /// Servers that those name and the agent cannot reach.
    pub hosts: BTreeSet<Host>,
    /// Whether one of them names a server, so that the agent would use another server than the user does.
    pub names_server: bool,
}

/// Finds missing settings. `shown` are the files that the sandbox shows, `gets` says whether the agent gets a variable,
/// and `hosts` are those that it can reach.
pub fn missing(
    facts: &Facts,
    environment: &Environment,
    shown: &[String],
    gets: impl Fn(&str) -> bool,
    hosts: &[Host],
) -> Missing {
    let mut found = Missing::default();
    let mut servers = BTreeSet::new();
    let logins = facts.login.iter().filter(|file| moved(file, environment).is_some());
    for file in facts.settings.iter().chain(logins) {
        let (file, variable) = match moved(file, environment) {
            Some((file, variable)) => (file, Some(variable)),
            None => ((*file).to_owned(), None),
        };
        let text =
            environment.expand(&file).and_then(|path| crate::untrusted::text(&path, LARGEST).ok().flatten());
        let Some(text) = text else { continue };
        let named = servers_in(&text);
        // Without the variable, the agent looks in its usual folder.
        let variable = variable.filter(|variable| !gets(variable) && !found.variables.contains(variable));
        found.names_server |= variable.is_some() && !named.is_empty();
        found.variables.extend(variable);
        if !shown.contains(&file) {
            found.names_server |= !named.is_empty();
            found.files.push(file);
        }
        servers.extend(named);
    }
    for &variable in facts.servers {
        let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) else { continue };
        if !gets(variable) {
            found.variables.push(variable);
            found.names_server = true;
        }
        servers.extend(host(&value.to_string_lossy()));
    }
    found.hosts = servers.into_iter().filter(|server| !hosts.contains(server)).collect();
    found
}

/// Returns where a file of an agent is, if the user moved its folder by a variable, and the variable. A path in the home is
/// written with `~/`, as the configuration has it.
fn moved(file: &str, environment: &Environment) -> Option<(String, &'static str)> {
    let (variable, rest) = MOVED.iter().find_map(|(variable, folder)| {
        let rest = file.strip_prefix(folder)?.strip_prefix('/')?;
        Some((*variable, rest))
    })?;
    let folder = environment.get(variable).filter(|value| !value.is_empty())?;
    let path = std::path::Path::new(folder).join(rest);
    let below =
        environment.home().and_then(|home| path.strip_prefix(home).ok()).map(std::path::Path::to_owned);
    let written = match below {
        Some(below) => format!("~/{}", below.to_str()?),
        None => path.to_str()?.to_owned(),
    };
    (written != file).then_some((written, variable))
}

/// Finds the servers that a settings file names: addresses in the value of a key such as `base_url`, `baseURL`,
/// `openai-api-base` or `ANTHROPIC_BASE_URL`, in any format.
fn servers_in(text: &str) -> BTreeSet<Host> {
    const KEYS: [&str; 3] = ["baseurl", "apibase", "endpoint"];
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("http") {
        let before = &text[..at];
        let start = before.rfind(['\n', ',', '{', ';']).map_or(0, |position| position + 1);
        let key: String = before[start..].chars().filter(char::is_ascii_alphanumeric).collect();
        let is_comment = before[start..].trim_start().starts_with(['#', '/']);
        if !is_comment && KEYS.iter().any(|word| key.to_ascii_lowercase().contains(word)) {
            found.extend(host(&text[at..]));
        }
    }
    found
}

/// Returns the host of the address that a text starts with.
fn host(text: &str) -> Option<Host> {
    let (rest, port) = match text.strip_prefix("https://") {
        Some(rest) => (rest, 443),
        None => (text.strip_prefix("http://")?, 80),
    };
    let end = rest.find(|c: char| c.is_whitespace() || "/\"'`?#,\\".contains(c)).unwrap_or(rest.len());
    let name = rest[..end].rsplit('@').next()?;
    let has_port = name.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if has_port { name.parse().ok() } else { format!("{name}:{port}").parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_found_in_every_format() {
        let hosts =
            |text: &str| servers_in(text).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(hosts(r#"{"env":{"A":"x","ANTHROPIC_BASE_URL":"https://llm.corp/v1"}}"#), "llm.corp");
        assert_eq!(hosts("[model_providers.x]\nbase_url = \"http://10.0.0.1:8080/v1\"\n"), "10.0.0.1:8080");
        assert_eq!(hosts("openai-api-base: http://localhost:11434/v1\n"), "localhost:11434");
        assert_eq!(hosts("export GOOGLE_GEMINI_BASE_URL=http://proxy.corp\n"), "proxy.corp:80");
        assert_eq!(hosts(r#""options": { "baseURL": "https://user:pw@[::1]:9/v1" }"#), "[::1]:9");
        assert_eq!(
            hosts("# base_url = \"https://no.corp\"\n$schema = \"https://opencode.ai/config.json\""),
            ""
        );
        assert_eq!(hosts("base_url = \"http"), "");
    }

    #[test]
    fn what_the_sandbox_shows_is_not_missing() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join(".codex")).expect("a folder");
        std::fs::write(home.path().join(".codex/config.toml"), "base_url = \"https://llm.corp/v1\"\n")
            .expect("a file");
        let environment = Environment::new([
            ("HOME".into(), home.path().into()),
            ("OPENAI_BASE_URL".into(), "https://other.corp".into()),
        ]);
        let facts = Facts::of(acquit_core::config::Product::Codex);
        let look = |shown: &[String], gets: bool, hosts: &[Host]| {
            missing(facts, &environment, shown, |_| gets, hosts)
        };
        let all = look(&[], false, &[]);
        assert_eq!(all.files, ["~/.codex/config.toml"]);
        assert_eq!(all.variables, ["OPENAI_BASE_URL"]);
        assert!(all.names_server && all.hosts.len() == 2);
        let hosts = ["llm.corp", "other.corp"].map(|host| host.parse().expect("a host"));
        assert_eq!(look(&["~/.codex/config.toml".to_owned()], true, &hosts), Missing::default());
    }

    #[test]
    fn settings_are_looked_for_where_the_user_moved_them() {
        use acquit_core::config::Product;
        let home = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let path = |folder: &std::path::Path, file: &str| folder.join(file).to_string_lossy().into_owned();
        for (product, variable, file, usual) in [
            (Product::Codex, "CODEX_HOME", "config.toml", ".codex/config.toml"),
            (Product::Claude, "CLAUDE_CONFIG_DIR", "settings.json", ".claude/settings.json"),
            (
                Product::Opencode,
                "XDG_CONFIG_HOME",
                "opencode/opencode.json",
                ".config/opencode/opencode.json",
            ),
        ] {
            for (root, shown) in [
                (home.path().join("own"), format!("~/own/{file}")),
                (elsewhere.path().to_owned(), path(elsewhere.path(), file)),
            ] {
                for text in [root.join(file), home.path().join(usual)] {
                    std::fs::create_dir_all(text.parent().expect("a folder")).expect("a folder");
                    std::fs::write(text, "base_url = \"https://llm.corp/v1\"\n").expect("a file");
                }
                let environment = Environment::new([
                    ("HOME".into(), home.path().into()),
                    (variable.into(), root.clone().into()),
                ]);
                let facts = Facts::of(product);
                let found = missing(facts, &environment, &[], |_| false, &[]);
                assert_eq!(
                    (found.files, found.variables),
                    (vec![shown.clone()], vec![variable]),
                    "{variable}"
                );
                assert!(found.names_server && found.hosts.len() == 1, "{variable}");
                let host = ["llm.corp".parse().expect("a host")];
                let seen = missing(facts, &environment, std::slice::from_ref(&shown), |_| true, &host);
                assert_eq!(seen, Missing::default(), "{variable}");
                // The file alone is of no use without the variable.
                let half = missing(facts, &environment, &[shown], |_| false, &host);
                assert_eq!((half.files.len(), half.variables), (0, vec![variable]), "{variable}");
            }
            // The usual folder, written out, is not another one.
            let folder = usual.split('/').next().unwrap_or_default();
            let root = home.path().join(folder);
            let environment =
                Environment::new([("HOME".into(), home.path().into()), (variable.into(), root.into())]);
            let found = missing(Facts::of(product), &environment, &[], |_| false, &[]);
            assert_eq!(
                (found.files, found.variables),
                (vec![format!("~/{usual}")], Vec::new()),
                "{variable}"
            );
        }
    }
}
