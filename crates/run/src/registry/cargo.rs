//! Registries of Cargo.

use super::{Project, Servers, User};

pub(super) fn servers(user: &User<'_>, project: &mut Project<'_>, servers: &mut Servers) {
    let mut replaced = false;
    for file in [".cargo/config.toml", ".cargo/config"] {
        let Some(table) = project(file).and_then(|text| text.parse::<toml::Table>().ok()) else { continue };
        let (urls, replaces) = registries(&table);
        urls.iter().for_each(|url| servers.add_of_project(url, file));
        replaced |= replaces;
    }
    let home = user.variable(&["CARGO_HOME"]).map(|(_, path)| path.into()).or_else(|| user.home(".cargo"));
    let files = home
        .into_iter()
        .flat_map(|home: std::path::PathBuf| [Some(home.join("config.toml")), Some(home.join("config"))]);
    for (name, text) in user.files(files) {
        let Ok(table) = text.parse::<toml::Table>() else { continue };
        let (urls, replaces) = registries(&table);
        urls.iter().for_each(|url| servers.add(url, &name));
        replaced |= replaces;
    }
    if !replaced {
        servers.add("https://index.crates.io/", "default of Cargo");
        servers.add("https://static.crates.io/", "default of Cargo");
    }
    let lock = project("Cargo.lock").and_then(|text| text.parse::<toml::Table>().ok());
    let packages = lock.as_ref().and_then(|lock| lock.get("package")?.as_array());
    for source in packages.into_iter().flatten().filter_map(|package| package.get("source")?.as_str()) {
        if !source.contains("github.com/rust-lang/crates.io-index") {
            servers.add_of_project(source, "Cargo.lock");
        }
    }
}

/// Returns the registries of a configuration, and whether it replaces crates.io.
fn registries(table: &toml::Table) -> (Vec<String>, bool) {
    let text = |value: &toml::Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let entries = |name: &str| table.get(name).and_then(toml::Value::as_table).into_iter().flatten();
    let sources = entries("source").filter_map(|(_, it)| text(it, "registry").or_else(|| text(it, "git")));
    let named = entries("registries").filter_map(|(_, it)| text(it, "index"));
    let replaces =
        entries("source").any(|(name, it)| name == "crates-io" && it.get("replace-with").is_some());
    (sources.chain(named).collect(), replaces)
}
