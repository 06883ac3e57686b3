//! Clients that say nonsense, half of it, too much of it, or nothing.

use std::io::Write;
use std::time::{Duration, Instant};

use acquit_core::time::Timestamp;
use acquit_run::network::{Connection, Limits, Verdict, Why, summary};

use crate::support::{LONG, Setup, echo, rest, server};

#[test]
fn what_can_be_understood_in_two_ways_is_not_understood() {
    let hosts = ["api.example.com".to_owned(), "api.example.com:80".to_owned()];
    let proxy = Setup::new(&hosts).start();
    let get = "GET http://api.example.com/ HTTP/1.1\r\n";
    let requests = [
        "CONNECT user:pass@api.example.com:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:0 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:+443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:65979 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:443:80 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:443/ HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT [::1:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT [::1]443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT ::1:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT 127.1:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com\0.evil.org:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com\r:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:443 HTTP/1.1\n\n".to_owned(),
        "CONNECT  api.example.com:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT\tapi.example.com:443\tHTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT äpi.example.com:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api%2eexample.com:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT .api.example.com:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.example.com:443 HTTP/2.0\r\n\r\n".to_owned(),
        "CONNECT api.example.com:443\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n".to_owned(),
        "GET https://api.example.com/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET ftp://api.example.com/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://api.example.com@evil.org/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://api.example.com\\@evil.org/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://api.example.com/#x HTTP/1.1\r\n\r\n".to_owned(),
        "GET http:/// HTTP/1.1\r\n\r\n".to_owned(),
        format!("{get}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("{get}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        format!("{get}Content-Length: +1\r\n\r\n"),
        format!("{get}Content-Length: 99999999999999999999\r\n\r\n"),
        format!("{get}Transfer-Encoding: gzip, chunked\r\n\r\n"),
        format!("{get}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
        format!("{get}Transfer-Encoding : chunked\r\n\r\n"),
        format!("{get}Connection: content-length\r\nContent-Length: 1\r\n\r\n"),
        format!("{get} folded: 1\r\n\r\n"),
        format!("{get}no colon\r\n\r\n"),
        format!("{get}A: b\x01c\r\n\r\n"),
        "GET http://api.example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        format!("{get}{}\r\n", "A: b\r\n".repeat(200)),
        "\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\0".to_owned(),
        format!("GET http://api.example.com/{} HTTP/1.1\r\n\r\n", "x".repeat(17_000)),
    ];
    for request in &requests {
        let answer = proxy.say(request);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{request:.200?}: {answer}");
        assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.lines().count(), 1);
    }
    let log = proxy.log_when(|log| log.len() == requests.len());
    assert!(log.iter().all(|one| one.verdict == Verdict::Malformed && one.reason.is_some()));
}

#[test]
fn a_client_that_sends_slowly_or_nothing_is_ended_and_does_not_keep_others_out() {
    let to = server(echo);
    let hosts = [to.to_string()];
    let mut setup = Setup::new(&hosts);
    setup.limits = Limits { connections: 4, head: Duration::from_millis(400), ..Limits::default() };
    let proxy = setup.start();
    let mut slow: Vec<_> = (0..4).map(|_| proxy.client()).collect();
    slow[0].write_all(b"CONNECT ").unwrap();
    // All places are taken; the fifth is told so, or at least let go.
    let answer = rest(&mut proxy.client());
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let began = Instant::now();
    for client in &mut slow {
        assert!(rest(client).starts_with("HTTP/1.1 400 "));
    }
    assert!(began.elapsed() < LONG / 2);
    drop(slow);
    // Their places are free again.
    let until = Instant::now() + LONG;
    while !proxy.say("CONNECT evil.org:443 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 ") {
        assert!(Instant::now() < until);
    }
    proxy.log_when(|log| log.iter().filter(|one| one.verdict == Verdict::Malformed).count() == 4);
}

#[test]
fn a_tunnel_on_which_nothing_moves_is_ended() {
    let to = server(echo);
    let hosts = [to.to_string()];
    let mut setup = Setup::new(&hosts);
    setup.limits.idle = Duration::from_millis(200);
    let proxy = setup.start();
    let answer = proxy.say(&format!("CONNECT {to} HTTP/1.1\r\n\r\nhello"));
    assert!(answer.ends_with("hello"), "{answer}");
    proxy.log_when(|log| log.iter().any(|one| one.ended.is_some()));
}

#[test]
fn a_lookup_that_does_not_end_is_given_up() {
    let to = server(echo);
    let hosts = [format!("model.example.com:{}", to.port())];
    let mut setup = Setup::new(&hosts);
    setup.stuck = true;
    setup.limits.lookup = Duration::from_millis(100);
    let answer = setup.start().say(&format!("CONNECT model.example.com:{} HTTP/1.1\r\n\r\n", to.port()));
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("not found in time"), "{answer}");
}

#[test]
fn a_client_that_asks_without_end_fills_the_log_to_its_limit_and_no_further() {
    let hosts = ["api.example.com".to_owned()];
    let proxy = Setup::new(&hosts).start();
    let size = 4 * 1024 * 1024_u64;
    proxy.fill_log(usize::try_from(size).unwrap() - 1000);
    let full = proxy.restarted(&hosts);
    for number in 0..30 {
        full.say(&format!("CONNECT h{number}.evil.org:443 HTTP/1.1\r\n\r\n"));
    }
    assert!(full.log_size() < size + 1000, "{}", full.log_size());
    let log = full.log_when(|log| log.last().is_some_and(|last| last.verdict == Verdict::Unlogged));
    assert_eq!(log.iter().filter(|one| one.verdict == Verdict::Unlogged).count(), 1);
    let text = "more connections were not logged: the log is full";
    assert!(summary(&log).iter().any(|line| line.text == text));
}

#[test]
fn a_summary_has_fifty_lines_at_most() {
    let one = |number: u16| Connection {
        at: Timestamp(0),
        host: "evil.org".to_owned(),
        port: number,
        address: None,
        verdict: Verdict::Refused,
        reason: None,
        why: Why::Other,
        ended: None,
        up: 0,
        down: 0,
    };
    let many: Vec<_> = (0..80).flat_map(|number| [one(number), one(number)]).collect();
    let lines = summary(&many);
    assert_eq!(
        (lines.len(), lines[0].text.as_str(), lines[49].text.as_str()),
        (50, "evil.org:0 refused 2 times", "and 31 others")
    );
}

#[test]
fn a_refusal_comes_with_the_entry_that_would_allow_it_if_there_is_one() {
    let one = |host: &str, port: u16, verdict: Verdict, why: Why| {
        let at = Timestamp(0);
        let host = host.to_owned();
        let connection = Connection {
            at,
            host,
            port,
            address: None,
            verdict,
            reason: None,
            why,
            ended: None,
            up: 0,
            down: 0,
        };
        summary(&[connection]).remove(0).to_allow
    };
    let refused = |host: &str, port: u16, why: Why| one(host, port, Verdict::Refused, why);
    assert_eq!(refused("llm.example.com", 443, Why::NotListed).as_deref(), Some("llm.example.com"));
    assert_eq!(refused("::1", 8080, Why::NotListed).as_deref(), Some("[::1]:8080"));
    let inside = Why::NotPublic("10.0.0.7".parse().unwrap());
    assert_eq!(refused("git.corp.example", 8443, inside).as_deref(), Some("10.0.0.7:8443"));
    assert_eq!(refused("llm.example.com", 443, Why::Other), None);
    assert_eq!(one("llm.example.com", 443, Verdict::Granted, Why::Other), None);
}
