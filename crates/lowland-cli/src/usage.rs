//! Resources used by the process: wall time, CPU time, memory.

use std::time::Instant;

/// Measures the resources used since it was started.
pub struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

/// Wall and CPU time.
#[derive(Debug, Clone, Copy)]
pub struct ResourceUsage {
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> ResourceUsage {
        ResourceUsage { wall_seconds: self.wall.elapsed().as_secs_f64(), cpu_seconds: cpu_seconds() - self.cpu }
    }
}

#[cfg(unix)]
fn rusage() -> libc::rusage {
    // SAFETY: rusage is plain data for which all zeros is a value, and getrusage only writes into it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    }
}

/// CPU seconds of all threads.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let usage = rusage();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Peak memory of the process in bytes.
#[cfg(unix)]
pub fn peak_memory() -> u64 {
    // Linux counts kilobytes, macOS bytes.
    rusage().ru_maxrss as u64 * if cfg!(target_os = "macos") { 1 } else { 1024 }
}

/// CPU seconds of all threads.
#[cfg(windows)]
fn cpu_seconds() -> f64 {
    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut created, mut exited, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the handle of the own process is always valid, and the function only writes the four times.
    let known = unsafe { GetProcessTimes(GetCurrentProcess(), &mut created, &mut exited, &mut kernel, &mut user) };
    if known == 0 {
        return f64::NAN;
    }
    // Windows counts tenths of microseconds.
    let seconds =
        |time: FILETIME| ((u64::from(time.dwHighDateTime) << 32) + u64::from(time.dwLowDateTime)) as f64 * 1e-7;
    seconds(kernel) + seconds(user)
}

/// Peak memory of the process in bytes; 0 if it is not known.
#[cfg(windows)]
pub fn peak_memory() -> u64 {
    use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
    use windows_sys::Win32::System::Threading::GetCurrentProcess;
    // SAFETY: the counters are plain data for which all zeros is a value, and the function writes as many bytes as they have.
    unsafe {
        let mut counters: PROCESS_MEMORY_COUNTERS = std::mem::zeroed();
        counters.cb = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
        let known = K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, counters.cb);
        if known == 0 { 0 } else { counters.PeakWorkingSetSize as u64 }
    }
}
