//! Parameters: plain structs with `Default` that are declared once. The command line, Python and model files take names,
//! help texts, defaults and parsing from this declaration.

use crate::{Error, Metric, Result};

/// Description of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamSpec {
    /// Name as in Python (`n_neighbors`); command-line flags use dashes instead of underscores.
    pub name: &'static str,
    /// Help text, in one line.
    pub help: &'static str,
    /// Default value, as text.
    pub default: String,
    /// Description of the accepted values.
    pub expects: &'static str,
}

/// A struct of parameters.
pub trait Params: Default + Clone {
    /// Returns the description of every parameter, in the order of the fields.
    fn specs() -> Vec<ParamSpec>;
    /// Sets a parameter from text. The name must be one of [`Params::specs`].
    fn set(&mut self, name: &str, text: &str) -> Result<()>;
    /// Returns the name and value of every parameter, as text that [`Params::set`] accepts.
    fn values(&self) -> Vec<(&'static str, String)>;
}

/// A type of parameter values.
pub trait ParamValue: Sized {
    /// Description of the accepted values, for help texts and errors.
    const EXPECTS: &'static str;
    /// Parses a value; `None` if the text is not accepted.
    fn parse(text: &str) -> Option<Self>;
    /// Formats the value as text that [`ParamValue::parse`] accepts.
    fn to_text(&self) -> String;
}

/// How the descriptions of counts begin.
const WHOLE_NUMBER: &str = "a whole number";

macro_rules! param_value {
    ($($type:ty: $expects:literal),* $(,)?) => {
        $(impl ParamValue for $type {
            const EXPECTS: &'static str = $expects;
            fn parse(text: &str) -> Option<Self> {
                text.trim().parse().ok()
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
        })*
    };
}

param_value! {
    usize: "a whole number",
    f64: "a number",
    bool: "true or false",
    Metric: "a metric: euclidean, cosine, manhattan, chebyshev, minkowski(p) with p at least 1, correlation, hamming, jaccard, canberra, braycurtis, hellinger, haversine, mahalanobis, levenshtein, precomputed",
}

/// A value, or `auto` to let the method choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// The method chooses.
    Auto,
    /// An explicit value.
    Value(T),
}

impl<T: Copy> Auto<T> {
    /// Returns the explicit value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Value(value) => Some(value),
        }
    }
}

macro_rules! auto_value {
    ($($type:ty: $expects:literal),* $(,)?) => {
        $(impl ParamValue for Auto<$type> {
            const EXPECTS: &'static str = $expects;
            fn parse(text: &str) -> Option<Self> {
                if text == "auto" { Some(Self::Auto) } else { <$type>::parse(text).map(Self::Value) }
            }
            fn to_text(&self) -> String {
                self.value().map_or("auto".into(), |value| value.to_text())
            }
        })*
    };
}

auto_value! {
    f64: "a number or auto",
    usize: "a whole number or auto",
}

/// Returns the error for a value that is not allowed.
pub fn invalid_parameter<T>(name: &'static str, value: &impl ParamValue, allowed: impl Into<String>) -> Result<T> {
    Err(Error::Parameter { name, value: value.to_text(), allowed: allowed.into() })
}

/// Returns an error if the value is zero.
pub fn at_least_one(name: &'static str, value: usize) -> Result<()> {
    if value == 0 { invalid_parameter(name, &value, "at least 1") } else { Ok(()) }
}

/// Returns an error if the value is not a valid relative tolerance.
pub fn check_tolerance(name: &'static str, value: f64) -> Result<()> {
    if (0.0..1.0).contains(&value) { Ok(()) } else { invalid_parameter(name, &value, "at least 0 and below 1") }
}

/// Parses a value. The error names the accepted values.
pub fn parse<T: ParamValue>(name: &'static str, text: &str) -> Result<T> {
    let expects = || match text.trim().parse::<i128>() {
        Ok(number) if number < 0 && T::EXPECTS.starts_with(WHOLE_NUMBER) => format!("{}, not negative", T::EXPECTS),
        Ok(number) if number > usize::MAX as i128 => format!("{} below 2^{}", T::EXPECTS, usize::BITS),
        _ => T::EXPECTS.to_string(),
    };
    T::parse(text).ok_or_else(|| Error::Parameter {
        name,
        value: text.into(),
        allowed: format!("expected {}", expects()),
    })
}

/// Declares an enum whose variants are selected by name.
#[macro_export]
macro_rules! param_enum {
    ($(#[$meta:meta])* pub enum $type:ident ($expects:literal) { $($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type { $($(#[$doc])* $variant),* }

        impl $crate::params::ParamValue for $type {
            const EXPECTS: &'static str = $expects;
            fn parse(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)* _ => None }
            }
            fn to_text(&self) -> String {
                match self { $(Self::$variant => $name),* }.into()
            }
        }
    };
}

/// Declares a parameter struct: fields with help texts and defaults.
///
/// `list first + rest` after the struct adds a field `rest` of further values. As text, both form one parameter whose
/// values are separated by commas.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $type:ident { $(#[doc = $help:literal] $field:ident: $kind:ty = $default:expr),* $(,)? }
        $(list $first:ident + $(#[doc = $rest_help:literal])* $rest:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $type {
            $(#[doc = $help] pub $field: $kind,)*
            $($(#[doc = $rest_help])* pub $rest: Vec<f64>)?
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $default,)* $($rest: Vec::new())? }
            }
        }

        impl $crate::params::Params for $type {
            fn specs() -> Vec<$crate::params::ParamSpec> {
                use $crate::params::{ParamSpec, ParamValue};
                let default = Self::default();
                #[allow(unused_mut)]
                let mut specs = vec![$(ParamSpec {
                    name: stringify!($field),
                    help: $help.trim_ascii(),
                    default: default.$field.to_text(),
                    expects: <$kind>::EXPECTS,
                }),*];
                $($crate::params::expect_list(&mut specs, stringify!($first));)?
                specs
            }

            fn set(&mut self, name: &str, text: &str) -> $crate::Result<()> {
                $(if name == stringify!($first) {
                    (self.$first, self.$rest) = $crate::params::parse_list(stringify!($first), text)?;
                    return Ok(());
                })?
                match name {
                    $(stringify!($field) => self.$field = $crate::params::parse(stringify!($field), text)?,)*
                    _ => {
                        return Err($crate::Error::Parameter {
                            name: "parameter",
                            value: name.into(),
                            allowed: format!("one of {}", [$(stringify!($field)),*].join(", ")),
                        });
                    }
                }
                Ok(())
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                use $crate::params::ParamValue;
                #[allow(unused_mut)]
                let mut values = vec![$((stringify!($field), self.$field.to_text())),*];
                $($crate::params::append_list(&mut values, stringify!($first), &self.$rest);)?
                values
            }
        }
    };
}

/// Marks a parameter as a list.
#[doc(hidden)]
pub fn expect_list(specs: &mut [ParamSpec], name: &str) {
    if let Some(spec) = specs.iter_mut().find(|spec| spec.name == name) {
        spec.expects = LIST;
    }
}

/// Parses a list into its first value and the others.
#[doc(hidden)]
pub fn parse_list(name: &'static str, text: &str) -> Result<(f64, Vec<f64>)> {
    let values: Option<Vec<f64>> = text.split(',').map(f64::parse).collect();
    match values.as_deref() {
        Some([first, rest @ ..]) => Ok((*first, rest.to_vec())),
        _ if text.trim().is_empty() => Err(Error::EmptyParameter { name, expected: LIST }),
        _ => Err(Error::Parameter { name, value: text.into(), allowed: format!("expected {LIST}") }),
    }
}

/// Appends the other values of a list to the text of the first value.
#[doc(hidden)]
pub fn append_list(values: &mut [(&'static str, String)], name: &str, rest: &[f64]) {
    if let Some((_, text)) = values.iter_mut().find(|(known, _)| *known == name) {
        rest.iter().for_each(|value| *text = format!("{text},{}", value.to_text()));
    }
}

const LIST: &str = "a number, or several separated by commas";

pub use {param_enum, params};

#[cfg(test)]
mod tests {
    use super::*;

    param_enum! {
        /// Sweet or sour.
        pub enum Taste ("sweet or sour") {
            /// Sweet.
            Sweet = "sweet",
            /// Sour.
            Sour = "sour",
        }
    }

    params! {
        /// An example.
        pub struct Fruit {
            /// How many.
            count: usize = 3,
            /// Which taste.
            taste: Taste = Taste::Sweet,
            /// How heavy.
            weight: f64 = 0.1,
        }
        list weight + /// Further weights.
            more_weights
    }

    #[test]
    fn values_round_trip_through_text() {
        let fruit = Fruit { count: 7, taste: Taste::Sour, weight: 1.0 / 3.0, more_weights: vec![2.0, 0.5] };
        let mut back = Fruit::default();
        for (name, value) in fruit.values() {
            back.set(name, &value).unwrap();
        }
        assert_eq!(back, fruit);
    }

    #[test]
    fn the_error_for_an_invalid_value_names_the_parameter() {
        let mut fruit = Fruit::default();
        assert_eq!(fruit.set("taste", "bitter").unwrap_err().to_string(), "taste = bitter: expected sweet or sour");
        let negative = fruit.set("count", "-5").unwrap_err().to_string();
        assert_eq!(negative, "count = -5: expected a whole number, not negative");
        let empty = fruit.set("weight", "").unwrap_err().to_string();
        assert_eq!(empty, "weight: expected a number, or several separated by commas; the list is empty");
        assert!(fruit.set("color", "red").unwrap_err().to_string().contains("count, taste, weight"));
        assert_eq!(Fruit::specs()[1].help, "Which taste.");
    }
}
