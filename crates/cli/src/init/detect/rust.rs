//! Rust, by `Cargo.toml`. Cargo fetches what it needs, so there is no setup.

use super::{Finding, Gate, Language, Report, at, toml_of};
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
    let mut gates = vec![
        Gate::new("format", "cargo fmt --all --check"),
        Gate::new("build", format!("cargo build{all} --all-targets")).timeout(BUILDING),
        lint,
    ];
    let build = Some(format!("cargo test{all} --no-run"));
    let proving = match nextest(folder) {
        Some((profile, report)) => {
            let run = format!("cargo nextest run{all} --no-fail-fast --profile {profile}");
            Gate::proving(run, build, Report::Junit(report))
        }
        None => Gate::proving(format!("cargo test{all} --no-fail-fast"), build, Report::Printed("libtest")),
    };
    gates.extend(proving.map(|gate| gate.timeout(BUILDING)));
    Some(Finding {
        language: Language::Rust,
        folder: folder.name(),
        by: MANIFEST.to_owned(),
        gates,
        setup: None,
        leaves: vec!["target"],
    })
}

/// The profile of nextest that writes a report, if the repository has one of the usual names, and where the report is.
fn nextest(folder: &mut Folder<'_>) -> Option<(&'static str, &'static str)> {
    const FILE: &str = ".config/nextest.toml";
    const PROFILES: [(&str, &str); 2] =
        [("ci", "target/nextest/ci/junit.xml"), ("default", "target/nextest/default/junit.xml")];
    folder.text(FILE)?;
    let settings = toml_of(folder, FILE)?;
    let writes = |profile: &str| {
        let path = at(&settings, &["profile", profile, "junit", "path"]);
        path.is_some_and(|path| path.as_str() == Some("junit.xml"))
    };
    PROFILES.into_iter().find(|(profile, _)| writes(profile))
}
