//! Go, by `go.mod`. Go fetches what it needs, so there is no setup.

use super::{Finding, Gate, Language, Report};
use crate::init::look::Folder;

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    const MODULE: &str = "go.mod";
    folder.text(MODULE)?;
    let mut gates =
        vec![Gate::new("build", "go build ./..."), Gate { name: "vet", ..Gate::new("lint", "go vet ./...") }];
    // It tells of packages that cannot be compiled apart from tests that fail, so it needs no build before.
    gates.extend(Gate::proving("go test -json -count=1 ./...", None, Report::Printed("go-test")));
    Some(Finding {
        language: Language::Go,
        folder: folder.name(),
        by: MODULE.to_owned(),
        gates,
        setup: None,
        leaves: Vec::new(),
    })
}
