//! What the fit leaves for those who watch.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The latest of everything; `version` rises with each change.
#[derive(Default, Clone)]
pub struct Latest {
    pub version: u64,
    pub stage: Option<Arc<String>>,
    pub map: Option<Arc<String>>,
    pub end: Option<Arc<String>>,
}

/// Shared by the fit, the server and its connections. The lock is held only to exchange pointers.
pub struct Shared {
    page: Vec<u8>,
    token: String,
    port: u16,
    stop: Arc<AtomicBool>,
    latest: Mutex<Latest>,
    changed: Condvar,
    /// Connections of any kind, and those that watch.
    pub connections: AtomicUsize,
    pub streams: AtomicUsize,
    pub closing: AtomicBool,
}

impl Shared {
    pub fn new(page: Vec<u8>, stop: Arc<AtomicBool>, port: u16) -> Self {
        let token = random_token();
        let (latest, changed) = (Mutex::default(), Condvar::new());
        let (connections, streams) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { page, token, port, stop, latest, changed, connections, streams, closing: AtomicBool::new(false) }
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

    /// Whether a request means this machine. A page elsewhere that has its name point here sends its own name.
    pub fn is_our_host(&self, host: &str) -> bool {
        [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)].iter().any(|ours| ours == host)
    }

    /// Whether the token is right, in the same time for all wrong ones.
    pub fn is_our_token(&self, token: &str) -> bool {
        let (ours, theirs) = (self.token.as_bytes(), token.as_bytes());
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    pub fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether anybody looks.
    pub fn watched(&self) -> bool {
        self.streams.load(Ordering::Acquire) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, change: impl FnOnce(&mut Latest)) {
        let mut latest = self.lock();
        change(&mut latest);
        latest.version += 1;
        self.changed.notify_all();
    }

    pub fn put_stage(&self, json: String) {
        self.put(|latest| latest.stage = Some(Arc::new(json)));
    }

    pub fn put_map(&self, json: String) {
        self.put(|latest| latest.map = Some(Arc::new(json)));
    }

    pub fn put_end(&self, json: String) {
        self.put(|latest| latest.end = Some(Arc::new(json)));
    }

    /// What there is when it has changed since `version`, or after `patience`.
    pub fn wait(&self, version: u64, patience: Duration) -> Latest {
        let unchanged = |latest: &mut Latest| latest.version == version && latest.end.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), patience, unchanged);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// A stream has ended.
    pub fn leave(&self) {
        self.streams.fetch_sub(1, Ordering::AcqRel);
        let _latest = self.lock();
        self.changed.notify_all();
    }

    /// Waits until nobody watches any more.
    pub fn wait_for_streams(&self, patience: Duration) {
        let watched = |_: &mut Latest| self.watched();
        drop(self.changed.wait_timeout_while(self.lock(), patience, watched));
    }
}

/// 128 bits that nobody can guess: the standard library's keyed hash, whose key comes from the operating system.
fn random_token() -> String {
    let key = RandomState::new();
    format!("{:016x}{:016x}", key.hash_one(0u8), key.hash_one(1u8))
}
