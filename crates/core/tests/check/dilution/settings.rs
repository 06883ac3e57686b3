//! Settings, pipelines and marks on single lines.

use super::{breaks, honest, look};

#[test]
fn warnings_switched_off_where_they_are_given_are_seen_but_not_in_strings() {
    for (path, before, after, line) in [
        ("src/a.rs", "fn a() {}\n", "#[allow(dead_code)]\nfn a() {}\n", 1),
        ("src/a.rs", "fn a() {}\n", "#![allow(warnings)]\nfn a() {}\n", 1),
        ("src/a.ts", "f()\n", "// eslint-disable-next-line no-eval\nf()\n", 1),
        ("src/a.ts", "f()\n", "f() // @ts-ignore\n", 1),
        ("src/a.js", "f()\n", "/* istanbul ignore next */\nf()\n", 1),
        ("a.py", "import a\n", "import a  # noqa: F401\n", 1),
        ("a.py", "x = f()\n", "x = f()  # type: ignore[arg-type]\n", 1),
        ("a.py", "x = f()\n", "x = f()  # pragma: no cover\n", 1),
        ("a.go", "f()\n", "f() //nolint:errcheck\n", 1),
        ("A.java", "class A {}\n", "@SuppressWarnings(\"unchecked\")\nclass A {}\n", 1),
    ] {
        breaks(path, before, after, "suppressed", line);
        // It was there before, or only moved.
        honest(path, after, &format!("{after}\n"));
        let elsewhere = format!("other/{path}");
        let moved = look(&[(path, Some(after), Some(before)), (&elsewhere, None, Some(after))]);
        assert!(moved.is_empty(), "{path}: {moved:?}");
    }
    honest("src/a.rs", "fn a() {}\n", "fn a() { let x = \"#[allow(dead_code)]\"; }\n");
    honest("src/a.rs", "fn a() {}\n", "/// Write `#[allow(dead_code)]` for this.\nfn a() {}\n");
    honest("src/a.ts", "f()\n", "f('// eslint-disable')\n");
    honest("a.py", "x = 1\n", "x = '# noqa'\n");
}

#[test]
fn a_command_whose_exit_code_does_not_count_any_more_is_seen() {
    let script = |command: &str| format!("{{\n  \"scripts\": {{\n    \"test\": \"{command}\"\n  }}\n}}\n");
    for (old, new) in [
        ("node --test", "node --test; echo done"),
        ("node --test", "node --test || node -e 0"),
        ("eslint . && node --test", "eslint . ; node --test"),
    ] {
        breaks("package.json", &script(old), &script(new), "failure-ignored", 3);
        honest("package.json", &script(new), &script(old));
    }
    let recipe = |command: &str| format!("test:\n\t{command}\n");
    breaks("Makefile", &recipe("go test ./..."), &recipe("go test ./...; rm -rf out"), "failure-ignored", 2);
    let tox = |command: &str| format!("[testenv]\ncommands =\n    {command}\n");
    breaks("tox.ini", &tox("pytest {posargs}"), &tox("- pytest {posargs}"), "failure-ignored", 3);
    honest("package.json", &script("node --test"), &script("node --test && node bench.js"));
    honest("Makefile", &recipe("pytest -q"), &recipe("cd lib; pytest -q"));
    honest("Makefile", &recipe("pytest -q"), &recipe("for d in a b; do pytest -q $$d || exit 1; done"));
    honest("run.sh", "pytest -q\n", "pytest -q; code=$?; rm -rf out; exit $code\n");
    honest("Makefile", &recipe("pytest -q"), &recipe("pytest -q || (cat log; exit 1)"));
}

#[test]
fn failures_that_nobody_notices_are_seen() {
    for (path, line) in [
        (".github/workflows/ci.yml", "      - run: cargo test || true"),
        (".github/workflows/ci.yml", "        continue-on-error: true"),
        (".gitlab-ci.yml", "  allow_failure: true"),
        ("Makefile", "\tpytest || true"),
        ("scripts/check.sh", "npm test || exit 0"),
        ("scripts/check.sh", "set +e"),
        ("scripts/release.sh", "git commit --no-verify -m x"),
        ("scripts/check.sh", "cargo clippy || echo failed"),
        ("pom.xml", "<testFailureIgnore>true</testFailureIgnore>"),
        ("build.gradle", "test { ignoreFailures = true }"),
        ("scripts/ci.sh", "mvn package -DskipTests"),
    ] {
        breaks(path, "a\nb\n", &format!("a\n{line}\nb\n"), "failure-ignored", 2);
    }
    honest("scripts/run.sh", "a\n", "a\nrm -f x || true\nkill \"$pid\" || true\n");
    honest("README.md", "a\n", "a\ncargo test || true\n");
    honest("scripts/check.sh", "a\n", "a\n# cargo test || true would hide it\n");
}

#[test]
fn elements_that_stand_on_one_line_are_seen() {
    let with = |inside: &str| {
        format!(
            "<project>\n<plugin><artifactId>x</artifactId><configuration>{inside}</configuration></plugin>\n</project>\n"
        )
    };
    let reruns = with("<rerunFailingTestsCount>5</rerunFailingTestsCount>");
    breaks("pom.xml", &with(""), &reruns, "retries-added", 2);
    breaks(
        "pom.xml",
        &with("<a>1</a>"),
        &with("<a>1</a><failIfNoTests>false</failIfNoTests>"),
        "settings-loosened",
        2,
    );
    breaks(
        "pom.xml",
        &with("<minimum>0.80</minimum>"),
        &with("<minimum>0.10</minimum>"),
        "settings-loosened",
        2,
    );
    honest("pom.xml", &reruns, &with(""));
    honest("pom.xml", &with("<release>11</release>"), &with("<release>17</release>"));
}

#[test]
fn settings_that_demand_less_are_seen() {
    for (path, before, after) in [
        ("jest.config.js", "  branches: 90,\n", "  branches: 60,\n"),
        ("package.json", "      \"lines\": 90\n", "      \"lines\": 10\n"),
        (
            "pyproject.toml",
            "[tool.coverage.report]\nfail_under = 90\n",
            "[tool.coverage.report]\nfail_under = 50\n",
        ),
        (".coveragerc", "[report]\nfail_under = 90\n", "[report]\n"),
        ("codecov.yml", "    target: 80%\n", "    target: 20%\n"),
        ("tox.ini", "[pytest]\naddopts = --cov-fail-under=90\n", "[pytest]\naddopts = --cov-fail-under=10\n"),
        (".eslintrc.json", "  \"no-eval\": \"error\",\n", "  \"no-eval\": \"off\",\n"),
        (".eslintrc.json", "  \"max-lines\": [\"error\", 100],\n", "  \"max-lines\": [\"error\", 900],\n"),
        ("eslint.config.js", "  'no-eval': ['error', {}],\n", "  'no-eval': ['warn', {}],\n"),
        (".eslintrc.json", "{\n}\n", "{\n  \"no-eval\": \"off\"\n}\n"),
        // Objects that stand on one line.
        (
            "eslint.config.js",
            "module.exports = preset({ ts: true })\n",
            "module.exports = [{ ignores: ['**/*'] }]\n",
        ),
        (
            "eslint.config.mjs",
            "export default [preset];\n",
            "export default [preset, { rules: { 'no-eval': 'off' } }];\n",
        ),
        ("Cargo.toml", "[lints.rust]\nunsafe_code = \"forbid\"\n", "[lints.rust]\nunsafe_code = \"allow\"\n"),
        (
            "Cargo.toml",
            "[workspace.lints.clippy]\npedantic = { level = \"deny\" }\n",
            "[workspace.lints.clippy]\npedantic = { level = \"warn\" }\n",
        ),
        ("Cargo.toml", "[lib]\nname = \"a\"\n", "[lib]\nname = \"a\"\ntest = false\n"),
        ("tsconfig.json", "  \"strict\": true,\n", "  \"strict\": false,\n"),
        ("tsconfig.json", "  \"noImplicitAny\": true,\n", ""),
        ("mypy.ini", "[mypy]\n", "[mypy]\nignore_errors = true\n"),
        (
            "pyproject.toml",
            "[tool.ruff.lint]\nignore = [\"E501\"]\n",
            "[tool.ruff.lint]\nignore = [\"E501\", \"F401\"]\n",
        ),
        (
            "pyproject.toml",
            "[tool.ruff.lint]\nselect = [\n  \"E\",\n  \"F\",\n]\n",
            "[tool.ruff.lint]\nselect = [\n  \"E\",\n]\n",
        ),
        (
            ".golangci.yml",
            "linters:\n  enable:\n    - errcheck\n    - govet\n",
            "linters:\n  enable:\n    - govet\n",
        ),
        ("vitest.config.ts", "  exclude: [\n  ],\n", "  exclude: [\n    'src/slow/**',\n  ],\n"),
        ("pytest.ini", "[pytest]\ntestpaths = tests unit\n", "[pytest]\ntestpaths = tests\n"),
        ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --deselect tests/test_a.py\n"),
        ("package.json", "    \"test\": \"jest\",\n", "    \"test\": \"exit 0\",\n"),
        ("package.json", "    \"lint\": \"eslint .\"\n", ""),
        (
            ".github/workflows/ci.yml",
            "  - run: cargo test\n  - run: cargo clippy -- -D warnings\n",
            "  - run: cargo test\n",
        ),
        (".pre-commit-config.yaml", "  - id: ruff\n  - id: mypy\n", "  - id: ruff\n"),
        (".eslintignore", "dist\n", "dist\nsrc/bad.js\n"),
        ("pom.xml", "<minimum>0.80</minimum>\n", "<minimum>0.10</minimum>\n"),
        (
            "pom.xml",
            "<target>8</target>\n<compilerArgument>-Xlint:all</compilerArgument>\n",
            "<target>8</target>\n",
        ),
        ("pom.xml", "<arg>-Xlint:all</arg>\n", "<arg>-Xlint:all,-options</arg>\n"),
        (
            "build.gradle",
            "options.compilerArgs += [\"-Xlint:all\", \"-Werror\"]\n",
            "options.compilerArgs += [\"-Xlint:all\"]\n",
        ),
    ] {
        let found = look(&[(path, Some(before), Some(after))]);
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["settings-loosened"], "{path}: {before}→ {after}{found:?}");
    }
    for path in [".eslintrc.json", ".github/workflows/ci.yml", "clippy.toml"] {
        let found = look(&[(path, Some("a: 1\n"), None)]);
        assert_eq!(found.first().map(|finding| finding.rule), Some("settings-loosened"), "{path}");
    }
    let replaced = look(&[(".eslintrc.json", Some("{}\n"), None), ("eslint.config.js", None, Some("x\n"))]);
    assert!(replaced.is_empty(), "{replaced:?}");
}

#[test]
fn settings_that_demand_as_much_or_more_are_left_alone() {
    for (path, before, after) in [
        ("jest.config.js", "  branches: 60,\n", "  branches: 90,\n"),
        ("pom.xml", "<arg>-Xlint:-options</arg>\n", ""),
        (
            "pom.xml",
            "<compilerArgument>-Xlint:all</compilerArgument>\n",
            "<compilerArgs>\n  <arg>-Xlint:all</arg>\n</compilerArgs>\n",
        ),
        (".eslintrc.json", "  \"no-eval\": \"off\",\n", "  \"no-eval\": \"error\",\n"),
        ("Cargo.toml", "[dependencies]\nserde = \"1.0.200\"\n", "[dependencies]\nserde = \"1.0.100\"\n"),
        (
            "Cargo.toml",
            "[dependencies]\n",
            "[dependencies]\nx = { version = \"1\", default-features = false }\n",
        ),
        ("Cargo.toml", "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\nexclude = [\"docs\"]\n"),
        ("package.json", "    \"vitest\": \"^2.1.0\",\n", "    \"vitest\": \"^1.9.0\",\n"),
        ("package.json", "    \"test\": \"jest\",\n", "    \"test\": \"jest --ci\",\n"),
        (
            "package.json",
            "    \"test\": \"jest && eslint .\",\n",
            "    \"test\": \"jest\",\n    \"lint\": \"eslint .\",\n",
        ),
        ("tsconfig.json", "  \"target\": \"es2022\",\n", "  \"target\": \"es2020\",\n"),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\n  \"coverage>=7.2\",\n]\n",
            "[project]\ndependencies = [\n  \"coverage>=6.1\",\n]\n",
        ),
        (".github/workflows/ci.yml", "  - run: cargo test\n", "  - run: cargo test --all\n"),
        (".github/workflows/ci.yml", "  - uses: a/b@v4\n", "  - uses: a/b@v3\n"),
        (
            "pyproject.toml",
            "[tool.hatch.build]\nexclude = []\n",
            "[tool.hatch.build]\nexclude = [\"docs\"]\n",
        ),
    ] {
        honest(path, before, after);
    }
}

#[test]
fn a_check_that_became_a_command_that_does_nothing_is_seen() {
    let package = |command: &str| {
        format!(
            "{{\n  \"scripts\": {{\n    \"tests-only\": \"{command}\",\n    \"prepare\": \"husky\"\n  }}\n}}\n"
        )
    };
    for nothing in ["true", ":", "exit 0", "echo ok", ""] {
        breaks("package.json", &package("tape 'test/*.js'"), &package(nothing), "settings-loosened", 3);
    }
    breaks("Makefile", "check:\n\t./ctest.sh\n", "check:\n\t@:\n", "settings-loosened", 2);
    honest("package.json", &package("tape 'test/*.js'"), &package("tape --strict 'test/*.js'"));
    honest("package.json", &package("true"), &package("tape 'test/*.js'"));
    // What sets a machine up checks nothing.
    let before = package("tape 'test/*.js'");
    honest("package.json", &before, &before.replace("husky", "true"));
    honest("Makefile", "docs:\n\tmdbook build\n", "docs:\n\t@echo building\n\tmdbook build docs\n");
}

#[test]
fn a_lint_that_a_file_does_not_demand_any_more_is_seen() {
    let rust = |lints: &str| format!("//! A crate.\n{lints}\nfn a() {{}}\n");
    for (old, new) in [
        ("#![forbid(unsafe_code)]", ""),
        ("#![deny(missing_docs, unused)]", "#![deny(unused)]"),
        ("#![deny(missing_docs)]", "#![warn(missing_docs)]"),
        ("#![cfg_attr(not(test), deny(clippy::unwrap_used))]", ""),
    ] {
        breaks("src/lib.rs", &rust(old), &rust(new), "settings-loosened", 2);
        honest("src/lib.rs", &rust(new), &rust(old));
    }
    honest("src/lib.rs", &rust("#![deny(a)]\n#![deny(b)]"), &rust("#![deny(\n    b,\n    a,\n)]\n"));
    honest("src/lib.rs", &rust("#![forbid(unsafe_code)]"), &rust("#![deny(unsafe_code)]"));
    honest("src/lib.rs", &rust("// #![deny(a)]"), &rust(""));
    breaks("src/a.js", "// @ts-check\nf()\n", "f()\n", "settings-loosened", 1);
    breaks("src/a.js", "/* eslint eqeqeq: \"error\" */\nf()\n", "f()\n", "settings-loosened", 1);
    breaks("a.py", "# mypy: disallow-untyped-defs\nf()\n", "f()\n", "settings-loosened", 1);
    // Under a condition, it does not always hold.
    for condition in ["any()", "windows", "feature = \"strict\""] {
        let some = rust(&format!("#![cfg_attr({condition}, deny(unsafe_code))]"));
        let always = rust("#![deny(unsafe_code)]");
        breaks("src/lib.rs", &always, &some, "settings-loosened", 2);
        honest("src/lib.rs", &some, &always);
        honest("src/lib.rs", &some, &some.replace("deny", "forbid"));
    }
    // Moved to another file, or to the settings of the project.
    let (with, without) = (rust("#![deny(unsafe_code)]"), rust(""));
    let lib = ("src/lib.rs", Some(with.as_str()), Some(without.as_str()));
    let main = ("src/main.rs", Some(without.as_str()), Some(with.as_str()));
    assert!(look(&[lib, main]).is_empty());
    let manifest = "[package]\nname = \"a\"\n";
    let lints = format!("{manifest}\n[lints.rust]\nunsafe_code = \"deny\"\n");
    assert!(look(&[lib, ("Cargo.toml", Some(manifest), Some(&lints))]).is_empty());
    // Where it holds for less, or nobody reads it.
    for (path, text) in [
        ("src/empty.rs", with.as_str()),
        ("other/src/lib.rs", with.as_str()),
        ("README.md", "unsafe_code: check it\n"),
    ] {
        let found = look(&[lib, (path, Some("\n"), Some(text))]);
        assert!(found.iter().any(|finding| finding.rule == "settings-loosened"), "{path}");
    }
    assert!(!look(&[lib, ("src/main.rs", None, Some(&with))]).is_empty());
    let module = ("src/shelf/list.rs", Some(with.as_str()), Some(without.as_str()));
    assert!(look(&[module, ("src/shelf/mod.rs", Some(&without), Some(&with))]).is_empty());
    let script = |path| (path, Some("// @ts-check\nf()\n"), Some("f()\n"));
    let other = ("src/b.js", Some("f()\n"), Some("// @ts-check\nf()\n"));
    assert_eq!(look(&[script("src/a.js"), other]).len(), 1);
    // Gone with all of its code.
    assert!(look(&[("src/old.rs", Some(&with), None)]).is_empty());
}
