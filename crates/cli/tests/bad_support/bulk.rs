//! Agents that print very much: stopped at the limit, or taken whole.

use std::fs;

use super::Bench;

#[test]
fn heavy_a_gigabyte_is_stopped_at_the_usual_limit() {
    let bench = Bench::agent("echo work > new.txt; head -c 1000000000 /dev/zero");
    bench
        .run_to(3)
        .says("the agent bot: printed more than 268435456 bytes; the limit is `output` of stage code in the workflow");
    let printed = fs::metadata(bench.place("acquit/tasks/T-1/legs/1/output.log")).unwrap().len();
    assert!(printed <= 300 << 20, "{printed} bytes are on the disk");
}

#[test]
fn heavy_a_raised_limit_takes_what_the_usual_one_would_not() {
    let bench = Bench::agent("head -c 280000000 /dev/zero; echo work > new.txt; echo; echo the end")
        .with_stage("output = \"300MiB\"", "");
    bench.run_to(0).says("│ the end");
    let printed = fs::metadata(bench.place("acquit/tasks/T-1/legs/1/output.log")).unwrap().len();
    assert_eq!(printed, 280_000_009);
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
}

#[test]
fn heavy_a_hundred_thousand_files_in_the_output_folder_are_passed_over() {
    let script = "echo work > new.txt; cd $ACQUIT_OUTPUT; seq 1 100000 | sed 's/$/.md/' | xargs touch";
    let bench = Bench::agent(script);
    bench.run_to(0);
    let shown = bench.acquit(&["task", "show", "T-1"]).must(0).out;
    assert!((1..=64).contains(&shown.matches("file ").count()), "{shown}");
}
