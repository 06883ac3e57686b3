//! Secrets are found and benign lines are not, and no finding shows what it found.

use acquit_core::check::diff::{CommitDiff, Diff};
use acquit_core::check::secrets::{Leak, Marked, in_message, secrets};
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::kit::change;

/// Planted in pieces, so that no scanner takes this file for a leak.
fn planted() -> Vec<(&'static str, String, &'static str, String)> {
    let join = |parts: &[&str]| parts.concat();
    let jwt = join(&[
        "ey",
        "JhbGciOiJIUzI1NiJ9.ey",
        "JzdWIiOiI0MiIsIm5hbWUiOiJBZGEifQ.",
        "Qk3vWm9xZ2tYb0pTdFJ1VnlCZGhGcEw",
    ]);
    let key = join(&[
        "-----BEGIN RSA PRIV",
        "ATE KEY-----\nMIIEpAIBAAKCAQEAx8Zq3vWm9xZ2tYb0pTdFJ1VnlCZGhGcEwQk3vWm9",
    ]);
    let hex = "9f86d081884c7d659a2feaa0c55ad015";
    vec![
        ("aws.py", "KEY".into(), "AWS access key", join(&["AK", "IAQ3EGRYWM7TKZP2XN"])),
        (
            "aws.cfg",
            "aws_secret_access_key".into(),
            "AWS secret key",
            join(&["wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYq2zLp8vTkA"]),
        ),
        ("a.js", "t".into(), "GitHub token", join(&["gh", "p_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi"])),
        ("a.yml", "t".into(), "GitLab token", join(&["glp", "at-x7Kd93LmQpZ2vRtYb8Wn"])),
        ("a.go", "t".into(), "Slack token", join(&["xox", "b-263594206564-FGqddMF8t08v8N7Oq4i57vs1"])),
        ("pay.rb", "t".into(), "Stripe key", join(&["sk_li", "ve_51Hx7Kd93LmQpZ2vRtYb8WnCs4"])),
        ("maps.html", "t".into(), "Google API key", join(&["AIz", "aSyD9x7Kd93LmQpZ2vRtYb8WnCs4HfJg6Ta1"])),
        ("llm.py", "t".into(), "Anthropic key", join(&["sk-a", "nt-api03-x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe"])),
        (".npmrc", "t".into(), "npm token", join(&["np", "m_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi"])),
        (
            "mail.ts",
            "t".into(),
            "SendGrid key",
            join(&["S", "G.x7Kd93LmQpZ2vRtYb8WnCs.4HfJg6TaUe1oXix7Kd93LmQpZ2vRtYb8WnCs4HfJg6"]),
        ),
        ("id_rsa", String::new(), "private key", key),
        ("auth.ts", "bearer".into(), "JSON web token", jwt),
        (
            "db.py",
            "u".into(),
            "password in an address",
            join(&["postgres://app:", "Vq7!kd93Lm@db.prod.internal:5432/x"]),
        ),
        ("conf.py", "API_KEY".into(), "value of a secret name", join(&[hex, "a1b2"])),
        (".env", "DB_PASSWORD".into(), "value of a secret name", join(&["Tr0ub4dor", "&3-zK9q"])),
    ]
}

fn leaks(files: &[(&str, String)]) -> Vec<Leak> {
    let edits: Vec<_> = files.iter().map(|(path, text)| (*path, None, Some(text.as_str()))).collect();
    secrets(&[CommitDiff { id: "c1".to_owned(), diff: change(&edits) }], &GlobSet::empty())
}

fn line(path: &str, name: &str, value: &str) -> String {
    match (path, name) {
        (_, "") => format!("{value}\n"),
        (".env" | ".npmrc" | "aws.cfg", _) => format!("first\n{name}={value}\n"),
        _ => format!("first\n{name} = \"{value}\"\n"),
    }
}

#[test]
fn fifteen_planted_secrets_are_found_and_none_is_shown() {
    let planted = planted();
    assert_eq!(planted.len(), 15);
    for (path, name, kind, value) in &planted {
        let found = leaks(&[(path, line(path, name, value))]);
        let kinds: Vec<&str> = found.iter().map(|leak| leak.kind).collect();
        assert_eq!(kinds, [*kind], "{path}: {value}");
        assert_eq!(found[0].line, if name.is_empty() { 1 } else { 2 }, "{path}");
        for leak in &found {
            let shown = format!("{leak:?}");
            let (from, to) = (value.len() / 2, value.len());
            assert!(!shown.contains(&value[from..to]) && leak.shown.len() < 30, "{shown}");
        }
    }
    let all: Vec<(&str, String)> =
        planted.iter().map(|(path, name, _, value)| (*path, line(path, name, value))).collect();
    assert_eq!(leaks(&all).len(), 15);
}

#[test]
fn benign_lines_are_left_alone() {
    let image =
        format!("data:image/png;base64,{}", "iVBORw0KGgoAAAANSUhEUgAAAAUAK7MDENGbPxRfiCYEX9".repeat(40));
    for (path, text) in [
        ("a.rs", "const COMMIT: &str = \"20fad3f9c1d3e5b7a9f86d081884c7d659a2feaa\";"),
        ("a.md", "Fixed in 20fad3f9c1d3e5b7a9f86d081884c7d659a2feaa."),
        ("a.rs", "let id = \"550e8400-e29b-41d4-a716-446655440000\";"),
        ("a.py", "token = \"550e8400-e29b-41d4-a716-446655440000\""),
        (
            "package-lock.json",
            "\"integrity\": \"sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08==\",",
        ),
        (
            "yarn.lock",
            "  token \"^1.0.0\"\n  integrity sha512-x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXix7Kd93LmQpZ2vR==",
        ),
        ("Cargo.lock", "checksum = \"f98b0d85522dc0a824cfebbc9594ff4a9b289c568bea0370319dfbdf20ccdd2d\""),
        ("a.css", image.as_str()),
        ("a.html", &format!("<img token=\"x\" src=\"{image}\">")),
        ("a.py", "AWS_KEY = \"AKIAIOSFODNN7EXAMPLE\""),
        ("a.py", "api_key = \"your-api-key-here-12345\""),
        ("a.yml", "password: ${DB_PASSWORD}"),
        ("a.yml", "password: changeme123"),
        ("a.env", "API_TOKEN=xxxxxxxxxxxxxxxxxxxx1"),
        ("a.ts", "const token = process.env.GITHUB_TOKEN_V2_LONG_NAME;"),
        ("a.rs", "let password = read_password_from_prompt_v2(\"Password: \");"),
        ("a.java", "String tokenName = \"com.example.app.security.token2.Name\";"),
        ("a.py", "secret_name = \"projects/my-project/secrets/db-password/versions/1\""),
        ("a.py", "url = \"postgres://postgres:postgres@localhost:5432/db\""),
        ("a.py", "url = \"https://user:password@example.com/\""),
        ("a.rs", "if line.starts_with(\"-----BEGIN PRIVATE KEY-----\") {"),
        ("a.ts", "import { tokenizeInput2 } from './tokenizer-v2.test-helpers';"),
        ("a.js", "const csrfTokenHeader = 'X-CSRF-Token-Header-1';"),
        ("a.go", "var errBadToken = errors.New(\"token is 1 of 2 bad\")"),
        ("a.py", "key = \"sk-ant-api03-your-key-here-xxxxxxxxxxxx\""),
    ] {
        let found = leaks(&[(path, format!("{text}\n"))]);
        assert!(found.is_empty(), "{path}: {text}: {found:?}");
    }
}

#[test]
fn what_a_later_commit_removed_is_found_once_in_the_commit_that_brought_it() {
    let token = ["gh", "p_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi"].concat();
    let text = format!("one\n{token}\n");
    let commit = |id: &str, before: Option<&str>, after: Option<&str>| CommitDiff {
        id: id.to_owned(),
        diff: change(&[("a.txt", before, after)]),
    };
    // Newest first, as git lists them.
    let commits =
        [commit("c3", None, Some(&text)), commit("c2", Some(&text), None), commit("c1", None, Some(&text))];
    let found = secrets(&commits, &GlobSet::empty());
    let places: Vec<_> =
        found.iter().map(|leak| (leak.commit.as_str(), leak.file.as_deref(), leak.line)).collect();
    assert_eq!(places, [("c1", Some("a.txt"), 2)]);
    let said = in_message("c9", &format!("subject\n\nuse {token}"));
    assert_eq!((said.len(), said[0].line, said[0].file.is_none()), (1, 3, true));
    let allowed = GlobSetBuilder::new().add(Glob::new("*.txt").unwrap()).build().unwrap();
    assert!(secrets(&commits, &allowed).is_empty());
    assert!(secrets(&[CommitDiff { id: String::new(), diff: Diff::default() }], &allowed).is_empty());
}

#[test]
fn the_marker_excuses_entropy_and_never_a_key() {
    let value = "9f86d081884c7d659a2feaa0c55ad015a1b2";
    let token = ["gh", "p_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi"].concat();
    let marked =
        |value: &str| leaks(&[("a.py", format!("api_key = \"{value}\"  # acquit:allow-secret\n"))])[0].marked;
    assert_eq!((marked(value), marked(&token)), (Marked::Yes, Marked::No));
}

#[test]
fn a_key_is_found_in_a_line_without_end_and_in_time() {
    let token = ["gh", "p_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi"].concat();
    for at in [10, 65_500, 65_530, 65_536, 700_000] {
        let text = format!("{} {token} {}\n", "a b".repeat(at / 3), "c d".repeat(200_000));
        assert_eq!(leaks(&[("min.js", text)]).len(), 1, "{at}");
    }
}
