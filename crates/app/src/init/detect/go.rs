//! Detects Go by `go.mod`. Gates have no network, so setup fetches the modules. It also compiles everything once, because each
//! gate starts with the build cache that setup left.

use acquit_run::registry::Manager;

use super::{Finding, Gate, Language, Report, Setup};
use crate::init::look::Folder;

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    const MODULE: &str = "go.mod";
    let text = folder.text(MODULE)?;
    let requires = text.lines().any(|line| line.trim_start().starts_with("require"));
    // Vendored modules need no server.
    let fetches = requires && !folder.has("vendor/modules.txt");
    let setup = Setup {
        run: if fetches { "go mod download" } else { "" }.to_owned(),
        // Compiles the tests and starts none of them.
        compile: Some("go test -exec true ./...".to_owned()),
        lock_files: [MODULE, "go.sum", "go.work.sum"]
            .into_iter()
            .filter(|file| folder.has(file))
            .map(str::to_owned)
            .collect(),
        timeout: None,
    };
    let mut gates =
        vec![Gate::new("build", "go build ./..."), Gate { name: "vet", ..Gate::new("lint", "go vet ./...") }];
    // Its output tells packages that do not compile from tests that fail, so no build is needed first.
    gates.extend(Gate::proving("go test -json -count=1 ./...", None, Report::Printed("go-test")));
    Some(Finding {
        language: Language::Go,
        folder: folder.name().map(str::to_owned),
        by: MODULE.to_owned(),
        gates,
        managers: if fetches { vec![Manager::Go] } else { Vec::new() },
        setup: Some(setup),
        leaves: Vec::new(),
    })
}
