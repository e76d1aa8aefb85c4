//! The JSON header: contents of a page and the sections that hold them. `viewer/src/header.ts` describes the same structure.

use lowland::Reliability;
use serde_json::{Value, json};

use super::images::{self, IMAGES_PER_SECTION};
use super::neighbor_retention::{common_neighbors, retention_bits};
use super::quantize::{QuantizedPoints, is_too_coarse, normalized, quantize};
use super::sections::Sections;
use super::{ColumnData, InitialColor, InitialView, Page, PageColumn, PageMap};
use crate::color::Rgb;
use crate::palette::missing_color;
use crate::{Palette, TableCell, TextTable};

/// Version of the layout; increased when older scripts cannot read it.
const VERSION: u32 = 2;
/// Largest number of neighbors in a page, over all points.
const MAX_NEIGHBORS: usize = 3 << 20;
/// Neighbors are omitted if this limit leaves fewer than this many per point.
const MIN_NEIGHBORS_PER_POINT: usize = 5;

/// Builds the header and adds the data to `sections`.
pub(super) fn build_header(page: &Page, sections: &mut Sections) -> Value {
    let k = page.neighbors.map_or(0, |graph| {
        let common = page.maps.iter().map(|map| common_neighbors(graph, map.neighbors));
        common.fold(common_neighbors(graph, None), usize::min)
    });
    let shown = k.min(MAX_NEIGHBORS / page.rows.max(1));
    let shown = if shown >= MIN_NEIGHBORS_PER_POINT.min(k) { shown } else { 0 };
    let neighbors = page.neighbors.filter(|_| k > 0).map(|graph| {
        let lists = (0..page.rows).flat_map(|i| graph.row(i).0[..shown].iter().map(|j| j.to_le_bytes()));
        let lists = (shown > 0).then(|| sections.numbers("neighbors", &lists.collect::<Vec<_>>()));
        json!({ "k": k, "shown": shown, "section": lists })
    });
    let maps = page.maps.iter().enumerate().map(|(at, map)| map_header(page, map, at, k, sections));
    let maps: Vec<Value> = maps.collect();
    let columns = page.columns.iter().enumerate().map(|(at, column)| column_header(column, at, sections));
    let columns: Vec<Value> = columns.collect();
    let images = page.images.and_then(images::pack_images).map(|(width, height, parts)| {
        let names = parts.into_iter().enumerate().map(|(at, part)| sections.add(format!("images-{at}"), part));
        json!({ "width": width, "height": height, "rows": IMAGES_PER_SECTION, "sections": names.collect::<Vec<_>>() })
    });
    json!({
        "version": VERSION,
        "title": page.title,
        "rows": page.rows,
        "live": page.live,
        "start": initial_view(&page.start),
        "maps": maps,
        "columns": columns,
        "ids": page.ids.map(|ids| sections.texts("ids", ids)),
        "neighbors": neighbors,
        "table": page.table.map(score_table),
        "slider": page.slider.as_ref().map(|slider| json!({ "label": slider.label, "values": slider.values })),
        "images": images,
        "palette": palette(&page.palette),
    })
}

/// Number of colors of a scale, between which the page interpolates.
const SCALE_STOPS: usize = 33;

/// Returns the colors on a light and on a dark background.
fn palette(palette: &Palette) -> Value {
    let both = |color: &dyn Fn(bool) -> Value| json!({ "light": color(false), "dark": color(true) });
    let classes = |dark: bool| (0..palette.len()).filter_map(|at| palette.class_color(at, dark).map(hex)).collect();
    let stop = |at: usize, dark: bool| hex(palette.value_color(at as f32 / (SCALE_STOPS - 1) as f32, dark));
    let named: serde_json::Map<String, Value> = palette
        .named_classes()
        .map(|(name, [light, dark])| (name.into(), json!({ "light": hex(light), "dark": hex(dark) })))
        .collect();
    json!({
        "classes": both(&classes),
        "named": named,
        "scale": both(&|dark| (0..SCALE_STOPS).map(|at| stop(at, dark)).collect()),
        "diverging": palette.is_diverging(),
        "missing": both(&|dark| hex(missing_color(dark))),
    })
}

/// Returns a color as `0xrrggbb`.
fn hex(color: Rgb) -> Value {
    let [r, g, b] = color.map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u32);
    (r << 16 | g << 8 | b).into()
}

fn map_header(page: &Page, map: &PageMap, at: usize, k: usize, sections: &mut Sections) -> Value {
    let points = map.map.points();
    let QuantizedPoints { dim, low, high, values } = quantize(points);
    let ranges = low.iter().zip(&high).enumerate();
    let use_floats = ranges.into_iter().any(|(c, (&low, &high))| is_too_coarse(points, c, low, high));
    let name = format!("map-{at}");
    let coordinates = if use_floats {
        let values = normalized(points, &low, &high).map(|value| (value as f32).to_le_bytes());
        sections.numbers(name, &values.collect::<Vec<_>>())
    } else {
        sections.numbers(name, &values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>())
    };
    let std = map.map.std.as_ref().map(|std| {
        let values: Vec<[u8; 4]> = std.iter().map(|&v| (v as f32).to_le_bytes()).collect();
        sections.numbers(format!("std-{at}"), &values)
    });
    let covariances = map.map.covariances.as_ref().map(|all| {
        let map_dim = map.map.embedding.dim();
        // Upper triangle of the dimensions that are shown.
        let shown = |matrix: &[f64]| {
            let cells = (0..dim).flat_map(|r| (r..dim).map(move |s| (r, s)));
            cells.map(|(r, s)| matrix[r * map_dim + s]).collect()
        };
        let values = all.chunks_exact(map_dim * map_dim).flat_map::<Vec<f64>, _>(shown);
        let values = values.map(|v| (v as f32).to_le_bytes());
        sections.numbers(format!("covariances-{at}"), &values.collect::<Vec<_>>())
    });
    let kept = page.neighbors.zip(map.neighbors).filter(|_| k > 0).map(|(data, found)| {
        let bits: Vec<[u8; 2]> = retention_bits(data, found, k).into_iter().map(u16::to_le_bytes).collect();
        sections.numbers(format!("kept-{at}"), &bits)
    });
    let reliability: Vec<Value> = map
        .map
        .reliability
        .iter()
        .flat_map(Reliability::iter)
        .map(|(column, values)| {
            let values: Vec<[u8; 4]> = values.iter().map(|&v| (v as f32).to_le_bytes()).collect();
            let section = sections.numbers(format!("{}-{at}", column.name()), &values);
            json!({ "name": column.name(), "meaning": column.meaning(), "section": section })
        })
        .collect();
    let bridges = map.map.reliability.as_ref().map_or(Vec::new(), |known| known.bridges(points));
    let bridges: Vec<Value> = bridges
        .iter()
        .map(|bridge| {
            let ends: Vec<&[f64]> = bridge.ends.iter().map(|end| &end[..dim]).collect();
            json!({ "islands": bridge.islands, "points": bridge.points, "ends": ends })
        })
        .collect();
    json!({
        "name": map.name,
        "caption": map.caption,
        "dim": dim,
        "dimOf": map.map.embedding.dim(),
        "points": coordinates,
        "bytes": if use_floats { 4 } else { 2 },
        "low": low,
        "high": high,
        "std": std,
        "covariances": covariances,
        "kept": kept,
        "reliability": reliability,
        "bridges": bridges,
    })
}

/// Returns the initial view in the form of the state in `viewer/src/store.ts`.
fn initial_view(view: &InitialView) -> Value {
    let mode = view.color.map(|color| match color {
        InitialColor::None => json!({ "by": "none" }),
        InitialColor::Std => json!({ "by": "std" }),
        InitialColor::Reliability(column) => json!({ "by": "reliability", "name": column.name() }),
        InitialColor::Column(column) => json!({ "by": "column", "column": column }),
    });
    let InitialView { hide, circles, words, dark, plain_flagged, no_bridges, no_names, .. } = view;
    json!({
        "mode": mode, "hide": hide, "circles": circles, "words": words, "dark": dark,
        "flagged": !plain_flagged, "bridges": !no_bridges, "names": !no_names,
    })
}

fn score_table(table: &TextTable) -> Value {
    let row = |row: &Vec<TableCell>| -> Vec<Value> {
        row.iter().map(|cell| json!({ "text": cell.text, "best": cell.best })).collect()
    };
    json!({ "header": table.header, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn column_header(column: &PageColumn, at: usize, sections: &mut Sections) -> Value {
    let section = format!("column-{at}");
    match &column.values {
        ColumnData::Numbers(numbers) => {
            let values: Vec<[u8; 4]> = numbers.iter().map(|v| v.to_le_bytes()).collect();
            json!({ "name": column.name, "kind": "number", "section": sections.numbers(section, &values) })
        }
        ColumnData::Classes(labels) => {
            let codes: Vec<[u8; 4]> = labels.codes.iter().map(|code| code.to_le_bytes()).collect();
            let names = sections.texts(format!("names-{at}"), &labels.names);
            json!({ "name": column.name, "kind": "class", "section": sections.numbers(section, &codes), "names": names })
        }
    }
}
