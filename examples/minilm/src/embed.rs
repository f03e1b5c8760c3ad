//! Sentences to vectors, in batches of one length each: no padding, and so no attention mask.
//!
//! The usual way pads the sentences of a batch to the longest and hides the padding from attention
//! with a mask. The kernel serves no mask, and needs none here: sentences of equal length share a
//! batch as they are. The result is the same, since a masked key has weight exp(-inf) = 0, and no
//! work goes into padding. With many lengths and few sentences of each, batches get small; a
//! program that embeds a stream would collect until its buckets fill.

use std::collections::BTreeMap;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::attention::Attention;
use crate::model::MiniLm;
use crate::progress;

/// Sentences a batch. It bounds the memory that a file of many equal lengths takes.
const MAX_BATCH: usize = 64;

/// Embeds `sentences`, each a list of token ids, into unit vectors in the same order.
pub(crate) fn embed(
    model: &MiniLm,
    attention: Attention,
    sentences: &[Vec<u32>],
    device: &Device,
) -> Vec<Vec<f64>> {
    let mut by_length = BTreeMap::<usize, Vec<usize>>::new();
    for (index, sentence) in sentences.iter().enumerate() {
        by_length.entry(sentence.len()).or_default().push(index);
    }
    let what = format!("embedding, {attention:?} attention");
    let bar = progress::bar(&what, sentences.len());
    let mut embeddings = vec![Vec::new(); sentences.len()];
    for indices in by_length.values().flat_map(|all| all.chunks(MAX_BATCH)) {
        let batch: Vec<&[u32]> = indices.iter().map(|&i| sentences[i].as_slice()).collect();
        let output = model.forward(to_tensor(&batch, device), attention); // (B, hidden)
        let [_, hidden] = output.dims();
        let values: Vec<f64> = output.into_data().iter().collect();
        for (&index, embedding) in indices.iter().zip(values.chunks_exact(hidden)) {
            embeddings[index] = embedding.to_vec();
        }
        bar.inc(indices.len() as u64);
    }
    bar.finish_and_clear();
    embeddings
}

/// Token ids of sentences of one length, as (B, S).
pub(crate) fn to_tensor(batch: &[&[u32]], device: &Device) -> Tensor<2, Int> {
    let length = batch.first().map_or(0, |sentence| sentence.len());
    let ids: Vec<i64> = batch
        .iter()
        .flat_map(|sentence| sentence.iter().map(|&id| i64::from(id)))
        .collect();
    Tensor::from_data(TensorData::new(ids, [batch.len(), length]), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    #[test]
    fn a_sentence_embeds_the_same_alone_and_among_others() {
        let device = Device::flex();
        let model = load::random(&device);
        // Lengths 3, 5, 3, 4: two share a batch, and the order of the batches is not that of the
        // sentences.
        let sentences: Vec<Vec<u32>> = [
            &[101, 1_000, 102][..],
            &[101, 2_000, 2_001, 2_002, 102],
            &[101, 3_000, 102],
            &[101, 4_000, 4_001, 102],
        ]
        .map(<[u32]>::to_vec)
        .to_vec();
        let run = |sentences: &[Vec<u32>]| embed(&model, Attention::Stock, sentences, &device);
        let together = run(&sentences);
        for (sentence, embedding) in sentences.iter().zip(&together) {
            let alone = &run(std::slice::from_ref(sentence))[0];
            assert_eq!(alone.len(), embedding.len());
            // A batch of two may sum in another order than a batch of one: a few roundings of
            // numbers below 1.
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 8.0 * f64::from(f32::EPSILON);
            assert!(alone.iter().zip(embedding).all(close), "{sentence:?}");
        }
    }

    #[test]
    fn nothing_embeds_to_nothing() {
        let device = Device::flex();
        let model = load::random(&device);
        assert!(embed(&model, Attention::Stock, &[], &device).is_empty());
    }
}
