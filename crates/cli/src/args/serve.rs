//! The arguments of `acquit serve`.

use std::net::SocketAddr;

/// How the daemon and its dashboard run.
#[derive(clap::Args, Debug)]
pub struct ServeArgs {
    /// Do what is due now, wait for it to end, and stop. Serves no dashboard.
    #[arg(long)]
    pub once: bool,
    /// When stopped, begin nothing more and wait for the legs that run.
    #[arg(long)]
    pub drain: bool,
    /// How many tasks run at the same time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub workers: u32,
    /// Do not serve the dashboard.
    #[arg(long, conflicts_with_all = ["listen", "open", "link"])]
    pub no_web: bool,
    /// Serve the dashboard at this address of the loopback interface, such as 127.0.0.1:8080.
    ///
    /// By default it is 127.0.0.1:4664, or another port where that one is taken.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "once")]
    pub listen: Option<SocketAddr>,
    /// Open the dashboard in a browser.
    #[arg(long, conflicts_with = "once")]
    pub open: bool,
    /// Print a new login link for the dashboard that runs, and exit.
    #[arg(long, conflicts_with_all = ["once", "drain", "listen", "open"])]
    pub link: bool,
}
