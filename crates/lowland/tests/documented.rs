//! The Rust code on the pages of the documentation. Written by `cargo xtask generate`; do not edit.

#![allow(unused_variables)]

/// Rows along a bent curve, with a little noise.
fn rows(numbers: std::ops::Range<u32>, columns: u32) -> Vec<f32> {
    let value = |row: u32, column: u32| {
        let noise = (row * 7919 + column * 104_729) % 1013;
        (row as f32 * 0.05 * (1.0 + column as f32 * 0.1)).sin() + noise as f32 * 1e-4
    };
    numbers.flat_map(|row| (0..columns).map(move |column| value(row, column))).collect()
}

#[rustfmt::skip]
#[test]
fn ee() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Ee};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Ee { lambda: 0.5, ..Ee::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn gplvm() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::GpLvm};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = GpLvm { inducing: 50, ..GpLvm::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn isomap() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Isomap};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Isomap { n_neighbors: 15, ..Isomap::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn lle() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Lle};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Lle { n_neighbors: 20, ..Lle::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn lllvm() -> lowland::Result<()> {
    let values = rows(0..150, 3);
    let new = Data::dense(rows(150..160, 3), 3)?;
    use lowland::{Data, methods::Lllvm};

    let x = Data::dense(values, 3)?;                         // row-major f32, 3 columns
    let model = Lllvm { n_neighbors: 9, ..Lllvm::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn ltsa() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Ltsa};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Ltsa { n_neighbors: 20, ..Ltsa::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn lvm() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Lvm};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Lvm { n_neighbors: 12, ..Lvm::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn mapit() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::MapIt};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = MapIt { n_neighbors: 7, ..MapIt::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn pacmap() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Pacmap};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Pacmap { localmap: true, ..Pacmap::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn pca() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Pca};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Pca { n_components: 10.into(), ..Pca::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn spectral() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Spectral};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Spectral { n_neighbors: 20, ..Spectral::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn ssne() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Ssne};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Ssne { perplexity: 50.0, ..Ssne::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn svd() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Svd};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Svd { n_components: 10, ..Svd::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn tsm() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Tsm};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Tsm { n_components: 8, ..Tsm::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn tsne() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Tsne};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Tsne { perplexity: 50.0, ..Tsne::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}

#[rustfmt::skip]
#[test]
fn umap() -> lowland::Result<()> {
    let values = rows(0..150, 64);
    let new = Data::dense(rows(150..160, 64), 64)?;
    use lowland::{Data, methods::Umap};

    let x = Data::dense(values, 64)?;                        // row-major f32, 64 columns
    let model = Umap { min_dist: 0.3, ..Umap::default() }.fit(&x)?;
    let map = model.embedding();
    let placed = model.transform(&new)?;
    assert_eq!(placed.rows(), 10);
    Ok(())
}
