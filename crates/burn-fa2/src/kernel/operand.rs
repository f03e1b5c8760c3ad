//! Tensors of Burn as operands of a kernel: what it can't read as it lies is copied.

use burn::{
    backend::{TensorMetadata, ops::FloatTensorOps},
    tensor::{Shape, Slice},
};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use fa2_cubecl::{TensorRef, unmappable_stride};

/// Elements of the 16-byte chunks that the kernels copy: every row starts at a multiple of it.
pub(super) const CHUNK_ELEMENTS: usize = 8;
/// Bytes of such a chunk.
const CHUNK_BYTES: u64 = 16;

/// What reads an operand from global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Threads, by its strides.
    Threads,
    /// Hopper's copy engine, by a tensor map.
    CopyEngine,
}

/// `tensor` with `head_dim` columns and rows that `reader` can read: itself wherever possible.
pub(super) fn operand(tensor: CubeTensor, head_dim: usize, reader: Reader) -> CubeTensor {
    let tensor = padded(tensor, head_dim);
    if is_readable(&tensor, reader) {
        return tensor;
    }
    let tensor = into_contiguous(tensor);
    // Contiguous already, but in the middle of somebody's allocation.
    if is_readable(&tensor, reader) {
        tensor
    } else {
        tensor.copy()
    }
}

/// With zero columns up to `head_dim`: they add nothing to the scores, and their output is cut off.
fn padded(tensor: CubeTensor, head_dim: usize) -> CubeTensor {
    let [batch, heads, seq, columns] = tensor.shape().dims();
    if columns == head_dim {
        return tensor;
    }
    let (shape, dtype) = (Shape::new([batch, heads, seq, head_dim]), tensor.dtype());
    let zeros = CubeBackend::float_zeros(shape, &tensor.device(), dtype.into());
    CubeBackend::float_slice_assign(zeros, &first_columns(&tensor.shape()), tensor)
}

/// The first columns of O, without those of the padding.
pub(super) fn columns(o: CubeTensor, columns: usize) -> CubeTensor {
    let [batch, heads, seq, padded] = o.shape().dims();
    if columns == padded {
        return o;
    }
    CubeBackend::float_slice(o, &first_columns(&Shape::new([batch, heads, seq, columns])))
}

fn first_columns(shape: &Shape) -> Vec<Slice> {
    shape.iter().map(|size| Slice::from(0..*size)).collect()
}

/// Whether columns are adjacent, every row starts at a multiple of 16 bytes, and `reader` can have the
/// strides.
fn is_readable(tensor: &CubeTensor, reader: Reader) -> bool {
    if tensor.meta.is_tiled() {
        return false;
    }
    let (offset, strides) = (tensor.handle.offset_start.unwrap_or(0), strides(tensor));
    offset.is_multiple_of(CHUNK_BYTES)
        && strides[3] == 1
        && strides[..3]
            .iter()
            .all(|stride| stride.is_multiple_of(CHUNK_ELEMENTS))
        && match reader {
            Reader::Threads => true,
            Reader::CopyEngine => {
                let [batch, heads, rows, _] = tensor.shape().dims();
                let [batch_stride, head, row, _] = strides;
                unmappable_stride([batch, heads, rows], [batch_stride, head, row]).is_none()
            }
        }
}

/// The strides, with that of an axis of size 1 as 0: it is never stepped along and may hold
/// anything.
fn strides(tensor: &CubeTensor) -> [usize; 4] {
    let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
    [0, 1, 2, 3].map(|axis| match (axis, shape[axis]) {
        (0..3, 1) => 0,
        _ => strides[axis],
    })
}

pub(super) fn reference(tensor: &CubeTensor) -> TensorRef {
    let [batch, head, row, _] = strides(tensor);
    TensorRef {
        handle: tensor.handle.clone(),
        strides: [batch, head, row],
    }
}
