//! Finds changed files that decide how tests run and report. A change that touches them changes its own judge.
//!
//! Such a change can be honest, so it is only reported. But the tests run once more with the base's version of these
//! files, and must pass there too.

use std::sync::LazyLock;

use globset::GlobSet;
use regex::Regex;

use crate::gate::Paths;
use crate::pattern::pattern;

/// Files that contain only settings or hooks of a runner.
const HOOKS: [&str; 47] = [
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "noxfile.py",
    "setup.cfg",
    ".coveragerc",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "jest.config.*",
    "jest.setup.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    "vite.config.*",
    "setupTests.*",
    "test-setup.*",
    ".mocharc*",
    "karma.conf.*",
    "playwright.config.*",
    "cypress.config.*",
    "ava.config.*",
    "babel.config.*",
    ".babelrc*",
    ".swcrc",
    ".npmrc",
    ".nycrc*",
    ".c8rc*",
    "tsconfig*.json",
    "**/__mocks__/**",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "*.mk",
    "justfile",
    "Justfile",
    "Taskfile.y*ml",
    ".cargo/config*",
    "build.rs",
    ".config/nextest.toml",
    "mutants.toml",
    "stryker.conf*",
    "stryker.config*",
    "cosmic-ray.toml",
    "junit-platform.properties",
    "META-INF/services/org.junit*",
];

/// Settings for running tests, in files that also have other purposes.
static MIXED: LazyLock<[(&str, Regex); 8]> = LazyLock::new(|| {
    [
        ("package.json", pattern(r#"(?s)"(scripts|jest|mocha|vitest|ava|nyc|c8|tap|babel)"\s*:\s*\{.*?\}"#)),
        (
            "pyproject.toml",
            pattern(
                r"(?m)^\[tool\.(pytest|coverage|tox|nox|hatch|poe|pdm|taskipy|cosmic)[^\]]*\][^\[]*(\n[^\[\n][^\n]*)*",
            ),
        ),
        (
            "Cargo.toml",
            pattern(
                r"(?m)^(\[\[?(profile|test|bench|lib|features|lints)[^\]]*\]\]?[^\[]*|auto(tests|benches)[^\n]*|build\s*=[^\n]*)",
            ),
        ),
        (
            "pom.xml",
            pattern(
                r"(?s)<plugin>.*?</plugin>|<(skipTests|maven\.test[\w.]*|surefire[\w.]*|failsafe[\w.]*)>[^<]*<",
            ),
        ),
        (
            "build.gradle",
            pattern(
                r"(?m)^.*\b(test|Test|exclude|include|filter|ignoreFailures|jvmArgs|useJUnit\w*|systemProperty|maxRetries|retry)\b.*$",
            ),
        ),
        (
            "build.gradle.kts",
            pattern(
                r"(?m)^.*\b(test|Test|exclude|include|filter|ignoreFailures|jvmArgs|useJUnit\w*|systemProperty|maxRetries|retry)\b.*$",
            ),
        ),
        ("deno.json", pattern(r#"(?s)"(tasks|test|imports)"\s*:\s*\{.*?\}"#)),
        ("go.work", pattern(r"(?m)^.*$")),
    ]
});

/// Go: the function that runs all tests of a package.
static TEST_MAIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?ms)^func TestMain\(.*?^\}|^func TestMain\(.*$"));

/// Returns whether and why a changed file is a judge. `named` are the texts that name files to a runner: the commands
/// of the gate and the settings of the base and of the change.
pub fn judges(path: &str, old: Option<&str>, new: Option<&str>, named: &[String]) -> bool {
    static SET: LazyLock<GlobSet> = LazyLock::new(|| Paths::literal(&HOOKS).compile());
    if SET.is_match(path) {
        return true;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let parts = |form: &Regex, text: Option<&str>| -> Vec<String> {
        form.find_iter(text.unwrap_or_default()).map(|found| found.as_str().trim().to_owned()).collect()
    };
    if let Some((_, form)) = MIXED.iter().find(|(mixed, _)| *mixed == name) {
        return parts(form, old) != parts(form, new);
    }
    if name.ends_with("_test.go") && parts(&TEST_MAIN, old) != parts(&TEST_MAIN, new) {
        return true;
    }
    is_named(path, named)
}

fn has_ending(name: &str, ending: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// Returns whether a settings file can name other files to a runner.
pub fn names_files(path: &str) -> bool {
    static SET: LazyLock<GlobSet> = LazyLock::new(|| Paths::literal(&HOOKS).compile());
    let name = path.rsplit('/').next().unwrap_or(path);
    (SET.is_match(path) && !has_ending(name, "py")) || MIXED.iter().any(|(mixed, _)| *mixed == name)
}

/// Returns whether one of the texts names a script or a settings module. Settings also name sources and tests, as entry
/// points and as subjects; these are not judges.
fn is_named(path: &str, named: &[String]) -> bool {
    const SCRIPTS: [&str; 10] = ["sh", "bash", "mjs", "cjs", "js", "ts", "py", "mk", "rb", "pl"];
    let script = path.rsplit_once('.').is_none_or(|(_, end)| SCRIPTS.contains(&end));
    let words = [
        "setup", "runner", "run", "report", "script", "hook", "bin/", "tools/", "ci/", "env", "preload",
        "loader", "plugin",
    ];
    let lower = path.to_lowercase();
    if !script || !words.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    named.iter().any(|text| {
        text.match_indices(path).any(|(at, _)| {
            let before = text[..at].trim_end_matches("./").chars().next_back();
            let after = text[at + path.len()..].chars().next();
            !before.is_some_and(|c| is_part(c) && c != '/') && !after.is_some_and(is_part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(path: &str, old: &str, new: &str) -> bool {
        judges(
            path,
            Some(old),
            Some(new),
            &["sh scripts/run.sh --fast".to_owned(), "{ \"setupFiles\": [\"./test/setup.js\"] }".to_owned()],
        )
    }

    #[test]
    fn hooks_scripts_and_settings_of_runners_are_judges() {
        for path in [
            "conftest.py",
            "a/b/conftest.py",
            "jest.config.ts",
            ".cargo/config.toml",
            "scripts/run.sh",
            "test/setup.js",
            "Makefile",
        ] {
            assert!(is(path, "a", "b"), "{path}");
        }
        for path in ["src/a.py", "tests/test_a.py", "scripts/other.sh", "README.md", "Cargo.lock"] {
            assert!(!is(path, "a", "b"), "{path}");
        }
    }

    #[test]
    fn files_with_other_purposes_judge_only_by_what_they_say_of_tests() {
        let package = |script: &str, dep: &str| {
            format!(
                "{{ \"scripts\": {{ \"test\": \"{script}\" }}, \"dependencies\": {{ \"a\": \"{dep}\" }} }}"
            )
        };
        assert!(is("package.json", &package("jest", "1"), &package("jest || true", "1")));
        assert!(!is("package.json", &package("jest", "1"), &package("jest", "2")));
        let project = |opts: &str, dep: &str| {
            format!(
                "[project]\ndependencies = [\"{dep}\"]\n\n[tool.pytest.ini_options]\naddopts = \"{opts}\"\n"
            )
        };
        assert!(is("pyproject.toml", &project("", "a"), &project("--deselect x", "a")));
        assert!(!is("pyproject.toml", &project("", "a"), &project("", "b")));
        assert!(is(
            "Cargo.toml",
            "[dependencies]\na = \"1\"\n",
            "[dependencies]\na = \"1\"\n[[test]]\nname = \"x\"\ntest = false\n"
        ));
        assert!(!is("Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"2\"\n"));
        let go = "package a\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n";
        assert!(is("a_test.go", "package a\n", go));
        assert!(!is("a_test.go", go, &format!("{go}\nfunc TestA(t *testing.T) {{}}\n")));
        assert!(is("pom.xml", "<project></project>", "<project><skipTests>true</skipTests></project>"));
    }
}
