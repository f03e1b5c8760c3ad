//! What is run: a model with the tokenizer that belongs to it, published or random.

use std::time::Instant;

use anyhow::Result;
use burn::module::Module;
use burn::tensor::Device;

use crate::args::Args;
use crate::load;
use crate::model::{MiniLm, Sizes};
use crate::progress;
use crate::tokenize::Tokenizer;

/// A model in f32 on the CPU, of which every run takes a copy, with its tokenizer.
pub(crate) struct Source {
    /// For the reader: what this is and where it comes from.
    pub(crate) name: String,
    pub(crate) model: MiniLm,
    pub(crate) sizes: Sizes,
    tokenizer: Tokenizer,
}

impl Source {
    /// The model that `args` asks for.
    pub(crate) fn read(args: &Args) -> Result<Self> {
        let cpu = Device::flex();
        if args.random {
            let sizes = Sizes::SMALL;
            return Ok(Self {
                name: "RANDOM WEIGHTS, not MiniLM-L6: the ranking means nothing, the check does"
                    .to_string(),
                model: load::random(&cpu),
                sizes,
                tokenizer: Tokenizer::Words(sizes.vocabulary as u32),
            });
        }
        let start = Instant::now();
        let spinner = progress::spinner("reading MiniLM-L6");
        let model = load::pretrained(&args.model.join("model.safetensors"), &cpu)?;
        let tokenizer = Tokenizer::from_file(&args.model.join("tokenizer.json"))?;
        spinner.finish_and_clear();
        Ok(Self {
            name: format!(
                "all-MiniLM-L6-v2 from {}: {:.1} million weights, read in {:.1} s",
                args.model.display(),
                model.num_params() as f64 / 1e6,
                start.elapsed().as_secs_f64()
            ),
            model,
            sizes: Sizes::MINILM_L6,
            tokenizer,
        })
    }

    /// The token ids of each sentence.
    pub(crate) fn tokenize(&self, sentences: &[String]) -> Result<Vec<Vec<u32>>> {
        let mut all = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let tokens = self.tokenizer.encode(sentence)?;
            if tokens.cut {
                log::warn!("longer than the model takes, and cut: {sentence:?}");
            }
            all.push(tokens.ids);
        }
        Ok(all)
    }
}
