//! Classes and their legend.

use std::collections::HashMap;

use crate::color::{self, Rgb, rgb};
use crate::layout::{Disc, Rect, Text, grouped};
use crate::{Labels, font};

/// More classes than this are not told apart; the rest are grey.
const LEGEND: usize = color::CLASSES.len();

/// Classes by size: the largest have colours and names, the rest are one.
pub(crate) struct Classes<'a> {
    labels: Labels<'a>,
    /// Codes and numbers of points, in the order of the legend.
    shown: Vec<(u32, usize)>,
    hidden: usize,
    index: HashMap<u32, u8>,
}

impl<'a> Classes<'a> {
    pub fn new(labels: Labels<'a>) -> Self {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        labels.codes.iter().for_each(|&code| *counts.entry(code).or_default() += 1);
        let mut shown: Vec<(u32, usize)> = counts.into_iter().collect();
        shown.sort_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
        let hidden = shown.len().saturating_sub(LEGEND);
        shown.truncate(LEGEND);
        shown.sort_unstable();
        let index = shown.iter().enumerate().map(|(at, &(code, _))| (code, at as u8)).collect();
        Self { labels, shown, hidden, index }
    }

    /// Index of the colour of each class of the legend, then of the rest.
    pub fn colors(&self) -> Vec<Rgb> {
        let shown = color::CLASSES.iter().take(self.shown.len());
        shown.chain([&color::REST]).map(|&hex| rgb(hex)).collect()
    }

    pub fn class(&self, i: usize) -> u8 {
        self.index.get(&self.labels.codes[i]).copied().unwrap_or(self.shown.len() as u8)
    }

    fn name(&self, code: u32) -> String {
        let name = self.labels.names.get(code as usize).map(|name| name.trim());
        name.filter(|name| !name.is_empty()).map_or_else(|| code.to_string(), str::to_owned)
    }

    /// Swatches and names in a column to the right, for which the frame makes room; none where there is too little.
    pub fn legend(&self, frame: &mut Rect, size: f32, [ink, soft]: [Rgb; 2]) -> (Vec<Disc>, Vec<Text>) {
        let step = 2.0 * size;
        let most = (frame.width() * 0.25 - step).max(0.0);
        let mut lines: Vec<(String, Option<Rgb>)> = Vec::new();
        for ((code, _), color) in self.shown.iter().zip(self.colors()) {
            lines.push((font::fit(&self.name(*code), size, most), Some(color)));
        }
        if self.hidden > 0 {
            lines.push((font::fit(&format!("+ {} more", grouped(self.hidden)), size, most), Some(rgb(color::REST))));
        }
        let widest = lines.iter().map(|line| font::width(&line.0, size)).fold(0.0, f32::max);
        let fitting = ((frame.height() * 0.8) / step) as usize;
        if most < 3.0 * size || fitting < 2 {
            return (Vec::new(), Vec::new());
        }
        if lines.len() > fitting {
            let unnamed = lines.len() - (fitting - 1);
            lines.truncate(fitting - 1);
            lines.push((format!("+ {unnamed} more"), None));
        }
        let left = frame.right - widest - 1.4 * size;
        frame.right = left - 1.6 * size;
        let (mut swatches, mut texts) = (Vec::new(), Vec::new());
        for (row, (content, color)) in lines.into_iter().enumerate() {
            let baseline = frame.top + size + row as f32 * step;
            if let Some(color) = color {
                let at = [left + 0.45 * size, baseline - 0.5 * size];
                swatches.push(Disc { at, radius: 0.45 * size, color });
            }
            let color = if color.is_some() { ink } else { soft };
            texts.push(Text { left: left + 1.4 * size, baseline, height: size, content, color });
        }
        (swatches, texts)
    }
}
