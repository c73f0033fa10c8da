//! A format as a shared library without the SDK. A test compiles this file with `rustc` alone, with
//! one `--cfg` for each fault.

// Without cargo there is no dependency on the SDK, so the interface is included as a module.
#[path = "../../../contract/src/abi.rs"]
#[allow(dead_code, reason = "a format uses only a part of the interface")]
mod abi;

#[unsafe(no_mangle)]
pub extern "C" fn trawl_plugin_abi() -> u32 {
    if cfg!(other_version) { abi::VERSION + 1 } else { abi::VERSION }
}

#[unsafe(no_mangle)]
pub extern "C" fn trawl_plugin_kind() -> u32 {
    if cfg!(other_kind) { abi::kind::CHUNKER } else { abi::kind::FORMAT }
}

/// # Safety
/// `reply` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_plugin_describe(reply: *mut abi::Reply) {
    let text = r#"{"name":"native_echo","version":"0.1.0","summary":"Echo","options_schema":"{}","needs":["source"]}"#;
    unsafe { write(reply, abi::status::TEXT, text.as_bytes()) };
}

/// Returns the document's text and the source, or misbehaves as the options say.
///
/// # Safety
/// Both pointers must be valid, and so must everything they point to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_plugin_call(call: *const abi::Call, reply: *mut abi::Reply) {
    let call = unsafe { &*call };
    let (status, payload) = match unsafe { bytes(call.options) } {
        br#"{"fail":1}"# => (abi::status::UNSUPPORTED, b"not today".to_vec()),
        br#"{"panic":1}"# => (abi::status::PANICKED, b"oh no".to_vec()),
        br#"{"lie":1}"# => (abi::status::SPANS, vec![0; 8]),
        br#"{"latin1":1}"# => (abi::status::TEXT, vec![0xe9]),
        _ => {
            let text = unsafe { bytes((*call.document).text) };
            let source = unsafe { bytes((*call.source).text) };
            (abi::status::TEXT, [text, b"|", source].concat())
        }
    };
    unsafe { write(reply, status, &payload) };
}

/// # Safety
/// `reply` must be empty or written by one of the functions above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_plugin_free(reply: *mut abi::Reply) {
    let reply = unsafe { &mut *reply };
    if !reply.pointer.is_null() {
        drop(unsafe { Vec::from_raw_parts(reply.pointer, reply.length, reply.capacity) });
        reply.pointer = std::ptr::null_mut();
    }
}

unsafe fn bytes<'a>(slice: abi::Slice<u8>) -> &'a [u8] {
    if slice.length == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(slice.pointer, slice.length) }
}

unsafe fn write(reply: *mut abi::Reply, status: u32, payload: &[u8]) {
    let mut payload = std::mem::ManuallyDrop::new(payload.to_vec());
    unsafe {
        *reply = abi::Reply {
            status,
            pointer: payload.as_mut_ptr(),
            length: payload.len(),
            capacity: payload.capacity(),
        };
    }
}
