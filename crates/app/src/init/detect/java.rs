//! Detects Java and other JVM languages by Maven or Gradle files. Gates have no network, so setup fetches what they
//! need. Both tools learn what that is only by running: plugins, and the test runner.

use acquit_run::registry::Manager;

use super::{Finding, Gate, Language, Report, Setup};
use crate::init::look::Folder;

/// Timeout of a build. The first one downloads a lot.
const BUILDING: &str = "30m";

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    maven(folder).or_else(|| gradle(folder))
}

fn maven(folder: &mut Folder<'_>) -> Option<Finding> {
    const PROJECT: &str = "pom.xml";
    folder.text(PROJECT)?;
    let program = folder.script("mvnw").unwrap_or_else(|| "mvn".to_owned());
    Some(finding(
        folder,
        PROJECT,
        // Use quiet mode, so that the output contains only errors.
        Runs {
            setup: format!("{program} -q -B -Dmaven.test.failure.ignore=true verify"),
            build: format!("{program} -o -q -B test-compile"),
            test: format!("{program} -o -q -B -fae verify"),
        },
        Manager::Maven,
        "**/target/surefire-reports/TEST-*.xml",
        vec!["target"],
    ))
}

fn gradle(folder: &mut Folder<'_>) -> Option<Finding> {
    const FILES: [&str; 4] = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    let file = FILES.into_iter().find(|file| folder.text(file).is_some())?;
    let program = folder.script("gradlew").unwrap_or_else(|| "gradle".to_owned());
    // A daemon would be killed together with the gate that started it.
    let program = format!("{program} --no-daemon --console=plain");
    Some(finding(
        folder,
        file,
        Runs {
            // Resolve every configuration, including those that only a test run needs.
            setup: format!("{program} assemble testClasses dependencies"),
            build: format!("{program} --offline assemble testClasses"),
            test: format!("{program} --offline --continue check"),
        },
        Manager::Gradle,
        "**/build/test-results/test/TEST-*.xml",
        vec!["build", ".gradle"],
    ))
}

/// Command lines of a build tool.
struct Runs {
    setup: String,
    build: String,
    test: String,
}

fn finding(
    folder: &Folder<'_>,
    by: &'static str,
    runs: Runs,
    manager: Manager,
    reports: &'static str,
    leaves: Vec<&'static str>,
) -> Finding {
    let Runs { setup, build, test } = runs;
    let mut gates = vec![Gate::new("build", build.clone()).timeout(BUILDING)];
    let proving = Gate::proving(test, Some(build), Report::Junit(reports));
    gates.extend(proving.map(|gate| gate.timeout(BUILDING)));
    Finding {
        language: Language::Java,
        folder: folder.name().map(str::to_owned),
        managers: vec![manager],
        by: by.to_owned(),
        gates,
        setup: Some(Setup { run: setup, compile: None, lock_files: vec![by.to_owned()], timeout: None }),
        leaves,
    }
}
