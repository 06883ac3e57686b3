//! JUnit under the two build tools of Java, with the packages of the system: Maven with Surefire, and Gradle.

use acquit_core::gate::Verdict;
use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample};

const LIB: &str = "package sample;\n\npublic final class Total {\n    private Total() {}\n\n    public static int of(int... values) {\n        \
                   return values[0] + values[1];\n    }\n}\n";
const MENDED: &str = "package sample;\n\npublic final class Total {\n    private Total() {}\n\n    public static int of(int... values) {\n        \
                      int sum = 0;\n        for (int value : values) {\n            sum += value;\n        }\n        return sum;\n    }\n}\n";
const TESTS: &str = "package sample;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class TotalTest {\n    \
                     @Test\n    public void two() {\n        assertEquals(3, Total.of(1, 2));\n    }\n\n    @Test\n    \
                     public void zero() {\n        assertEquals(0, Total.of(0, 0));\n    }\n}\n";
/// One test more, and the others as they were.
const MORE: &str = "package sample;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class MoreTest {\n    \
                    @Test\n    public void three() {\n        assertEquals(6, Total.of(1, 2, 3));\n    }\n}\n";
/// `zero` is not run any more.
const FEWER: &str = "package sample;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class TotalTest {\n    \
                     @Test\n    public void two() {\n        assertEquals(3, Total.of(1, 2));\n    }\n\n    @org.junit.Ignore\n    @Test\n    \
                     public void zero() {\n        assertEquals(0, Total.of(0, 0));\n    }\n}\n";

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sample</groupId>
  <artifactId>sample</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
"#;

const BUILD: &str = "apply plugin: 'java'\n\ndependencies {\n    \
                     testCompile files('/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar')\n}\n";

const MAVEN: &str = r#"
check = "tests"
again = 0
run = "mvn -o -q -B -Dmaven.repo.local=/usr/share/maven-repo -Dmaven.test.failure.ignore=false -fae test"
report = { junit = "**/target/surefire-reports/TEST-*.xml" }
"#;

const GRADLE: &str = r#"
check = "tests"
again = 0
run = 'gradle -g "$HOME/.gradle" --offline --no-daemon --continue test'
report = { junit = "**/build/test-results/test/TEST-*.xml" }
"#;

fn rules(verdict: &Verdict) -> Vec<&str> {
    verdict.evidence.failing().map(|finding| finding.rule.as_str()).collect()
}

/// A fix with its test stands, and all three tests are read; the same with a test that is skipped now does not.
fn judged(gate: &str, file: (&'static str, &'static str)) {
    let files = [
        file,
        (".gitignore", "target/\nbuild/\n.gradle/\n"),
        ("src/main/java/sample/Total.java", LIB),
        ("src/test/java/sample/TotalTest.java", TESTS),
    ];
    let mut sample = Sample::new(gate, &files, "/usr/local/bin:/usr/bin:/bin");
    let honest = sample.judge(&Case::new(
        Kind::Honest,
        &[("src/main/java/sample/Total.java", MENDED), ("src/test/java/sample/MoreTest.java", MORE)],
    ));
    let tests = honest
        .evidence
        .figures
        .iter()
        .find(|figure| figure.what == "tests")
        .map(|figure| figure.value.as_str());
    assert_eq!((honest.passed, tests), (true, Some("3")), "{honest:#?}");
    let skips = sample.judge(&Case::new(
        Kind::Honest,
        &[
            ("src/main/java/sample/Total.java", MENDED),
            ("src/test/java/sample/MoreTest.java", MORE),
            ("src/test/java/sample/TotalTest.java", FEWER),
        ],
    ));
    assert_eq!((skips.passed, rules(&skips)), (false, vec!["now-skipped"]), "{skips:#?}");
}

#[test]
fn soak_junit_by_maven_is_read_as_surefire_writes_it() {
    let Some(_) = need::program("mvn", "tests of Java by Maven") else { return };
    judged(MAVEN, ("pom.xml", POM));
}

#[test]
fn soak_junit_by_gradle_is_read_as_it_writes_it() {
    let Some(_) = need::program("gradle", "tests of Java by Gradle") else { return };
    judged(GRADLE, ("build.gradle", BUILD));
}
