//! Which sentences mean much the same: cosines of their embeddings, best first.

use crate::text::Text;

/// The columns that a sentence gets in a table.
const SENTENCE_WIDTH: usize = 56;

/// Two sentences, by index, and the cosine between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) cosine: f64,
    pub(crate) first: usize,
    pub(crate) second: usize,
}

/// The cosine of two embeddings: their dot product, since both have length 1.
pub(crate) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The `top` closest pairs among `embeddings`.
pub(crate) fn pairs(embeddings: &[Vec<f64>], top: usize) -> Vec<Pair> {
    let all = (0..embeddings.len())
        .flat_map(|first| (first + 1..embeddings.len()).map(move |second| (first, second)));
    best(embeddings, all, top)
}

/// The `top` sentences closest to the one at `query`.
pub(crate) fn against(query: usize, embeddings: &[Vec<f64>], top: usize) -> Vec<Pair> {
    let others = (0..embeddings.len()).filter(|&other| other != query);
    best(embeddings, others.map(|other| (query, other)), top)
}

/// Keeps the `top` best of `candidates` only: a file of n sentences has n^2 / 2 pairs.
fn best(
    embeddings: &[Vec<f64>],
    candidates: impl Iterator<Item = (usize, usize)>,
    top: usize,
) -> Vec<Pair> {
    let mut best: Vec<Pair> = Vec::new();
    for (first, second) in candidates {
        let cosine = cosine(&embeddings[first], &embeddings[second]);
        let place = best.partition_point(|pair| pair.cosine >= cosine);
        if place < top {
            best.truncate(top - 1);
            let pair = Pair {
                cosine,
                first,
                second,
            };
            best.insert(place, pair);
        }
    }
    best
}

/// Ranked sentences as a table. With a query, which stands in every pair, its rows show the other.
pub(crate) fn table(pairs: &[Pair], text: &Text) -> String {
    let mut table = match text.query {
        Some(query) => format!("  cosine  to {:?}\n", text.sentences[query]),
        None => "  cosine  of the closest pairs\n".to_string(),
    };
    for pair in pairs {
        let (first, second) = (&text.sentences[pair.first], &text.sentences[pair.second]);
        let (first, second, cosine) = (shorten(first), shorten(second), pair.cosine);
        table += &match text.query {
            Some(_) => format!("  {cosine:6.3}  {second}\n"),
            None => format!("  {cosine:6.3}  {first:SENTENCE_WIDTH$}  {second}\n"),
        };
    }
    table
}

/// At most `SENTENCE_WIDTH` characters of `sentence`.
fn shorten(sentence: &str) -> String {
    if sentence.chars().count() <= SENTENCE_WIDTH {
        return sentence.to_string();
    }
    let start: String = sentence.chars().take(SENTENCE_WIDTH - 3).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit vectors at 0, 90 and 30 degrees.
    fn embeddings() -> Vec<Vec<f64>> {
        let at = |degrees: f64| vec![degrees.to_radians().cos(), degrees.to_radians().sin()];
        vec![at(0.0), at(90.0), at(30.0)]
    }

    fn indices(pairs: &[Pair]) -> Vec<(usize, usize)> {
        pairs.iter().map(|pair| (pair.first, pair.second)).collect()
    }

    #[test]
    fn pairs_come_closest_first_and_each_once() {
        let ranked = pairs(&embeddings(), 10);
        assert_eq!(indices(&ranked), [(0, 2), (1, 2), (0, 1)]);
        assert!((ranked[0].cosine - 0.75_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn only_the_top_is_kept() {
        assert_eq!(indices(&pairs(&embeddings(), 1)), [(0, 2)]);
    }

    #[test]
    fn query_is_not_compared_with_itself() {
        assert_eq!(indices(&against(1, &embeddings(), 10)), [(1, 2), (1, 0)]);
    }

    #[test]
    fn long_sentences_are_cut_between_characters() {
        let long = "\u{e9}".repeat(80);
        let short = shorten(&long);
        assert_eq!(short.chars().count(), SENTENCE_WIDTH);
        assert!(short.ends_with("..."));
        assert_eq!(shorten("as it is"), "as it is");
    }
}
