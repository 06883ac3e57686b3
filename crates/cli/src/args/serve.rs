//! The arguments of `acquit serve`.

use std::net::SocketAddr;

/// How the daemon and its dashboard run.
#[derive(clap::Args, Debug)]
pub struct ServeArgs {
    /// Run what is due now, then exit. Serves no dashboard.
    #[arg(long)]
    pub once: bool,
    /// When stopped, wait for running legs to end.
    #[arg(long)]
    pub drain: bool,
    /// Run at most this many tasks at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub workers: u32,
    /// Don't serve the dashboard.
    #[arg(long, conflicts_with_all = ["listen", "open", "link"])]
    pub no_web: bool,
    /// Serve the dashboard at this address, such as 127.0.0.1:8080.
    ///
    /// The default is 127.0.0.1:4664, or another port if that one is taken.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "once")]
    pub listen: Option<SocketAddr>,
    /// Open the dashboard in a browser.
    #[arg(long, conflicts_with = "once")]
    pub open: bool,
    /// Print a new login link for the running dashboard, and exit.
    #[arg(long, conflicts_with_all = ["once", "drain", "listen", "open"])]
    pub link: bool,
}
