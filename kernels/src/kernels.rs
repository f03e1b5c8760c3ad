//! The table of kernels.

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Element type of Q, K, V and O. Sums are in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl Dtype {
    /// Bytes of an element.
    pub const BYTES: u32 = 2;
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskKind {
    /// All of them.
    None,
    /// Those up to its own position plus a run-time diagonal.
    Causal,
}

/// What a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `FwdParams`: any problem of its head size, type and mask.
    General,
    /// `TeachingParams`: one size of everything, for study.
    Teaching,
}

/// One kernel of the fatbin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name in the module.
    pub name: &'static str,
    /// The source file that it is an instance in.
    pub unit: &'static str,
    /// What it takes.
    pub family: Family,
    /// Element type.
    pub dtype: Dtype,
    /// Mask.
    pub mask: MaskKind,
    /// Columns that it computes; tensors may have fewer.
    pub head_dim: u32,
    /// Query rows of a CTA.
    pub block_m: u32,
    /// Key rows of a step.
    pub block_n: u32,
    /// K/V blocks in shared memory at once.
    pub stages: u32,
    /// Threads of a CTA, along x.
    pub threads: u32,
    /// Dynamic shared memory. Above 48 KiB the function's
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` must be raised before the launch.
    pub shared_bytes: u32,
    /// Whether its unit was compiled into this build.
    pub is_built: bool,
}

/// All kernels, by unit.
#[must_use]
pub fn kernels() -> &'static [KernelInfo] {
    &TABLE
}

/// The kernel of this name.
#[must_use]
pub fn kernel(name: &str) -> Option<&'static KernelInfo> {
    TABLE.iter().find(|kernel| kernel.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (at, one) in TABLE.iter().enumerate() {
            assert!(TABLE[at + 1..].iter().all(|other| other.name != one.name));
        }
    }

    #[test]
    fn no_kernel_spills() {
        for line in crate::REPORT.lines() {
            let numbers: Vec<&str> = line.split(' ').skip(4).collect();
            assert_eq!(numbers, ["0", "0"], "{line}");
        }
    }
}
