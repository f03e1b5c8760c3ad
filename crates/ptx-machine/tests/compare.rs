//! The kernels that are compared with hardware parse.

use std::{fs, path::PathBuf};

use ptx_machine::module::Module;

#[test]
fn kernels_of_the_comparison_parse() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("compare");
    let mut kernels = 0;
    for entry in fs::read_dir(folder).expect("the folder of kernels") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = fs::read_to_string(&path).expect("text");
            let module = Module::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(
                module.kernels[0].name.as_str(),
                path.file_stem().expect("a name")
            );
            kernels += 1;
        }
    }
    assert_eq!(kernels, 12);
}
