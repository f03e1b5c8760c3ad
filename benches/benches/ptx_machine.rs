//! Speed of the PTX machine on the forward kernel: lane-instructions per second and core, all checks
//! on.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fa2_machine::Kernel;
use fa2_testing::{Case, Causal, inputs};
use half::f16;

/// Enough blocks for the steady loop to count, few enough for many samples.
const SEQ: usize = 256;
const SM: u32 = 80;

fn forward(criterion: &mut Criterion) {
    // One core: what more of them add is rayon's business.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a thread can be started");
    let mut group = criterion.benchmark_group("ptx-machine");
    group.sample_size(10);
    for (name, head_dim, causal) in [
        ("forward D=64", 64, false),
        ("forward D=128 causal", 128, true),
    ] {
        let case = Case::new("speed", 1, 1, SEQ, head_dim);
        let case = match causal {
            true => case.causal(Causal::BottomRight),
            false => case,
        };
        let kernel = Kernel::chosen::<f16>(&case, SM).expect("the heuristics serve the case");
        let qkv = inputs::generate::<f16>(&case, 1);
        let run = || pool.install(|| kernel.forward(&case, &qkv, 0));
        let measures = run().expect("the kernel breaks no rule").measures;
        group.throughput(Throughput::Elements(measures.lane_instructions()));
        group.bench_function(name, |bencher| bencher.iter(run));
    }
    group.finish();
}

criterion_group!(benches, forward);
criterion_main!(benches);
