//! The patterns that lines are searched for: providers' key formats, passwords in URLs, and names that sound
//! secret.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::entropy::is_random;
use super::examples::{is_placeholder, is_words};
use super::shapes::SHAPES;
use super::whole::decode;
use crate::pattern::pattern;

/// A pattern. The secret is the first group, or the whole match.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) pattern: Regex,
    /// An additional check that a pattern cannot express.
    pub(super) check: fn(&Captures<'_>) -> bool,
}

/// Kind of a value for which only its name and entropy are evidence.
pub(super) const ASSIGNMENT: &str = "value of a secret name";

pub(super) static PRIVATE_KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"));

pub(super) static DATA_URL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"data:[\w/+.-]+(?:;[\w=-]+)*;base64,[A-Za-z0-9+/=]+"));

const NAME: &str = r"(?i)((?:[\w.-]*[^a-z0-9])?(?:[a-z]+)??(?:secret|passw(?:or)?d|passphrase|pwd|token|api[_-]?key|auth[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|master[_-]?key|account[_-]?key|secret[_-]?key|encryption[_-]?key|credentials?)[\w-]*)";

pub(super) static QUOTED_ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        "{NAME}{}",
        r#"["'`\]]*\s*(?::=|=>|==|:\s*&?[\w<>' ]{1,30}=|[:=,(])\s*(?:\[\]byte\(|[\w.]{1,20}\.from\()?[rbf]?["'`]([^\s"'`]{8,200})["'`]"#
    ))
});

/// Matches `<password>…</password>`, `<add key="ApiKey" value="…"/>`, `name="db.password" value="…"`.
pub(super) static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        "{NAME}{}",
        r#"(?:>\s*|["']\s+(?:\w+=["'][^"']*["']\s+)?value\s*=\s*["'])([^\s"'<>]{8,200})(?:<|["'])"#
    ))
});

/// Matches `ENV API_KEY …`, `ARG TOKEN …`: a blank instead of an equals sign.
pub(super) static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!("{}{NAME}{}", r"^\s*(?:ENV|ARG|setx?|export)\s+", r#"[\s=]+["']?([^\s"'`]{8,200})"#))
});

pub(super) static BARE_ASSIGNMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!("{NAME}{}", r#"["']?\s*[:=]\s*["']?([^\s"'`,;<>(){}\[\]]{8,200})"#)));

/// The providers' formats.
pub(super) static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut kinds: Vec<Kind> = SHAPES
        .iter()
        .map(|(name, shape)| Kind { name, pattern: pattern(shape), check: check(name) })
        .collect();
    kinds.push(Kind {
        name: "password in an address",
        pattern: pattern(
            r#"\b[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s/:@'"<>{}$]*):([^\s/@'"<>{}$]{3,})@([\w.-]+)"#,
        ),
        check: is_real_address,
    });
    kinds
});

/// Returns the additional check for a kind.
fn check(name: &str) -> fn(&Captures<'_>) -> bool {
    match name {
        // Base64 of `user:password`.
        "Docker registry login" => |found| is_login(&found[1]),
        "authorization header" => |found| {
            if found[0].to_lowercase().contains("basic") {
                is_login(&found[1])
            } else {
                is_random(&found[1], false)
            }
        },
        "netrc login" => |found| !is_words(&found[1]),
        "password option" => |found| is_random(&found[1], true) && !is_words(&found[1]),
        "database password" => |found| {
            let lower = found[0].to_lowercase();
            let at_home = ["localhost", "127.0.0.1", "(local)", "=.;", "=db;", "sqlexpress"]
                .iter()
                .any(|host| lower.contains(host));
            !at_home && !is_words(&found[1])
        },
        "npm token" => {
            |found| is_random(&found[1], false) || found[1].starts_with("npm_") || is_login(&found[1])
        }
        "Upstash token" | "Elastic key" => |found| is_random(&found[1], false),
        _ => |_| true,
    }
}

fn is_login(encoded: &str) -> bool {
    let Some(plain) = decode(encoded) else { return false };
    let Some((user, password)) = plain.split_once(':') else { return false };
    password.len() >= 4 && user != password && !is_placeholder(password) && !is_words(password)
}

/// Returns whether a URL's password is real. A password for a local or placeholder host, or one that equals
/// the user name, is for local trials.
fn is_real_address(found: &Captures<'_>) -> bool {
    let (password, host) = (&found[1], found[2].to_lowercase());
    let whole = &found[0];
    let user = whole.split("://").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or_default();
    let at_home = [
        "localhost",
        "127.0.0.1",
        "0.0.0.0",
        "host.docker.internal",
        "db",
        "postgres",
        "mysql",
        "redis",
        "host",
        "rabbitmq",
        "mongo",
        "mongodb",
        "database",
        "proxy",
        "server",
        "hostname",
    ];
    let reserved =
        [".example", ".test", ".invalid", ".localhost", "example.com", "example.org", "example.net"];
    let plain = matches!(
        password.to_lowercase().as_str(),
        "password" | "pass" | "passwd" | "secret" | "pwd" | "user"
    );
    let plain = plain || (is_words(password) && password.len() < 24);
    !plain
        && user != password
        && !at_home.contains(&host.as_str())
        && !reserved.iter().any(|end| host.ends_with(end))
}
