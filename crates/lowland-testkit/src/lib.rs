//! The suite every lowland method passes.
//!
//! [`method_suite!`] makes one test for each check; the functions behind it are here, each named for what it checks.

mod checks;
pub mod fixtures;

pub use checks::*;

use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::{Data, FitOptions, Model, Result, Seed};

/// Fits a method that is described by text.
pub fn fit_with(method: &str, values: &[(&str, &str)], data: &Data, options: FitOptions) -> Result<Model> {
    let ParsedMethod { method, landmarks } = MethodInfo::find(method)?.parse(values)?;
    lowland::fit::fit(method, data, FitOptions { landmarks, ..options })
}

/// Fits a method that is described by text, which must succeed.
pub fn fit(method: &str, values: &[(&str, &str)], data: &Data, seed: Seed) -> Model {
    let model = fit_with(method, values, data, FitOptions { seed, ..FitOptions::default() });
    model.unwrap_or_else(|error| panic!("{method} {values:?} on {data:?}: {error}"))
}

/// One module of tests for a method with the given parameters:
/// `method_suite!(pca_randomized, "pca", [("solver", "randomized")], iterates);`
///
/// `iterates` says that the method takes steps on the suite's data, which is then tested too: stopping and resuming are
/// vacuous checks for a method that needs no steps.
#[macro_export]
macro_rules! method_suite {
    ($module:ident, $method:literal, [$($value:expr),* $(,)?], iterates) => {
        $crate::method_suite!($module, $method, [$($value),*] it_takes_several_steps);
    };
    ($module:ident, $method:literal, [$($value:expr),* $(,)?] $($more:ident)?) => {
        mod $module {
            pub const METHOD: &str = $method;
            pub const VALUES: &[(&str, &str)] = &[$($value),*];
            $crate::method_suite!(@tests $method:
                one_two_or_three_points_make_a_finite_map,
                duplicates_are_kept_and_do_no_harm,
                a_nan_is_refused_by_row_and_column,
                a_disconnected_graph_still_makes_one_finite_map,
                the_same_bytes_come_out_for_any_number_of_threads,
                a_stop_at_step_three_keeps_the_map,
                a_stop_before_there_is_a_map_is_said,
                a_resumed_run_gives_the_same_bytes,
                a_checkpoint_of_other_data_or_with_parts_missing_is_refused,
                a_saved_model_transforms_with_the_same_bytes,
                a_model_with_parts_missing_or_not_finite_is_an_error,
                training_rows_land_near_themselves,
                a_rows_image_does_not_depend_on_its_batch,
                extreme_scales_give_the_same_map,
                sparse_rows_map_as_the_same_dense_rows,
                too_little_memory_is_refused_in_time,
                absurd_sizes_are_refused,
                $($more)?
            );
        }
    };
    (@tests $method:literal: $($check:ident),* $(,)?) => {
        $(#[test]
        fn $check() {
            $crate::$check($method, VALUES);
        })*
    };
}
