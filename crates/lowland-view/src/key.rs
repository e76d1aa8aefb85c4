//! What the colours of a picture mean, for all of its maps together.

use crate::classes::Classes;
use crate::color::Rgb;
use crate::layout::Inks;
use crate::scale::Scale;
use crate::scene::{Item, Rect};
use crate::{Color, Panel};

/// The meaning of the colours.
pub(crate) enum Key<'a> {
    Plain,
    Classes(Classes<'a>),
    Scale(Scale),
}

impl<'a> Key<'a> {
    pub fn new(panels: &[Panel<'a>]) -> Self {
        match panels[0].color {
            Color::Plain => Key::Plain,
            Color::Classes(labels) => {
                let codes = |panel: &Panel<'a>| match panel.color {
                    Color::Classes(labels) => labels.codes,
                    _ => &[],
                };
                Key::Classes(Classes::new(panels.iter().flat_map(codes).copied(), labels.names))
            }
            Color::Values { name, .. } => {
                let values = |panel: &Panel<'a>| match panel.color {
                    Color::Values { values, .. } => values,
                    _ => &[],
                };
                Key::Scale(Scale::new(name, panels.iter().flat_map(values).copied()))
            }
        }
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, Key::Plain)
    }

    /// The colours on a ground.
    pub fn colors(&self, inks: Inks) -> Vec<Rgb> {
        match self {
            Key::Plain => vec![inks.class(0)],
            Key::Classes(classes) => classes.colors(inks),
            Key::Scale(scale) => scale.colors(inks),
        }
    }

    /// Index of the colour of point `i`.
    pub fn index(&self, color: &Color, i: usize) -> u16 {
        match (self, color) {
            (Key::Classes(classes), Color::Classes(labels)) => classes.index(labels.codes[i]),
            (Key::Scale(scale), Color::Values { values, .. }) => scale.index(values[i]),
            _ => 0,
        }
    }

    /// Whether the legend would be too wide beside maps of this height.
    pub fn is_long(&self, height: f32, size: f32) -> bool {
        matches!(self, Key::Classes(classes) if classes.columns(height, size) > 1)
    }

    /// The legend of classes from a place on, across a width, and its height.
    pub fn legend_below(&self, at: [f32; 2], width: f32, size: f32, inks: Inks) -> (Vec<Item>, f32) {
        match self {
            Key::Classes(classes) => classes.legend_below(at, width, size, inks),
            _ => (Vec::new(), 0.0),
        }
    }

    /// The legend, for which `room` makes room.
    pub fn legend(&self, room: &mut Rect, size: f32, inks: Inks) -> Vec<Item> {
        match self {
            Key::Plain => Vec::new(),
            Key::Classes(classes) => classes.legend(room, size, inks),
            Key::Scale(scale) => scale.legend(room, size, inks),
        }
    }
}
