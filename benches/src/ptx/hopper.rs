//! The kernels for SM90, one page each. The PTX machine does not know their instructions.

use super::{PtxArgs, print_figures, print_table};
use anyhow::{Context, Result, anyhow};
use fa2_cubecl::offline::sm90::{SM, compile, compile_maps};
use fa2_testing::census;

/// Shows the code of the kernel that makes the tensor maps, and of the forward.
pub(super) fn run(args: &PtxArgs) -> Result<()> {
    let config = args.config.sm90()?;
    for (kernel, compiled) in [
        ("tensor maps", compile_maps(config)),
        ("forward", compile(config)),
    ] {
        let ptx = compiled.map_err(|error| anyhow!(error))?;
        let name = format!("sm90_{kernel}_{config}").replace([' ', '='], "_");
        if args.text {
            println!("{}", ptx.text);
        }
        let census = census::assemble(&ptx.text, SM, &args.out, &name)
            .map_err(|error| anyhow!(error))
            .context("assembling the kernel")?;
        println!("\n{kernel}: {config}, sm_{SM}");
        print_figures(&census, ptx.shared_bytes);
        print_table(&census, None);
        println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
    }
    Ok(())
}
