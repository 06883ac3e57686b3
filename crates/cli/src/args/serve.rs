//! Arguments of `acquit serve`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use acquit_web::access::{Exposure, Origin};

/// Arguments of the daemon and its dashboard.
#[derive(clap::Args, Debug)]
pub struct ServeArgs {
    /// Run what is due now, then exit. Serves no dashboard.
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key", "origin", "behind_proxy"])]
    pub once: bool,
    /// When stopped, wait for running legs to end.
    #[arg(long)]
    pub drain: bool,
    /// Run at most this many tasks at a time. With 0, run only what no worker may run, such as deliveries, one at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub workers: u32,
    /// Don't serve the dashboard.
    #[arg(long, conflicts_with_all = ["once", "listen", "open", "link", "tls_cert", "tls_key", "origin", "behind_proxy"])]
    pub no_web: bool,
    /// Serve the dashboard and the API at this address, such as 127.0.0.1:8080.
    ///
    /// The default is 127.0.0.1:4664, or another port if that one is taken. An address that others can reach needs --tls-cert,
    /// --tls-key and --origin, or --behind-proxy.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "once")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub exposed: Exposed,
    /// Open the dashboard in a browser.
    #[arg(long, conflicts_with = "once")]
    pub open: bool,
    /// Print a new login link for the running dashboard, and exit.
    #[arg(long, conflicts_with_all = ["once", "drain", "workers", "listen", "open", "tls_cert", "tls_key", "origin", "behind_proxy"])]
    pub link: bool,
}

/// Options that expose the dashboard and the API to other machines.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Exposed {
    /// Serve TLS with the certificate chain in this PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "origin"], conflicts_with = "behind_proxy")]
    pub tls_cert: Option<PathBuf>,
    /// The PEM file with the certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The address that people open with --tls-cert, such as `https://acquit.example.com:4664`. Requests for other hosts are refused.
    #[arg(long, value_name = "URL", requires = "tls_cert")]
    pub origin: Option<Origin>,
    /// Expect a proxy that does TLS, and name the address that people open, such as `https://acquit.example.com`.
    ///
    /// The proxy must pass on the header Host, and set X-Forwarded-For.
    #[arg(long, value_name = "URL", conflicts_with_all = ["tls_key", "origin"])]
    pub behind_proxy: Option<Origin>,
}

impl Exposed {
    /// Returns the selected exposure.
    pub fn exposure(&self) -> Exposure {
        match (&self.tls_cert, &self.tls_key, &self.origin, &self.behind_proxy) {
            (Some(certificate), Some(key), Some(origin), _) => {
                Exposure::Tls { origin: origin.clone(), certificate: certificate.clone(), key: key.clone() }
            }
            (_, _, _, Some(origin)) => Exposure::Proxy { origin: origin.clone() },
            _ => Exposure::Loopback,
        }
    }

    /// Returns these options as arguments, for the process that serves.
    pub fn words(&self) -> Vec<OsString> {
        let origin = |flag: &str, origin: &Option<Origin>| {
            origin.as_ref().map(|origin| [flag.into(), origin.to_string().into()])
        };
        let file = |flag: &str, path: &Option<PathBuf>| {
            path.as_ref().map(|path| [flag.into(), path.as_os_str().to_owned()])
        };
        let all = [
            file("--tls-cert", &self.tls_cert),
            file("--tls-key", &self.tls_key),
            origin("--origin", &self.origin),
            origin("--behind-proxy", &self.behind_proxy),
        ];
        all.into_iter().flatten().flatten().collect()
    }
}
