//! `--live`: the page on this machine's own address while the map is fitted.
//!
//! A thread accepts connections and gives each a thread of its own; the fit only leaves its latest map in a place they look
//! at. So whoever watches, however slowly, never holds up the fit. Requests must name this machine and carry the token.

mod http;
mod state;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lowland::Embedding;
use lowland::run::Step;
use lowland_view::page::{base64, quantize};
use serde_json::{Value, json};

use crate::failure::Failure;
use state::Shared;

/// Maps are sent no more often than this,
const PAUSE: Duration = Duration::from_millis(200);
/// and take at most this part of the time.
const SHARE: u32 = 20;
/// Points of the curve that are sent.
const CURVE: usize = 400;
/// How long the last words may take to reach those who watch.
const FAREWELL: Duration = Duration::from_secs(3);

/// A page that follows a fit.
pub struct Live {
    shared: Arc<Shared>,
    address: String,
    server: Option<JoinHandle<()>>,
    method: String,
    rows: usize,
    due: Instant,
    curve: Vec<(usize, f64)>,
}

impl Live {
    /// Serves `page`, which shows a map of `rows` points, until dropped; whoever presses its button sets `stop`.
    pub fn start(page: Vec<u8>, rows: usize, method: &str, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| anyhow::anyhow!("--live: cannot listen on 127.0.0.1: {error}"))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::new(page, stop, port));
        let address = format!("http://127.0.0.1:{port}/{}/", shared.token());
        let serving = Arc::clone(&shared);
        let server = std::thread::Builder::new().name("live".into()).spawn(move || http::serve(&listener, &serving))?;
        let (method, due) = (method.into(), Instant::now());
        Ok(Self { shared, address, server: Some(server), method, rows, due, curve: Vec::new() })
    }

    /// What to open in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Says what is being done.
    pub fn stage(&self, name: &str) {
        self.shared.put_stage(json!(name).to_string());
    }

    /// Takes note of an iteration, and shows its map if the last was long enough ago and somebody looks.
    pub fn step(&mut self, step: &Step, done: f64, embedding: &dyn Fn() -> Embedding) {
        self.curve.push((step.iteration, step.objective));
        if Instant::now() < self.due || !self.shared.watched() {
            return;
        }
        let started = Instant::now();
        self.show(&embedding(), step.iteration, done);
        self.due = Instant::now() + PAUSE.max(started.elapsed() * SHARE);
    }

    fn show(&self, map: &Embedding, iteration: usize, done: f64) {
        let points = quantize(map.points());
        // A fit on landmarks has a map of fewer points until its end: its curve is shown without it.
        let whole = map.rows() == self.rows;
        let bytes: Vec<u8> = points.values.iter().filter(|_| whole).flat_map(|value| value.to_le_bytes()).collect();
        let every = self.curve.len().div_ceil(CURVE).max(1);
        // The last iterations are always there: counted from the end.
        let curve: Vec<Value> =
            self.curve.iter().rev().step_by(every).rev().map(|(i, value)| json!([i, value])).collect();
        let frame = json!({
            "name": self.method,
            "iteration": iteration,
            "done": done,
            "dim": points.dim,
            "dimOf": map.dim(),
            "low": points.low,
            "high": points.high,
            "points": base64(&bytes),
            "trace": curve,
        });
        self.shared.put_map(frame.to_string());
    }

    /// Shows the final map, also to those who come only now.
    pub fn last(&self, map: &Embedding) {
        self.show(map, self.curve.last().map_or(0, |last| last.0), 1.0);
    }

    /// Says the last words to all who watch, waits for them to be heard, though not for long, and closes.
    pub fn finish(mut self, words: &str) {
        self.close(words);
    }

    fn close(&mut self, words: &str) {
        let Some(server) = self.server.take() else { return };
        self.shared.put_end(json!(words).to_string());
        self.shared.wait_for_streams(FAREWELL);
        self.shared.closing.store(true, Ordering::Release);
        // The server waits for a connection; this one tells it to look up.
        if TcpStream::connect_timeout(&self.shared.socket(), FAREWELL).is_ok() {
            let _ = server.join();
        }
    }
}

impl Drop for Live {
    /// A run that failed says so to those who watch.
    fn drop(&mut self) {
        self.close("The run ended without a map.");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn whoever_comes_after_the_last_step_sees_the_map() {
        let live = Live::start(b"page".to_vec(), 2, "pca", Arc::default()).ok().unwrap();
        live.last(&Embedding::new(vec![0.0, 1.0, 2.0, 3.0], 2).unwrap());
        let mut stream = TcpStream::connect(live.shared.socket()).unwrap();
        let (token, address) = (live.shared.token(), live.shared.socket());
        write!(stream, "GET /{token}/events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut heard = String::new();
        while !heard.contains("\n\n") || !heard.contains("event: map") {
            let mut some = [0; 512];
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "{heard}");
            heard.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        assert!(heard.contains("\"iteration\":0"), "{heard}");
        live.finish("Done");
    }
}
