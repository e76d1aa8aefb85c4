//! The attribute `#[simd_dispatch]`, which compiles a function once per instruction set and chooses at run time.
//!
//! An attribute rather than a `macro_rules!` wrapper, because rustfmt does not format the arguments of macros. It only adds
//! another attribute to its function, so that it needs no parser. Use it through `lowland_core::simd`.

use proc_macro::TokenStream;

/// Instruction sets without fused multiply-add, the best one first: results have the same bits on every machine.
const TARGETS: &str = r#""x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon""#;
/// The same with fused multiply-add, for kernels whose result does not depend on rounding.
const TARGETS_WITH_FMA: &str = r#""x86_64+avx512f+avx512vl+avx512bw+avx512dq+fma", "x86_64+avx2+fma", "aarch64+neon""#;

/// Compiles a function once for every instruction set that pays off, and calls the best version the machine supports.
///
/// `#[simd_dispatch]` leaves out fused multiply-add, so that every version computes the same bits.
/// `#[simd_dispatch(fma)]` includes it.
///
/// The function is compiled once per target and once without any: keep it small, and leave everything outside the loop to its
/// caller. What it calls must be `#[inline(always)]` to be compiled for the same target; closures are not.
#[proc_macro_attribute]
pub fn simd_dispatch(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let targets = match arguments.to_string().as_str() {
        "" => TARGETS,
        "fma" => TARGETS_WITH_FMA,
        _ => return error("expected `#[simd_dispatch]` or `#[simd_dispatch(fma)]`"),
    };
    let attribute = format!("#[::lowland_core::simd::multiversion::multiversion(targets({targets}))]");
    let mut output: TokenStream = attribute.parse().expect("the attribute is valid Rust");
    output.extend(function);
    output
}

/// A compile error at the attribute.
fn error(message: &str) -> TokenStream {
    format!("compile_error!({message:?});").parse().expect("the error is valid Rust")
}
