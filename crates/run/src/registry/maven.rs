//! Repositories of Maven and Gradle.

use super::address::without_credentials;
use super::{Project, Servers, User};

const CENTRAL: &str = "https://repo.maven.apache.org/";

pub(super) fn maven(user: &User<'_>, project: &mut Project<'_>, servers: &mut Servers) {
    let mut mirrored = false;
    for (name, text) in user.files(user_files(user)) {
        // Maven forbids an address with a blocked mirror.
        for mirror in
            elements(&text, "mirror").filter(|it| elements(it, "blocked").all(|it| it.trim() != "true"))
        {
            elements(mirror, "url").for_each(|url| servers.add(url, &name));
            mirrored |=
                elements(mirror, "mirrorOf").any(|of| matches!(of.trim(), "*" | "central" | "external:*"));
        }
        for repository in elements(&text, "repository").chain(elements(&text, "pluginRepository")) {
            elements(repository, "url").for_each(|url| servers.add(url, &name));
        }
    }
    if mirrored {
        return;
    }
    servers.add(CENTRAL, "default of Maven");
    for file in ["pom.xml", ".mvn/settings.xml"] {
        let Some(text) = project(file) else { continue };
        for repository in elements(&text, "repository").chain(elements(&text, "pluginRepository")) {
            elements(repository, "url").for_each(|url| servers.add_of_project(url, file));
        }
    }
    wrapper(".mvn/wrapper/maven-wrapper.properties", project, servers);
}

pub(super) fn gradle(user: &User<'_>, project: &mut Project<'_>, servers: &mut Servers) {
    servers.add(CENTRAL, "default of Gradle");
    for url in ["https://plugins.gradle.org/", "https://plugins-artifacts.gradle.org/"] {
        servers.add(url, "default of Gradle");
    }
    for name in ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"] {
        let Some(text) = project(name) else { continue };
        if text.contains("google()") {
            servers.add_of_project("https://dl.google.com/", name);
        }
        for line in text.lines().filter(|line| line.contains("url") || line.contains("maven")) {
            for url in line.split(['"', '\'']).filter(|part| part.starts_with("http")) {
                servers.add_of_project(url, name);
            }
        }
    }
    let scripts = ["init.gradle", "init.gradle.kts"].map(|name| user.home(&format!(".gradle/{name}")));
    for (name, text) in user.files(scripts) {
        text.split(['"', '\''])
            .filter(|part| part.starts_with("http"))
            .for_each(|url| servers.add(url, &name));
    }
    if wrapper("gradle/wrapper/gradle-wrapper.properties", project, servers) {
        // The address of a distribution redirects to where releases are stored.
        for url in ["https://github.com/", "https://release-assets.githubusercontent.com/"] {
            servers.add(url, "default of Gradle");
        }
    }
}

/// Builds settings that contain only the user's mirrors. Empty without a mirror.
pub(super) fn mirrors(text: &str) -> String {
    let is_plain = |word: &&str| {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:*,!".contains(letter);
        !word.is_empty() && word.chars().all(letter)
    };
    let mut made = String::new();
    for (number, mirror) in elements(text, "mirror").enumerate() {
        let first = |name| elements(mirror, name).next().map(str::trim);
        let Some(url) = first("url").filter(|url| url.starts_with("http") && !url.contains(['?', '<', '&']))
        else {
            continue;
        };
        let of = first("mirrorOf").filter(is_plain).unwrap_or("*");
        let url = without_credentials(url);
        made.push_str(&format!(
            "<mirror><id>mirror-{number}</id><mirrorOf>{of}</mirrorOf><url>{url}</url></mirror>"
        ));
    }
    if made.is_empty() { made } else { format!("<settings><mirrors>{made}</mirrors></settings>\n") }
}

/// Returns the user's settings file, and that of the installation.
fn user_files(user: &User<'_>) -> Vec<Option<std::path::PathBuf>> {
    vec![user.home(".m2/settings.xml"), Some(user.machine("etc/maven/settings.xml"))]
}

/// Adds the server from which a wrapper downloads the build tool.
fn wrapper(file: &str, project: &mut Project<'_>, servers: &mut Servers) -> bool {
    let Some(text) = project(file) else { return false };
    let url = text.lines().find_map(|line| line.trim().strip_prefix("distributionUrl="));
    if let Some(url) = url {
        servers.add_of_project(&url.replace("\\:", ":"), file);
    }
    url.is_some()
}

/// Returns the contents of all elements with this name, outside of comments.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(&open)?;
            let is_comment = rest[..start].rfind("<!--").is_some_and(|at| !rest[at..start].contains("-->"));
            let inner = &rest[start + open.len()..];
            let end = inner.find(&close)?;
            rest = &inner[end + close.len()..];
            if !is_comment {
                return Some(&inner[..end]);
            }
        }
    })
}
