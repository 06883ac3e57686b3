//! Every answer leads to the right error, and no call exceeds its limits.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000_000_000);

fn seen(status: u16, headers: &[(&str, &str)], body: Value) -> Option<Error> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(ureq::http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    Seen::of(status, &map).trouble("try it", &body, NOW)
}

#[test]
fn each_answer_has_its_consequence() {
    assert!(seen(201, &[], json!({})).is_none());
    let wait = |error| match error {
        Some(Error::Busy { wait, .. }) => wait.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(seen(429, &[("retry-after", "17")], json!({}))), Some(17));
    assert_eq!(wait(seen(429, &[], json!({}))), None);
    let out = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000000060")];
    assert_eq!(wait(seen(403, &out, json!({"message": "API rate limit exceeded"}))), Some(60));
    assert_eq!(wait(seen(403, &out, json!({"message": "Forbidden"}))), Some(60), "whatever its words");
    let secondary = json!({"message": "You have exceeded a secondary rate limit."});
    assert_eq!(wait(seen(403, &[("x-ratelimit-remaining", "4000")], secondary)), None);
    assert_eq!(wait(seen(429, &[("retry-after", "99999999999")], json!({}))), Some(LONGEST_WAIT));
    for status in [500, 502, 503, 504, 408] {
        assert!(matches!(seen(status, &[], Value::Null), Some(Error::Away { .. })), "{status}");
    }
    for status in [301, 307, 401, 403, 404] {
        assert!(matches!(seen(status, &[], Value::Null), Some(Error::Denied { .. })), "{status}");
    }
    for status in [400, 405, 409, 422] {
        assert!(matches!(seen(status, &[], Value::Null), Some(Error::Refused { .. })), "{status}");
    }
}

#[test]
fn its_words_are_found_wherever_they_stand() {
    let body =
        json!({"message": "Validation Failed", "errors": [{"message": "No commits between a and b"}, "x"]});
    assert_eq!(message(&body), "Validation Failed; No commits between a and b; x");
    assert_eq!(message(&json!({"message": ["Another open merge request"]})), "Another open merge request");
    assert_eq!(message(&json!({"message": {"title": ["is too long"]}})), "title: is too long");
    assert_eq!(message(&json!({"error": "insufficient_scope"})), "insufficient_scope");
    assert_eq!(message(&Value::Null), "no reason given");
    let hostile = json!({"message": format!("a\u{1b}[2J\u{202e}b\r\n c{}", "x".repeat(9_999))});
    let words = message(&hostile);
    assert!(words.starts_with("a?[2J?b cx") && words.len() < WORDS + 50, "{words}");
}

#[test]
fn pages_follow_each_other_at_the_same_address_only() {
    let header = |name: &'static str, value: &str| {
        let mut map = HeaderMap::new();
        map.insert(name, value.parse().unwrap());
        map
    };
    let link = header("link", "<https://h/a?page=1>; rel=\"prev\", <https://h/a?page=3>; rel=\"next\"");
    assert_eq!(next_page(&link, "https://h/a").as_deref(), Some("https://h/a?page=3"));
    assert_eq!(next_page(&header("link", "<https://h/a>; rel=\"prev\""), "https://h/a"), None);
    let number = header("x-next-page", "2");
    assert_eq!(
        next_page(&number, "https://h/a?x=y&page=1&per_page=100").as_deref(),
        Some("https://h/a?x=y&per_page=100&page=2")
    );
    assert_eq!(next_page(&header("x-next-page", ""), "https://h/a?x=y"), None);
    assert_eq!(origin("https://h:8/a/b"), "https://h:8");
    assert_ne!(origin("https://h.evil/a"), origin("https://h/a"));
}

#[test]
fn no_name_changes_the_path() {
    assert_eq!(encoded("group/sub/name"), "group%2Fsub%2Fname");
    assert_eq!(encoded("a b&c=?#é"), "a%20b%26c%3D%3F%23%C3%A9");
}

/// Starts a server that handles connections one after the other with `does`, and counts them.
fn server(does: impl Fn(&mut TcpStream, usize) + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let before = counted.fetch_add(1, Ordering::SeqCst);
            // Read the whole request, so that closing does not reset the connection.
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            does(&mut stream, before);
        }
    });
    (url, count)
}

/// Calls such a server with a timeout in milliseconds.
fn called(url: &str, limit: u64, list: bool) -> (Result<usize, Error>, Duration) {
    let environment = Environment::new([]);
    let secret = Secret::new("T", b"token-of-the-test".to_vec());
    let way = Way {
        base: url.to_owned(),
        token: Some(&secret),
        scheme: Scheme::Bearer,
        headers: &[],
        ca: None,
        proxy: None,
        limit: Duration::from_millis(limit),
        now: || NOW,
        environment: &environment,
    };
    let http = Http::new(way).unwrap();
    let began = Instant::now();
    let result = if list {
        http.list("try it", "/list?").map(|all| all.len())
    } else {
        http.get("try it", "/one").map(|_| 1)
    };
    (result, began.elapsed())
}

/// A timeout that a test can wait for, and how much longer it may take on a busy machine.
const SHORT: u64 = 700;
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_forge_that_says_nothing_drips_or_breaks_off_is_away_in_time() {
    type Does = fn(&mut TcpStream, usize);
    let cases: [(&str, Does); 6] = [
        ("it says nothing", |stream, _| {
            let _ = stream.read(&mut [0; 1]);
        }),
        ("its head drips", |stream, _| {
            while stream.write_all(b"H").is_ok() {
                std::thread::park_timeout(Duration::from_millis(50));
            }
        }),
        ("its body never ends", |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while stream.write_all(b"1\r\n \r\n").is_ok() {
                std::thread::park_timeout(Duration::from_millis(50));
            }
        }),
        ("it stops in the middle of its body", |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":");
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }),
        ("it closes without a word", |stream, _| {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }),
        ("it speaks another language", |stream, _| {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
        }),
    ];
    for (name, does) in cases {
        let (url, _) = server(does);
        let (result, took) = called(&url, SHORT, false);
        assert!(matches!(result, Err(Error::Away { .. })), "{name}: {result:?}");
        assert!(took < PATIENCE, "{name}: {took:?}");
    }
    // Nothing listens there any longer.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (result, _) = called(&format!("http://{gone}"), SHORT, false);
    assert!(matches!(result, Err(Error::Away { .. })), "{result:?}");
}

#[test]
fn an_answer_that_is_too_long_is_not_kept() {
    let (url, _) = server(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let block = vec![b' '; 1 << 20];
        while stream.write_all(&block).is_ok() {}
    });
    let (result, took) = called(&url, 20_000, false);
    assert!(matches!(&result, Err(Error::Away { .. })), "{result:?}");
    assert!(took < PATIENCE, "{took:?}");
}

fn answer(stream: &mut TcpStream, status: &str, header: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\n{header}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes());
}

#[test]
fn no_redirect_and_no_page_leads_the_token_elsewhere() {
    let (elsewhere, visits) = server(|stream, _| answer(stream, "200 OK", "x: y", "[1, 2]"));
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let to = elsewhere.clone();
        let (url, _) =
            server(move |stream, _| answer(stream, status, &format!("location: {to}/repos/new/name"), "{}"));
        let (result, _) = called(&url, 20_000, false);
        match result {
            Err(Error::Denied { words, .. }) => {
                assert!(words.contains("has moved") && words.contains("`project`"), "{words}");
            }
            other => panic!("{status}: {other:?}"),
        }
    }
    let to = elsewhere.clone();
    let (url, _) = server(move |stream, _| {
        answer(stream, "200 OK", &format!("link: <{to}/list?page=2>; rel=\"next\""), "[1]");
    });
    assert_eq!(called(&url, 20_000, true).0.unwrap(), 1, "what is at the same address");
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_list_without_an_end_is_read_up_to_a_bound() {
    let (url, visits) = server(|stream, before| {
        let next = before + 2;
        answer(stream, "200 OK", &format!("x-next-page: {next}"), "[1, 2]");
    });
    assert_eq!(called(&url, 20_000, true).0.unwrap(), 2 * PAGES);
    assert_eq!(visits.load(Ordering::SeqCst), PAGES);
}

#[test]
fn a_token_that_the_forge_repeats_is_in_no_message_not_even_the_beginning_of_it() {
    for before in [0, WORDS - 25, WORDS - 8] {
        let (url, _) = server(move |stream, _| {
            let words = format!("{}token-of-the-test", "x".repeat(before));
            answer(stream, "422 Unprocessable", "x: y", &json!({ "message": words }).to_string());
        });
        let words = called(&url, 20_000, false).0.unwrap_err().to_string();
        assert!(words.contains("says no") && !words.contains("token-o"), "{words}");
    }
}

#[test]
fn a_file_of_certificates_is_read_only_if_it_can_be_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LARGEST_CA + 1).unwrap();
    assert!(certificates(file.path()).unwrap_err().contains("bytes"));
    file.as_file().set_len(10).unwrap();
    assert!(certificates(file.path()).unwrap_err().contains("no certificate"));
}
