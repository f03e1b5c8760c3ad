//! From text to token ids: the model's own WordPiece, or whole words for the random model.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use tokenizers::TruncationParams;

/// The longest input, special tokens included, that all-MiniLM-L6-v2 is meant for (its
/// sentence_bert_config.json).
const MAX_TOKENS: usize = 256;

/// Opens and closes a sentence, in BERT's vocabulary.
const CLS: u32 = 101;
const SEP: u32 = 102;
/// Ids below this are BERT's special and reserved ones; words of the random model stay above.
const FIRST_WORD: u32 = 1_000;

/// A sentence ready for the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// [CLS], the text, [SEP].
    pub(crate) ids: Vec<u32>,
    /// Whether the text was longer than the model takes, and its end was cut.
    pub(crate) cut: bool,
}

/// Turns text into token ids.
pub(crate) enum Tokenizer {
    /// The tokenizer that belongs to the published weights.
    WordPiece(Box<tokenizers::Tokenizer>),
    /// Lower-case words, hashed into a vocabulary of this many ids. Equal words get equal ids, and
    /// that is all that a model with random weights can make use of.
    Words(u32),
}

impl Tokenizer {
    /// Reads a tokenizer.json.
    pub(crate) fn from_file(file: &Path) -> Result<Self> {
        let mut tokenizer = tokenizers::Tokenizer::from_file(file).map_err(|error| {
            anyhow!(
                "{}: {error}. Run `cargo xtask demo`, which downloads it, \
                 or pass --random to run without it",
                file.display()
            )
        })?;
        // The file asks for every sentence to be padded or cut to 128 tokens. Cut at the model's
        // own length instead, and pad nothing (see `embed`).
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(Some(TruncationParams {
                max_length: MAX_TOKENS,
                ..Default::default()
            }))
            .map_err(|error| anyhow!("{}: {error}", file.display()))?;
        Ok(Self::WordPiece(Box::new(tokenizer)))
    }

    /// The ids of `text` between [CLS] and [SEP].
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens> {
        match self {
            Self::WordPiece(tokenizer) => {
                let encoding = tokenizer
                    .encode(text, true)
                    .map_err(|error| anyhow!("{error}"))
                    .with_context(|| format!("this text can't be split into tokens: {text:?}"))?;
                Ok(Tokens {
                    ids: encoding.get_ids().to_vec(),
                    cut: !encoding.get_overflowing().is_empty(),
                })
            }
            Self::Words(vocabulary) => {
                let words = text.to_lowercase();
                let mut ids = vec![CLS];
                ids.extend(
                    words
                        .split_whitespace()
                        .map(|word| word_id(word, *vocabulary)),
                );
                let cut = ids.len() >= MAX_TOKENS;
                ids.truncate(MAX_TOKENS - 1);
                ids.push(SEP);
                Ok(Tokens { ids, cut })
            }
        }
    }
}

/// FNV-1a of `word`, folded into the ids from `FIRST_WORD` on. The standard library's hasher may
/// change from one release to the next; this one can't.
fn word_id(word: &str, vocabulary: u32) -> u32 {
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    FIRST_WORD + hash % (vocabulary - FIRST_WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Tokenizer = Tokenizer::Words(4_096);

    #[test]
    fn equal_words_get_equal_ids_whatever_their_case() {
        let Tokens { ids, cut } = WORDS.encode("The cat the").expect("words always encode");
        assert!(!cut);
        assert_eq!((ids[0], ids[4], ids.len()), (CLS, SEP, 5));
        assert_eq!(ids[1], ids[3]);
        assert_ne!(ids[1], ids[2]);
        assert!(
            ids[1..4]
                .iter()
                .all(|&id| (FIRST_WORD..4_096).contains(&id))
        );
    }

    #[test]
    fn text_that_fits_exactly_is_not_cut_and_one_word_more_is() {
        let words = |count| vec!["word"; count].join(" ");
        let fits = WORDS
            .encode(&words(MAX_TOKENS - 2))
            .expect("words always encode");
        assert_eq!((fits.ids.len(), fits.cut), (MAX_TOKENS, false));
        let long = WORDS
            .encode(&words(MAX_TOKENS - 1))
            .expect("words always encode");
        assert_eq!((long.ids.len(), long.cut), (MAX_TOKENS, true));
        assert_eq!(long.ids.last(), Some(&SEP));
    }

    #[test]
    fn empty_text_is_two_special_tokens() {
        let empty = WORDS.encode("").expect("words always encode");
        assert_eq!(empty.ids, [CLS, SEP]);
    }
}
