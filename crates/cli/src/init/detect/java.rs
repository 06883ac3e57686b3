//! Java and its relatives, by Maven's or Gradle's files. Both fetch what they need, so there is no setup.

use super::{Finding, Gate, Language, Report};
use crate::init::look::Folder;

/// A first build fetches half the internet.
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
        // Quiet, so that what is printed is what went wrong.
        [format!("{program} -q -B test-compile"), format!("{program} -q -B -fae verify")],
        "**/target/surefire-reports/TEST-*.xml",
        vec!["target"],
    ))
}

fn gradle(folder: &mut Folder<'_>) -> Option<Finding> {
    const FILES: [&str; 4] = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    let file = FILES.into_iter().find(|file| folder.text(file).is_some())?;
    let program = folder.script("gradlew").unwrap_or_else(|| "gradle".to_owned());
    // A daemon would be ended together with the gate that started it.
    let program = format!("{program} --no-daemon --console=plain");
    Some(finding(
        folder,
        file,
        [format!("{program} assemble testClasses"), format!("{program} --continue check")],
        "**/build/test-results/test/TEST-*.xml",
        vec!["build", ".gradle"],
    ))
}

fn finding(
    folder: &Folder<'_>,
    by: &str,
    runs: [String; 2],
    reports: &'static str,
    leaves: Vec<&'static str>,
) -> Finding {
    let [build, test] = runs;
    let mut gates = vec![Gate::new("build", build.clone()).timeout(BUILDING)];
    let proving = Gate::proving(test, Some(build), Report::Junit(reports));
    gates.extend(proving.map(|gate| gate.timeout(BUILDING)));
    Finding { language: Language::Java, folder: folder.name(), by: by.to_owned(), gates, setup: None, leaves }
}
