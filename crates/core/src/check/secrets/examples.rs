//! Recognizes values that are not real secrets: placeholders, words, and keys from providers' documentation.

use super::entropy::entropy;

/// A key with fewer bits per character is a row of `x` or a keyboard sequence.
const WORN: f64 = 2.6;

/// Parts of placeholder values.
const WORDS: &[&str] = &[
    "example",
    "sample",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "your_",
    "your-",
    "yourkey",
    "xxxx",
    "dummy",
    "fake",
    "redacted",
    "insert",
    "replace",
    "todo",
    "****",
    "....",
    "_here",
    "-here",
    "not-a-real",
    "notreal",
    "0123456789",
    "deadbeef",
    "abcdefghij",
    "1234567890",
    "qwertyui",
    "lorem",
    "foobar",
    "mysecret",
    "mypassword",
    "my-secret",
    "mytoken",
    "test-key",
    "test_key",
    "testkey",
    "dummykey",
    "secretkey",
    "undefined",
];

/// Parts of keys that providers print in their documentation, and of well-known keys of emulators.
const DOCUMENTED: &[&str] = &[
    "SflKxwRJSMeKKF2QT4fw",
    "4eC39HqLyjWDarjtT1zd",
    "BQokikJOvBiI2HlWgH4o",
    "16C7e42F292c6912E771",
    "pdFZKVeTuE8sk7oOcHr",
    "K1SZFPTOtr/KBHBeksoG",
    "EcaGQy67XIw/Jw==",
    "QWxhZGRpbjpvcGVu",
    "dXNlcjpwYXNz",
    "dXNlcm5hbWU6cGFzc3",
    "T00000000",
    "TJVA95OrM7E2cBab30RM",
    "dBjftJeZ4CVP-mB92K27",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX",
    "AIzaSyDaGmWKa4JsXZ-HjG",
    "POstGetfAytaZS82wHcjoTyoqhMyxXiWdR7Nn7A29DN",
];

/// Common words in values that look like passwords but protect nothing.
const COMMON: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "admin",
    "root",
    "user",
    "guest",
    "test",
    "testing",
    "super",
    "default",
    "welcome",
    "letmein",
    "qwerty",
    "hunter",
    "correct",
    "horse",
    "battery",
    "staple",
    "demo",
    "local",
    "dev",
    "pass",
    "my",
    "key",
    "api",
    "login",
    "value",
    "string",
    "some",
    "valid",
    "invalid",
    "wrong",
    "old",
    "new",
    "strong",
    "weak",
    "bad",
    "good",
    "this",
    "is",
    "not",
    "a",
    "the",
    "for",
    "only",
    "really",
    "very",
    "long",
    "random",
    "monkey",
    "dragon",
    "abc",
    "foo",
    "bar",
    "baz",
    "hello",
    "world",
    "access",
    "refresh",
    "session",
    "auth",
    "client",
    "jwt",
    "bearer",
    "expired",
    "expected",
    "other",
    "another",
    "first",
    "second",
    "mock",
    "stub",
    "fixture",
    "staging",
    "unit",
    "integration",
    "postgres",
    "mysql",
    "redis",
    "rabbitmq",
    "minio",
    "alice",
    "bob",
    "from",
    "in",
    "to",
    "of",
    "and",
    "or",
    "with",
    "id",
    "name",
    "header",
    "field",
    "param",
    "type",
    "store",
    "service",
    "app",
    "server",
    "db",
];

/// Returns whether a value is a placeholder.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        || DOCUMENTED.iter().any(|piece| value.contains(piece))
        || value.starts_with(['<', '$', '{', '%', '[', '@', '#', '&'])
        || value.contains("${")
        || value.contains("{{")
        || value.contains("$(")
        || value.contains("%(")
        || has_run(value)
        || (value.len() >= 16 && entropy(value) < WORN)
}

/// Returns whether a character repeats eight times.
fn has_run(value: &str) -> bool {
    let (mut last, mut length) = (None, 0);
    value.chars().any(|char| {
        length = if last == Some(char) { length + 1 } else { 1 };
        last = Some(char);
        length >= 8
    })
}

/// Returns whether a value consists of words that protect nothing.
pub(super) fn is_words(value: &str) -> bool {
    let mut rest = value.to_lowercase();
    rest.retain(char::is_alphabetic);
    let mut letters = rest.as_str();
    while !letters.is_empty() {
        let longest = COMMON.iter().filter(|word| letters.starts_with(**word)).map(|word| word.len()).max();
        match longest {
            Some(length) => letters = &letters[length..],
            None => return false,
        }
    }
    true
}

/// Last words of names that describe a secret but don't hold one.
const ABOUT: &[&str] = &[
    "name",
    "names",
    "hash",
    "hashed",
    "digest",
    "checksum",
    "fingerprint",
    "id",
    "ids",
    "type",
    "types",
    "url",
    "uri",
    "endpoint",
    "path",
    "file",
    "filename",
    "field",
    "header",
    "prefix",
    "suffix",
    "label",
    "placeholder",
    "regex",
    "pattern",
    "expiry",
    "expires",
    "expiration",
    "length",
    "count",
    "limit",
    "selector",
    "class",
    "arn",
    "ref",
    "reference",
    "title",
    "message",
    "error",
    "hint",
    "text",
    "help",
    "description",
    "format",
    "policy",
    "rule",
    "rules",
    "env",
    "var",
    "variable",
    "column",
    "algorithm",
    "alg",
    "issuer",
    "audience",
    "scope",
    "scopes",
    "version",
    "location",
    "dir",
    "input",
    "button",
    "link",
    "page",
    "route",
    "screen",
    "view",
    "status",
    "kind",
    "provider",
    "ttl",
    "size",
    "index",
    "role",
    "required",
    "enabled",
    "valid",
    "ename",
    "public",
];

/// Returns whether a name describes a secret instead of holding it: `token_url`, `passwordHash`.
pub(super) fn is_about(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    for char in name.chars() {
        if char.is_alphanumeric() {
            let was_lower = words.last().and_then(|word| word.chars().last()).is_some_and(char::is_lowercase);
            if char.is_uppercase() && was_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(char);
            }
        } else {
            words.push(String::new());
        }
    }
    let words: Vec<String> =
        words.into_iter().filter(|word| !word.is_empty()).map(|word| word.to_lowercase()).collect();
    let public = words.iter().any(|word| matches!(word.as_str(), "public" | "pub" | "publishable"));
    public || words.last().is_some_and(|word| ABOUT.contains(&word.as_str()))
}
