//! The device that is in effect, and the cards that were opened for it.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use lowland_core::{Error, Result};

use crate::error::too_little_memory;
use crate::{Device, Gpu};

/// Work that a card could do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// What it is, for messages: `the neighbor search`.
    pub name: &'static str,
    /// Estimated time on one core of the processor, in seconds.
    pub cpu_seconds: f64,
    /// Memory that it needs on the card, in bytes.
    pub memory: u64,
    /// Memory that its blocks share, in bytes.
    pub shared_memory: usize,
}

/// Under [`Device::Auto`], work that takes the processor less than this many seconds stays there: starting a card takes some
/// tenths of a second.
const WORTHWHILE: f64 = 2.0;
/// The same once a card was started.
const WORTHWHILE_ON_STARTED: f64 = 0.1;

struct Scope {
    device: Device,
    /// The open card; `None` inside if there is none that can be used.
    gpu: Mutex<Option<Option<Arc<Gpu>>>>,
    /// The card with the work that was done on it and not yet reported.
    done: Mutex<Option<(String, Vec<&'static str>)>>,
    /// The error after which the card was given up, if it was not yet reported.
    failure: Mutex<Option<Error>>,
}

impl Scope {
    fn worthwhile(&self) -> f64 {
        let started = lock(&self.gpu).as_ref().is_some_and(Option::is_some);
        if started { WORTHWHILE_ON_STARTED } else { WORTHWHILE }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

/// Restores the scope that was in effect before, also if the work panics.
struct Restore(Option<Arc<Scope>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|current| *current.borrow_mut() = self.0.take());
    }
}

/// Runs `work` on this thread with a device in effect. A card that is asked for by number is opened first, so that an error says at
/// once why it cannot be used.
pub fn with_device<T>(device: Device, work: impl FnOnce() -> T) -> Result<T> {
    let scope = Arc::new(Scope { device, gpu: Mutex::default(), done: Mutex::default(), failure: Mutex::default() });
    if let Device::Cuda(ordinal) = device {
        *lock(&scope.gpu) = Some(Some(Arc::new(Gpu::open(ordinal)?)));
    }
    let _restore = Restore(CURRENT.with(|current| current.borrow_mut().replace(scope)));
    Ok(work())
}

/// Returns the device that is in effect on this thread; the processor unless [`with_device`] is running.
pub fn current_device() -> Device {
    current().map_or(Device::Cpu, |scope| scope.device)
}

/// Returns the card for some work, or `None` if it is to be done on the processor: always without a card or if its blocks share too little
/// memory, and under [`Device::Auto`] if it would not pay off or does not fit. Fails if a card was asked for and has too little memory.
pub fn gpu_for(work: Work) -> Result<Option<Arc<Gpu>>> {
    let Some(scope) = current() else { return Ok(None) };
    let (required, ordinal) = match scope.device {
        Device::Cpu => return Ok(None),
        Device::Auto if work.cpu_seconds < scope.worthwhile() => return Ok(None),
        Device::Auto => (false, 0),
        Device::Cuda(ordinal) => (true, ordinal),
    };
    let opened = lock(&scope.gpu).get_or_insert_with(|| Gpu::open(ordinal).ok().map(Arc::new)).clone();
    let Some(gpu) = opened else { return Ok(None) };
    if work.shared_memory > gpu.shared_memory() {
        return Ok(None);
    }
    let Some(free) = or_processor(gpu.free_memory(), work.name)? else { return Ok(None) };
    if work.memory > free {
        return if required { Err(too_little_memory(work.name, scope.device, work.memory, free)) } else { Ok(None) };
    }
    let mut done = lock(&scope.done);
    let (_, names) = done.get_or_insert_with(|| (gpu.description(), Vec::new()));
    if !names.contains(&work.name) {
        names.push(work.name);
    }
    Ok(Some(gpu))
}

/// Passes on what a card has computed. Under [`Device::Auto`], if the card failed, it is not used any more, and `None` tells the caller to do the
/// work on the processor; see [`take_device_failure`].
pub fn or_processor<T>(result: Result<T>, work: &'static str) -> Result<Option<T>> {
    let scope = current().filter(|scope| scope.device == Device::Auto);
    match (result, scope) {
        (Err(error @ (Error::Device { .. } | Error::Memory { .. })), Some(scope)) => {
            *lock(&scope.gpu) = Some(None);
            if let Some((_, names)) = &mut *lock(&scope.done) {
                names.retain(|name| *name != work);
            }
            lock(&scope.failure).get_or_insert(error);
            Ok(None)
        }
        (result, _) => result.map(Some),
    }
}

/// Returns the error after which the card was given up since [`with_device`], if it was: once.
pub fn take_device_failure() -> Option<String> {
    lock(&current()?.failure).take().map(|error| error.to_string())
}

/// Returns the name of the card and the work that was done there since [`with_device`] or the last call, if any.
pub fn take_used_device() -> Option<(String, Vec<&'static str>)> {
    lock(&current()?.done).take().filter(|(_, names)| !names.is_empty())
}

fn current() -> Option<Arc<Scope>> {
    CURRENT.with(|current| current.borrow().clone())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Work = Work { name: "a test", cpu_seconds: 0.1, memory: 1, shared_memory: 0 };

    #[test]
    fn the_device_is_in_effect_for_the_work_and_restored() {
        assert_eq!(current_device(), Device::Cpu);
        let inside = with_device(Device::Auto, || {
            let outer = current_device();
            let inner = with_device(Device::Cpu, current_device).unwrap();
            (outer, inner, current_device())
        });
        assert_eq!(inside.unwrap(), (Device::Auto, Device::Cpu, Device::Auto));
        assert_eq!(current_device(), Device::Cpu);
        let caught = std::panic::catch_unwind(|| with_device(Device::Auto, || panic!("on purpose")));
        assert!(caught.is_err());
        assert_eq!(current_device(), Device::Cpu);
    }

    #[test]
    fn small_work_and_work_for_the_processor_do_not_open_a_card() {
        let large = Work { cpu_seconds: 1e6, ..SMALL };
        assert!(gpu_for(large).unwrap().is_none());
        assert!(with_device(Device::Cpu, || gpu_for(large)).unwrap().unwrap().is_none());
        assert!(with_device(Device::Auto, || gpu_for(SMALL)).unwrap().unwrap().is_none());
        assert_eq!(with_device(Device::Auto, take_used_device).unwrap(), None);
    }

    #[test]
    fn a_card_that_fails_is_given_up_if_it_was_not_asked_for() {
        let failed = || Err::<(), _>(crate::error::unusable(Device::Cuda(0), "it fell off the bus".into()));
        let stopped = || Err::<(), _>(Error::Stopped { stage: "a test" });
        let (first, second, reason, again) = with_device(Device::Auto, || {
            let (first, second) = (or_processor(failed(), "a test"), or_processor(stopped(), "a test"));
            (first, second, take_device_failure(), take_device_failure())
        })
        .unwrap();
        assert!(matches!(first, Ok(None)));
        assert!(matches!(second, Err(Error::Stopped { .. })));
        assert!(reason.unwrap().contains("it fell off the bus"));
        assert_eq!(again, None, "a failure is reported once");
        assert!(with_device(Device::Cpu, || or_processor(failed(), "a test")).unwrap().is_err());
    }

    #[test]
    fn a_card_that_does_not_exist_is_an_error_with_a_remedy() {
        let error = with_device(Device::Cuda(4096), || ()).unwrap_err().to_string();
        assert!(error.starts_with("cuda:4096"), "{error}");
        assert!(error.contains("device = cpu"), "{error}");
    }
}
