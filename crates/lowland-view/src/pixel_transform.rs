//! Transforms map coordinates to pixels.

use lowland::Points;

use crate::axis_range::AxisRange;
use crate::scene::Rect;

/// Transform from the coordinates of a map to the pixels of a frame.
pub(crate) struct PixelTransform {
    pub frame: Rect,
    pub axes: Vec<AxisRange>,
    /// Half of the range of each axis, in pixels.
    pub half_extents: Vec<f64>,
    /// Radius of a point.
    pub radius: f32,
}

impl PixelTransform {
    pub fn new(map: Points, frame: Rect, point_size: Option<f32>, unit: f32) -> Self {
        let n = map.rows();
        let axis = |c: usize| AxisRange::from_values(map.values().iter().skip(c).step_by(map.dim()).copied());
        let axes: Vec<AxisRange> = (0..map.dim().min(2)).map(axis).collect();
        // By default, dots without overlap would cover a twelfth of the frame.
        let default = (frame.width() * frame.height() / (12.0 * std::f32::consts::PI * n.max(1) as f32)).sqrt();
        let radius = point_size.map_or(default.clamp(1.7 * unit, 7.5 * unit).max(0.6), |size| size / 2.0);
        let inset =
            (0.025 * frame.width().min(frame.height()) + 2.0 * radius).min(frame.width().min(frame.height()) / 3.0);
        let available = [frame.width(), frame.height()].map(|side| f64::from(side / 2.0 - inset).max(1.0));
        // Both axes have the same units; the longer one fills the available space.
        let half_extents = match axes.as_slice() {
            [x, y] => {
                let (x, y) = (x.half_span(), y.half_span());
                vec![available[0].min(x / y * available[1]), available[1].min(y / x * available[0])]
            }
            _ => vec![available[0]],
        };
        // 0 / 0: the range is a single value, which is drawn at the center for any extent.
        let half_extents = half_extents.into_iter().map(|half| if half.is_nan() { 0.0 } else { half }).collect();
        Self { frame, axes, half_extents, radius }
    }

    /// Returns the pixel of a point, and whether the point is an outlier that was moved to the edge of the frame.
    pub fn to_pixel(&self, point: &[f64]) -> ([f32; 2], bool) {
        let Rect { left, top, right, bottom } = self.frame;
        let x = f64::from(left + right) / 2.0 + self.axes[0].normalize(point[0]) * self.half_extents[0];
        let y = f64::from(top + bottom) / 2.0 - self.axes[1].normalize(point[1]) * self.half_extents[1];
        let edge = 2.0 * self.radius;
        let clamp = |v: f64, low: f32, high: f32| {
            (v as f32).clamp((low + edge).min(high), (high - edge).max(low + edge).min(high))
        };
        let pixel = [clamp(x, left, right), clamp(y, top, bottom)];
        (pixel, (pixel[0] - x as f32).abs() > 0.5 || (pixel[1] - y as f32).abs() > 0.5)
    }

    /// Returns the coordinates of a pixel.
    pub fn to_map(&self, [x, y]: [f32; 2]) -> [f64; 2] {
        let Rect { left, top, right, bottom } = self.frame;
        let along = |offset: f32, c: usize| {
            let half = self.half_extents[c];
            self.axes[c].value(if half > 0.0 { f64::from(offset) / half } else { 0.0 })
        };
        [along(x - (left + right) / 2.0, 0), along((top + bottom) / 2.0 - y, 1)]
    }

    /// Returns the pixels per unit of the map, or 0 if all points are equal.
    pub fn pixels_per_unit(&self) -> f64 {
        let scales = self.axes.iter().zip(&self.half_extents).map(|(axis, half)| half / axis.half_span());
        scales.filter(|scale| scale.is_finite()).fold(0.0, f64::max)
    }
}
