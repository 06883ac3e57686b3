//! `kind = "email"`: email through an SMTP server.

use super::{Fields, Kind};
use crate::toml_reader::quoted;

/// Email through an SMTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// Server name.
    pub host: String,
    /// Server port.
    pub port: u16,
    /// Encryption of the connection.
    pub encryption: Encryption,
    /// File with CA certificates to trust, in addition to the known ones.
    pub ca: Option<String>,
    /// Sender address.
    pub from: String,
    /// Recipient addresses.
    pub to: Vec<String>,
    /// Login name.
    pub user: Option<String>,
    /// Name of the secret with the password.
    pub password: Option<String>,
}

/// Encryption of a connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Starts unencrypted and upgrades before anything is sent. A server that does not offer it is refused.
    #[default]
    Starttls,
    /// Encrypted from the first byte.
    Tls,
    /// Unencrypted; only for a server on this machine.
    None,
}

impl Encryption {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("starttls", Self::Starttls), ("tls", Self::Tls), ("none", Self::None)];
}

impl Kind for Email {
    const WORD: &'static str = "email";
    const KEYS: &'static [&'static str] = &["server", "encryption", "ca", "from", "to", "user", "password"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        let table = &mut *fields.table;
        let server = table.string("server");
        table.require("server", "name it with its port: server = \"smtp.example.com:587\"");
        let encryption = table.word("encryption", &Encryption::ALL);
        let from = table.string("from");
        table.require("from", "say who sends: from = \"acquit@example.com\"");
        let to = table.strings("to");
        table.require("to", "say who receives: to = [\"me@example.com\"]");
        let ca = table.string("ca").map(|ca| ca.value);
        let user = table.string("user");
        let password = fields.secret("password");
        let table = &mut *fields.table;
        for address in from.iter().chain(to.iter().flatten()) {
            if !is_address(&address.value) {
                let what = format!("{} is not an address", quoted(&address.value));
                table.source.report(address.place, what, Some("write it as name@example.com".to_owned()));
            }
        }
        let (server, from, to) = (server?, from?.value, to?);
        let host =
            server.value.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        let plain = |host: &str| {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-[]:".contains(&byte))
        };
        let Some((host, port)) = host.filter(|(host, port)| plain(host) && *port > 0) else {
            let what = format!("{} is not a server with its port", quoted(&server.value));
            table.source.report(server.place, what, Some("write it as \"smtp.example.com:587\"".to_owned()));
            return None;
        };
        let encryption = encryption.map(|word| word.value);
        let usual = if port == 465 { Encryption::Tls } else { Encryption::Starttls };
        let encryption = encryption.unwrap_or(usual);
        if encryption == Encryption::None && !is_local(host) {
            let what = "mail would go there without TLS, where others can read it".to_owned();
            table.source.report(
                server.place,
                what,
                Some("use encryption = \"starttls\" or \"tls\"".to_owned()),
            );
        }
        if user.is_some() != password.is_some() {
            let what = "a login needs both `user` and `password`".to_owned();
            table.source.report(server.place, what, Some("password is the name of a secret".to_owned()));
        }
        Some(Self {
            host: host.to_owned(),
            port,
            encryption,
            ca,
            from,
            to: to.into_iter().map(|address| address.value).collect(),
            user: user.map(|user| user.value),
            password,
        })
    }
}

/// Returns whether a server is on this machine.
fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns whether a text can be used as an address in an SMTP command.
fn is_address(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"<>()[]\\,;:\"".contains(&byte);
    let parts = text.split_once('@');
    text.len() <= 254
        && text.bytes().all(plain)
        && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
}
