//! The rules of every client of ours that speaks HTTP: it is bounded in time, follows no redirect, because a token would go along, and
//! takes a proxy from the configuration and never from the environment. A status is an answer and no error.

use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};

/// What one client has of its own.
pub(crate) struct Client {
    /// How long connecting may take.
    pub(crate) connect: Duration,
    /// How long a whole call may take.
    pub(crate) call: Duration,
    /// The proxy that leads there.
    pub(crate) proxy: Option<ureq::Proxy>,
    /// Certificates to trust instead of the usual ones.
    pub(crate) roots: Option<RootCerts>,
}

impl Client {
    /// Makes it.
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
