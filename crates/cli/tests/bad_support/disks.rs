//! Disks that take nothing, or no more.

use super::{Bench, WORKS};

#[test]
fn a_read_only_home_is_told() {
    let bench = Bench::new();
    let mount = r#"mount -t tmpfs -o ro none "$ACQUIT_HOME"; exec "$ACQUIT" run x"#;
    let Some(ran) = bench.in_private_mounts(mount) else { return };
    let ran = ran.must(5).says("Read-only file system");
    ran.says("hint: acquit must be able to write there: make it writable, or set ACQUIT_HOME (or ACQUIT_STORE) to another place");
}

#[test]
fn a_home_that_became_read_only_can_still_be_told_and_goes_on_later() {
    let bench = Bench::new();
    bench.acquit(&["task", "add", "Do it"]).must(0);
    let mount = r#"mount --bind "$ACQUIT_HOME" "$ACQUIT_HOME"; mount -o remount,bind,ro "$ACQUIT_HOME"; exec "$ACQUIT" run T-1"#;
    let Some(ran) = bench.in_private_mounts(mount) else { return };
    ran.must(5).says("hint: acquit must be able to write there");
    bench.acquit(&["run", "T-1"]).must(0);
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
}

#[test]
fn a_read_only_repository_is_told_before_a_task_is_made() {
    let bench = Bench::new();
    let mount = r#"mount --bind "$PWD" "$PWD"; mount -o remount,bind,ro "$PWD"; cd "$PWD"; "$ACQUIT" run x && exit 1 || test $? = 5; "$ACQUIT" init --force"#;
    let Some(ran) = bench.in_private_mounts(mount) else { return };
    let ran = ran
        .says("refs/acquit/base/")
        .says("hint: acquit keeps refs of its own in the repository: is it read-only");
    let ran =
        ran.says("Read-only file system").says("hint: acquit needs to write into the repository's folder");
    assert_ne!(ran.code, Some(0), "{ran}");
    bench.acquit(&["task", "list"]).must(0).says("no tasks yet");
}

/// So little that a leg can begin on a small disk.
const LITTLE_ROOM: &str = "\n[retention]\nkeep_free = \"1KiB\"\n";

#[test]
fn no_leg_begins_on_a_disk_with_too_little_room() {
    let bench = Bench::new();
    let script = r#"
mount -t tmpfs -o size=16m none "$ACQUIT_HOME"
"$ACQUIT" run 'Do it' && exit 1 || echo "little: $?"
"$ACQUIT" serve --once; echo "daemon: $?"
"$ACQUIT" task show T-1 --json | grep -q '"state": *"ready"' && echo "its leg waits"
mount -o remount,size=600m none "$ACQUIT_HOME"
"$ACQUIT" run T-1; echo "with room: $?"
"#;
    let Some(ran) = bench.in_private_mounts(script) else { return };
    let ran = ran.must(0).says("little: 5").says("daemon: 0").says("its leg waits").says("with room: 0");
    ran.says("no new leg starts: the disk of").says("hint: make room on that disk");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
}

/// Fills the disk that it is on, and then goes on to print.
const FILLS: &str = "echo work > new.txt\nhead -c 30000000 /dev/zero > big\nseq 1 2000\ntrue\n";

#[test]
fn a_full_disk_loses_nothing_and_the_task_goes_on_when_there_is_room() {
    let bench = Bench::agent(FILLS).with_config(LITTLE_ROOM).tries_lost_legs_again();
    let script = r#"
mount -t tmpfs -o size=4m none "$ACQUIT_HOME"
"$ACQUIT" run 'Do it' && exit 1 || echo "first: $?"
"$ACQUIT" run T-1 && exit 1 || echo "still full: $?"
"$ACQUIT" task show T-1 > /dev/null; echo "show: $?"
find "$ACQUIT_HOME" -name big -delete
echo 'test ! -e new.txt && echo more > more.txt' > "$ACQUIT_HOME/../agent.sh"
"$ACQUIT" run T-1; echo "with room: $?"
"#;
    let Some(ran) = bench.in_private_mounts(script) else { return };
    let ran = ran.must(0).says("first: 5").says("still full: 5").says("show: 0").says("with room: 0");
    let ran = ran
        .says("disk is full")
        .says("hint: make room on that disk, then `acquit run …` with the task's id continues it");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "more.txt"), "more", "{ran}");
    let saved = bench.saved();
    assert_eq!(saved.len(), 1, "{ran}");
    assert_eq!(bench.at_ref(&saved[0], "new.txt"), "work", "what was done before the disk was full");
}

#[test]
fn a_full_disk_for_workspaces_alone_is_told_and_uses_up_no_tries() {
    let bench = Bench::agent(FILLS).with_config(LITTLE_ROOM);
    let script = r#"
mount -t tmpfs -o size=4m none "$ACQUIT_HOME"
export ACQUIT_STORE="$HOME/store.db"
"$ACQUIT" run 'Do it' || echo "full: $?"
find "$ACQUIT_HOME" -name big -delete
echo 'echo more > more.txt' > "$ACQUIT_HOME/../agent.sh"
"$ACQUIT" run T-1; echo "with room: $?"
"#;
    let Some(ran) = bench.in_private_mounts(script) else { return };
    let ran =
        ran.must(0).says("full: 5").says("`keep_free` of [retention]").says("hint: make room on that disk");
    let ran = ran.says("with room: 0");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "more.txt"), "more", "{ran}");
}

#[test]
fn a_disk_that_is_full_from_the_beginning_is_told() {
    let bench = Bench::agent(WORKS);
    let script = r#"
mount -t tmpfs -o size=1m none "$ACQUIT_HOME"
head -c 2000000 /dev/zero > "$ACQUIT_HOME/big" || true
exec "$ACQUIT" run x
"#;
    let Some(ran) = bench.in_private_mounts(script) else { return };
    ran.must(5).says("full").says("hint: make room on that disk");
}

#[test]
fn a_full_disk_for_the_store_alone_is_told_as_the_reason_of_the_lost_leg() {
    let bench = Bench::agent(
        "echo work > new.txt; head -c 9000000 /dev/zero > \"$(dirname \"$0\")/store/big\"; seq 1 9\n",
    )
    .tries_lost_legs_again();
    std::fs::create_dir(bench.place("store")).unwrap();
    let script = r#"
mount -t tmpfs -o size=4m none "$HOME/../store"
export ACQUIT_STORE="$HOME/../store/acquit.db"
"$ACQUIT" run 'Do it' && exit 1 || echo "full: $?"
rm "$HOME/../store/big"
echo 'test ! -e new.txt && echo more > more.txt' > "$HOME/../agent.sh"
"$ACQUIT" run T-1; echo "with room: $?"
"#;
    let Some(ran) = bench.in_private_mounts(script) else { return };
    let ran = ran.must(0).says("full: 5").says("with room: 0").says(" is gone: failed to use the store: ");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "more.txt"), "more", "{ran}");
    assert_eq!(bench.at_ref(&bench.saved()[0], "new.txt"), "work", "{ran}");
}
