//! What is listed gets through, byte for byte; what is not does not, and a person is told how to change that.

use std::io::{Read, Write};
use std::net::Shutdown;

use acquit_run::network::{Verdict, summary};

use crate::support::{Setup, connect, echo, mirror, rest, server};

#[test]
fn a_tunnel_to_a_listed_host_passes_bytes_both_ways_until_both_have_ended() {
    let to = server(echo);
    let hosts = [to.to_string()];
    let proxy = Setup::new(&hosts).start();
    let mut client = proxy.client();
    // With the first bytes of the tunnel right behind the head.
    write!(client, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\nearly ").unwrap();
    let sent: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let mut writer = client.try_clone().unwrap();
    let copy = sent.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&copy).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    writing.join().unwrap();
    let expected = [b"HTTP/1.1 200 Connection established\r\n\r\nearly ".as_slice(), &sent].concat();
    assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
    let log = proxy.log_when(|log| log.iter().any(|one| one.ended.is_some()));
    assert_eq!((log.len(), log[0].verdict, log[0].port), (1, Verdict::Granted, to.port()));
    assert_eq!((log[0].up, log[0].down), (3_000_006, 3_000_006));
    assert_eq!(log[0].address, Some(to.ip()));
}

#[test]
fn a_host_that_is_not_listed_is_refused_with_words_that_help() {
    let hosts = ["api.example.com".to_owned()];
    let proxy = Setup::new(&hosts).start();
    let answer = proxy.say("CONNECT registry.example.org:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(
        body,
        "acquit: registry.example.org:443 is refused: it is not listed; a person can allow it: add \"registry.example.org\" \
         to `hosts` of [network] in .acquit/acquit.toml\n"
    );
    for target in ["api.example.com:80", "api.example.com.evil.org:443", "10.0.0.1:443", "[::1]:443"] {
        let answer = proxy.say(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
    }
    let log = proxy.log_when(|log| log.len() == 5);
    assert!(log.iter().all(|one| one.verdict == Verdict::Refused));
    let first = &summary(&log)[0];
    assert_eq!(first.text, "10.0.0.1:443 refused once: it is not listed");
    assert_eq!(first.to_allow.as_deref(), Some("10.0.0.1"));
}

#[test]
fn a_listed_name_is_found_in_any_writing_and_connected_where_it_leads() {
    let to = server(echo);
    // The address itself is listed too, so the name may lead there.
    let hosts = [format!("model.example.com:{}", to.port()), to.to_string()];
    let proxy = Setup::new(&hosts).name("model.example.com", "127.0.0.1").start();
    for name in ["model.example.com", "MODEL.Example.com", "model.example.com."] {
        let mut client = proxy.client();
        write!(client, "CONNECT {name}:{} HTTP/1.1\r\n\r\nhello", to.port()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert!(rest(&mut client).ends_with("\r\n\r\nhello"), "{name}");
    }
}

#[test]
fn a_listed_name_that_leads_into_the_machine_or_its_network_is_refused() {
    let to = server(echo);
    let hosts = [format!("model.example.com:{}", to.port()), format!("*.evil.org:{}", to.port())];
    for address in
        ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0", "fe80::1"]
    {
        let setup = Setup::new(&hosts).name("model.example.com", address).name("a.evil.org", address);
        let proxy = setup.start();
        for name in ["model.example.com", "a.evil.org"] {
            let answer = proxy.say(&format!("CONNECT {name}:{} HTTP/1.1\r\n\r\n", to.port()));
            assert!(answer.starts_with("HTTP/1.1 403 "), "{address}: {answer}");
            assert!(
                answer.contains("its name leads to") && answer.contains("lists the address itself"),
                "{answer}"
            );
        }
    }
}

#[test]
fn localhost_means_the_loopback_where_it_is_listed_whatever_the_resolver_says() {
    let to = server(echo);
    let hosts = [format!("localhost:{}", to.port())];
    let proxy = Setup::new(&hosts).name("localhost", "203.0.113.1").start();
    let mut client = proxy.client();
    write!(client, "CONNECT localhost:{} HTTP/1.1\r\n\r\nhello", to.port()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut client).ends_with("hello"));
    // The address was not listed, only the name.
    assert!(proxy.say(&format!("CONNECT {to} HTTP/1.1\r\n\r\n")).starts_with("HTTP/1.1 403 "));
}

#[test]
fn what_nobody_answers_at_is_unreachable_and_so_is_a_name_that_nobody_knows() {
    // A port that was just free.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hosts = [gone.to_string(), "unknown.example.com".to_owned()];
    let proxy = Setup::new(&hosts).start();
    for target in [gone.to_string(), "unknown.example.com:443".to_owned()] {
        let answer = proxy.say(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(&target), "{answer}");
    }
    let log = proxy.log_when(|log| log.len() == 2);
    assert!(log.iter().all(|one| one.verdict == Verdict::Unreachable && one.reason.is_some()));
}

#[test]
fn a_plain_request_goes_to_the_host_of_its_address_and_only_it() {
    let to = server(mirror);
    let hosts = [to.to_string()];
    let proxy = Setup::new(&hosts).start();
    let head = "Host: evil.org\r\nProxy-Authorization: Basic eDp5\r\nConnection: X-One, keep-alive\r\nX-One: 1\r\nX-Two: 2\r\n";
    let next = format!("GET http://{to}/second HTTP/1.1\r\n\r\n");
    let answer =
        proxy.say(&format!("POST HTTP://{to}/a?b=c HTTP/1.1\r\n{head}Content-Length: 5\r\n\r\nhello{next}"));
    let (_, got) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        got,
        format!(
            "POST /a?b=c HTTP/1.1\r\nHost: {to}\r\nx-two: 2\r\ncontent-length: 5\r\nConnection: close\r\n\r\nhello"
        )
    );
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    let answer =
        proxy.say(&format!("PUT http://{to} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}{next}"));
    assert!(answer.ends_with(chunks) && answer.contains("PUT / HTTP/1.1\r\n"), "{answer}");
    let answer = proxy.say("GET http://evil.org/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("add \"evil.org:80\""), "{answer}");
}

#[test]
fn a_forwarded_port_leads_to_its_host_without_any_proxy_protocol() {
    let to = server(echo);
    let hosts = [to.to_string()];
    let mut setup = Setup::new(&hosts);
    setup.forward = Some(to.to_string());
    let proxy = setup.start();
    let mut client = connect(proxy.forward.unwrap());
    client.write_all(b"CONNECT evil.org:443 HTTP/1.1\r\n\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), "CONNECT evil.org:443 HTTP/1.1\r\n\r\n");
    let log = proxy.log_when(|log| log.iter().any(|one| one.ended.is_some()));
    assert_eq!((log[0].verdict, log[0].up), (Verdict::Granted, 33));
}
