//! Rust, by `Cargo.toml`. Cargo fetches what it needs, so there is no setup.

use super::{Finding, Gate, Language, at, toml_of};
use crate::init::look::Folder;

/// A first build of all dependencies takes its time.
const BUILDING: &str = "30m";

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    const MANIFEST: &str = "Cargo.toml";
    folder.text(MANIFEST)?;
    // One that cannot be read has to be mended by somebody, and cargo is the one to say so.
    let manifest = toml_of(folder, MANIFEST).unwrap_or_default();
    // Default members are what the owner wants to be built when nothing else is said.
    let every =
        at(&manifest, &["workspace"]).is_some() && at(&manifest, &["workspace", "default-members"]).is_none();
    let all = if every { " --workspace" } else { "" };
    let lints = [&["lints", "clippy"][..], &["workspace", "lints", "clippy"]];
    let clippy = folder.first(&["clippy.toml", ".clippy.toml"]).is_some()
        || lints.iter().any(|path| at(&manifest, path).is_some());
    let lint = Gate::new("lint", format!("cargo clippy{all} --all-targets -- -D warnings")).timeout(BUILDING);
    let lint = if clippy {
        lint
    } else {
        lint.warning("This repository does not say that it is kept free of clippy's warnings; remove `severity` if it is.")
    };
    Some(Finding {
        language: Language::Rust,
        folder: folder.name(),
        by: MANIFEST.to_owned(),
        gates: vec![
            Gate::new("format", "cargo fmt --all --check"),
            Gate::new("build", format!("cargo build{all} --all-targets")).timeout(BUILDING),
            lint,
            Gate::new("test", format!("cargo test{all}")).timeout(BUILDING),
        ],
        setup: None,
        leaves: vec!["target"],
    })
}
