//! `--live`: a page on this machine alone, that can stop the run and not hold it up.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use support::program::Program;

/// Iterates until it is stopped.
const ENDLESS: &str = "embed digits --method tsne --max-iter 1000000 --tol 0 --live --json --out map.csv";

/// More bytes than the system keeps for a connection whose other end does not read.
const FULL: usize = 5 << 20;

struct Run {
    program: Program,
    /// What it says, taken at once: it must never wait for us to listen.
    lines: Receiver<String>,
    host: String,
    path: String,
}

impl Run {
    fn start(folder: &Path, arguments: &str) -> Self {
        let program =
            Program::start_with(folder, arguments, |command| command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let (said, lines) = channel();
        let mut output = program.lines();
        std::thread::spawn(move || output.all(|line| said.send(line).is_ok()));
        let line = lines.iter().find(|line: &String| line.contains("\"live\"")).expect("an address");
        let address = line.split('"').find(|word| word.starts_with("http://")).unwrap().to_string();
        let (host, path) = address["http://".len()..].split_once('/').unwrap();
        Self { program, lines, host: host.into(), path: format!("/{path}") }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The whole answer to a request; as far as it came, when the connection was closed on us.
    fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let mut stream = self.connect();
        let _ = write!(stream, "{method} {path} HTTP/1.1\r\n{headers}\r\n");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn status(&self, method: &str, path: &str, headers: &str) -> String {
        self.ask(method, path, headers).split(' ').nth(1).unwrap_or("nothing").to_string()
    }

    /// Presses the button; gives the exit code and what was said from then on.
    fn stop(self) -> (i32, Vec<String>) {
        let host = format!("Host: {}\r\n", self.host);
        assert_eq!(self.status("POST", &format!("{}stop", self.path), &host), "204");
        let rest = self.lines.iter().collect();
        (self.program.wait().code().unwrap(), rest)
    }

    /// Until there is a map to keep.
    fn wait_for_a_step(&self) {
        assert!(self.lines.iter().any(|line| line.contains("\"step\"")));
    }
}

#[test]
fn the_button_stops_the_run_and_keeps_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), ENDLESS);
    let host = format!("Host: {}\r\n", run.host);
    let page = run.ask("GET", &run.path, &host);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("connect-src 'self'") && page.contains("no-store"));
    run.wait_for_a_step();
    let mut events = BufReader::new(run.connect());
    write!(events.get_mut(), "GET {}events HTTP/1.1\r\n{host}\r\n", run.path).unwrap();
    let frame = events.by_ref().lines().map(Result::unwrap).skip_while(|line| line != "event: map").nth(1).unwrap();
    for part in ["\"iteration\":", "\"dim\":2", "\"points\":\"", "\"trace\":[["] {
        assert!(frame.contains(part), "{part} in {}", &frame[..200]);
    }
    let (code, rest) = run.stop();
    assert_eq!(code, 130);
    assert!(rest.iter().any(|line| line.contains("the map as it was then is kept")), "{rest:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("map.csv")).unwrap().lines().count(), 1798);
    let last: Vec<String> = events.lines().map(Result::unwrap).collect();
    let end = last.iter().position(|line| line == "event: end").expect("last words");
    assert!(last[end + 1].contains("Stopped; the map is kept"), "{}", last[end + 1]);
}

#[test]
fn strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), ENDLESS);
    assert!(run.host.starts_with("127.0.0.1:"));
    let token = run.path.trim_matches('/').to_string();
    assert_eq!(token.len(), 32);
    let host = format!("Host: {}\r\n", run.host);
    let wrong = format!("/{}/", "0".repeat(32));
    for (method, path, headers, status) in [
        ("GET", "/", host.clone(), "404"),
        ("GET", wrong.as_str(), host.clone(), "404"),
        ("POST", &format!("{wrong}stop"), host.clone(), "404"),
        ("GET", &format!("/{token}x/"), host.clone(), "404"),
        ("GET", &format!("{}nothing", run.path), host.clone(), "404"),
        ("GET", &format!("{}stop", run.path), host.clone(), "405"),
        // A page elsewhere whose name was made to point here, and one that sends a form.
        ("GET", &run.path, "Host: evil.example\r\n".into(), "403"),
        ("GET", &run.path, String::new(), "403"),
        ("GET", &run.path, format!("{host}Host: evil.example\r\n"), "403"),
        ("POST", &format!("{}stop", run.path), format!("{host}Origin: http://evil.example\r\n"), "403"),
        // The last header would pass.
        (
            "POST",
            &format!("{}stop", run.path),
            format!("{host}Origin: http://evil.example\r\nOrigin: http://{}\r\n", run.host),
            "403",
        ),
    ] {
        assert_eq!(run.status(method, path, &headers), status, "{method} {path:.60} {headers:?}");
    }
    // What has no end in sight is cut off, with an answer or without.
    let long = run.status("GET", &format!("/{}", "x".repeat(1 << 20)), &host);
    assert!(["400", "nothing"].contains(&long.as_str()), "{long}");
    run.wait_for_a_step();
    assert!(run.program.is_running(), "nobody has stopped the run");
    assert_eq!(run.stop().0, 130);
}

#[test]
fn connections_without_a_request_do_not_block_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), ENDLESS);
    let silent: Vec<TcpStream> = (0..100).map(|_| run.connect()).collect();
    let start = std::time::Instant::now();
    let host = format!("Host: {}\r\n", run.host);
    assert_eq!(run.status("GET", &run.path, &host), "200");
    // They are closed after five seconds.
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    drop(silent);
    run.wait_for_a_step();
    assert_eq!(run.stop().0, 130);
}

#[cfg(unix)]
#[test]
fn one_ctrl_c_after_the_button_still_keeps_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), ENDLESS);
    run.wait_for_a_step();
    let host = format!("Host: {}\r\n", run.host);
    assert_eq!(run.status("POST", &format!("{}stop", run.path), &host), "204");
    run.program.interrupt();
    run.lines.iter().for_each(drop);
    assert_eq!(run.program.wait().code(), Some(130));
    assert_eq!(std::fs::read_to_string(folder.path().join("map.csv")).unwrap().lines().count(), 1798);
}

#[test]
fn the_last_words_name_only_files_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let impossible = "x".repeat(300);
    let run = Run::start(folder.path(), &format!("{ENDLESS} --out {impossible}.png"));
    run.wait_for_a_step();
    let mut events = BufReader::new(run.connect());
    write!(events.get_mut(), "GET {}events HTTP/1.1\r\nHost: {}\r\n\r\n", run.path, run.host).unwrap();
    // Whoever is not there yet when the run ends hears nothing.
    assert!(events.by_ref().lines().map(Result::unwrap).any(|line| line == "event: map"));
    assert_eq!(run.stop().0, 1);
    let last: Vec<String> = events.lines().map(Result::unwrap).collect();
    let end = last.iter().position(|line| line == "event: end").expect("last words");
    let words = &last[end + 1];
    assert!(words.contains("not every file could be written; wrote map.csv"), "{words}");
    assert!(!words.contains(&impossible));
}

#[test]
fn slow_and_silent_clients_hold_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    // So many points that a frame is large, and few neighbors, so that the first comes soon.
    let arguments = ENDLESS.replace("digits", "swiss-roll --n-points 30000 --perplexity 3 --init pca");
    let run = Run::start(folder.path(), &arguments);
    let host = format!("Host: {}\r\n", run.host);
    // Some ask for the stream and never read it; some say nothing.
    let mut deaf: Vec<TcpStream> = (0..3).map(|_| run.connect()).collect();
    for stream in &mut deaf {
        write!(stream, "GET {}events HTTP/1.1\r\n{host}\r\n", run.path).unwrap();
    }
    let silent: Vec<TcpStream> = (0..20).map(|_| run.connect()).collect();
    // Clients that read are served meanwhile, with enough frames to fill the buffers of those that do not.
    let mut reader = BufReader::new(run.connect());
    write!(reader.get_mut(), "GET {}events HTTP/1.1\r\n{host}\r\n", run.path).unwrap();
    let mut taken = 0;
    while taken < FULL {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the run goes on");
        taken += line.len();
    }
    assert_eq!(run.status("GET", &run.path, &host), "200");
    drop(reader);
    let (code, _) = run.stop();
    assert_eq!(code, 130);
    assert_eq!(std::fs::read_to_string(folder.path().join("map.csv")).unwrap().lines().count(), 30_001);
    // They were held up themselves, or this was no test: the last words never reached them.
    for mut stream in deaf {
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.len() < FULL && !String::from_utf8_lossy(&heard).contains("event: end"));
    }
    drop(silent);
}
