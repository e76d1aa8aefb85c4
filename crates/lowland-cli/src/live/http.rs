//! Just enough of HTTP: one request a connection, three addresses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::state::Shared;

/// Longer requests are none of ours.
const MOST_BYTES: usize = 8 << 10;
/// A request that is not whole by then is given up, and so is a reader who takes nothing for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// A silent stream says so now and then, which is how a closed one is noticed.
const HEARTBEAT: Duration = Duration::from_secs(2);
const MOST_CONNECTIONS: usize = 32;
/// Where no connection can be accepted, the next is tried after this.
const PAUSE: Duration = Duration::from_millis(50);

/// Headers of every answer: nothing is kept, guessed, framed, or told to other pages.
const COMMON: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Content-Security-Policy: frame-ancestors 'none'\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n";

/// Accepts until it is time to close.
pub fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.closing.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = connection else {
            // Out of files, most likely: they come back when others close theirs.
            std::thread::sleep(PAUSE);
            continue;
        };
        let Some(connected) = Connected::within_limits(shared) else { continue };
        // Whoever goes away is no concern of ours.
        let handler = move || drop(answer(stream, &connected.0));
        // Without a thread the handler is dropped, and with it the connection.
        let _ = std::thread::Builder::new().name("live client".into()).stack_size(256 << 10).spawn(handler);
    }
}

/// One of the connections there may be at a time; counted off when dropped, whatever happens.
struct Connected(Arc<Shared>);

impl Connected {
    fn within_limits(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.connections.fetch_add(1, Ordering::AcqRel);
        Some(Self(Arc::clone(shared))).filter(|_| before < MOST_CONNECTIONS)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a request asks for.
#[derive(Debug, PartialEq)]
struct Request<'a> {
    method: &'a str,
    path: &'a str,
    hosts: Vec<&'a str>,
    origin: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let mut request = Self { method, path, hosts: Vec::new(), origin: None };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            match name.to_ascii_lowercase().as_str() {
                "host" => request.hosts.push(value.trim()),
                "origin" => request.origin = Some(value.trim()),
                _ => {}
            }
        }
        Some(request)
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(head) = read_head(&mut stream)? else { return refuse(&mut stream, "400 Bad Request") };
    let Some(request) = Request::parse(&head) else { return refuse(&mut stream, "400 Bad Request") };
    let ours = matches!(request.hosts[..], [host] if shared.is_our_host(host));
    let from_us =
        request.origin.is_none_or(|origin| origin.strip_prefix("http://").is_some_and(|o| shared.is_our_host(o)));
    if !ours || !from_us {
        return refuse(&mut stream, "403 Forbidden");
    }
    let page = request.path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let Some((_, name)) = page.filter(|(token, _)| shared.is_our_token(token)) else {
        return refuse(&mut stream, "404 Not Found");
    };
    match (request.method, name) {
        ("GET", "") => respond(&mut stream, "200 OK", "text/html; charset=utf-8", shared.page()),
        ("GET", "events") => watch(&mut stream, shared),
        ("POST", "stop") => {
            shared.ask_to_stop();
            respond(&mut stream, "204 No Content", "text/plain", b"")
        }
        (_, "" | "events" | "stop") => refuse(&mut stream, "405 Method Not Allowed"),
        _ => refuse(&mut stream, "404 Not Found"),
    }
}

/// The request up to its empty line; `None` when it is too long, too slow, or not text.
fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MOST_BYTES {
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

fn refuse(stream: &mut TcpStream, status: &str) -> std::io::Result<()> {
    respond(stream, status, "text/plain", b"")
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{COMMON}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Sends what is new, always the latest: a slow reader misses maps, and holds up nobody.
fn watch(stream: &mut TcpStream, shared: &Shared) -> std::io::Result<()> {
    struct Watching<'a>(&'a Shared);
    impl Drop for Watching<'_> {
        fn drop(&mut self) {
            self.0.leave();
        }
    }
    shared.streams.fetch_add(1, Ordering::AcqRel);
    let _watching = Watching(shared);
    stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{COMMON}\r\n").as_bytes())?;
    let mut sent = super::state::Latest::default();
    loop {
        let latest = shared.wait(sent.version, HEARTBEAT);
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
    fn a_request_is_read_with_its_host_and_origin() {
        let head = "POST /t/stop HTTP/1.1\r\nHOST: localhost:8\r\nOrigin:http://evil\r\n\r\n";
        let request = Request::parse(head).unwrap();
        assert_eq!((request.method, request.path), ("POST", "/t/stop"));
        assert_eq!((request.hosts, request.origin), (vec!["localhost:8"], Some("http://evil")));
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        for head in
            ["", "GET", "GET / HTTP/2\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"]
        {
            assert_eq!(Request::parse(head), None, "{head:?}");
        }
    }
}
