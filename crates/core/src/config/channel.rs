//! The kinds of notification channels. Each has one file below `channel/`, with its settings and their reader, and one
//! line in the table `kinds!`. The file of the same name in `acquit-run`'s `notify` sends the messages.

use std::collections::BTreeMap;

use super::read::declare;
use crate::gate::check::UnknownKind;
use crate::toml_reader::{At, Table, did_you_mean, quoted};

mod desktop;
mod discord;
mod email;
mod ntfy;
mod slack;
mod teams;
mod webhook;

pub use desktop::Desktop;
pub use discord::Discord;
pub use email::{Email, Encryption};
pub use ntfy::Ntfy;
pub use slack::Slack;
pub use teams::Teams;
pub use webhook::Webhook;

/// A kind of channel.
pub(crate) trait Kind: Sized {
    /// Name in TOML: `kind = "ntfy"`.
    const WORD: &'static str;

    /// Its own keys, in addition to `kind` and `events`.
    const KEYS: &'static [&'static str];

    /// Reads the settings and reports mistakes. Returns `None` if the channel cannot be used.
    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self>;
}

/// Defines the enum of all kinds.
macro_rules! kinds {
    ($d:tt $($(#[$doc:meta])* $kind:ident,)+) => {
        /// A kind of channel with its settings.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Target {
            $($(#[$doc])* $kind($kind),)+
        }

        type Reader = fn(&mut Fields<'_, '_, '_>) -> Option<Target>;

        const KINDS: &[(&str, (Reader, &[&'static str]))] =
            &[$(($kind::WORD, (|fields| $kind::read(fields).map(Target::$kind), $kind::KEYS)),)+];

        /// Evaluates an expression with the settings of a channel of any kind.
        #[macro_export]
        macro_rules! each_channel {
            ($d target:expr, $d settings:ident => $d body:expr) => {
                match $d target {
                    $($crate::config::channel::Target::$kind($d settings) => $d body,)+
                }
            };
        }
    };
}

kinds! { $
    /// A topic of an ntfy server.
    Ntfy,
    /// A signed HTTP request to the user's own server.
    Webhook,
    /// A Slack channel, through an incoming webhook.
    Slack,
    /// A Discord channel, through a webhook.
    Discord,
    /// A Microsoft Teams channel, through a workflow with a webhook trigger.
    Teams,
    /// A desktop notification.
    Desktop,
    /// Email through an SMTP server.
    Email,
}

impl Target {
    /// Reads the kind of a channel and its settings. `secrets` are the declared names.
    pub(super) fn read(table: &mut Table<'_, '_>, secrets: &[&str]) -> Result<Option<Self>, UnknownKind> {
        let kind = table.word("kind", KINDS);
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        table.require("kind", &format!("it can be {}", words.join(", ")));
        let (read, own) = kind.ok_or(UnknownKind)?.value;
        let mut others: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for (word, (_, keys)) in KINDS {
            for key in keys.iter().filter(|key| !own.contains(key)) {
                others.entry(*key).or_default().push(word);
            }
        }
        for (key, words) in others {
            table.refuse(&[key], &format!("that is for a channel of the kind {}", words.join(", ")));
        }
        Ok(read(&mut Fields { table, secrets }))
    }
}

/// The settings of a channel while they are read.
pub(crate) struct Fields<'f, 't, 's> {
    pub(super) table: &'f mut Table<'t, 's>,
    pub(super) secrets: &'f [&'f str],
}

impl Fields<'_, '_, '_> {
    /// Reads `url`, the address to send to, without a trailing slash.
    pub(super) fn url(&mut self) -> Option<String> {
        let url = self.table.string("url")?;
        let rest = url.value.strip_prefix("https://").or_else(|| url.value.strip_prefix("http://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let odd = |c: char| c.is_control() || c.is_whitespace();
        if host.is_none_or(|host| host.is_empty() || host.contains('@')) || url.value.contains(odd) {
            let what = "this is no address that a message can be sent to".to_owned();
            let hint = "https://host/path, without a name or a password in it".to_owned();
            self.table.source.report(url.place, what, Some(hint));
        }
        Some(url.value.trim_end_matches('/').to_owned())
    }

    /// Reads the name of a secret, which must be declared.
    pub(super) fn secret(&mut self, key: &'static str) -> Option<String> {
        let name: At<String> = self.table.string(key)?;
        if !self.secrets.contains(&name.value.as_str()) {
            let hint = did_you_mean(&name.value, "secrets are", self.secrets.iter().copied());
            let hint = hint.unwrap_or_else(|| declare(&name.value));
            let what = format!("unknown secret {}", quoted(&name.value));
            self.table.source.report(name.place, what, Some(hint));
        }
        Some(name.value)
    }

    /// Reports an address to which a token would be sent unencrypted. The loopback interface is safe.
    pub(super) fn encrypted(&mut self, url: &str) {
        if is_encrypted(url) {
            return;
        }
        let Some(written) = self.table.value("url") else { return };
        let what = "a token would go there without TLS, where others can read it".to_owned();
        let hint = "use an address that begins with https://".to_owned();
        self.table.source.report(written.place, what, Some(hint));
    }

    /// Reads the secret whose value is the full address of an incoming webhook. Anyone who knows it can post.
    pub(super) fn incoming_webhook(&mut self, example: &str) -> Option<String> {
        let secret = self.secret("secret");
        let hint = format!(
            "name the secret with the webhook's address: secret = \"{example}\", declared in [secrets]"
        );
        self.table.require("secret", &hint);
        secret
    }
}

/// Returns whether the connection to this address is encrypted or local.
pub fn is_encrypted(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
