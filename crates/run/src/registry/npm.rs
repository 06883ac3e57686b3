//! Registries of npm, pnpm, bun and Yarn.

use super::{Project, Servers, User};

/// Whose default registry is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    Npm,
    Yarn,
}

/// Lock files, which name the origin of each package.
const LOCK_FILES: [&str; 4] = ["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "bun.lock"];

pub(super) fn servers(default: Default, user: &User<'_>, project: &mut Project<'_>, servers: &mut Servers) {
    let mut is_set = false;
    if let Some((name, url)) =
        user.variable(&["npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER"])
    {
        servers.add(&url, name);
        is_set = true;
    }
    for file in [".npmrc", ".yarnrc.yml", ".yarnrc", "bunfig.toml"] {
        let Some(text) = project(file) else { continue };
        for (key, url) in registries(&text) {
            servers.add_of_project(&url, file);
            is_set |= key == Key::Default;
        }
    }
    for (name, text) in user.files(user_files(user)) {
        for (key, url) in registries(&text) {
            if key == Key::Scoped || !is_set {
                servers.add(&url, &name);
            }
            is_set |= key == Key::Default;
        }
    }
    if !is_set {
        match default {
            Default::Npm => servers.add("https://registry.npmjs.org/", "default of npm"),
            Default::Yarn => {
                servers.add("https://registry.yarnpkg.com/", "default of Yarn");
                servers.add("https://registry.npmjs.org/", "default of npm");
            }
        }
    }
    for file in LOCK_FILES {
        let Some(text) = project(file) else { continue };
        for url in resolved(&text) {
            // Every lock file names npm's registry, and clients replace it with the configured one.
            let is_default = ["registry.npmjs.org", "registry.yarnpkg.com"].iter().any(|it| url.contains(it));
            if url.contains("github.com/") {
                for url in ["https://github.com/", "https://codeload.github.com/"] {
                    servers.add_of_project(url, file);
                }
            } else if !(is_default && is_set) {
                servers.add_of_project(url, file);
            }
        }
    }
}

/// Returns the user's and the machine's files, by precedence.
pub(super) fn user_files(user: &User<'_>) -> Vec<Option<std::path::PathBuf>> {
    let named =
        user.variable(&["npm_config_userconfig", "NPM_CONFIG_USERCONFIG"]).map(|(_, path)| path.into());
    let global = user.variable(&["npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG"]);
    vec![
        named.or_else(|| user.home(".npmrc")),
        user.home(".yarnrc.yml"),
        user.home(".yarnrc"),
        user.home(".bunfig.toml"),
        global.map(|(_, path)| path.into()).or_else(|| Some(user.prefix_of("node")?.join("etc/npmrc"))),
        Some(user.machine("etc/npmrc")),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    /// For every package.
    Default,
    /// For the packages of a scope.
    Scoped,
}

/// Finds the registries in a file of any of the four formats: `registry=…`, `@scope:registry=…`,
/// `npmRegistryServer: …`, `registry "…"`, `registry = "…"`.
fn registries(text: &str) -> Vec<(Key, String)> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '/'])) {
        let Some(start) = line.find("http") else { continue };
        let (key, url) = line.split_at(start);
        let key = key.trim_matches(|c: char| c.is_whitespace() || "=:\"'".contains(c));
        let kind = match key {
            "registry" | "npmRegistryServer" => Key::Default,
            // Yarn uses the same key, indented, inside `npmScopes`; treating it as a scope only adds a host.
            key if key.ends_with(":registry") => Key::Scoped,
            _ => continue,
        };
        let url: String = url.chars().take_while(|c| !c.is_whitespace() && !"\"'".contains(*c)).collect();
        found.push((kind, url));
    }
    found
}

/// Returns the addresses in a lock file.
fn resolved(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().trim_start_matches('"').strip_prefix("resolved")?;
        let start = rest.find("http").or_else(|| rest.find("git+"))?;
        rest[start..].split(['"', '\'', ' ', '#']).next()
    })
}
