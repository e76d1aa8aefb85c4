//! The compiled kernels.

/// The units of compilation, by name.
macro_rules! units {
    ($($name:literal),* $(,)?) => {
        /// Returns the code of a unit.
        pub(crate) fn ptx(unit: &str) -> &'static str {
            match unit {
                $($name => include_str!(concat!("../kernels/ptx/", $name, ".ptx")),)*
                _ => unreachable!("units are named by this crate"),
            }
        }

        #[cfg(test)]
        const UNITS: &[&str] = &[$($name),*];
    };
}

units!(
    "map_2", "map_3", "map_4", "map_6", "map_10", "map_16", "map_32", "map_64", "affinity", "grid", "layout",
    "nearest", "pairs"
);

/// Dimensions of maps that there is code for.
const DIMENSIONS: [(usize, &str); 8] = [
    (2, "map_2"),
    (3, "map_3"),
    (4, "map_4"),
    (6, "map_6"),
    (10, "map_10"),
    (16, "map_16"),
    (32, "map_32"),
    (64, "map_64"),
];

/// Returns the unit for maps of `dim` dimensions, at most [`MAX_DIM`](crate::MAX_DIM), and the dimension they are padded to.
pub(crate) fn map_unit(dim: usize) -> (usize, &'static str) {
    *DIMENSIONS.iter().find(|(padded, _)| *padded >= dim).expect("callers check the dimension")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 64-bit FNV-1a hash, as in `kernels/compile.py`.
    fn fnv1a(bytes: &[u8]) -> u64 {
        bytes
            .iter()
            .fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
    }

    #[test]
    fn the_compiled_kernels_are_those_of_the_sources() {
        let common = include_str!("../kernels/common.cuh");
        let source = |unit: &str| match unit.strip_prefix("map_") {
            Some(dim) => format!("#define DIM {dim}\n{common}{}", include_str!("../kernels/map.cu")),
            None if unit == "affinity" => format!("{common}{}", include_str!("../kernels/affinity.cu")),
            None if unit == "layout" => format!("{common}{}", include_str!("../kernels/layout.cu")),
            None if unit == "pairs" => format!("{common}{}", include_str!("../kernels/pairs.cu")),
            None if unit == "grid" => format!("{common}{}", include_str!("../kernels/grid.cu")),
            None => format!("{common}{}", include_str!("../kernels/nearest.cu")),
        };
        for unit in UNITS {
            let expected = format!("// source {:016x}", fnv1a(source(unit).as_bytes()));
            assert_eq!(ptx(unit).lines().next(), Some(expected.as_str()), "{unit}: run `cargo xtask kernels`");
        }
        assert!(DIMENSIONS.iter().all(|(_, unit)| UNITS.contains(unit)));
        assert_eq!((map_unit(1).0, map_unit(5).0, map_unit(crate::MAX_DIM).0), (2, 6, 64));
    }
}
