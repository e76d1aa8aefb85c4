//! The header: what a page holds, and in which sections.

use serde_json::{Value, json};

use super::images::{self, IN_SECTION};
use super::sections::Sections;
use super::{Column, Page, PageMap, Start, StartColor, Values, kept};
use crate::{Cell, TextTable};
use lowland::Points;

/// Raised when an older script could not read the sections.
const VERSION: u32 = 1;
/// Neighbours are left out of the page when all of them together are more than this many.
const NEIGHBORS: usize = 3 << 20;
/// And when fewer than this would be left for a point.
const FEWEST: usize = 5;

pub(super) fn of(page: &Page, sections: &mut Sections) -> Value {
    let k = page.neighbors.map_or(0, |graph| {
        page.maps.iter().map(|map| kept::common(graph, map.neighbors)).fold(kept::common(graph, None), usize::min)
    });
    let shown = k.min(NEIGHBORS / page.rows.max(1));
    let shown = if shown >= FEWEST.min(k) { shown } else { 0 };
    let neighbors = page.neighbors.filter(|_| k > 0).map(|graph| {
        let lists = (0..page.rows).flat_map(|i| graph.row(i).0[..shown].iter().map(|j| j.to_le_bytes()));
        let lists = (shown > 0).then(|| sections.numbers("neighbors", &lists.collect::<Vec<_>>()));
        json!({ "k": k, "shown": shown, "section": lists })
    });
    let maps: Vec<Value> = page.maps.iter().enumerate().map(|(at, map)| of_map(page, map, at, k, sections)).collect();
    let columns: Vec<Value> =
        page.columns.iter().enumerate().map(|(at, column)| of_column(column, at, sections)).collect();
    let images = page.images.and_then(images::packed).map(|(width, height, parts)| {
        let names = parts.into_iter().enumerate().map(|(at, part)| sections.add(format!("images-{at}"), part));
        json!({ "width": width, "height": height, "rows": IN_SECTION, "sections": names.collect::<Vec<_>>() })
    });
    json!({
        "version": VERSION,
        "title": page.title,
        "rows": page.rows,
        "live": page.live,
        "start": of_start(&page.start),
        "maps": maps,
        "columns": columns,
        "ids": page.ids.map(|ids| sections.texts("ids", ids)),
        "neighbors": neighbors,
        "table": page.table.map(of_table),
        "images": images,
    })
}

fn of_map(page: &Page, map: &PageMap, at: usize, k: usize, sections: &mut Sections) -> Value {
    let Quantised { dim, low, high, .. } = quantised(map.points);
    let fine = low.iter().zip(&high).enumerate().any(|(c, (&low, &high))| is_coarse(map.points, c, low, high));
    let name = format!("map-{at}");
    let points = if fine {
        let shares = shares(map.points, &low, &high).map(|share| (share as f32).to_le_bytes());
        sections.numbers(name, &shares.collect::<Vec<_>>())
    } else {
        let steps: Vec<[u8; 2]> = quantised(map.points).values.iter().map(|v| v.to_le_bytes()).collect();
        sections.numbers(name, &steps)
    };
    let std = map.std.map(|std| {
        let values: Vec<[u8; 4]> = std.iter().map(|&v| (v as f32).to_le_bytes()).collect();
        sections.numbers(format!("std-{at}"), &values)
    });
    let covariances = map.covariances.map(|all| {
        let of = map.points.dim();
        // The upper triangle, of the dimensions that are drawn.
        let drawn =
            |own: &[f64]| (0..dim).flat_map(|r| (r..dim).map(move |s| (r, s))).map(|(r, s)| own[r * of + s]).collect();
        let values = all.chunks_exact(of * of).flat_map::<Vec<f64>, _>(drawn).map(|v| (v as f32).to_le_bytes());
        sections.numbers(format!("covariances-{at}"), &values.collect::<Vec<_>>())
    });
    let kept = page.neighbors.zip(map.neighbors).filter(|_| k > 0).map(|(data, found)| {
        let bits: Vec<[u8; 2]> = kept::bits(data, found, k).into_iter().map(u16::to_le_bytes).collect();
        sections.numbers(format!("kept-{at}"), &bits)
    });
    json!({
        "name": map.name,
        "caption": map.caption,
        "dim": dim,
        "dimOf": map.points.dim(),
        "points": points,
        "bytes": if fine { 4 } else { 2 },
        "low": low,
        "high": high,
        "std": std,
        "covariances": covariances,
        "kept": kept,
    })
}

/// As the page's own state has it (store.ts).
fn of_start(start: &Start) -> Value {
    let mode = start.color.map(|color| match color {
        StartColor::Nothing => json!({ "by": "none" }),
        StartColor::Std => json!({ "by": "std" }),
        StartColor::Column(column) => json!({ "by": "column", "column": column }),
    });
    let Start { hide, circles, words, dark, .. } = start;
    json!({ "mode": mode, "hide": hide, "circles": circles, "words": words, "dark": dark })
}

fn of_table(table: &TextTable) -> Value {
    let row = |row: &Vec<Cell>| -> Vec<Value> {
        row.iter().map(|cell| json!({ "text": cell.text, "best": cell.best })).collect()
    };
    json!({ "header": table.header, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn of_column(column: &Column, at: usize, sections: &mut Sections) -> Value {
    let section = format!("column-{at}");
    match &column.values {
        Values::Numbers(numbers) => {
            let values: Vec<[u8; 4]> = numbers.iter().map(|v| v.to_le_bytes()).collect();
            json!({ "name": column.name, "kind": "number", "section": sections.numbers(section, &values) })
        }
        Values::Classes(labels) => {
            let codes: Vec<[u8; 4]> = labels.codes.iter().map(|code| code.to_le_bytes()).collect();
            let names = sections.texts(format!("names-{at}"), labels.names);
            json!({ "name": column.name, "kind": "class", "section": sections.numbers(section, &codes), "names": names })
        }
    }
}

/// Coordinates in steps of 1 / 65535 of the range of their dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    /// Dimensions kept: three at the most.
    pub dim: usize,
    /// The least coordinate of each dimension.
    pub low: Vec<f64>,
    /// The largest.
    pub high: Vec<f64>,
    /// Point after point.
    pub values: Vec<u16>,
}

/// The first three dimensions of a map of finite numbers, for a page or a stream of pages.
pub fn quantised(map: Points) -> Quantised {
    let dim = map.dim().min(3);
    let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
    for row in map.values().chunks_exact(map.dim()) {
        for c in 0..dim {
            low[c] = low[c].min(row[c]);
            high[c] = high[c].max(row[c]);
        }
    }
    if map.rows() == 0 {
        low.fill(0.0);
        high.fill(0.0);
    }
    let values = shares(map, &low, &high).map(|share| (share * f64::from(u16::MAX)).round() as u16).collect();
    Quantised { dim, low, high, values }
}

/// Where each coordinate lies in its range, from 0 to 1. In halves: the span of finite numbers may not be finite.
fn shares<'a>(map: Points<'a>, low: &'a [f64], high: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    map.values().chunks_exact(map.dim()).flat_map(move |row| {
        (0..low.len()).map(move |c| {
            let span = high[c] / 2.0 - low[c] / 2.0;
            if span > 0.0 { ((row[c] / 2.0 - low[c] / 2.0) / span).clamp(0.0, 1.0) } else { 0.5 }
        })
    })
}

/// Whether a few points stand so far out that the steps would be visible among the rest.
fn is_coarse(map: Points, column: usize, low: f64, high: f64) -> bool {
    let mut values: Vec<f64> = map.values().iter().skip(column).step_by(map.dim()).copied().collect();
    let rank = values.len() / 100;
    let Some(top) = values.len().checked_sub(1 + rank) else { return false };
    let inner_low = *values.select_nth_unstable_by(rank, f64::total_cmp).1;
    let inner_high = *values.select_nth_unstable_by(top, f64::total_cmp).1;
    high / 2.0 - low / 2.0 > 8.0 * (inner_high / 2.0 - inner_low / 2.0)
}
