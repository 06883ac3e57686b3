//! Go: packages, and the packages of the module that import them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

pub(super) fn choose(case: &Case<'_>) -> Chosen {
    let module =
        case.files.get("go.mod").and_then(|text| text.lines().find_map(|line| line.strip_prefix("module ")));
    let Some(module) = module.map(str::trim) else { return Chosen::All("go.mod".to_owned()) };
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, text) in case.files.iter().filter(|(file, _)| super::has_end(file, "go")) {
        let imported = text.split('"').filter_map(|name| name.strip_prefix(module));
        let imported = imported.map(|rest| rest.trim_start_matches('/'));
        needs.entry(folder(file)).or_default().extend(imported);
    }
    let mut changed = Vec::new();
    for path in &case.changed {
        // Files in `testdata` are read by the tests of the package around them.
        let package = path.split_once("testdata/").map_or(*path, |(before, _)| before).trim_end_matches('/');
        let package =
            if super::has_end(path, "go") && !path.contains("testdata/") { folder(path) } else { package };
        if !super::has_end(path, "go") && !path.contains("testdata/") {
            return Chosen::All((*path).to_owned());
        }
        changed.push(package);
    }
    let affected = graph::needing(&changed, &needs);
    // A package without any remaining file has no tests. Packages that import it fail to build, which reports the
    // problem.
    Chosen::Tests(affected.into_iter().map(|package| format!("./{package}")).collect())
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
