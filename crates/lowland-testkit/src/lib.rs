//! The test suite of all methods.
//!
//! [`method_suite!`] expands to one test per check. The names of the functions describe the checks.

mod checks;
pub mod entry_points;
pub mod fixtures;

pub use checks::*;

use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::{Data, FitOptions, Model, Result, Seed};

/// Fits a method with parameters as text.
pub fn fit_with(method: &str, values: &[(&str, &str)], data: &Data, options: FitOptions) -> Result<Model> {
    let ParsedMethod { method, landmarks } = MethodInfo::find(method)?.parse(values)?;
    lowland::fit::fit(method, data, FitOptions { landmarks, ..options })
}

/// Fits a method with parameters as text. Panics if the fit fails.
pub fn fit(method: &str, values: &[(&str, &str)], data: &Data, seed: Seed) -> Model {
    let model = fit_with(method, values, data, FitOptions { seed, ..FitOptions::default() });
    model.unwrap_or_else(|error| panic!("{method} {values:?} on {data:?}: {error}"))
}

/// Declares a module of tests for a method with the given parameters:
/// `method_suite!(pca_randomized, "pca", [("solver", "randomized")], iterates);`
///
/// `iterates` adds a test that the method takes several steps on the data of the suite. Without steps, stopping and resuming
/// would not be tested.
#[macro_export]
macro_rules! method_suite {
    ($module:ident, $method:literal, [$($value:expr),* $(,)?], iterates) => {
        $crate::method_suite!($module, $method, [$($value),*] the_fit_takes_several_steps);
    };
    ($module:ident, $method:literal, [$($value:expr),* $(,)?] $($more:ident)?) => {
        mod $module {
            pub const METHOD: &str = $method;
            pub const VALUES: &[(&str, &str)] = &[$($value),*];
            $crate::method_suite!(@tests $method:
                one_to_three_points_have_a_finite_embedding,
                duplicates_are_kept,
                nan_is_reported_by_row_and_column,
                a_disconnected_graph_has_a_finite_embedding,
                models_are_identical_for_any_number_of_threads,
                a_stop_at_step_three_keeps_the_embedding,
                a_stop_before_the_first_embedding_is_an_error,
                a_resumed_run_is_identical,
                a_checkpoint_of_other_data_or_with_missing_parts_is_rejected,
                a_saved_model_transforms_identically,
                a_model_with_missing_or_non_finite_parts_is_rejected,
                training_rows_are_transformed_close_to_their_coordinates,
                a_transform_does_not_depend_on_the_batch,
                extreme_scales_give_the_same_embedding,
                sparse_and_dense_rows_give_the_same_embedding,
                too_little_memory_is_an_early_error,
                absurd_sizes_are_rejected,
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
