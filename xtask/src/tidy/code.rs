//! Rust text without its comments and literals, so that a rule about code sees code only.

/// `text` with every comment, string and character literal replaced by spaces, line for line.
pub(super) fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = end_of_non_code(bytes, at).map_or(at, |end| end.min(bytes.len()));
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    // Whole characters were blanked, so what is left is UTF-8 as before.
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether `line` has `word`, not as a part of a longer identifier.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins = |outside: Option<char>, inside: Option<char>| {
            outside.is_some_and(is_identifier) && inside.is_some_and(is_identifier)
        };
        !joins(before, word.chars().next()) && !joins(after, word.chars().next_back())
    })
}

/// Whether `c` can be a part of an identifier.
pub(super) fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the comment or literal that begins at `at` ends, if one begins there.
fn end_of_non_code(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => Some(
            at + rest
                .iter()
                .position(|&byte| byte == b'\n')
                .unwrap_or(rest.len()),
        ),
        b'/' if rest.starts_with(b"/*") => Some(at + block_comment(rest)),
        b'"' => Some(at + quoted(rest, b'"')),
        b'r' if begins_word(bytes, at) => raw_string(rest).map(|length| at + length),
        b'\'' => character(rest).map(|length| at + length),
        _ => None,
    }
}

/// Whether the `r` at `at` begins a word, or follows the `b` or `c` of one (`br"..."`).
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let joins = |byte: &u8| is_identifier(char::from(*byte));
    match &bytes[..at] {
        [.., before, b'b' | b'c'] => !joins(before),
        [b'b' | b'c'] | [] => true,
        [.., before] => !joins(before),
    }
}

/// The length of the block comment that begins here; they nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of the literal that begins here and ends at the next `quote` that is not escaped.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of `r"..."` or `r#"..."#`, if this is one.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let length = body.windows(close.len()).position(|window| window == close);
    Some(length.map_or(rest.len(), |length| open + 1 + length + close.len()))
}

/// The length of the character literal that begins here, if it is one and not a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    // A character takes up to 4 bytes; a lifetime has no quote after its first character.
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let valid = match text {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&rest[1..1 + error.valid_up_to()]).ok()?,
    };
    let length = 1 + valid.chars().next()?.len_utf8();
    (rest.get(length) == Some(&b'\'')).then_some(length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_stays() {
        for (text, left) in [
            ("let a = 1; // pliron", "let a = 1;"),
            ("a /* x /* y */ z */ b", "a                   b"),
            (r#"let s = "a \" b"; f()"#, "let s =         ; f()"),
            (r##"let s = r#"a " b"#; f()"##, "let s =           ; f()"),
            ("let s = br\"x\"; f()", "let s = b    ; f()"),
            (r"let c = '\''; f()", "let c =     ; f()"),
            ("let c = 'é'; f()", "let c =     ; f()"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("r#type + for_\"x\"", "r#type + for_   "),
        ] {
            assert_eq!(blank(text).trim_end(), left.trim_end(), "{text}");
        }
    }

    #[test]
    fn lines_keep_their_numbers() {
        let text = "a\n/* b\nc */\n\"d\ne\"\nf\n";
        let lines: Vec<String> = blank(text)
            .lines()
            .map(|line| line.trim().to_owned())
            .collect();
        assert_eq!(lines, ["a", "", "", "", "", "f"]);
    }

    #[test]
    fn unfinished_text_does_not_panic() {
        for text in ["\"", "'", "r#\"x", "/* x", "'\\", "\"\\", "é'", "br"] {
            assert_eq!(blank(text).lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn words_are_whole_words() {
        assert!(has_word("use burn::tensor;", "burn"));
        assert!(!has_word("use burn_cubecl::x;", "burn"));
        assert!(!has_word("let auburn = 1;", "burn"));
        assert!(has_word("x.todo!()", "todo!"));
        assert!(!has_word("my_todo!()", "todo!"));
    }
}
