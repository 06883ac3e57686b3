//! The API: a task from its wish to its end by HTTP alone, requests that are repeated, and events that are followed.

use serde_json::json;

use crate::browser::{Browser, Served};
use crate::common::{self, Sandbox, until};

/// A program with a token of this role.
pub(crate) fn client(sandbox: &Sandbox, served: &Served, name: &str, role: &str) -> Browser {
    let token = sandbox.acquit(&["token", "add", name, "--role", role]).must(0).out;
    Browser::new(served.port()).with_token(&token)
}

#[test]
fn a_task_is_made_answered_and_looked_at_by_http_alone() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "operator");
    assert_eq!(ci.api("GET", "/whoami", None), (200, json!({ "name": "ci", "role": "operator" })));
    let wish = json!({ "title": "Paint it", "tags": ["colour"], "metadata": { "from": "ci" } });
    let (status, task) = ci.api("POST", "/tasks", Some(&wish));
    assert_eq!((status, &task["id"], &task["tags"]), (200, &json!("T-1"), &json!(["colour"])), "{task}");
    // The daemon beside it works on the task.
    let asked = until("the task asks", || {
        let (_, inbox) = ci.api("GET", "/inbox", None);
        inbox["items"].get(0).cloned()
    });
    assert_eq!(asked["request"]["questions"][0]["options"][1]["trade_offs"], "fades in the sun", "{asked}");
    let wrong = json!({ "request": 7, "answers": ["red", "yes", "3"] });
    let (status, problem) = ci.api("POST", "/tasks/T-1/answer", Some(&wrong));
    assert_eq!((status, &problem["type"]), (409, &json!("/api#conflict")), "{problem}");
    let right = json!({ "request": asked["request"]["number"], "answers": ["2", "yes", "3"] });
    let (status, task) = ci.api("POST", "/tasks/T-1/answer", Some(&right));
    assert_eq!(status, 200, "{task}");
    // Who answered is in the task's history.
    assert_eq!(task["conversation"][0]["by"], "ci", "{task}");
    until("the task is done", || (ci.api("GET", "/tasks/T-1", None).1["state"] == "done").then_some(()));
    let (_, events) = ci.api("GET", "/tasks/T-1/events?limit=1000", None);
    let answered =
        events["items"].as_array().unwrap().iter().find(|event| event["kind"] == "request_answered");
    assert_eq!(answered.unwrap()["actor"], "ci", "{events}");
    let (_, diff) = ci.api("GET", "/tasks/T-1/diff", None);
    assert_eq!(diff["files"], json!([{ "path": "work.txt", "added": 1, "removed": 0 }]));
    let (_, said) = ci.api("GET", "/tasks/T-1/legs/2/transcript", None);
    assert!(said["lines"].as_array().unwrap().iter().any(|line| line["text"] == "Writing."), "{said}");
    let (_, output) = ci.api("GET", "/tasks/T-1/legs/2/output", None);
    assert_eq!(output["size"], output["next"], "{output}");
    let (_, left) = ci.api("GET", "/tasks/T-1/artifacts", None);
    assert!(left.as_array().unwrap().iter().any(|one| one["kind"] == "branch"), "{left}");
    let (status, merged) = ci.api("POST", "/tasks/T-1/merge", None);
    assert_eq!((status, &merged["already_in"]), (200, &json!(null)), "{merged}");
    until("it is merged", || {
        let (_, task) = ci.api("GET", "/tasks/T-1", None);
        assert_ne!(task["state"], "waiting", "{task}");
        sandbox.repo.git(&["log", "--format=%s", "main"]).contains("Paint it").then_some(())
    });
    // Every list answers.
    for path in [
        "/projects",
        "/workflows",
        "/workflows/feature",
        "/schedules",
        "/stats",
        "/agents",
        "/settings",
        "/doctor",
        "/version",
    ] {
        let (status, body) = ci.api("GET", path, None);
        assert_eq!(status, 200, "{path}: {body}");
    }
}

#[test]
fn a_task_is_edited_by_http_until_it_ends() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.acquit(&["run", "Paint it", "--tag", "old"]).must(3);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let edit = json!({ "priority": 4, "size": "XL", "ticket": "ABC-1", "add_tags": ["new"], "remove_tags": ["old"] });
    let (status, task) = ci.api("PATCH", "/tasks/T-1", Some(&edit));
    assert_eq!(
        (status, &task["priority"], &task["size"], &task["tags"]),
        (200, &json!(4), &json!("XL"), &json!(["new"])),
        "{task}"
    );
    assert_eq!(task["metadata"]["ticket"], "ABC-1", "{task}");
    let (status, task) = ci.api("PATCH", "/tasks/T-1", Some(&json!({ "size": "" })));
    assert_eq!((status, &task["size"], &task["priority"]), (200, &json!(null), &json!(4)), "{task}");
    let reserved = json!({ "metadata": { "schedule": "night" } });
    assert_eq!(ci.api("PATCH", "/tasks/T-1", Some(&reserved)).0, 409);
    let viewer = client(&sandbox, &served, "guest", "viewer");
    assert_eq!(viewer.api("PATCH", "/tasks/T-1", Some(&edit)).0, 403);
    assert_eq!(ci.api("POST", "/tasks/T-1/cancel", None).0, 200);
    assert_eq!(ci.api("PATCH", "/tasks/T-1", Some(&edit)).0, 409);
}

#[test]
fn a_task_that_nobody_works_on_is_ready_in_every_answer() {
    let sandbox = Sandbox::scripted(common::CODE, "[[code]]\nstep = [{ pause = \"60s\" }]\n");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let state = |id: &str| ci.api("GET", &format!("/tasks/{id}"), None).1["state"].clone();
    ci.api("POST", "/tasks", Some(&json!({ "title": "First" })));
    until("somebody works on it", || (state("T-1") == "working").then_some(()));
    let (_, task) = ci.api("POST", "/tasks", Some(&json!({ "title": "Second" })));
    assert_eq!(task["state"], "ready", "{task}");
    assert_eq!(state("T-2"), "ready");
    for (path, words) in
        [("T-2/merge", "it is ready"), ("T-1/merge", "it is working"), ("T-1/run", "it is working")]
    {
        let (status, problem) = ci.api("POST", &format!("/tasks/{path}"), None);
        assert_eq!(status, 409, "{path}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{path}: {problem}");
    }
    for id in ["T-2", "T-1"] {
        ci.api("POST", &format!("/tasks/{id}/cancel"), None);
        until("it is over", || (state(id) == "cancelled").then_some(()));
    }
}

#[test]
fn pages_of_a_list_follow_each_other_and_filters_hold() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    for title in ["one", "two", "three"] {
        sandbox.acquit(&["task", "add", title, "--tag", title]).must(0);
    }
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let viewer = client(&sandbox, &served, "eve", "viewer");
    let ids = |path: &str| -> (Vec<String>, serde_json::Value) {
        let (status, page) = viewer.api("GET", path, None);
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        let id =
            |item: &serde_json::Value| item.get("id").unwrap_or(&item["task"]).as_str().unwrap().to_owned();
        (items.map(id).collect(), page["next"].clone())
    };
    assert_eq!(ids("/tasks?limit=2"), (vec!["T-3".to_owned(), "T-2".to_owned()], json!("T-2")));
    assert_eq!(ids("/tasks?limit=2&cursor=T-2"), (vec!["T-1".to_owned()], json!(null)));
    assert_eq!(ids("/tasks?tag=two").0, ["T-2"]);
    assert_eq!(ids("/tasks?q=THREE").0, ["T-3"]);
    assert_eq!(ids("/tasks?workflow=nothing").0, [""; 0]);
    until("all of them ask", || (ids("/inbox").0.len() == 3).then_some(()));
    assert_eq!(ids("/inbox?limit=2"), (vec!["T-3".to_owned(), "T-2".to_owned()], json!("T-2")));
    assert_eq!(ids("/inbox?limit=2&cursor=T-2"), (vec!["T-1".to_owned()], json!(null)));
    for bad in ["limit=0", "limit=x", "cursor=1", "state=odd", "unknown=1", "limit=1&limit=2", "q=%ff"] {
        let (status, problem) = viewer.api("GET", &format!("/tasks?{bad}"), None);
        assert_eq!((status, &problem["type"]), (400, &json!("/api#invalid")), "{bad}: {problem}");
    }
}

#[test]
fn a_night_begun_by_http_is_under_way_and_its_pages_follow_each_other() {
    let schedule = "[[schedule]]\nname = \"night\"\ncron = \"0 0 29 2 *\"\nworkflow = \"flow\"\n";
    let sandbox = Sandbox::new(&format!("{}{schedule}", common::SCRIPTED), common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let mut begun = Vec::new();
    for _ in 0..3 {
        let (status, night) = ci.api("POST", "/schedules/night/run", Some(&json!({})));
        assert_eq!((status, &night["state"]), (200, &json!("running")), "{night}");
        let result = &night["results"][0];
        assert_eq!((&result["outcome"], &result["reason"]), (&json!("WORKING"), &json!(null)), "{night}");
        begun.push(night["at"].clone());
    }
    begun.reverse();
    let (_, first) = ci.api("GET", "/schedules/night/nights?limit=2", None);
    let cursor = first["next"].as_str().expect("there is one more").to_owned();
    let (_, rest) = ci.api("GET", &format!("/schedules/night/nights?limit=2&cursor={cursor}"), None);
    assert_eq!(rest["next"], json!(null), "{rest}");
    let pages = [&first, &rest].map(|page| page["items"].as_array().unwrap().clone()).concat();
    assert_eq!(pages.iter().map(|night| night["at"].clone()).collect::<Vec<_>>(), begun);
    // The same by a button.
    let browser = served.browser();
    let page = browser.get("/nights");
    assert!(page.body.contains(">Run now</button>"), "{}", page.body);
    assert_eq!(browser.submit(&page, "/nights/night/run", &[]).status, 303);
    assert_eq!(browser.get("/nights").body.matches(">by hand<").count(), 4);
}

#[test]
fn a_repeated_request_is_done_once_even_if_the_server_dies_in_between() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let wish = json!({ "title": "Once" });
    let key = [("Idempotency-Key", "order-1")];
    let first = ci.api_page("POST", "/tasks", &key, Some(&wish));
    assert_eq!((first.status, first.header("idempotency-replayed").as_str()), (200, ""), "{}", first.body);
    served.kill_dashboard();
    served.next_link();
    let again = ci.api_page("POST", "/tasks", &key, Some(&wish));
    assert_eq!((again.status, again.header("idempotency-replayed").as_str()), (200, "true"));
    assert_eq!(again.body, first.body);
    let other = json!({ "title": "Another" });
    let reused = ci.api_page("POST", "/tasks", &key, Some(&other));
    assert_eq!(reused.status, 422, "{}", reused.body);
    // The key of somebody else is another key.
    let eve = client(&sandbox, &served, "eve", "operator");
    assert_eq!(eve.api_page("POST", "/tasks", &key, Some(&other)).status, 200);
    let (_, tasks) = ci.api("GET", "/tasks", None);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 2, "{tasks}");
}

#[test]
fn events_are_followed_and_resumed_without_a_gap() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.acquit(&["task", "add", "First"]).must(0);
    let served = Served::start(&sandbox, &[]);
    let viewer = client(&sandbox, &served, "eve", "viewer");
    let accept = ("Accept", "text/event-stream");
    let mut all = viewer.listen("/api/v1/events", &[accept, ("Last-Event-ID", "0")]);
    let heard = all.until("event: request_opened");
    drop(all);
    let seqs = |text: &str| -> Vec<i64> {
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.trim().parse().ok()).collect()
    };
    let (_, listed) = viewer.api("GET", "/events?limit=1000", None);
    let known: Vec<i64> =
        listed["items"].as_array().unwrap().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert!(known.starts_with(&seqs(&heard)) && heard.contains("\"summary\":\"created: First\""), "{heard}");
    // Who was away gets all that it missed, then what happens.
    let middle = known[known.len() / 2].to_string();
    let mut rest = viewer.listen("/api/v1/events", &[accept, ("Last-Event-ID", &middle)]);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    let heard = rest.until("event: task_ended");
    let seqs = seqs(&heard);
    assert_eq!(seqs.first(), Some(&known[known.len() / 2 + 1]), "{heard}");
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]) && seqs.len() > known.len() - known.len() / 2 - 1);
}

#[test]
fn the_document_describes_every_route_and_the_page_shows_them() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let viewer = client(&sandbox, &served, "eve", "viewer");
    let (_, document) = viewer.api("GET", "/openapi.json", None);
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let page = served.browser().get("/api").body;
    for (path, operations) in paths {
        for operation in operations.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "{path}");
        }
    }
    for problem in ["conflict", "invalid", "unauthorized"] {
        assert!(page.contains(&format!("id=\"{problem}\"")), "{problem}");
    }
}

#[test]
fn probes_need_no_token_and_metrics_need_one_and_count_what_ran() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.acquit(&["task", "add", "First"]).must(0);
    let served = Served::start(&sandbox, &[]);
    let stranger = Browser::new(served.port());
    let health = stranger.as_host("10.0.0.7").get("/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    assert_eq!(stranger.get("/metrics").status, 401);
    let viewer = client(&sandbox, &served, "eve", "viewer");
    let text = viewer.until("/metrics", |text| text.contains("state=\"needs_input\"} 1\n"));
    assert!(text.contains("acquit_legs{state=\"passed\"} 1\n"), "{text}");
    assert!(text.contains("acquit_leases{state=\"valid\"} 0\n"), "{text}");
    assert!(text.contains("\nacquit_finished_legs_total{project="), "{text}");
    // Each line is a comment or a name, labels and a number.
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("acquit_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

/// A fallback is called `refactoring (fallback from tests)` everywhere: also here, and on the task's page.
#[test]
fn a_fallback_is_named_by_the_api_and_on_the_page() {
    let flow = "[variation]\nvariable = \"category\"\nvalues = [\"tests\", \"refactoring\"]\n[stages.look]\nmode = \"investigate\"\n\
                on = { found = \"done\", nothing_found = \"next-variation\" }\n";
    let script = "[[look]]\nstep = [ { outcome = \"nothing_found\", payload = { summary = \"covered\" } } ]\n\
                  [[look]]\nstep = [ { outcome = \"found\", payload = { summary = \"twice\" } } ]\n";
    let sandbox = Sandbox::scripted(flow, script);
    sandbox.run_to(0);
    let served = Served::start(&sandbox, &[]);
    let (_, task) = client(&sandbox, &served, "eve", "viewer").api("GET", "/tasks/T-1", None);
    assert_eq!(task["fallback"], "refactoring (fallback from tests)", "{task}");
    let page = Browser::new(served.port()).log_in(&served.link()).get("/tasks/T-1").body;
    assert!(page.contains("<dt>category</dt><dd>refactoring (fallback from tests)</dd>"), "{page}");
}
