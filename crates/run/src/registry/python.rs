//! Indexes of pip, uv and Poetry.

use super::{Project, Servers, User};

/// Variables that replace the default index.
const INDEX: [&str; 3] = ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];
/// Variables that add indexes.
const EXTRA: [&str; 4] = ["PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_FIND_LINKS"];

pub(super) fn servers(user: &User<'_>, project: &mut Project<'_>, servers: &mut Servers) {
    let mut is_set = false;
    for name in INDEX {
        if let Some((name, url)) = user.variable(&[name]) {
            servers.add(&url, name);
            is_set = true;
        }
    }
    for name in EXTRA {
        for url in user.variable(&[name]).into_iter().flat_map(|(_, list)| words(&list)) {
            servers.add(&url, name);
        }
    }
    for file in FILES {
        let Some(text) = project(file) else { continue };
        for (key, url) in indexes(&text) {
            servers.add_of_project(&url, file);
            is_set |= key == Key::Default;
        }
    }
    for (name, text) in user.files(user_files(user)) {
        for (key, url) in indexes(&text) {
            if key == Key::Extra || !is_set {
                servers.add(&url, &name);
            }
            is_set |= key == Key::Default;
        }
    }
    // Most tools download build dependencies from the default index even if the project has its own index. So leave it
    // out only if the user replaced it.
    if !is_set {
        servers.add("https://pypi.org/", "default of pip");
        servers.add("https://files.pythonhosted.org/", "default of pip");
    }
    for file in ["uv.lock", "poetry.lock", "pdm.lock"] {
        let Some(text) = project(file) else { continue };
        for url in
            text.split('"').filter(|word| word.starts_with("https://") || word.starts_with("git+https://"))
        {
            let is_default = url.contains("pypi.org/") || url.contains("files.pythonhosted.org/");
            if !(is_default && is_set) {
                servers.add_of_project(url, file);
            }
        }
    }
}

/// Files of a project that can name an index.
const FILES: [&str; 9] = [
    "pip.conf",
    "uv.toml",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "constraints.txt",
    "Pipfile",
];

/// Returns the user's and the machine's files, by precedence.
fn user_files(user: &User<'_>) -> Vec<Option<std::path::PathBuf>> {
    vec![
        user.variable(&["PIP_CONFIG_FILE"]).map(|(_, path)| path.into()),
        user.config("pip/pip.conf"),
        user.home(".pip/pip.conf"),
        user.variable(&["UV_CONFIG_FILE"]).map(|(_, path)| path.into()),
        user.config("uv/uv.toml"),
        Some(user.machine("etc/pip.conf")),
        Some(user.machine("etc/xdg/pip/pip.conf")),
        Some(user.machine("etc/uv/uv.toml")),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Default,
    Extra,
}

/// Finds the indexes in a file of any of these formats: keys of pip.conf, options of requirements files, tables of uv
/// and Poetry. A table of uv replaces the default only with `default = true`; treating it as an extra index merely adds
/// a host.
fn indexes(text: &str) -> Vec<(Key, String)> {
    let mut found = Vec::new();
    let mut section = "";
    // A value of pip.conf continues on indented lines.
    let mut list = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            (section, list) = (trimmed, None);
            continue;
        }
        let name_end = trimmed.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(trimmed.len());
        let (name, value) = trimmed.split_at(name_end);
        let of_tables = ["index", "source"].iter().any(|table| section.contains(table));
        let key = match name.trim_start_matches('-') {
            "index-url" | "index_url" => Some(Key::Default),
            "i" if name == "-i" => Some(Key::Default),
            "extra-index-url" | "extra_index_url" | "find-links" => Some(Key::Extra),
            "url" if of_tables => Some(Key::Extra),
            _ if line.starts_with([' ', '\t']) => list,
            _ => None,
        };
        list = key;
        if let Some(key) = key {
            let value = if value.is_empty() || line.starts_with([' ', '\t']) { trimmed } else { value };
            found.extend(words(value).into_iter().map(|url| (key, url)));
        }
    }
    found
}

/// Returns the addresses in a value.
fn words(value: &str) -> Vec<String> {
    let parts = value.split(|c: char| c.is_whitespace() || "\"',[]=".contains(c));
    parts.filter(|part| part.starts_with("http")).map(str::to_owned).collect()
}
