//! State shared by the fit, the server and its connections.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The latest messages; `version` increases with each change.
#[derive(Default, Clone)]
pub struct LatestMessages {
    pub version: u64,
    pub stage: Option<Arc<String>>,
    pub map: Option<Arc<String>>,
    pub end: Option<Arc<String>>,
}

/// State shared by the fit, the server and its connections. The lock is held only to exchange pointers.
pub struct LiveState {
    page: Vec<u8>,
    token: String,
    port: u16,
    stop: Arc<AtomicBool>,
    latest: Mutex<LatestMessages>,
    changed: Condvar,
    /// All connections, and those that receive events.
    pub connections: AtomicUsize,
    pub streams: AtomicUsize,
    /// Connections whose request has not been received.
    pub waiting: WaitingConnections,
    pub closing: AtomicBool,
}

/// Connections whose request has not been received, oldest first.
#[derive(Default)]
pub struct WaitingConnections(Mutex<(u64, VecDeque<(u64, TcpStream)>)>);

impl WaitingConnections {
    fn lock(&self) -> MutexGuard<'_, (u64, VecDeque<(u64, TcpStream)>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection and returns its number.
    pub fn add(&self, stream: TcpStream) -> u64 {
        let mut waiting = self.lock();
        waiting.0 += 1;
        let id = waiting.0;
        waiting.1.push_back((id, stream));
        id
    }

    pub fn remove(&self, id: u64) {
        self.lock().1.retain(|(other, _)| *other != id);
    }

    /// Closes the oldest one; returns whether there was one.
    pub fn close_oldest(&self) -> bool {
        let oldest = self.lock().1.pop_front();
        oldest.is_some_and(|(_, stream)| stream.shutdown(Shutdown::Both).is_ok())
    }
}

impl LiveState {
    pub fn new(page: Vec<u8>, stop: Arc<AtomicBool>, port: u16) -> Self {
        let token = random_token();
        let (latest, changed) = (Mutex::default(), Condvar::new());
        let (connections, streams) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (waiting, closing) = (WaitingConnections::default(), AtomicBool::new(false));
        Self { page, token, port, stop, latest, changed, connections, streams, waiting, closing }
    }

    pub fn page(&self) -> &[u8] {
        &self.page
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn socket(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Whether a request addresses this machine. A foreign page whose name resolves to this machine sends its own name.
    pub fn is_own_host(&self, host: &str) -> bool {
        [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)].iter().any(|ours| ours == host)
    }

    /// Whether the token is valid, in constant time.
    pub fn is_valid_token(&self, token: &str) -> bool {
        let (ours, theirs) = (self.token.as_bytes(), token.as_bytes());
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether any client receives events.
    pub fn has_streams(&self) -> bool {
        self.streams.load(Ordering::Acquire) > 0
    }

    fn lock(&self) -> MutexGuard<'_, LatestMessages> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, change: impl FnOnce(&mut LatestMessages)) {
        let mut latest = self.lock();
        change(&mut latest);
        latest.version += 1;
        self.changed.notify_all();
    }

    pub fn publish_stage(&self, json: String) {
        self.publish(|latest| latest.stage = Some(Arc::new(json)));
    }

    pub fn publish_map(&self, json: String) {
        self.publish(|latest| latest.map = Some(Arc::new(json)));
    }

    pub fn publish_end(&self, json: String) {
        self.publish(|latest| latest.end = Some(Arc::new(json)));
    }

    /// Returns the latest messages once they have changed since `version`, or after a timeout.
    pub fn wait(&self, version: u64, timeout: Duration) -> LatestMessages {
        let unchanged = |latest: &mut LatestMessages| latest.version == version && latest.end.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, unchanged);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Counts off a stream that has ended.
    pub fn remove_stream(&self) {
        self.streams.fetch_sub(1, Ordering::AcqRel);
        let _latest = self.lock();
        self.changed.notify_all();
    }

    /// Waits until all streams have ended, or for a timeout.
    pub fn wait_for_streams(&self, timeout: Duration) {
        let has_streams = |_: &mut LatestMessages| self.has_streams();
        drop(self.changed.wait_timeout_while(self.lock(), timeout, has_streams));
    }
}

/// Returns 128 unpredictable bits from the standard library's keyed hash, whose key comes from the operating system.
fn random_token() -> String {
    let key = RandomState::new();
    format!("{:016x}{:016x}", key.hash_one(0u8), key.hash_one(1u8))
}
