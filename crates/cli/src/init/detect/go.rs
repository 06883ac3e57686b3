//! Go, by `go.mod`. Go fetches what it needs, so there is no setup.

use super::{Finding, Gate, Language};
use crate::init::look::Folder;

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    const MODULE: &str = "go.mod";
    folder.text(MODULE)?;
    Some(Finding {
        language: Language::Go,
        folder: folder.name(),
        by: MODULE.to_owned(),
        gates: vec![
            Gate::new("build", "go build ./..."),
            Gate { name: "vet", ..Gate::new("lint", "go vet ./...") },
            Gate::new("test", "go test ./..."),
        ],
        setup: None,
        leaves: Vec::new(),
    })
}
