//! Secrets, scope, commits and coverage.

use crate::kit::{Sample, rules};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const FILES: [(&str, &str); 2] = [("src/a.txt", "one\n"), ("Cargo.toml", "[package]\n")];

#[test]
fn a_secret_is_found_though_a_later_commit_took_it_out_again_and_is_never_shown() {
    let mut sample = Sample::new("check = \"secrets\"\nallow = [\"testdata/**\"]", &FILES, PATH);
    let secret = "x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi";
    let plant = |file: &str| format!("mkdir -p testdata; echo \"token = 'gh\"\"p_{secret}'\" > {file}");
    let commit = "git add -A; git commit -qm 'step'";
    let there = sample.judge(&plant("src/key.py"), &[]);
    assert_eq!(rules(&there), ["secret"]);
    let gone =
        format!("{}; {commit}; git rm -q src/key.py; {commit}; echo x >> src/a.txt", plant("src/key.py"));
    let gone = sample.judge(&gone, &[]);
    assert_eq!(rules(&gone), ["secret"]);
    for verdict in [&there, &gone] {
        let all = format!("{verdict:?}");
        assert!(all.contains("GitHub token") && all.contains("40 characters"), "{all}");
        assert!(!all.contains(&secret[..8]), "{all}");
    }
    assert_eq!(rules(&sample.judge(&plant("testdata/key.py"), &[])), [""; 0]);
    assert_eq!(
        rules(&sample.judge("echo 20fad3f9c1d3e5b7a9f86d081884c7d659a2feaa > src/a.txt", &[])),
        [""; 0]
    );
}

#[test]
fn a_secret_in_an_archive_is_found_and_a_bomb_is_for_a_person() {
    let mut sample = Sample::new("check = \"secrets\"", &FILES, PATH);
    let line = "echo \"token = 'gh\"\"p_x7Kd93LmQpZ2vRtYb8WnCs4HfJg6TaUe1oXi'\" > key.py";
    let packed = |pack: &str| format!("{line}; {pack}; rm key.py");
    for pack in [
        "gzip -c key.py > a.gz",
        "tar -czf a.tgz key.py",
        "tar -czf in.tgz key.py; tar -cf a.bin in.tgz; rm in.tgz",
    ] {
        let verdict = sample.judge(&packed(pack), &[]);
        assert_eq!(rules(&verdict), ["secret"], "{pack}: {verdict:?}");
        assert!(format!("{verdict:?}").contains("GitHub token"), "{verdict:?}");
    }
    assert_eq!(rules(&sample.judge("echo words | gzip -c > a.gz", &[])), [""; 0]);
    // One that unpacks to more and more others.
    let bomb =
        sample.judge("echo words | gzip -c | gzip -c | gzip -c | gzip -c | gzip -c | gzip -c > a.gz", &[]);
    assert_eq!(rules(&bomb), ["archive"], "{bomb:?}");
    assert_eq!(bomb.failure.unwrap().kind.as_str(), "unjudged");
}

#[test]
fn a_change_stays_in_its_scope() {
    let gate =
        "check = \"scope\"\nmax_lines = 5\nforbidden = [\"infra/**\"]\ndependencies = \"reject\"\nrecent = 1";
    let mut sample = Sample::new(gate, &FILES, PATH);
    sample.sandbox.repo.write("src/hot.txt", "x\n");
    sample.sandbox.repo.commit("recently");
    for (deed, rule) in [
        ("seq 9 > src/b.txt", "too-many-lines"),
        ("mkdir infra; echo x > infra/a", "forbidden-path"),
        ("echo x >> Cargo.toml", "dependency-file"),
        ("echo y >> src/hot.txt", "recently-changed"),
    ] {
        assert_eq!(rules(&sample.judge(deed, &[])), [rule], "{deed}");
    }
    assert_eq!(rules(&sample.judge("echo two >> src/a.txt", &[])), [""; 0]);
}

#[test]
fn commits_follow_the_projects_style() {
    let gate = "check = \"commits\"\ntask = \"ignore\"\nstyle = \"conventional\"\nmax_subject = 40";
    let mut sample = Sample::new(gate, &FILES, PATH);
    let commit = |message: &str| format!("echo x >> src/a.txt; git add -A; git commit -qm '{message}'");
    assert_eq!(rules(&sample.judge(&commit("fix(a): say two"), &[])), [""; 0]);
    assert_eq!(rules(&sample.judge(&commit("say two"), &[])), ["style"]);
    let long = commit("fix: say that which nobody ever wanted to read in full");
    assert_eq!(rules(&sample.judge(&long, &[])), ["subject-length"]);
}

#[test]
fn changed_lines_must_be_covered_and_a_report_that_is_missing_is_no_pass() {
    let gate = "check = \"coverage\"\nmin = 60\nreport = { lcov = \"lcov.info\" }\nrun = \"sh measure.sh\"";
    let files = [("a.py", "x = 1\n"), ("measure.sh", ""), (".gitignore", "lcov.info\n")];
    let mut sample = Sample::new(gate, &files, PATH);
    let measure =
        |report: &str| format!("printf 'x = 1\\ny = 2\\nz = 3\\n' > a.py; echo \"{report}\" > measure.sh");
    let lcov = |second: u32, third: u32| {
        measure(&format!(
            "printf 'SF:a.py\\nDA:1,1\\nDA:2,{second}\\nDA:3,{third}\\nend_of_record\\n' > lcov.info"
        ))
    };
    assert_eq!(rules(&sample.judge(&lcov(1, 1), &[])), [""; 0]);
    let half = sample.judge(&lcov(1, 0), &[]);
    assert_eq!(rules(&half), ["coverage", "uncovered"]);
    assert_eq!(half.failure.unwrap().location.unwrap().line, 3);
    let missing = sample.judge(&measure("exit 0"), &[]);
    assert_eq!(rules(&missing), ["report"]);
    // A tool that ended well and left nothing could not judge; one that failed is to be mended.
    assert_eq!(missing.failure.unwrap().kind.as_str(), "unjudged");
    assert_eq!(sample.judge(&measure("exit 3"), &[]).failure.unwrap().kind.as_str(), "gate");
    let foreign = sample.judge(&measure("echo '<testsuite/>' > lcov.info"), &[]);
    assert_eq!(rules(&foreign), ["report"]);
    assert_eq!(foreign.failure.unwrap().kind.as_str(), "unjudged");
    // A report that the agent left lying there is not the tool's.
    let planted =
        format!("{}; printf 'SF:a.py\\nDA:2,1\\nDA:3,1\\nend_of_record\\n' > lcov.info", measure("exit 0"));
    assert_eq!(rules(&sample.judge(&planted, &[])), ["report"]);
}
