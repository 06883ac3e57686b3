//! Rules for all of our HTTP clients: they have timeouts, do not follow redirects (a token would be sent along), and
//! take a proxy from the configuration, never from the environment. A status code is an answer and not an error.

use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};

/// Settings of one client.
pub(crate) struct Client {
    /// Connection timeout.
    pub(crate) connect: Duration,
    /// Timeout of a whole call.
    pub(crate) call: Duration,
    pub(crate) proxy: Option<ureq::Proxy>,
    /// Certificates to trust instead of the default ones.
    pub(crate) roots: Option<RootCerts>,
}

impl Client {
    /// Creates the client.
    pub(crate) fn open(self) -> ureq::Agent {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.proxy)
            .timeout_connect(Some(self.connect.min(self.call)))
            .timeout_global(Some(self.call))
            .user_agent(concat!("acquit/", env!("CARGO_PKG_VERSION")));
        if let Some(roots) = self.roots {
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        config.build().into()
    }
}
