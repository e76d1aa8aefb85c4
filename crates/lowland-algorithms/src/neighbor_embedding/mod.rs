//! Elastic embedding, symmetric SNE and t-SNE: attraction along the affinities, repulsion between all pairs.
//!
//! With ordered pairs, `s` the squared distance, `f` the attraction and `K` the kernel, the objective is
//! `g sum p f(s) + R`, where `R` is `lambda sum K(s)` (elastic embedding) or `ln sum K(s)` (the others) and `g` the
//! exaggeration. Its gradient is `4 (g sum_j p f'(s) (y_i - y_j) + r sum_j K'(s) (y_i - y_j))`, `r` being `lambda` or
//! one over the sum.

mod attraction;
mod attraction_kernel;
mod device;
mod divided;
mod energy;
mod objective;
mod out_of_sample;
mod point_loss;
#[cfg(test)]
mod schedule_tests;
mod student_field;
#[cfg(test)]
mod tests;

pub use device::{DeviceDescent, DeviceObjective};
pub use divided::{DividedEmbedding, DividedSettings, ForceSums};
pub use energy::{Energy, EnergySchedule, ScheduleStage};
pub use objective::{NeighborEmbeddingObjective, PredictedNoise};
pub use out_of_sample::NeighborEmbeddingTransform;
pub use point_loss::{NeighborEmbeddingLoss, NeighborEmbeddingRow};
pub use student_field::{StudentField, TailKernel};
