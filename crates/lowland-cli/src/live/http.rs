//! A minimal HTTP server: one request per connection, three addresses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::state::{LatestMessages, LiveState};

/// Longest request.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// How long a client may take to send its request, or not read what it is sent.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between comments on an idle stream, by which a closed one is noticed.
const HEARTBEAT: Duration = Duration::from_secs(2);
const MAX_CONNECTIONS: usize = 32;
/// Time to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Headers of every response: no caching, no sniffing, no framing, no access from other pages.
const COMMON_HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Content-Security-Policy: frame-ancestors 'none'\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n";

/// Accepts connections until the page is closed.
pub fn serve(listener: &TcpListener, state: &Arc<LiveState>) {
    for connection in listener.incoming() {
        if state.closing.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = connection else {
            // Most likely out of file descriptors, which are freed when other connections close.
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let Some(slot) = ConnectionSlot::acquire(state) else { continue };
        let waiting = stream.try_clone().ok().map(|stream| state.waiting.add(stream));
        // Errors of a client that disconnects are ignored.
        let handler = move || drop(respond_to(stream, &slot.0, waiting));
        // If the thread cannot be started, the handler is dropped and the connection closed.
        let _ = std::thread::Builder::new().name("live client".into()).stack_size(256 << 10).spawn(handler);
    }
}

/// One of a limited number of connections; released when dropped.
struct ConnectionSlot(Arc<LiveState>);

impl ConnectionSlot {
    fn acquire(state: &Arc<LiveState>) -> Option<Self> {
        let before = state.connections.fetch_add(1, Ordering::AcqRel);
        // When there are too many, the one that has waited longest without a request is closed.
        Some(Self(Arc::clone(state))).filter(|_| before < MAX_CONNECTIONS || state.waiting.close_oldest())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A request.
#[derive(Debug, PartialEq)]
struct HttpRequest<'a> {
    method: &'a str,
    path: &'a str,
    hosts: Vec<&'a str>,
    origins: Vec<&'a str>,
}

impl<'a> HttpRequest<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let mut request = Self { method, path, hosts: Vec::new(), origins: Vec::new() };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            match name.to_ascii_lowercase().as_str() {
                "host" => request.hosts.push(value.trim()),
                "origin" => request.origins.push(value.trim()),
                _ => {}
            }
        }
        Some(request)
    }
}

fn respond_to(mut stream: TcpStream, state: &LiveState, waiting: Option<u64>) -> std::io::Result<()> {
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let head = read_head(&mut stream);
    if let Some(id) = waiting {
        state.waiting.remove(id);
    }
    let Some(head) = head? else { return respond_error(&mut stream, "400 Bad Request") };
    answer(&head, &mut stream, state)
}

/// Answers a request that has been read up to its empty line.
pub(super) fn answer(head: &str, stream: &mut impl Write, state: &LiveState) -> std::io::Result<()> {
    let Some(request) = HttpRequest::parse(head) else { return respond_error(stream, "400 Bad Request") };
    let is_own = matches!(request.hosts[..], [host] if state.is_own_host(host));
    let is_own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(|host| state.is_own_host(host));
    let same_origin = match request.origins[..] {
        [] => true,
        [origin] => is_own_origin(origin),
        _ => false,
    };
    if !is_own || !same_origin {
        return respond_error(stream, "403 Forbidden");
    }
    let page = request.path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let Some((_, name)) = page.filter(|(token, _)| state.is_valid_token(token)) else {
        return respond_error(stream, "404 Not Found");
    };
    match (request.method, name) {
        ("GET", "") => respond(stream, "200 OK", "text/html; charset=utf-8", state.page()),
        ("GET", "events") => stream_events(stream, state),
        ("POST", "stop") => {
            state.request_stop();
            respond(stream, "204 No Content", "text/plain", b"")
        }
        (_, "" | "events" | "stop") => respond_error(stream, "405 Method Not Allowed"),
        _ => respond_error(stream, "404 Not Found"),
    }
}

/// Reads a request up to its empty line; `None` if it is too long, too slow, or not text.
fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MAX_REQUEST_BYTES {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(String::from_utf8(head).ok())
}

fn respond_error(stream: &mut impl Write, status: &str) -> std::io::Result<()> {
    respond(stream, status, "text/plain", b"")
}

fn respond(stream: &mut impl Write, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{COMMON_HEADERS}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Sends new messages as events, always the latest: a slow client misses maps but delays nobody.
fn stream_events(stream: &mut impl Write, state: &LiveState) -> std::io::Result<()> {
    struct StreamGuard<'a>(&'a LiveState);
    impl Drop for StreamGuard<'_> {
        fn drop(&mut self) {
            self.0.remove_stream();
        }
    }
    state.streams.fetch_add(1, Ordering::AcqRel);
    let _guard = StreamGuard(state);
    stream
        .write_all(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{COMMON_HEADERS}\r\n").as_bytes())?;
    let mut sent = LatestMessages::default();
    loop {
        let latest = state.wait(sent.version, HEARTBEAT);
        let news =
            [("stage", &latest.stage, &sent.stage), ("map", &latest.map, &sent.map), ("end", &latest.end, &sent.end)];
        for (event, now, before) in news {
            if let Some(json) =
                now.as_ref().filter(|now| before.as_ref().is_none_or(|before| !Arc::ptr_eq(now, before)))
            {
                stream.write_all(format!("event: {event}\ndata: ").as_bytes())?;
                stream.write_all(json.as_bytes())?;
                stream.write_all(b"\n\n")?;
            }
        }
        if latest.end.is_some() {
            return stream.flush();
        }
        if latest.version == sent.version {
            stream.write_all(b":\n\n")?;
        }
        sent = latest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_with_host_and_origin() {
        let head = "POST /t/stop HTTP/1.1\r\nHOST: localhost:8\r\nOrigin:http://evil\r\n\r\n";
        let request = HttpRequest::parse(head).unwrap();
        assert_eq!((request.method, request.path), ("POST", "/t/stop"));
        assert_eq!((request.hosts, request.origins), (vec!["localhost:8"], vec!["http://evil"]));
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for head in
            ["", "GET", "GET / HTTP/2\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"]
        {
            assert_eq!(HttpRequest::parse(head), None, "{head:?}");
        }
    }
}
