//! An agent adds a dependency to a repository that `acquit init` has set up: setup runs again, and the gates see it.
//!
//! The registry is a server of the test, which counts what it is asked.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use acquit_testkit::packages::sh;
use acquit_testkit::repo::write;

use super::first_hour::Reader;

/// A registry with one crate, `leaf`.
struct Registry {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Registry {
    fn new(at: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        write(
            &at.join("leaf-0.1.0/Cargo.toml"),
            "[package]\nname = \"leaf\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        );
        write(
            &at.join("leaf-0.1.0/src/lib.rs"),
            "/// Its colour.\npub fn colour() -> &'static str {\n    \"green\"\n}\n",
        );
        sh(at, "tar czf leaf.crate leaf-0.1.0");
        let hash = sh(at, "sha256sum leaf.crate | cut -d' ' -f1");
        let entry = serde_json::json!({
            "name": "leaf", "vers": "0.1.0", "deps": [], "cksum": hash.trim(), "features": {}, "yanked": false,
        });
        let settings =
            serde_json::json!({ "dl": format!("http://127.0.0.1:{port}/dl/{{crate}}-{{version}}.crate") });
        let files: BTreeMap<&str, Vec<u8>> = BTreeMap::from([
            ("/config.json", settings.to_string().into_bytes()),
            ("/le/af/leaf", format!("{entry}\n").into_bytes()),
            ("/dl/leaf-0.1.0.crate", std::fs::read(at.join("leaf.crate")).unwrap()),
        ]);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                count.fetch_add(1, Ordering::SeqCst);
                let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
                let path = path.strip_prefix(&format!("http://127.0.0.1:{port}")).unwrap_or(path);
                let (status, body) = match files.get(path) {
                    Some(body) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &b""[..]),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

const LIB: &str = "/// Greets.\npub fn greet() -> String {\n    \"Hello\".to_owned()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn greets() {\n        assert_eq!(super::greet(), \"Hello\");\n    }\n}\n";
const TEST: &str = "#[test]\nfn is_green() {\n    assert_eq!(greet::colour(), \"green\");\n}\n";
const PACKAGE: &str = "[package]\nname = \"greet\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

/// Sets a repository up, lets an agent add `leaf` by this command, and expects the work to be proven and merged.
fn adds(files: &[(&str, &str)], package: &str, command: &str, lock_files: &str) {
    let lib = format!(
        "{LIB}\n/// The colour of a leaf.\npub fn colour() -> &'static str {{\n    leaf::colour()\n}}\n"
    );
    let (source, test) = (format!("{package}src/lib.rs"), format!("{package}tests/colour.rs"));
    let Some(reader) = Reader::of_rust(&[(&source, &lib), (&test, TEST)]) else { return };
    let registry = Registry::new(&reader.sandbox.place("registry"));
    let settings = format!(
        "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\nregistry = \"sparse+http://127.0.0.1:{}/\"\n",
        registry.port
    );
    for (name, text) in [(".cargo/config.toml", settings.as_str()), (".gitignore", "target\nCargo.lock\n")] {
        write(&reader.folder.join(name), text);
    }
    for (name, text) in files {
        write(&reader.folder.join(name), text);
    }
    write(&reader.folder.join(&source), LIB);
    std::fs::write(reader.sandbox.place("bin/change.sh"), command).unwrap();
    let config = reader.sandbox.place("home/.config/acquit/config.toml");
    let known = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{known}[network]\nhosts = [\"127.0.0.1:{}\"]\n", registry.port))
        .unwrap();
    let must = |line: &str| {
        let (said, code) = reader.sh(line);
        assert_eq!(code, Some(0), "{line}: {said}");
        said
    };
    must("git init -q -b main && git add -A && git commit -qm first");
    let said = must("acquit init");
    assert!(said.contains("everything holds"), "{said}");
    assert_eq!(registry.asked(), 0, "what has no dependencies needs no registry: {said}");
    let written = std::fs::read_to_string(reader.folder.join(".acquit/acquit.toml")).unwrap();
    assert!(written.contains(&format!("lock_files = {lock_files}")), "{written}");
    must("git add -A && git commit -qm 'Set up acquit'");
    let said = must("acquit run 'Show the colour'");
    assert!(registry.asked() > 0, "{said}");
    assert!(said.contains("the work changed a lock file, so it gets a layer of its own"), "{said}");
    must("acquit merge T-1");
    let manifest = std::fs::read_to_string(reader.folder.join(package).join("Cargo.toml")).unwrap();
    assert!(manifest.contains("leaf = \"0.1.0\""), "{manifest}");
}

#[test]
fn an_agent_adds_the_first_dependency_of_a_crate_without_a_lock_file() {
    adds(&[("Cargo.toml", PACKAGE)], "", "cargo add -q leaf", "[\"Cargo.toml\"]");
}

#[test]
fn an_agent_adds_a_dependency_to_a_member_of_a_workspace_without_a_lock_file() {
    adds(
        &[
            ("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n"),
            ("crates/greet/Cargo.toml", PACKAGE),
            ("crates/other/Cargo.toml", &PACKAGE.replace("greet", "other")),
            ("crates/other/src/lib.rs", LIB),
        ],
        "crates/greet/",
        "cargo add -q -p greet leaf",
        "[\"Cargo.toml\", \"crates/greet/Cargo.toml\", \"crates/other/Cargo.toml\"]",
    );
}
