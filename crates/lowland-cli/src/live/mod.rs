//! `--live`: a page on this machine's loopback address that shows the map during the fit.
//!
//! A thread accepts connections and handles each on a thread of its own; the fit only publishes its latest map in shared
//! state. Clients, however slow, never delay the fit. Requests must address this machine and carry the token.

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
use state::LiveState;

/// Shortest time between two maps.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two maps relative to the time that one takes to encode.
const INTERVAL_FACTOR: u32 = 20;
/// Largest number of points of the objective's curve.
const MAX_CURVE_POINTS: usize = 400;
/// How long to wait for clients to receive the final message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the answer to a request to a page whose run has ended. `{port}` and `{token}` in the request stand for those of the
/// page: without them no request gets further than the check of its origin.
pub fn answer_request(request: &str) -> std::io::Result<Vec<u8>> {
    let state = LiveState::new(b"page".to_vec(), Arc::default(), 8080);
    state.publish_end(json!("Done").to_string());
    let mut answer = Vec::new();
    let request = request.replace("{port}", "8080").replace("{token}", state.token());
    http::answer(&request, &mut answer, &state)?;
    Ok(answer)
}

/// A page that shows the map during a fit.
pub struct LivePage {
    state: Arc<LiveState>,
    address: String,
    server: Option<JoinHandle<()>>,
    method: String,
    rows: usize,
    next_map: Instant,
    curve: Vec<(usize, f64)>,
}

impl LivePage {
    /// Serves `page`, which shows a map of `rows` points, until dropped. Its button sets `stop`.
    pub fn start(page: Vec<u8>, rows: usize, method: &str, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Failure::runtime(format!("--live: cannot listen on 127.0.0.1: {error}")))?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(LiveState::new(page, stop, port));
        let address = format!("http://127.0.0.1:{port}/{}/", state.token());
        let server_state = Arc::clone(&state);
        let server =
            std::thread::Builder::new().name("live".into()).spawn(move || http::serve(&listener, &server_state))?;
        let (method, next_map) = (method.into(), Instant::now());
        Ok(Self { state, address, server: Some(server), method, rows, next_map, curve: Vec::new() })
    }

    /// The address to open in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Shows the name of the current stage.
    pub fn show_stage(&self, name: &str) {
        self.state.publish_stage(json!(name).to_string());
    }

    /// Records an iteration, and shows its map if the last one is old enough and there are clients. `done` is the share of the
    /// run that is done.
    pub fn show_step(&mut self, step: &Step, done: f64, embedding: &dyn Fn() -> Embedding) {
        self.curve.push((step.iteration, step.objective));
        if Instant::now() < self.next_map || !self.state.has_streams() {
            return;
        }
        let started = Instant::now();
        self.show_map(&embedding(), step.iteration, done);
        self.next_map = Instant::now() + MIN_INTERVAL.max(started.elapsed() * INTERVAL_FACTOR);
    }

    fn show_map(&self, map: &Embedding, iteration: usize, done: f64) {
        let points = quantize(map.points());
        // A fit of landmarks has fewer points until its end: the curve is shown without the map.
        let is_complete = map.rows() == self.rows;
        let bytes: Vec<u8> =
            points.values.iter().filter(|_| is_complete).flat_map(|value| value.to_le_bytes()).collect();
        let stride = self.curve.len().div_ceil(MAX_CURVE_POINTS).max(1);
        // Counted from the end, so that the last iteration is always included.
        let curve: Vec<Value> =
            self.curve.iter().rev().step_by(stride).rev().map(|(i, value)| json!([i, value])).collect();
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
        self.state.publish_map(frame.to_string());
    }

    /// Shows the final map, also to clients that connect later.
    pub fn show_final_map(&self, map: &Embedding) {
        self.show_map(map, self.curve.last().map_or(0, |last| last.0), 1.0);
    }

    /// Sends a final message to all clients, waits a limited time for them to receive it, and closes.
    pub fn finish(mut self, message: &str) {
        self.close(message);
    }

    fn close(&mut self, message: &str) {
        let Some(server) = self.server.take() else { return };
        self.state.publish_end(json!(message).to_string());
        self.state.wait_for_streams(CLOSE_TIMEOUT);
        self.state.closing.store(true, Ordering::Release);
        // The server blocks until there is a connection; this one makes it notice that it should close.
        if TcpStream::connect_timeout(&self.state.socket(), CLOSE_TIMEOUT).is_ok() {
            let _ = server.join();
        }
    }
}

impl Drop for LivePage {
    /// Tells clients that the run failed.
    fn drop(&mut self) {
        self.close("The run ended without a map.");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn clients_that_connect_after_the_last_step_receive_the_map() {
        let live = LivePage::start(b"page".to_vec(), 2, "pca", Arc::default()).ok().unwrap();
        live.show_final_map(&Embedding::new(vec![0.0, 1.0, 2.0, 3.0], 2).unwrap());
        let mut stream = TcpStream::connect(live.state.socket()).unwrap();
        let (token, address) = (live.state.token(), live.state.socket());
        write!(stream, "GET /{token}/events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut received = String::new();
        while !received.contains("\n\n") || !received.contains("event: map") {
            let mut buffer = [0; 512];
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "{received}");
            received.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        assert!(received.contains("\"iteration\":0"), "{received}");
        live.finish("Done");
    }
}
