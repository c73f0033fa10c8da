//! The macro that exports a plugin.

/// Exports a type as this crate's plugin: `trawl_sdk::export!(format: MyFormat);`, likewise for
/// `filter`, `extractor`, `chunker`, `analyst`, `decoder`, `provider` and `search`. Call it once
/// per crate.
///
/// For WebAssembly it expands to the exports of a component. On other targets it expands to the C
/// entry points of a shared library if the SDK's feature `native` is enabled, otherwise to nothing,
/// so that a test can link several plugins. Analysts, decoders, providers and search adapters have
/// no C entry points.
#[macro_export]
macro_rules! export {
    (format: $plugin:ty) => {
        $crate::__component!(__trawl_export_format, format, $plugin);
        $crate::__native!(FORMAT, format, $plugin);
    };
    (filter: $plugin:ty) => {
        $crate::__component!(__trawl_export_filter, filter, $plugin);
        $crate::__native!(FILTER, filter, $plugin);
    };
    (extractor: $plugin:ty) => {
        $crate::__component!(__trawl_export_extractor, extractor, $plugin);
        $crate::__native!(EXTRACTOR, extractor, $plugin);
    };
    (chunker: $plugin:ty) => {
        $crate::__component!(__trawl_export_chunker, chunker, $plugin);
        $crate::__native!(CHUNKER, chunker, $plugin);
    };
    (analyst: $plugin:ty) => {
        $crate::__component!(__trawl_export_analyst, analyst, $plugin);
    };
    (decoder: $plugin:ty) => {
        $crate::__component!(__trawl_export_decoder, decoder, $plugin);
    };
    (provider: $plugin:ty) => {
        $crate::__component!(__trawl_export_provider, provider, $plugin);
    };
    (search: $plugin:ty) => {
        $crate::__component!(__trawl_export_search, search, $plugin);
    };
}

// A `cfg` inside an exported macro would check the author's crate, so each macro has two
// definitions.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($export:ident, $kind:ident, $plugin:ty) => {
        const _: () = {
            type Exported = $crate::component::Exported<$plugin>;
    $crate::component::$kind::$export!(Exported with_types_in $crate::component::$kind);
        };
    };
}

#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($export:ident, $kind:ident, $plugin:ty) => {};
}

#[cfg(all(feature = "native", not(target_arch = "wasm32")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __native {
    ($kind:ident, $call:ident, $plugin:ty) => {
        #[allow(unsafe_code, reason = "the host finds these functions by their names")]
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn trawl_plugin_abi() -> u32 {
                $crate::abi::VERSION
            }

            #[unsafe(no_mangle)]
            extern "C" fn trawl_plugin_kind() -> u32 {
                $crate::abi::kind::$kind
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn trawl_plugin_describe(reply: *mut $crate::abi::Reply) {
                // SAFETY: the caller upholds the rules of `abi`.
                unsafe { $crate::native::describe(reply, <$plugin>::info) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn trawl_plugin_call(
                call: *const $crate::abi::Call,
                reply: *mut $crate::abi::Reply,
            ) {
                // SAFETY: the caller upholds the rules of `abi`.
                unsafe { $crate::native::call(call, reply, $crate::native::$call::<$plugin>) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn trawl_plugin_free(reply: *mut $crate::abi::Reply) {
                // SAFETY: the caller upholds the rules of `abi`.
                unsafe { $crate::native::free(reply) }
            }
        };
    };
}

#[cfg(not(all(feature = "native", not(target_arch = "wasm32"))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __native {
    ($kind:ident, $call:ident, $plugin:ty) => {};
}
