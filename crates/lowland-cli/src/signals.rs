//! Signals that would end the process without a message. Ctrl-C is handled by the console.

/// Makes signals errors: a write beyond the limit on the size of files fails like one on a full disk, and an input file that
/// another program truncates while it is read is reported.
#[cfg(target_os = "linux")]
pub fn install() {
    // SAFETY: the signal is ignored, and the handler of the other one makes only calls that are allowed in handlers.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        // Afterwards the default action applies again, for errors that are not of this kind.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

#[cfg(not(target_os = "linux"))]
pub fn install() {}

/// Access to a page of a mapped file beyond its end.
#[cfg(target_os = "linux")]
extern "C" fn on_bus_error(_: libc::c_int, about: *const libc::siginfo_t, _: *const libc::c_void) {
    const MESSAGE: &[u8] = b"error: an input file was truncated by another program while it was read\n";
    // SAFETY: the kernel passes a valid pointer; writing and ending the process are allowed in handlers.
    unsafe {
        if (*about).si_code == libc::BUS_ADRERR {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(i32::from(crate::failure::UNUSABLE_INPUT));
        }
    }
}
