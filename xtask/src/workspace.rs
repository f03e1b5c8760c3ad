//! Where the workspace and its build output lie.

use std::path::{Path, PathBuf};

/// The workspace's root: the parent of this package's folder.
pub(crate) fn root() -> PathBuf {
    // At run time first: a target folder copied to another machine holds an xtask of another path.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Cargo's target folder, as an absolute path.
///
/// `CARGO_TARGET_DIR` is relative to where the user stands, while the commands run at the root.
pub(crate) fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => std::path::absolute(&dir).unwrap_or_else(|_| PathBuf::from(dir)),
        None => root().join("target"),
    }
}
