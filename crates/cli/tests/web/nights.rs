//! Nights on pages: of every project of the store, and every one that there was, with its report.

use acquit_testkit::repo::Repo;
use serde_json::Value;

use crate::browser::Served;
use crate::common::{SCRIPTED, Sandbox, read};

/// A schedule that only a person runs.
fn schedule(name: &str) -> String {
    format!("\n[[schedule]]\nname = \"{name}\"\ncron = \"0 0 29 2 *\"\nzone = \"UTC\"\nworkflow = \"flow\"\n")
}

const WRITES: &str = "[[code]]\nstep = [ { write = \"work.txt\", content = \"x\\n\" }, { outcome = \"pr_ready\", payload = { summary = \"written\" } } ]\n";

#[test]
fn nights_of_every_project_are_shown_and_each_report_is_reached() {
    let sandbox = Sandbox::new(&format!("{SCRIPTED}{}", schedule("night")), crate::common::CODE, WRITES);
    let other = Repo::at("another", &[]);
    for file in ["workflows/flow.toml", "script.toml"] {
        other.write(&format!(".acquit/{file}"), &read(&sandbox.repo.path().join(".acquit").join(file)));
    }
    other.write(".acquit/acquit.toml", &format!("{SCRIPTED}{}", schedule("late")));
    other.commit("with acquit");
    let added = sandbox.command(&["task", "add", "There"]).current_dir(other.path()).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    // Many earlier nights, one each day.
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let (nominal, body): (i64, String) = store
        .query_row("select nominal, body from nights", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    for day in 1..=40_i64 {
        let at = nominal - day * 86_400_000;
        let mut night: Value = serde_json::from_str(&body).unwrap();
        night["nominal"] = at.into();
        let sql = "insert into nights select project, schedule, ?1, state, version, ?2 from nights where nominal = ?3";
        store.execute(sql, rusqlite::params![at, night.to_string(), nominal]).unwrap();
    }
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/nights");
    for shown in ["2 schedules", ">another<", "All nights of night with their reports"] {
        assert!(page.body.contains(shown), "lacks {shown}: {}", page.body);
    }
    // Those of another project are paused there, and nowhere else.
    assert_eq!(browser.submit(&page, "/nights/late/pause", &[]).status, 303);
    let list = sandbox.command(&["schedule", "list"]).current_dir(other.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&list.stdout).contains("paused"), "{list:?}");
    assert!(!sandbox.acquit(&["schedule", "list"]).must(0).out.contains("paused"));
    let page = browser.get("/nights");
    assert_eq!(browser.submit(&page, "/nights/late/resume", &[]).status, 303);
    // A path that is no project of the store leads nowhere.
    let own = format!("http://127.0.0.1:{}", served.port());
    let stranger = browser.post("/nights/late/pause", &[("Origin", &own)], "project=%2Fetc");
    assert!(stranger.body.contains("That did not work"), "{}", stranger.body);

    let (first, last) =
        (browser.get("/nights/night?project=").body, browser.get("/nights/night?project=&page=2").body);
    assert!(
        first.contains("41 nights of night") && first.contains("page 1 of 2") && first.contains("Older"),
        "{first}"
    );
    let oldest = format!("id=\"night-night-{}\"", nominal - 40 * 86_400_000);
    let report = last.split_once(&oldest).unwrap_or_else(|| panic!("{oldest}: {last}")).1;
    assert!(report.split_once("</details>").unwrap().0.contains("T-2"), "{report}");
    assert!(last.contains("Newer") && !last.contains("Older"), "{last}");
}
