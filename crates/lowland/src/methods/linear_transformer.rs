//! The fitted state of `pca` and `svd`: the linear map and the variances of its components.

use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Error, Points, Result};
use lowland_linalg::LinearMap;

use crate::method::{PrincipalComponents, TransformOutput, Transformer};

/// A linear map, and what its components explain.
pub struct LinearTransformer {
    pub(super) map: LinearMap,
    /// `None` for models saved by earlier versions.
    pub(super) variances: Option<ComponentVariances>,
}

/// The variance of each component. Coordinates that are always zero have none.
pub(super) struct ComponentVariances {
    pub singular_values: Vec<f64>,
    pub explained: Vec<f64>,
    /// Sum of the variances of all columns.
    pub total: f64,
}

impl ComponentVariances {
    /// Share of the variance that each component explains.
    pub fn ratios(&self) -> Vec<f64> {
        let share = |variance: &f64| if self.total > 0.0 { variance / self.total } else { 0.0 };
        self.explained.iter().map(share).collect()
    }

    /// Computes the variances from the singular values and the embedding. Of centered data they are those of scikit-learn's PCA
    /// (divided by n - 1), otherwise those of its TruncatedSVD (divided by n).
    pub fn new(
        data: &Data,
        embedding: &Embedding,
        mut singular_values: Vec<f64>,
        total_squares: f64,
        centered: bool,
    ) -> Self {
        let (n, dim) = (data.rows() as f64, embedding.dim());
        singular_values.resize(dim, 0.0);
        if centered {
            let freedom = (n - 1.0).max(1.0);
            let explained = singular_values.iter().map(|s| s * s / freedom).collect();
            return Self { singular_values, explained, total: total_squares / freedom };
        }
        let variance = |c: usize| {
            let column = || embedding.values().iter().skip(c).step_by(dim);
            let mean = column().sum::<f64>() / n;
            column().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n
        };
        let explained = (0..dim).map(variance).collect();
        let total = crate::preprocessing::column_moments(data).1.iter().sum::<f64>() / n;
        Self { singular_values, explained, total }
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("linear/singular_values", self.singular_values.as_slice());
        archive.put("linear/explained_variance", self.explained.as_slice());
        archive.put("linear/total_variance", vec![self.total]);
    }
}

impl LinearTransformer {
    /// Reads the state from a model file.
    pub(super) fn load(archive: &Archive) -> Result<Self> {
        let map = LinearMap::load("linear", archive)?;
        if archive.version() < 3 {
            return Ok(Self { map, variances: None });
        }
        let count = map.output_dim();
        let (singular_values, explained) =
            (archive.finite("linear/singular_values")?, archive.finite("linear/explained_variance")?);
        let total = archive.finite("linear/total_variance")?;
        // Models of earlier versions that were saved again have none.
        let variances = match total {
            [] if singular_values.is_empty() && explained.is_empty() => None,
            &[total] if singular_values.len() == count && explained.len() == count => {
                let (singular_values, explained) = (singular_values.to_vec(), explained.to_vec());
                Some(ComponentVariances { singular_values, explained, total })
            }
            _ => return Err(archive.invalid("the variances do not match the components".into())),
        };
        Ok(Self { map, variances })
    }
}

impl Transformer for LinearTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        progress(0.0)?;
        Ok(self.map.apply(new)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.map.save("linear", archive);
        match &self.variances {
            Some(variances) => variances.save(archive),
            None => ["singular_values", "explained_variance", "total_variance"]
                .iter()
                .for_each(|name| archive.put(format!("linear/{name}"), Vec::<f64>::new())),
        }
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        progress(0.0)?;
        let dim = self.map.dim();
        let mut values = vec![0.0; points.rows() * dim];
        for (i, row) in values.chunks_exact_mut(dim.max(1)).enumerate() {
            if !self.map.invert(points.row(i), row) {
                let reason = "it was saved by a version that did not store the mean; fit it again";
                return Err(Error::Format { what: "model", reason: reason.into() });
            }
        }
        Ok(Some(Data::dense(values.into_iter().map(|value| value as f32).collect(), dim)?))
    }

    fn principal_components(&self) -> Option<PrincipalComponents> {
        let variances = self.variances.as_ref()?;
        Some(PrincipalComponents {
            components: self.map.components(),
            mean: self.map.mean()?.to_vec(),
            singular_values: variances.singular_values.clone(),
            explained_variance: variances.explained.clone(),
            explained_variance_ratio: variances.ratios(),
        })
    }
}
