//! Where a model comes from: the published weights, in their own names, or a seeded random draw.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::module::{Module, ModuleMapper, Param};
use burn::store::{KeyRemapper, ModuleSnapshot, PyTorchToBurnAdapter, SafetensorsStore};
use burn::tensor::{Device, FloatDType, Tensor};

use crate::model::{MiniLm, Sizes};

/// The published names, and what the modules of this example call the same things. Applied in turn.
const NAMES: [(&str, &str); 10] = [
    (r"^embeddings\.(\w+)_embeddings\.", "embeddings.$1."),
    (r"^embeddings\.token_type\.", "embeddings.segment."),
    (r"^embeddings\.LayerNorm\.", "embeddings.norm."),
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense\.", ".attention.output."),
    (r"\.attention\.output\.LayerNorm\.", ".attention_norm."),
    (r"^(layers\.\d+)\.intermediate\.dense\.", "$1.up."),
    (r"^(layers\.\d+)\.output\.dense\.", "$1.down."),
    (r"^(layers\.\d+)\.output\.LayerNorm\.", "$1.output_norm."),
];

/// Tensors that the published file holds and this model has no use for: BERT's head for whole
/// sentences, which mean pooling replaces, and the numbers 0 to 511.
const UNUSED: [&str; 3] = [
    "embeddings.position_ids",
    "pooler.dense.bias",
    "pooler.dense.weight",
];

/// Any seed does; a fixed one makes two runs agree.
const SEED: u64 = 6;

/// Reads all-MiniLM-L6-v2 from `file`, in f32.
pub(crate) fn pretrained(file: &Path, device: &Device) -> Result<MiniLm> {
    ensure!(
        file.is_file(),
        "{} is not there: run `cargo xtask demo`, which downloads it, \
         name its folder with --model DIR, or pass --random to run without it",
        file.display()
    );
    let mut names = KeyRemapper::new();
    for (from, to) in NAMES {
        names = names.add_pattern(from, to)?;
    }
    // The adapter transposes the linear weights ([out, in] in PyTorch) and finds a norm's gamma and
    // beta under PyTorch's weight and bias.
    let mut store = SafetensorsStore::from_file(file)
        .with_from_adapter(PyTorchToBurnAdapter)
        .remap(names);
    let mut model = MiniLm::new(&Sizes::MINILM_L6, device);
    let read = model
        .load_from(&mut store)
        .with_context(|| format!("{} does not hold all-MiniLM-L6-v2", file.display()))?;
    // A tensor that the model wants and the file lacks is an error already. The reverse would load
    // in silence and leave a layer out.
    if let Some(extra) = read
        .unused
        .iter()
        .find(|name| !UNUSED.contains(&name.as_str()))
    {
        bail!(
            "{} holds {extra}, which MiniLM-L6 does not have: is it another model?",
            file.display()
        );
    }
    Ok(model)
}

/// A small model that has learned nothing, in f32.
pub(crate) fn random(device: &Device) -> MiniLm {
    device.seed(SEED);
    // Burn draws weights at their first use. Drawing now makes every copy of this model the same.
    as_dtype(MiniLm::new(&Sizes::SMALL, device), FloatDType::F32)
}

/// The same weights on `device`, rounded to `dtype`.
pub(crate) fn copy_to(model: &MiniLm, device: &Device, dtype: FloatDType) -> MiniLm {
    as_dtype(model.clone().to_device(device), dtype)
}

fn as_dtype(model: MiniLm, dtype: FloatDType) -> MiniLm {
    model.map(&mut Cast(dtype))
}

struct Cast(FloatDType);

impl ModuleMapper for Cast {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| tensor.cast(self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Write, stderr};

    use super::*;
    use crate::attention::Attention;
    use crate::embed::embed;
    use crate::rank::cosine;
    use crate::tokenize::Tokenizer;

    /// Where `cargo xtask demo` puts the published model.
    const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/models/minilm-l6");

    /// Pairs of sentences, with the cosine that a forward pass in numpy and f64, written apart from
    /// this one, gives.
    const COSINES: [(&str, &str, f64); 3] = [
        (
            "A man is eating food.",
            "A man is eating a piece of bread.",
            0.755_337,
        ),
        (
            "A man is riding a horse.",
            "A man is riding a white horse on an enclosed ground.",
            0.736_882,
        ),
        (
            "A man is eating food.",
            "A cheetah is running behind its prey.",
            0.141_925,
        ),
    ];

    #[test]
    fn published_weights_give_the_cosines_of_an_independent_forward_pass() {
        let folder = Path::new(MODEL);
        let weights = folder.join("model.safetensors");
        if !weights.is_file() {
            let weights = weights.display();
            // Past the test harness, which holds back what a passing test prints by macro.
            writeln!(
                stderr(),
                "SKIPPED {weights}: not there; `cargo xtask demo` downloads it"
            )
            .expect("stderr takes a line");
            return;
        }
        let device = Device::flex();
        let model = pretrained(&weights, &device).expect("these are the published weights");
        let tokenizer = Tokenizer::from_file(&folder.join("tokenizer.json"))
            .expect("the tokenizer comes with the weights");
        for attention in [Attention::Flash, Attention::Stock] {
            for (first, second, expected) in COSINES {
                let tokens = [first, second].map(|text| {
                    tokenizer
                        .encode(text)
                        .expect("plain English has tokens")
                        .ids
                });
                let e = embed(&model, attention, &tokens, &device);
                let cosine = cosine(&e[0], &e[1]);
                // The cosines above have six digits, and f32 gives no fewer.
                assert!(
                    (cosine - expected).abs() < 2e-6,
                    "{attention:?}: {first:?} and {second:?} have {cosine}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn missing_file_says_what_to_do() {
        let error = pretrained(Path::new("no/such/model.safetensors"), &Device::flex())
            .expect_err("there is no such file");
        let message = error.to_string();
        assert!(message.contains("no/such/model.safetensors"), "{message}");
        assert!(message.contains("cargo xtask demo"), "{message}");
        assert!(message.contains("--random"), "{message}");
    }

    #[test]
    fn a_file_of_something_else_is_an_error() {
        let file = std::env::temp_dir().join(format!("minilm-{}.safetensors", std::process::id()));
        std::fs::write(&file, b"not a model").expect("the temporary folder can be written");
        let error = pretrained(&file, &Device::flex()).expect_err("this is no model");
        std::fs::remove_file(&file).expect("the file was written above");
        assert!(
            error.to_string().contains("does not hold all-MiniLM-L6-v2"),
            "{error}"
        );
    }
}
