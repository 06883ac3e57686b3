//! The shapes of secrets. Each is as narrow as its provider makes it: a shape that fits other things too is of no use.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::pattern::pattern;

/// A shape. The secret is the first group, or all of it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) pattern: Regex,
    /// What a pattern cannot say.
    pub(super) check: fn(&Captures<'_>) -> bool,
}

/// The kind of a value that only its name and its entropy speak against.
pub(super) const ASSIGNMENT: &str = "value of a secret name";

pub(super) static PRIVATE_KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"));

pub(super) static DATA_URL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"data:[\w/+.-]+(?:;[\w=-]+)*;base64,[A-Za-z0-9+/=]+"));

const NAME: &str = r"(?i)((?:[\w.-]*[^a-z0-9])?(?:[a-z]+)??(?:secret|passw(?:or)?d|passphrase|pwd|token|api[_-]?key|auth[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?)[\w-]*)";

pub(super) static QUOTED_ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        "{NAME}{}",
        r#"["'`\]]*\s*(?::=|=>|==|:\s*\w+\s*=|[:=,(])\s*[rbf]?["'`]([^\s"'`]{8,200})["'`]"#
    ))
});

pub(super) static BARE_ASSIGNMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!("{NAME}{}", r#"["']?\s*[:=]\s*["']?([^\s"'`,;<>(){}\[\]]{8,200})"#)));

/// The providers' shapes.
pub(super) static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut kinds: Vec<Kind> =
        SHAPES.iter().map(|(name, shape)| Kind { name, pattern: pattern(shape), check: |_| true }).collect();
    kinds.push(Kind {
        name: "password in an address",
        pattern: pattern(
            r#"\b[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s/:@'"<>{}$]*):([^\s/@'"<>{}$]{3,})@([\w.-]+)"#,
        ),
        check: is_real_address,
    });
    kinds
});

/// A password for a machine that is none, or that is the same as the user's name, is written for a try at home.
fn is_real_address(found: &Captures<'_>) -> bool {
    let (password, host) = (&found[1], found[2].to_lowercase());
    let whole = &found[0];
    let user = whole.split("://").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or_default();
    let at_home =
        ["localhost", "127.0.0.1", "0.0.0.0", "host.docker.internal", "db", "postgres", "mysql", "redis"];
    let reserved =
        [".example", ".test", ".invalid", ".localhost", "example.com", "example.org", "example.net"];
    let plain = matches!(
        password.to_lowercase().as_str(),
        "password" | "pass" | "passwd" | "secret" | "pwd" | "user"
    );
    !plain
        && user != password
        && !at_home.contains(&host.as_str())
        && !reserved.iter().any(|end| host.ends_with(end))
}

const SHAPES: [(&str, &str); 44] = [
    ("AWS access key", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"),
    (
        "AWS secret key",
        r#"(?i)aws[\w.-]{0,30}(?:secret|key)[\w.-]{0,30}["']?\s*(?:=>|[:=,])\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
    ),
    ("GitHub token", r"\b(gh[opusr]_[A-Za-z0-9]{36,255})\b"),
    ("GitHub token", r"\b(github_pat_[A-Za-z0-9_]{40,255})\b"),
    ("GitLab token", r"\b(gl(?:pat|ptt|rt|dt|oas|soat|cbt|imt|ft|agent|ffct)-[A-Za-z0-9_.-]{20,255})"),
    ("Slack token", r"\b(xox[abeoprs]-(?:\d+-)?[A-Za-z0-9-]{10,250})"),
    ("Slack token", r"\b(xapp-\d-[A-Za-z0-9-]{20,250})"),
    ("Slack webhook", r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,80})"),
    ("Stripe key", r"\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250})\b"),
    ("Stripe key", r"\b(whsec_[A-Za-z0-9+/=]{24,80})"),
    ("Google API key", r"\b(AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    ("Google client secret", r"\b(GOCSPX-[A-Za-z0-9_-]{28})(?:[^A-Za-z0-9_-]|$)"),
    ("Anthropic key", r"\b(sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20,250})"),
    ("OpenAI key", r"\b(sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250})"),
    ("OpenAI key", r"\b(sk-[A-Za-z0-9]{48})\b"),
    ("npm token", r"\b(npm_[A-Za-z0-9]{36})\b"),
    ("npm token", r"_authToken\s*=\s*([A-Za-z0-9+/=_-]{20,})"),
    ("PyPI token", r"\b(pypi-[A-Za-z0-9_-]{50,250})"),
    ("crates.io token", r"\b(cio[A-Za-z0-9]{32})\b"),
    ("SendGrid key", r"\b(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64})"),
    ("Twilio key", r"\b(SK[0-9a-f]{32})\b"),
    ("Mailgun key", r"\b(key-[0-9a-f]{32})\b"),
    ("Mailchimp key", r"\b([0-9a-f]{32}-us\d{1,2})\b"),
    ("Telegram bot token", r"\b(\d{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    (
        "Discord token",
        r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?:[^A-Za-z0-9_-]|$)",
    ),
    ("Discord webhook", r"(https://discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{60,80})"),
    ("DigitalOcean token", r"\b(do[opr]_v1_[a-f0-9]{64})\b"),
    ("Azure storage key", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    ("Databricks token", r"\b(dapi[0-9a-f]{32})\b"),
    ("Vault token", r"\b(hv[sbr]\.[A-Za-z0-9_-]{24,250})"),
    ("Hugging Face token", r"\b(hf_[A-Za-z0-9]{34,40})\b"),
    (
        "Heroku key",
        r"(?i)heroku[\w.-]{0,20}\s*[:=]\s*[\x22']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
    ),
    ("Linear key", r"\b(lin_api_[A-Za-z0-9]{40})\b"),
    ("Notion token", r"\b((?:ntn_|secret_)[A-Za-z0-9]{43,50})\b"),
    ("Shopify token", r"\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b"),
    ("Square token", r"\b(sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43})"),
    ("Docker token", r"\b(dckr_pat_[A-Za-z0-9_-]{27,40})"),
    ("age key", r"\b(AGE-SECRET-KEY-1[0-9A-Z]{58})\b"),
    ("Atlassian token", r"\b(ATATT3[A-Za-z0-9_=-]{100,250})"),
    ("New Relic key", r"\b(NRAK-[A-Z0-9]{27})\b"),
    ("Grafana token", r"\b(glsa_[A-Za-z0-9]{32}_[a-f0-9]{8})\b"),
    ("Tailscale key", r"\b(tskey-[a-z]+-[A-Za-z0-9-]{20,80})"),
    ("Doppler token", r"\b(dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{40,60})"),
    ("JSON web token", r"\b(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,})"),
];
