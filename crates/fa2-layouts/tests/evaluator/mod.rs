//! Evaluates a formula from its text: `^`, then `+`, then a factor before its term, then `/` and
//! `%`, loosest first.

use std::iter::Peekable;
use std::str::Chars;

/// The equations of a text, ready to run.
pub(crate) struct Program {
    /// The arguments, then every other name.
    names: Vec<String>,
    /// Slots and their values, in an order in which each is known when it is used.
    equations: Vec<(usize, Node)>,
}

enum Node {
    Number(usize),
    Slot(usize),
    Apply(char, Box<Node>, Box<Node>),
}

impl Program {
    /// Reads lines of equations, those that others use last.
    pub(crate) fn new(text: &str, arguments: [&str; 2]) -> Self {
        let mut program = Self {
            names: arguments.map(str::to_owned).into(),
            equations: Vec::new(),
        };
        let equations: Vec<&str> = text.lines().flat_map(|line| line.split(", ")).collect();
        for equation in equations.into_iter().rev() {
            let (name, value) = equation.split_once(" = ").unwrap();
            let mut parser = Parser {
                text: value.chars().peekable(),
                names: &program.names,
            };
            let node = parser.xor();
            assert_eq!(parser.next(), None, "all of `{value}` is read");
            let known = program.names.iter().position(|known| known == name);
            let slot = known.unwrap_or(program.names.len());
            if known.is_none() {
                program.names.push(name.to_owned());
            }
            program.equations.push((slot, node));
        }
        program
    }

    /// The values of `results`; a name that is defined twice must agree with itself.
    pub(crate) fn run<const N: usize>(
        &self,
        arguments: [usize; 2],
        results: [&str; N],
    ) -> [usize; N] {
        let mut slots = vec![None; self.names.len()];
        slots[..2].copy_from_slice(&arguments.map(Some));
        for (slot, node) in &self.equations {
            let value = node.value(&slots);
            let before = slots[*slot].replace(value);
            let agrees = before.is_none_or(|before| before == value);
            assert!(agrees, "{} is {before:?} and {value}", self.names[*slot]);
        }
        results.map(|result| {
            let slot = self.names.iter().position(|name| name == result).unwrap();
            slots[slot].unwrap()
        })
    }
}

impl Node {
    fn value(&self, slots: &[Option<usize>]) -> usize {
        match self {
            Self::Number(number) => *number,
            Self::Slot(slot) => slots[*slot].unwrap(),
            Self::Apply(operator, a, b) => {
                let (a, b) = (a.value(slots), b.value(slots));
                match operator {
                    '^' => a ^ b,
                    '+' => a + b,
                    '*' => a * b,
                    '/' => a / b,
                    '%' => a % b,
                    _ => unreachable!("the parser makes no {operator}"),
                }
            }
        }
    }
}

struct Parser<'a> {
    text: Peekable<Chars<'a>>,
    names: &'a [String],
}

impl Parser<'_> {
    fn xor(&mut self) -> Node {
        let mut node = self.sum();
        while self.take('^') {
            node = Node::Apply('^', node.into(), self.sum().into());
        }
        node
    }

    fn sum(&mut self) -> Node {
        let mut node = self.product();
        while self.take('+') {
            node = Node::Apply('+', node.into(), self.product().into());
        }
        node
    }

    fn product(&mut self) -> Node {
        if self.next().is_some_and(|c| c.is_ascii_digit()) {
            let number = self.number();
            return match self.next() {
                Some(c) if c == '(' || c.is_ascii_alphabetic() => {
                    Node::Apply('*', number.into(), self.atom().into())
                }
                _ => number,
            };
        }
        let mut node = self.atom();
        loop {
            let Some(operator) = ['/', '%'].into_iter().find(|&c| self.take(c)) else {
                return node;
            };
            node = Node::Apply(operator, node.into(), self.number().into());
        }
    }

    fn atom(&mut self) -> Node {
        if self.take('(') {
            let node = self.xor();
            assert!(self.take(')'), "a parenthesis is closed");
            return node;
        }
        let word = self.word();
        let slot = self.names.iter().position(|name| *name == word);
        Node::Slot(slot.unwrap_or_else(|| panic!("`{word}` is not defined")))
    }

    fn number(&mut self) -> Node {
        Node::Number(self.word().parse().unwrap())
    }

    fn word(&mut self) -> String {
        self.next();
        let mut word = String::new();
        while let Some(c) = self.text.next_if(char::is_ascii_alphanumeric) {
            word.push(c);
        }
        word
    }

    fn take(&mut self, wanted: char) -> bool {
        self.next() == Some(wanted) && self.text.next().is_some()
    }

    /// The next character that is not a space, left in its place.
    fn next(&mut self) -> Option<char> {
        while self.text.next_if_eq(&' ').is_some() {}
        self.text.peek().copied()
    }
}
