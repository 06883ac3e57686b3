//! Shares pages between viewers: after a change, everyone who looks at a page fetches it again at the same moment. The
//! first request renders the page, and all others with the same address and role get a copy.
//!
//! Only refreshes of the script are shared. Such a page has no name or theme of a person in it; the script does not
//! look at those. A page that a person opens is always rendered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use tokio::sync::OnceCell;

use crate::access::Role;

/// Header of the script's requests.
const HEADER: &str = "x-acquit-refresh";
/// Maximum number of pages to keep.
const MOST: usize = 100;
/// Maximum size of a page.
pub const SIZE: usize = 16 * 1024 * 1024;

/// How long a page is given to others. What is no event, such as the lease of a worker, is older by as much.
const KEPT: Duration = Duration::from_millis(250);

/// A page that is rendered, or is going to be.
pub type Cell = Arc<OnceCell<Bytes>>;

/// Pages of the same version of the store.
struct Rendered {
    version: u64,
    since: Instant,
    pages: BTreeMap<(String, Role), Cell>,
}

/// Rendered pages by address and role.
#[derive(Default)]
pub struct Refreshes(Mutex<Option<Rendered>>);

impl Refreshes {
    /// Returns the cell of a page at a version. Pages of other versions are forgotten.
    pub fn cell(&self, version: u64, page: (String, Role)) -> Cell {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let usable =
            |it: &Rendered| it.version == version && it.since.elapsed() < KEPT && it.pages.len() < MOST;
        let held = known.take().filter(usable);
        let rendered = known.insert(held.unwrap_or_else(|| Rendered {
            version,
            since: Instant::now(),
            pages: BTreeMap::new(),
        }));
        Arc::clone(rendered.pages.entry(page).or_default())
    }

    /// Forgets all pages.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns whether a request is a refresh of the script.
pub fn is_refresh(headers: &HeaderMap) -> bool {
    headers.contains_key(HEADER)
}
