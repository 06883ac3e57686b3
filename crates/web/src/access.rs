//! Access control of the dashboard and the API: the owner's token, single-use login links, named tokens with roles,
//! signed cookies, and headers that a foreign page cannot forge.
//!
//! The token is 32 random bytes in a file that only its owner can read. Removing the file ends all sessions. Links and
//! cookies are signed with it, so sessions survive a restart of the server. A link contains its creation time. It works
//! once, for [`LINK_LIFE`], and never with a server that was started later, because that server does not know whether
//! it was used.

mod exposure;
mod rate;
mod tokens;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use acquit_core::time::Timestamp;
use axum::http::{HeaderMap, Method, header};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub use exposure::{Exposure, Origin};
pub use rate::{Limiter, Rate};
pub use tokens::{Error as TokenError, Named, Role, Tokens};

/// How long a login link is valid.
pub const LINK_LIFE: Duration = Duration::from_mins(15);
/// How long a browser stays logged in.
const SESSION_LIFE: Duration = Duration::from_hours(30 * 24);
/// Size of the token, and of the random part of links and sessions.
const TOKEN_BYTES: usize = 32;
const NONCE_BYTES: usize = 16;

/// Files of the dashboard in acquit's home.
#[derive(Clone, Debug)]
pub struct Files(PathBuf);

impl Files {
    /// Returns the files below this home.
    pub fn below(home: &Path) -> Self {
        Self(home.join("web"))
    }

    /// Returns the file with the token.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Returns the file with the address of the newest server.
    pub fn address(&self) -> PathBuf {
        self.0.join("address")
    }

    /// Returns the file with the hashes of named tokens.
    pub fn tokens(&self) -> PathBuf {
        self.0.join("tokens.json")
    }

    /// Returns the audit log, which lists every write request.
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// Returns the folder of idempotency keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// Waits for a file lock, and holds it until the result is dropped.
    pub fn lock(&self, path: &Path) -> std::io::Result<fs::File> {
        self.make()?;
        let file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(file)
    }

    /// Creates the folder, accessible only to its owner.
    pub fn make(&self) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))
    }

    /// Returns the page that redirects a browser to a login link, so that the link does not appear in process
    /// arguments.
    pub fn open(&self) -> PathBuf {
        self.0.join("open.html")
    }

    /// Atomically writes a file that only its owner can read.
    pub fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        self.make()?;
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let _ = fs::remove_file(&beside);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&beside, path)
    }
}

/// The owner's token. It signs links and sessions.
pub struct Token(String);

impl Token {
    /// Reads the token of this home, or creates it. Replaces a token that others can read, because it may be known.
    pub fn read_or_make(files: &Files) -> std::io::Result<Self> {
        if let Some(token) = Self::read(files)? {
            return Ok(token);
        }
        files.write(&files.token(), &format!("{}\n", random(TOKEN_BYTES)?))?;
        Self::read(files)?.ok_or_else(|| std::io::Error::other("the token was replaced while it was written"))
    }

    fn read(files: &Files) -> std::io::Result<Option<Self>> {
        let path = files.token();
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = if about.is_file() && about.permissions().mode().trailing_zeros() >= 6 {
            fs::read_to_string(&path)?.trim().to_owned()
        } else {
            String::new()
        };
        let whole = text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        Ok(whole.then_some(Self(text)))
    }

    /// Returns whether this token was given. Compares signatures, so that the comparison takes constant time.
    pub fn is(&self, given: &str) -> bool {
        let given = Self(given.trim().to_owned());
        self.verify("token", "same", &given.sign("token", "same"))
    }

    /// Creates the code of a login link.
    pub fn link_code(&self, now: Timestamp) -> std::io::Result<String> {
        self.ticket("link", now)
    }

    fn ticket(&self, purpose: &str, moment: Timestamp) -> std::io::Result<String> {
        let body = format!("{}.{}", moment.0, random(NONCE_BYTES)?);
        let signature = self.sign(purpose, &body);
        Ok(format!("{body}.{signature}"))
    }

    /// Returns the creation time of a ticket, if it was signed with this token for this purpose.
    fn read_ticket(&self, purpose: &str, ticket: &str) -> Option<Timestamp> {
        let (body, signature) = ticket.rsplit_once('.')?;
        let (moment, _) = body.split_once('.')?;
        self.verify(purpose, body, signature).then_some(())?;
        moment.parse().ok().map(Timestamp)
    }

    fn mac(&self, purpose: &str, body: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("HMAC takes keys of every length");
        mac.update(purpose.as_bytes());
        mac.update(b"\0");
        mac.update(body.as_bytes());
        mac
    }

    fn sign(&self, purpose: &str, body: &str) -> String {
        hex(&self.mac(purpose, body).finalize().into_bytes())
    }

    fn verify(&self, purpose: &str, body: &str, signature: &str) -> bool {
        unhex(signature).is_some_and(|signature| self.mac(purpose, body).verify_slice(&signature).is_ok())
    }
}

/// Decides whether to serve an HTTP request.
pub struct Guard {
    token: Token,
    tokens: Tokens,
    address: SocketAddr,
    exposure: Exposure,
    /// Name of the user the server runs as. Used for a caller with the owner's token.
    owner: String,
    started: Timestamp,
    used: Mutex<BTreeSet<String>>,
}

/// The caller of an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Name of the token, or of the owner.
    pub name: String,
    /// Role of the caller.
    pub role: Role,
}

/// Why an HTTP request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `Host` is not a name of this server: the name of another site resolves to this address.
    Host,
    /// Another page sent it.
    Origin,
}

impl Guard {
    /// Creates a guard for the server at this address, started now.
    pub fn new(
        files: &Files,
        token: Token,
        address: SocketAddr,
        exposure: Exposure,
        owner: &str,
        started: Timestamp,
    ) -> Self {
        let used = Mutex::new(BTreeSet::new());
        Self { token, tokens: Tokens::new(files), address, exposure, owner: owner.to_owned(), started, used }
    }

    /// Returns the accepted values of `Host`.
    fn hosts(&self) -> Vec<String> {
        let port = self.address.port();
        match self.exposure.origin() {
            Some(origin) => vec![origin.host().to_owned()],
            None => {
                vec![self.address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}")]
            }
        }
    }

    /// Rejects HTTP requests that a foreign page could have sent.
    pub fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let hosts = self.hosts();
        let mut given = headers.get_all(header::HOST).iter();
        let host = match (given.next().and_then(|host| host.to_str().ok()), given.next()) {
            (Some(host), None) if hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) => host,
            _ => return Err(Refusal::Host),
        };
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
        let own = self.exposure.origin().map_or_else(|| format!("http://{host}"), ToString::to_string);
        let foreign = text("origin").is_some_and(|origin| origin != own);
        let reads = method == Method::GET || method == Method::HEAD;
        let navigates = reads && text("sec-fetch-mode") == Some("navigate");
        let from_elsewhere =
            text("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") && !navigates;
        // Every browser sends the origin of a POST. A client without one is not a browser and sends a token, which no
        // page of another site can make a browser send.
        let unnamed = !reads && text("origin").is_none() && !headers.contains_key(header::AUTHORIZATION);
        if foreign || from_elsewhere || unnamed { Err(Refusal::Origin) } else { Ok(()) }
    }

    /// Returns the name of the cookie. It includes the port, because browsers send the cookies of a host to all its
    /// ports.
    fn cookie(&self) -> String {
        format!("acquit-{}", self.address.port())
    }

    /// Returns the caller by the token in `Authorization`, or by the cookie if that header is missing.
    pub fn caller(&self, headers: &HeaderMap, now: Timestamp) -> Option<Caller> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (Some(value), None) => {
                let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then_some(())?;
                self.by_token(token.trim())
            }
            (Some(_), Some(_)) => None,
            (None, _) => self.by_cookie(headers, now),
        }
    }

    /// Returns the caller with this token. The owner's token works only on loopback, where no one else can listen.
    pub fn by_token(&self, given: &str) -> Option<Caller> {
        if self.exposure == Exposure::Loopback && self.token.is(given) {
            return Some(self.owner());
        }
        self.tokens.find(given).map(|Named { name, role, .. }| Caller { name, role })
    }

    /// Returns the user the server runs as.
    pub fn owner(&self) -> Caller {
        Caller { name: self.owner.clone(), role: Role::Admin }
    }

    /// Returns the named tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    fn by_cookie(&self, headers: &HeaderMap, now: Timestamp) -> Option<Caller> {
        let name = self.cookie();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let ours = cookies.flat_map(|line| line.split(';')).filter_map(|pair| {
            pair.trim().split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value)
        });
        let fresh = |purpose: &str, ticket: &str| {
            self.token.read_ticket(purpose, ticket).is_some_and(|made| now.since(made) < SESSION_LIFE)
        };
        ours.into_iter().find_map(|value| match value.split_once('!') {
            None => fresh("session", value).then(|| self.owner()),
            Some((name, ticket)) => {
                // The session is bound to the token: a new token with the same name does not revive it.
                let token = self.tokens.current().into_iter().find(|token| token.name == name)?;
                fresh(&purpose(&token), ticket).then_some(Caller { name: token.name, role: token.role })
            }
        })
    }

    /// Redeems the code of a login link. Returns whether it is valid.
    pub fn redeem(&self, code: &str, now: Timestamp) -> bool {
        let Some(made) = self.token.read_ticket("link", code) else { return false };
        let fresh = made >= self.started && now.since(made) < LINK_LIFE;
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        fresh && used.insert(code.to_owned())
    }

    /// Returns the cookie that logs a browser in.
    pub fn session(&self, caller: &Caller, now: Timestamp) -> std::io::Result<String> {
        let named = self.tokens.current().into_iter().find(|token| token.name == caller.name);
        let ticket = match named.filter(|_| *caller != self.owner()) {
            Some(token) => format!("{}!{}", token.name, self.token.ticket(&purpose(&token), now)?),
            None => self.token.ticket("session", now)?,
        };
        let seconds = SESSION_LIFE.as_secs();
        let secure = if self.exposure == Exposure::Loopback { "" } else { "; Secure" };
        Ok(format!(
            "{}={ticket}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
            self.cookie()
        ))
    }

    /// Returns the cookie that logs a browser out.
    pub fn no_session(&self) -> String {
        format!("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", self.cookie())
    }
}

/// Returns the purpose that the session of a named token is signed for.
fn purpose(token: &Named) -> String {
    format!("session/{}/{}", token.name, token.hash)
}

pub(crate) fn random(bytes: usize) -> std::io::Result<String> {
    let mut buffer = vec![0; bytes];
    fs::File::open("/dev/urandom")?.read_exact(&mut buffer)?;
    Ok(hex(&buffer))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn guard() -> (tempfile::TempDir, Guard) {
        let home = tempfile::tempdir().unwrap();
        let token = Token::read_or_make(&Files::below(home.path())).unwrap();
        let guard = at(home.path(), token, NOW);
        (home, guard)
    }

    fn at(home: &Path, token: Token, now: Timestamp) -> Guard {
        let address = "127.0.0.1:4664".parse().unwrap();
        Guard::new(&Files::below(home), token, address, Exposure::Loopback, "me", now)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_token_is_kept_and_only_its_owner_reads_it() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::below(home.path());
        let first = Token::read_or_make(&files).unwrap().0;
        assert_eq!(Token::read_or_make(&files).unwrap().0, first);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.token()), mode(&home.path().join("web"))), (0o600, 0o700));
        // A token that others could read may be known to them.
        fs::set_permissions(files.token(), fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(Token::read_or_make(&files).unwrap().0, first);
        fs::write(files.token(), "short").unwrap();
        assert_eq!(Token::read_or_make(&files).unwrap().0.len(), 2 * TOKEN_BYTES);
    }

    #[test]
    fn a_link_works_once_for_a_while_and_not_at_a_later_server() {
        let (home, guard) = guard();
        let code = guard.token.link_code(NOW).unwrap();
        assert!(guard.redeem(&code, NOW));
        assert!(!guard.redeem(&code, NOW));
        let late = guard.token.link_code(NOW).unwrap();
        assert!(!guard.redeem(&late, NOW.plus(LINK_LIFE)));
        let again = guard.token.link_code(NOW).unwrap();
        let token = Token::read_or_make(&Files::below(home.path())).unwrap();
        let restarted = at(home.path(), token, NOW.plus(Duration::from_secs(1)));
        assert!(!restarted.redeem(&again, NOW.plus(Duration::from_secs(2))));
        let session = guard.session(&guard.owner(), NOW).unwrap();
        let cookie = session.split(';').next().unwrap();
        // A session is not a link, and a link is not a session.
        assert!(!guard.redeem(cookie.split_once('=').unwrap().1, NOW));
        assert!(guard.caller(&headers(&[("cookie", &format!("acquit-4664={again}"))]), NOW).is_none());
    }

    #[test]
    fn a_session_outlives_the_server_and_no_letter_of_it_can_be_changed() {
        let (home, guard) = guard();
        let session = guard.session(&guard.owner(), NOW).unwrap();
        let cookie = session.split(';').next().unwrap().to_owned();
        let token = Token::read_or_make(&Files::below(home.path())).unwrap();
        let restarted = at(home.path(), token, NOW.plus(Duration::from_secs(9)));
        let several = headers(&[("cookie", &format!("a=b; {cookie}"))]);
        assert!(restarted.caller(&several, NOW).is_some());
        assert!(restarted.caller(&headers(&[("cookie", &cookie)]), NOW.plus(SESSION_LIFE)).is_none());
        for at in "acquit-4664=".len()..cookie.len() {
            let mut forged = cookie.clone().into_bytes();
            forged[at] = if forged[at] == b'1' { b'2' } else { b'1' };
            let forged = String::from_utf8(forged).unwrap();
            assert!(restarted.caller(&headers(&[("cookie", &forged)]), NOW).is_none(), "{forged}");
        }
        let (_home, other) = self::guard();
        assert!(other.caller(&headers(&[("cookie", &cookie)]), NOW).is_none());
        assert!(other.by_token(&guard.token.0).is_none());
        assert_eq!(guard.by_token(&format!(" {}\n", guard.token.0)), Some(guard.owner()));
    }

    #[test]
    fn only_pages_of_this_server_may_ask() {
        let (_home, guard) = guard();
        let admit = |method: Method, pairs: &[(&'static str, &str)]| guard.admit(&method, &headers(pairs));
        let own = ("host", "127.0.0.1:4664");
        let same = ("origin", "http://127.0.0.1:4664");
        assert_eq!(admit(Method::GET, &[own]), Ok(()));
        assert_eq!(admit(Method::GET, &[("host", "localhost:4664")]), Ok(()));
        assert_eq!(admit(Method::POST, &[own, same]), Ok(()));
        for host in ["evil.example", "evil.example:4664", "127.0.0.1", "127.0.0.1:80", ""] {
            assert_eq!(admit(Method::GET, &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(admit(Method::GET, &[]), Err(Refusal::Host));
        for origin in ["http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:4664", "null"] {
            assert_eq!(admit(Method::POST, &[own, ("origin", origin)]), Err(Refusal::Origin), "{origin}");
            assert_eq!(admit(Method::GET, &[own, ("origin", origin)]), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(admit(Method::POST, &[own]), Err(Refusal::Origin));
        let elsewhere = ("sec-fetch-site", "cross-site");
        assert_eq!(admit(Method::POST, &[own, same, elsewhere]), Err(Refusal::Origin));
        assert_eq!(admit(Method::GET, &[own, elsewhere]), Err(Refusal::Origin));
        assert_eq!(admit(Method::GET, &[own, elsewhere, ("sec-fetch-mode", "navigate")]), Ok(()));
    }

    #[test]
    fn a_named_token_gives_its_role_and_its_sessions_end_with_it() {
        let (home, guard) = guard();
        let tokens = Tokens::new(&Files::below(home.path()));
        let bearer = |token: &str| headers(&[("authorization", &format!("Bearer {token}"))]);
        let token = tokens.add("eve", Role::Viewer, NOW).unwrap();
        let eve = Caller { name: "eve".to_owned(), role: Role::Viewer };
        assert_eq!(guard.caller(&bearer(&token), NOW), Some(eve.clone()));
        assert_eq!(guard.caller(&bearer(&guard.token.0), NOW), Some(guard.owner()));
        for bad in ["", "x", "acquit_", &token[1..], &format!("{token}0")] {
            assert_eq!(guard.caller(&bearer(bad), NOW), None, "{bad}");
        }
        assert_eq!(guard.caller(&headers(&[("authorization", &format!("Basic {token}"))]), NOW), None);
        let session = guard.session(&eve, NOW).unwrap();
        let cookie = session.split(';').next().unwrap().to_owned();
        assert_eq!(guard.caller(&headers(&[("cookie", &cookie)]), NOW), Some(eve.clone()));
        // A cookie does not make up for a wrong token, and a name cannot be put before another caller's ticket.
        let both = headers(&[("cookie", &cookie), ("authorization", "Bearer x")]);
        assert_eq!(guard.caller(&both, NOW), None);
        tokens.add("root", Role::Admin, NOW).unwrap();
        for forged in [cookie.replace("eve!", "root!"), cookie.replace("eve!", "")] {
            assert_eq!(guard.caller(&headers(&[("cookie", &forged)]), NOW), None, "{forged}");
        }
        tokens.remove("eve").unwrap();
        tokens.add("eve", Role::Admin, NOW).unwrap();
        assert_eq!(guard.caller(&headers(&[("cookie", &cookie)]), NOW), None);
        assert_eq!(guard.caller(&bearer(&token), NOW), None);
    }

    #[test]
    fn behind_a_proxy_only_its_own_name_counts_and_the_owners_token_does_not() {
        let (home, _) = guard();
        let files = Files::below(home.path());
        let token = Token::read_or_make(&files).unwrap();
        let text = token.0.clone();
        let exposure = Exposure::Proxy { origin: "https://a.example".parse().unwrap() };
        let guard = Guard::new(&files, token, "127.0.0.1:4664".parse().unwrap(), exposure, "me", NOW);
        let admit = |pairs: &[(&'static str, &str)]| guard.admit(&Method::POST, &headers(pairs));
        let origin = ("origin", "https://a.example");
        assert_eq!(admit(&[("host", "a.example"), origin]), Ok(()));
        assert_eq!(admit(&[("host", "127.0.0.1:4664"), origin]), Err(Refusal::Host));
        assert_eq!(admit(&[("host", "a.example"), ("origin", "http://a.example")]), Err(Refusal::Origin));
        assert_eq!(guard.by_token(&text), None);
        assert!(guard.session(&guard.owner(), NOW).unwrap().ends_with("; Secure"));
    }
}
