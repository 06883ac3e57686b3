//! Who can reach the server: only this machine, or others with TLS or through a named proxy.

use std::path::PathBuf;

/// How the server can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// Only from this machine, on the loopback interface.
    #[default]
    Loopback,
    /// From elsewhere, with its own TLS.
    Tls {
        /// Address in the browser.
        origin: Origin,
        /// PEM file with the certificate chain.
        certificate: PathBuf,
        /// PEM file with the key.
        key: PathBuf,
    },
    /// Through a proxy that terminates TLS and forwards `Host`.
    Proxy {
        /// Address in the browser.
        origin: Origin,
    },
}

impl Exposure {
    /// Returns the address in the browser, if it differs from the listen address.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Loopback => None,
            Self::Tls { origin, .. } | Self::Proxy { origin } => Some(origin),
        }
    }
}

/// The address that people open: `https://acquit.example.com`, optionally with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Returns host and port as browsers send them in `Host`.
    pub fn host(&self) -> &str {
        self.0.trim_start_matches("https://")
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "must be an address such as https://acquit.example.com, without a path";
        let text = text.trim_end_matches('/').to_ascii_lowercase();
        let host = text.strip_prefix("https://").ok_or(FORM)?;
        // Browsers omit the default port.
        let host = host.strip_suffix(":443").unwrap_or(host);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
            return Err(FORM);
        }
        Ok(Self(format!("https://{host}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        let read = |text: &str| text.parse::<Origin>().map(|origin| origin.to_string());
        assert_eq!(read("https://Acquit.example.com/"), Ok("https://acquit.example.com".to_owned()));
        assert_eq!(read("https://a.example:443"), Ok("https://a.example".to_owned()));
        assert_eq!(read("https://a.example:8443"), Ok("https://a.example:8443".to_owned()));
        for bad in ["http://a.example", "a.example", "https://", "https://a/b", "https://u@a", "https://a b"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
