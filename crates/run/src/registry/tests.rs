//! The servers that result from each configuration.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use super::*;
use acquit_sandbox::environment::Environment;

/// Returns the hosts with their origins, for a user with these files and variables in a project with these files.
fn found(
    manager: Manager,
    home: &[(&str, &str)],
    variables: &[(&str, &str)],
    project: &[(&str, &str)],
) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in home {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let environment = environment(folder.path(), variables);
    let mut read =
        |name: &str| project.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let servers = servers(manager, &User::on(&environment, &folder.path().join("machine")), &mut read);
    let list = servers.list.iter().map(|it| format!("{} {}", it.host, it.origin)).collect();
    (list, servers.refused.iter().map(|it| format!("{} {}", it.host, it.origin)).collect())
}

fn environment(home: &Path, variables: &[(&str, &str)]) -> Environment {
    let more = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Environment::new([("HOME".into(), home.into())].into_iter().chain(more))
}

#[test]
fn a_client_that_nobody_configured_uses_its_default() {
    for (manager, expected) in [
        (Manager::Npm, "registry.npmjs.org default of npm"),
        (Manager::Yarn, "registry.yarnpkg.com default of Yarn"),
        (Manager::Python, "pypi.org default of pip"),
        (Manager::Cargo, "index.crates.io default of Cargo"),
        (Manager::Go, "proxy.golang.org default of Go"),
        (Manager::Maven, "repo.maven.apache.org default of Maven"),
        (Manager::Gradle, "repo.maven.apache.org default of Gradle"),
    ] {
        assert_eq!(found(manager, &[], &[], &[]).0[0], expected);
    }
}

#[test]
fn the_users_mirror_takes_the_place_of_the_default() {
    let only = |manager, home: &[(&str, &str)], variables: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(found(manager, home, variables, &[]).0, expected, "{manager:?}");
    };
    only(
        Manager::Npm,
        &[(
            ".npmrc",
            "registry=https://me:pw@npm.example.com/r/\n//npm.example.com/:_authToken=x\n@a:registry=https://a.example.com\n",
        )],
        &[],
        &["npm.example.com ~/.npmrc", "a.example.com ~/.npmrc"],
    );
    only(
        Manager::Npm,
        &[(".npmrc", "registry=https://npm.example.com/\n")],
        &[("npm_config_registry", "http://10.0.0.7:4873/")],
        &["10.0.0.7:4873 npm_config_registry"],
    );
    only(
        Manager::Python,
        &[(
            ".config/pip/pip.conf",
            "[global]\nindex-url = https://pypi.example.com/simple\nextra-index-url =\n    https://b.example.com/simple\n    https://c.example.com/\n",
        )],
        &[],
        &[
            "pypi.example.com ~/.config/pip/pip.conf",
            "b.example.com ~/.config/pip/pip.conf",
            "c.example.com ~/.config/pip/pip.conf",
        ],
    );
    only(
        Manager::Python,
        &[],
        &[("UV_DEFAULT_INDEX", "https://uv.example.com/simple")],
        &["uv.example.com UV_DEFAULT_INDEX"],
    );
    only(
        Manager::Cargo,
        &[(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://crates.example.com/\"\n",
        )],
        &[],
        &["crates.example.com ~/.cargo/config.toml"],
    );
    only(
        Manager::Go,
        &[(".config/go/env", "GOPROXY=https://go.example.com,direct\nGOSUMDB=off\n")],
        &[],
        &["go.example.com ~/.config/go/env"],
    );
    only(
        Manager::Maven,
        &[(
            ".m2/settings.xml",
            "<settings><!-- <mirror><url>https://no.example.com</url></mirror> --><mirrors><mirror><mirrorOf>*</mirrorOf><url>https://m.example.com/x</url></mirror></mirrors></settings>",
        )],
        &[],
        &["m.example.com ~/.m2/settings.xml"],
    );
}

#[test]
fn a_project_names_public_hosts_and_nothing_of_the_users_network() {
    let (list, refused) = found(
        Manager::Npm,
        &[],
        &[],
        &[
            (
                ".npmrc",
                "@corp:registry=https://npm.example.com/\n@x:registry=http://169.254.169.254/\n@y:registry=https://intranet/\n",
            ),
            (
                "package-lock.json",
                "  \"resolved\": \"https://tar.example.org/a.tgz\",\n  \"resolved\": \"https://127.0.0.1:1/a.tgz\",\n \"resolved\": \"git+ssh://git@github.com/a/b.git#1\",",
            ),
        ],
    );
    let expected = [
        "npm.example.com .npmrc",
        "registry.npmjs.org default of npm",
        "tar.example.org package-lock.json",
        "github.com package-lock.json",
        "codeload.github.com package-lock.json",
    ];
    assert_eq!(list, expected);
    assert_eq!(refused, ["169.254.169.254:80 .npmrc", "intranet .npmrc", "127.0.0.1:1 package-lock.json"]);
    let python = "[[tool.uv.index]]\nname = \"torch\"\nurl = \"https://download.example.org/whl\"\n[project.urls]\nurl = \"https://no.example.org\"\n";
    let (list, _) = found(Manager::Python, &[], &[], &[("pyproject.toml", python)]);
    assert_eq!(list[0], "download.example.org pyproject.toml");
    assert_eq!(list.len(), 3, "{list:?}");
    let lock = "[[package]]\nname = \"a\"\nsource = \"git+https://git.example.org/a?rev=1#1\"\n";
    let (list, _) = found(Manager::Cargo, &[], &[], &[("Cargo.lock", lock)]);
    assert_eq!(list[2], "git.example.org Cargo.lock");
}

#[test]
fn variables_pass_without_credentials_and_certificates_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, "x").unwrap();
    let environment = environment(
        folder.path(),
        &[
            ("PIP_INDEX_URL", "https://me:hunter2@pypi.example.com/simple"),
            ("GOPROXY", "https://hunter2@a.example.com,direct"),
            ("NODE_EXTRA_CA_CERTS", file.to_str().unwrap()),
            ("NPM_TOKEN", "hunter2"),
        ],
    );
    let list: Vec<String> = variables(&environment)
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    assert_eq!(
        list[..2],
        ["PIP_INDEX_URL=https://pypi.example.com/simple", "GOPROXY=https://a.example.com,direct"]
    );
    assert_eq!(certificates(&environment), [file]);
}

#[test]
fn an_address_of_the_users_network_is_only_opened_for_a_server_that_the_user_names() {
    let resolve = |name: &str, _: u16| {
        let list = if name == "pypi.org" { &["10.1.2.3", "1.1.1.1", "127.0.0.1"][..] } else { &["10.9.9.9"] };
        list.iter().map(|text| text.parse().unwrap()).collect()
    };
    let server = |by| Server { host: "pypi.org".parse().unwrap(), origin: String::new(), by };
    let hosts = inside(&server(By::User), &resolve);
    assert_eq!(hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.1.2.3"]);
    assert!(inside(&server(By::Project), &resolve).is_empty());
}
