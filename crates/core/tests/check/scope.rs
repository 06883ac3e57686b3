//! Scope and commits.

use acquit_core::check::Finding;
use acquit_core::check::commits::{Commit, commits};
use acquit_core::check::scope::scope;
use acquit_core::gate::Paths;
use acquit_core::gate::check::{Commits, Dependencies, Naming, Scope, Style};
use acquit_core::ids::TaskId;

use crate::kit::change;

fn loose() -> Scope {
    Scope {
        max_lines: 10,
        max_files: None,
        forbidden: Paths::default(),
        dependencies: Dependencies::Allow,
        recent: None,
        uncounted: Paths::literal(&["*.lock"]),
    }
}

fn rules(findings: &[Finding]) -> Vec<(&str, Option<&str>)> {
    findings.iter().map(|finding| (finding.rule, finding.file.as_deref())).collect()
}

#[test]
fn each_limit_of_scope_holds_by_itself() {
    let long = "line\n".repeat(11);
    let diff = change(&[
        ("src/a.rs", Some("x\n"), Some("y\n")),
        ("infra/prod.tf", None, Some("x\n")),
        ("Cargo.lock", None, Some(&long)),
        ("api/requirements-dev.txt", Some("x\n"), None),
    ]);
    assert_eq!(rules(&scope(&diff, &loose(), &[], "")), []);
    let lines = Scope { max_lines: 3, ..loose() };
    assert_eq!(rules(&scope(&diff, &lines, &[], "")), [("too-many-lines", None)]);
    let counted = Scope { uncounted: Paths::default(), ..loose() };
    assert_eq!(
        scope(&diff, &counted, &[], "")[0].what,
        "15 lines were changed, and 10 may be (a line counts once for every 120 bytes and every statement): do less at once"
    );
    let files = Scope { max_files: Some(3), ..loose() };
    assert_eq!(rules(&scope(&diff, &files, &[], "")), [("too-many-files", None)]);
    let forbidden = Scope { forbidden: Paths::literal(&["infra/**"]), ..loose() };
    assert_eq!(rules(&scope(&diff, &forbidden, &[], "")), [("forbidden-path", Some("infra/prod.tf"))]);
    let dependencies = Scope { dependencies: Dependencies::Reject, ..loose() };
    let expected =
        [("dependency-file", Some("Cargo.lock")), ("dependency-file", Some("api/requirements-dev.txt"))];
    assert_eq!(rules(&scope(&diff, &dependencies, &[], "")), expected);
    assert_eq!(
        rules(&scope(&diff, &dependencies, &[], "Declare the dependency on core once for the workspace.")),
        []
    );
    assert_eq!(rules(&scope(&diff, &dependencies, &[], "Let npm use our registry for @shop.")), []);
    assert_eq!(
        rules(&scope(&diff, &dependencies, &[], "Mend the crash, without a new dependency.")),
        expected
    );
    assert_eq!(rules(&scope(&diff, &dependencies, &[], "Mend the crash of the packages page.")), expected);
    let recent = Scope { recent: Some(5), ..loose() };
    let touched = ["src/a.rs".to_owned(), "src/b.rs".to_owned()];
    assert_eq!(rules(&scope(&diff, &recent, &touched, "")), [("recently-changed", Some("src/a.rs"))]);
}

#[test]
fn what_a_manifest_says_about_the_package_itself_is_no_dependency() {
    let dependencies = Scope { dependencies: Dependencies::Reject, ..loose() };
    let found = |path: &str, old: &str, new: &str| {
        scope(&change(&[(path, Some(old), Some(new))]), &dependencies, &[], "").len()
    };
    let package = "{\n  \"engines\": { \"node\": \">=18\" },\n  \"dependencies\": { \"a\": \"1.0.0\" },\n  \"scripts\": { \"test\": \"jest\" }\n}\n";
    assert_eq!(found("package.json", package, &package.replace(">=18", ">=20")), 0);
    assert_eq!(found("package.json", package, &package.replace("1.0.0", "1.1.0")), 1);
    assert_eq!(found("package.json", package, &package.replace("\"test\"", "\"postinstall\"")), 1);
    assert_eq!(found("package.json", package, "{"), 1);
    let cargo = "[package]\nname = \"a\"\nrust-version = \"1.80\"\n\n[dependencies]\nb = \"1\"\n";
    assert_eq!(found("Cargo.toml", cargo, &cargo.replace("1.80", "1.85")), 0);
    assert_eq!(found("Cargo.toml", cargo, &cargo.replace("b = \"1\"", "b = \"2\"")), 1);
    // A lock file has the version of the package itself as well.
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry\"\n";
    assert_eq!(found("Cargo.lock", lock, &lock.replace("0.1.0", "0.2.0")), 0);
    assert_eq!(found("Cargo.lock", lock, &lock.replace("1.0.0", "1.0.1")), 1);
    assert_eq!(found("Cargo.lock", lock, &lock.replace("\"a\"", "\"c\"")), 1);
    let npm = "{\"name\": \"a\", \"version\": \"1.0.0\", \"packages\": {\"\": {\"version\": \"1.0.0\"}, \"node_modules/b\": {\"version\": \"2.0.0\"}}}\n";
    assert_eq!(found("package-lock.json", npm, &npm.replace("1.0.0", "1.1.0")), 0);
    assert_eq!(found("package-lock.json", npm, &npm.replace("2.0.0", "2.0.1")), 1);
    let pom = "<?xml version=\"1.0\"?>\n<project xmlns=\"http://maven.apache.org/POM/4.0.0\"\n         xsi=\"b\">\n  <version>2.1.0</version>\n  \
               <dependencies>\n    <dependency>\n      <artifactId>junit</artifactId>\n      <version>5.0.0</version>\n    </dependency>\n  \
               </dependencies>\n  <parent>\n    <version>1.1.1</version>\n  </parent>\n</project>\n";
    assert_eq!(found("pom.xml", pom, &pom.replace("2.1.0", "3.0.0")), 0);
    assert_eq!(found("pom.xml", pom, &pom.replace("5.0.0", "5.0.1")), 1);
    assert_eq!(found("pom.xml", pom, &pom.replace("1.1.1", "1.1.2")), 1);
    let plugin = |more: &str| {
        format!("<project>\n  <plugin>\n    <artifactId>jacoco</artifactId>\n{more}  </plugin>\n</project>\n")
    };
    let goals = "    <executions>\n      <execution>\n        <goals>\n          <goal>check</goal>\n        </goals>\n      </execution>\n    </executions>\n";
    assert_eq!(found("pom.xml", &plugin(""), &plugin(goals)), 0);
    assert_eq!(found("pom.xml", &plugin(""), &plugin("    <version>1</version>\n")), 1);
    for (path, text, of_other) in [
        ("setup.py", "setup(\n    version=\"1.0.0\",\n    install_requires=[\"b==2.0.0\"],\n)\n", "2.0.0"),
        (
            "build.gradle",
            "version = '1.0.0'\ndependencies {\n    testImplementation 'b:b:2.0.0'\n}\n",
            "2.0.0",
        ),
        (
            "a.gemspec",
            "Gem::Specification.new do |s|\n  s.version = \"1.0.0\"\n  s.add_dependency \"b\", \"2.0.0\"\nend\n",
            "2.0.0",
        ),
    ] {
        assert_eq!(found(path, text, &text.replace("1.0.0", "1.1.0")), 0, "{path}");
        assert_eq!(found(path, text, &text.replace(of_other, "3.0.0")), 1, "{path}");
    }
}

#[test]
fn a_file_that_was_moved_away_was_changed_where_it_was() {
    let mut diff = change(&[]);
    diff.files.push(crate::kit::renamed("infra/a", "src/a", "x\n", "x\n"));
    let forbidden = Scope { forbidden: Paths::literal(&["infra/**"]), ..loose() };
    assert_eq!(rules(&scope(&diff, &forbidden, &[], "")), [("forbidden-path", Some("infra/a"))]);
}

fn check(message: &str, author: &str, settings: &Commits) -> Vec<&'static str> {
    let commit = Commit { id: "abc".to_owned(), author: author.to_owned(), message: message.to_owned() };
    commits(&[commit], settings, TaskId(42)).iter().map(|finding| finding.rule).collect()
}

#[test]
fn commits_are_as_the_project_wants_them() {
    let settings = Commits {
        task: Naming::Require,
        authors: vec!["*@example.org".to_owned(), "bot@*".to_owned()],
        max_subject: 30,
        style: Style::Conventional,
        types: vec!["fix".to_owned(), "feat".to_owned()],
    };
    let ada = "Ada <ada@Example.org>";
    let good = "fix(parser): read it\n\nWords.\n\nTask: T-42\n";
    assert_eq!(check(good, ada, &settings), [""; 0]);
    assert_eq!(check("feat!: read it\n\ntask:  t-42", "x <bot@a.b>", &settings), [""; 0]);
    assert_eq!(check("fix: read it\n\nTask: T-4", ada, &settings), ["task-id"]);
    assert_eq!(check("fix: read it\n\nTask: T-422", ada, &settings), ["task-id"]);
    assert_eq!(check(good, "Eve <ada@example.org.evil>", &settings), ["author"]);
    assert_eq!(check(good, "ada@example.org", &settings), ["author"]);
    assert_eq!(check("fix: x\nmore\n\nTask: T-42", ada, &settings), ["blank-line"]);
    assert_eq!(check(&format!("fix: {}\n\nTask: T-42", "x".repeat(40)), ada, &settings), ["subject-length"]);
    assert_eq!(check("\n\nTask: T-42", ada, &settings), ["subject"]);
    for bad in ["Fix it", "docs: x", "fix(): x", "fix x: y", "fix:x", "fix: "] {
        assert_eq!(check(&format!("{bad}\n\nTask: T-42"), ada, &settings), ["style"], "{bad}");
    }
    let sentence = Commits { style: Style::Sentence, task: Naming::Ignore, authors: Vec::new(), ..settings };
    assert_eq!(check("Read it", "", &sentence), [""; 0]);
    assert_eq!(check("read it", "", &sentence), ["style"]);
    assert_eq!(check("Read it.", "", &sentence), ["style"]);
}
