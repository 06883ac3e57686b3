//! A browser as far as these tests need one, and the server that it talks to.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Sandbox, Started, processes, until};

/// How often a page is looked at again.
const LOOK: Duration = Duration::from_millis(50);

/// A port that nothing listens at.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// `acquit serve`, with its dashboard.
pub(crate) struct Served(Started);

impl Served {
    /// Starts it, and waits until it has printed its link.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let port = format!("127.0.0.1:{}", free_port());
        let mut all = vec!["serve"];
        if !args.contains(&"--listen") {
            all.extend(["--listen", &port]);
        }
        all.extend(args);
        let served = Self(sandbox.start(&all));
        until("the dashboard is served", || (!served.links().is_empty()).then_some(()));
        served
    }

    /// All links that were printed.
    fn links(&self) -> Vec<String> {
        let links = self.0.err();
        let links = links
            .lines()
            .filter_map(|line| Some(format!("http://{}", line.split_once("dashboard: http://")?.1)));
        links.collect()
    }

    /// The first link.
    pub(crate) fn link(&self) -> String {
        self.links().remove(0)
    }

    /// The link of a dashboard that was started again.
    pub(crate) fn next_link(&self) -> String {
        until("it is served again", || (self.links().len() > 1).then_some(()));
        self.links().remove(1)
    }

    pub(crate) fn port(&self) -> u16 {
        let link = self.link();
        let address = link.trim_start_matches("http://").split('/').next().unwrap();
        address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// A browser that is logged in.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.port()).log_in(&self.link())
    }

    /// Kills the process that serves the dashboard.
    pub(crate) fn kill_dashboard(&self) {
        let pid = self.0.pid();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let is_web = |child: &u32| {
            let command = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            command.split(|byte| *byte == 0).nth(1) == Some(b"web")
        };
        let children = children.split_whitespace().filter_map(|child| child.parse().ok());
        let child: u32 = children.into_iter().find(is_web).expect("the dashboard is a process of its own");
        processes::signal(child, rustix::process::Signal::KILL);
    }
}

/// A browser: an address, the host that it believes to talk to, and a cookie.
#[derive(Clone)]
pub(crate) struct Browser {
    port: u16,
    host: String,
    cookie: Option<String>,
    token: Option<String>,
}

/// An answer.
pub(crate) struct Page {
    pub(crate) status: u16,
    headers: String,
    pub(crate) body: String,
}

impl Page {
    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> String {
        let named = |line: &str| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        self.headers.lines().find_map(named).unwrap_or_default()
    }
}

impl Browser {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, host: format!("127.0.0.1:{port}"), cookie: None, token: None }
    }

    /// A program that has a token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.trim().to_owned()), ..self.clone() }
    }

    /// Sends JSON, or nothing, and reads the answer as JSON.
    pub(crate) fn api(
        &self,
        method: &str,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> (u16, serde_json::Value) {
        let page = self.api_page(method, path, &[], body);
        let shown = || panic!("{method} {path}: {} {}", page.status, page.body);
        (page.status, serde_json::from_str(&page.body).unwrap_or_else(|_| shown()))
    }

    /// The same with more headers, and the whole answer.
    pub(crate) fn api_page(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&serde_json::Value>,
    ) -> Page {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        self.send(method, &format!("/api/v1{path}"), &all, &body)
    }

    pub(crate) fn with_cookie(&self, cookie: &str) -> Self {
        Self { cookie: Some(cookie.to_owned()), ..self.clone() }
    }

    pub(crate) fn as_host(&self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self.clone() }
    }

    /// The path of a link.
    pub(crate) fn get_link(&self, link: &str) -> Page {
        let path = link.trim_start_matches("http://").split_once('/').unwrap().1;
        self.get(&format!("/{path}"))
    }

    /// The same browser after it opened a login link.
    pub(crate) fn log_in(&self, link: &str) -> Self {
        let page = self.get_link(link);
        assert_eq!(page.status, 200, "{}", page.body);
        let cookie = page.header("set-cookie");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        self.with_cookie(cookie.split(';').next().unwrap())
    }

    pub(crate) fn get(&self, path: &str) -> Page {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Page {
        self.send("POST", path, headers, body)
    }

    /// Sends a form of a page, as it stands there with its hidden fields, and with these filled in.
    pub(crate) fn submit(&self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Page {
        let form = page.body.split("<form").find(|form| form.contains(&format!("action=\"{action}\"")));
        let form = form.unwrap_or_else(|| panic!("no form {action} on the page: {}", page.body));
        let form = form.split("</form>").next().unwrap();
        let hidden = form.split("<input type=\"hidden\" name=\"").skip(1).map(|rest| {
            let (name, rest) = rest.split_once('"').unwrap();
            let value = rest.split_once("value=\"").unwrap().1.split('"').next().unwrap();
            (name, value)
        });
        let encoded =
            |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let pairs =
            hidden.chain(fields.iter().copied()).map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        self.post(action, &[("Origin", &format!("http://{}", self.host))], &body)
    }

    /// Looks at a page until it shows something.
    pub(crate) fn until(&self, path: &str, shows: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let page = self.get(path);
            if shows(&page.body) {
                return page.body;
            }
            assert!(Instant::now() < deadline, "{path} does not show it: {}", page.body);
            std::thread::sleep(LOOK);
        }
    }

    /// Begins to listen to a stream.
    pub(crate) fn listen(&self, path: &str, headers: &[(&str, &str)]) -> Stream {
        let mut stream = Stream { socket: self.ask("GET", path, headers, ""), heard: String::new() };
        stream.until("connected");
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host);
        if let Some(cookie) = &self.cookie {
            head.push_str(&format!("Cookie: {cookie}\r\n"));
        }
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if ["POST", "PATCH"].contains(&method) {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head.push_str("Content-Type: application/x-www-form-urlencoded\r\n");
            }
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).expect("the server reads");
        socket
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Page {
        let mut socket = self.ask(method, path, headers, body);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("text");
        let (headers, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("headers: {answer}"));
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Page { status, headers: headers.to_owned(), body: body.to_owned() }
    }
}

/// A stream of server-sent events.
pub(crate) struct Stream {
    socket: TcpStream,
    heard: String,
}

impl Stream {
    /// Listens until something is said.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        while !self.heard.contains(wanted) {
            assert!(Instant::now() < deadline, "not heard: {wanted}\n{}", self.heard);
            self.hear(LOOK);
        }
        self.heard.clone()
    }

    /// All that is said within a while.
    pub(crate) fn within(&mut self, length: Duration) -> String {
        let deadline = Instant::now() + length;
        while Instant::now() < deadline {
            self.hear(LOOK);
        }
        self.heard.clone()
    }

    fn hear(&mut self, at_most: Duration) {
        self.socket.set_read_timeout(Some(at_most)).unwrap();
        let mut buffer = [0; 4096];
        match self.socket.read(&mut buffer) {
            Ok(count) => self.heard.push_str(&String::from_utf8_lossy(&buffer[..count])),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => panic!("the stream broke: {error}"),
        }
    }
}
