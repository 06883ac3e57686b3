//! Credentials in a home directory, and settings to show without their credentials.

use std::path::Path;

use toml::{Table, Value};

/// Credentials in a home, hidden even if the project shows a directory around them.
pub const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".gitconfig",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".docker",
    ".kube",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".node_repl_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/config",
    ".cargo/config.toml",
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".npm/_logs",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".ivy2/.credentials",
    ".sbt/.credentials",
    ".config/op",
    ".config/pypoetry/auth.toml",
    ".config/mise",
];

/// Settings that tools need, but that may contain credentials: shown as a copy without those.
pub(super) const SETTINGS: [(&str, &[&str]); 3] =
    [(".cargo/config.toml", CARGO), (".cargo/config", CARGO), (".config/mise/config.toml", MISE)];

/// Tables of cargo's configuration that affect builds.
const CARGO: &[&str] = &[
    "alias",
    "build",
    "cargo-new",
    "doc",
    "env",
    "future-incompat-report",
    "http",
    "install",
    "net",
    "patch",
    "paths",
    "profile",
    "registries",
    "registry",
    "resolver",
    "source",
    "target",
    "term",
    "unstable",
];
/// Tables of mise's configuration that select tools. Its `env` often has tokens.
const MISE: &[&str] = &["tools", "settings", "plugins", "alias", "tool_alias", "min_version"];

/// Parts of a setting's name that mark it as a credential.
const TELLING: [&str; 9] =
    ["token", "secret", "password", "passwd", "credential", "auth", "apikey", "api_key", "api-key"];

/// Returns the settings of a file without what looks like a credential. `None` if it is not valid TOML.
pub(super) fn without_credentials(file: &Path, tables: &[&str]) -> Option<String> {
    let mut settings: Table = std::fs::read_to_string(file).ok()?.parse().ok()?;
    settings.retain(|name, _| tables.contains(&name));
    settings.retain(keep);
    toml::to_string(&settings).ok()
}

/// Returns whether a setting may be shown. Removes credentials from tables and lists.
fn keep(name: &str, value: &mut Value) -> bool {
    let name = name.to_ascii_lowercase();
    if TELLING.iter().any(|word| name.contains(word)) || name.ends_with("key") {
        return false;
    }
    match value {
        Value::String(text) => !is_telling(text),
        Value::Table(table) => {
            table.retain(keep);
            true
        }
        Value::Array(list) => {
            list.retain_mut(|value| keep("", value));
            true
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => true,
    }
}

/// Returns whether a text contains a URL with a login, such as `https://user:token@host/`.
pub(super) fn has_login(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', '\n']).next().unwrap_or_default();
        host.contains('@')
    })
}

/// Returns whether a text contains a URL with a login, or looks as random as a key.
fn is_telling(text: &str) -> bool {
    let words = text.split(|char: char| !(char.is_ascii_alphanumeric() || "_-+=".contains(char)));
    let is_random = |word: &str| {
        let has = |test: fn(&char) -> bool| word.chars().any(|char| test(&char));
        word.len() >= 20
            && has(char::is_ascii_digit)
            && has(char::is_ascii_alphabetic)
            && !word.contains("--")
            && (has(char::is_ascii_uppercase) || word.len() >= 32)
    };
    has_login(text) || words.into_iter().any(is_random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_settings_are_shown_without_their_tokens() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("config.toml");
        let text = r#"
            token = "top"
            [build]
            jobs = 4
            rustflags = ["-C", "link-arg=-fuse-ld=lld"]
            [registry]
            default = "mine"
            token = "secret-1"
            [registries.mine]
            index = "sparse+https://cargo.example.com/"
            secret-key = "secret-2"
            [registries.other]
            index = "https://user:secret-3@example.com/index"
            [http]
            proxy = "http://u:secret-4@proxy:3128"
            timeout = 30
            [env]
            LIBCLANG_PATH = "/usr/lib/llvm-18/lib"
            DEPLOY_TOKEN = "secret-5"
            PLAIN = "ghp_abcdEFGH1234ijklMNOP5678qrst"
            [target.x86_64-unknown-linux-gnu]
            linker = "clang"
            [vendor-secret-6]
            anything = "secret-6"
        "#;
        std::fs::write(&file, text).expect("a file");
        let shown = without_credentials(&file, CARGO).expect("settings");
        for secret in ["secret-1", "secret-2", "secret-3", "secret-4", "secret-5", "secret-6", "ghp_", "top"]
        {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        for kept in [
            "jobs = 4",
            "-fuse-ld=lld",
            "sparse+https://cargo.example.com/",
            "timeout = 30",
            "LIBCLANG_PATH",
            "linker",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        std::fs::write(&file, "not [ toml").expect("a file");
        assert_eq!(without_credentials(&file, CARGO), None);
    }
}
