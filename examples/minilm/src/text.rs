//! The sentences to embed: a file's, or a handful that come with the example.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::args::Args;

/// From the documentation of sentence-transformers, whose ranking of them is known.
const BUILT_IN: [&str; 10] = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
    "A man is riding a white horse on an enclosed ground.",
    "A woman is playing violin.",
    "Two men pushed carts through the woods.",
    "A monkey is playing drums.",
    "Someone in a gorilla costume is playing a set of drums.",
    "A cheetah is running behind its prey.",
];

/// Sentences, and which of them is the query.
pub(crate) struct Text {
    pub(crate) sentences: Vec<String>,
    pub(crate) query: Option<usize>,
}

impl Text {
    /// The text that `args` asks for. A query joins the sentences as the last one.
    pub(crate) fn read(args: &Args) -> Result<Self> {
        let mut sentences = match &args.text {
            None => BUILT_IN.map(String::from).to_vec(),
            Some(file) => {
                let text = fs::read_to_string(file)
                    .with_context(|| format!("--text {}: can't be read", file.display()))?;
                lines(&text)
            }
        };
        sentences.extend(args.query.clone());
        ensure!(
            sentences.len() >= 2,
            "ranking takes two sentences or more, but there are {}: put one a line in --text FILE",
            sentences.len()
        );
        Ok(Self {
            query: args.query.as_ref().map(|_| sentences.len() - 1),
            sentences,
        })
    }
}

/// The lines of `text` that say something.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(String::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn blank_lines_are_no_sentences() {
        assert_eq!(lines("one\n\n  two \r\n\t\n"), ["one", "two"]);
    }

    #[test]
    fn the_query_is_the_last_sentence() {
        let text = Text::read(&Args::parse_from(["minilm", "--query", "Who eats?"]))
            .expect("the built-in sentences need no file");
        assert_eq!(text.query, Some(BUILT_IN.len()));
        assert_eq!(text.sentences[BUILT_IN.len()], "Who eats?");
    }
}
