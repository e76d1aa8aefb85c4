//! What takes the place of the driver in a build without the feature `driver`: types without values.

use std::convert::Infallible;
use std::marker::PhantomData;

use lowland_core::Result;

use crate::error::unusable;
use crate::launch::{Arg, Kernel, Shape};
use crate::{Device, DeviceInfo};

const REASON: &str = "this build has no support for CUDA (the feature cuda)";

/// A card; there is none.
#[derive(Debug)]
pub struct Gpu(Infallible);

/// Memory on a card; there is none.
pub(crate) struct Buffer<T>(Infallible, PhantomData<T>);

impl<T> Buffer<T> {
    pub fn arg(&self) -> Arg {
        match self.0 {}
    }

    pub fn len(&self) -> usize {
        match self.0 {}
    }

    pub fn arg_from(&self, _: usize) -> Arg {
        match self.0 {}
    }
}

impl Gpu {
    /// Fails: there are no cards.
    pub fn open(ordinal: usize) -> Result<Self> {
        Err(unusable(Device::Cuda(ordinal), REASON.into()))
    }

    /// Returns the memory that is free, in bytes.
    pub fn free_memory(&self) -> Result<u64> {
        match self.0 {}
    }

    /// Returns number and name.
    pub fn description(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn processors(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn shared_memory(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn upload<T>(&self, _: &[T]) -> Result<Buffer<T>> {
        match self.0 {}
    }

    pub(crate) fn write<T>(&self, _: &[T], _: &mut Buffer<T>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn zeros<T>(&self, _: usize) -> Result<Buffer<T>> {
        match self.0 {}
    }

    pub(crate) fn clear<T>(&self, _: &mut Buffer<T>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn download<T>(&self, _: &Buffer<T>, _: &mut [T]) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn launch(&self, _: Kernel, _: Shape, _: &[Arg]) -> Result<()> {
        match self.0 {}
    }
}

/// Fails: there are no cards.
pub fn devices() -> std::result::Result<Vec<DeviceInfo>, String> {
    Err(REASON.into())
}
