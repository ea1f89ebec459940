//! Patterns with `*` and `?`. No regular expressions: a rule must not be able to take long.

/// Whether `text` matches `pattern` as a whole. Time is at most the product of the two lengths.
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at_pattern, mut at_text) = (0, 0);
    // Where the last star stands, and how much text it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                star = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(character) if *character == '?' || *character == text[at_text] => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => {
                let Some((star_pattern, star_text)) = star else {
                    return false;
                };
                star = Some((star_pattern, star_text + 1));
                at_pattern = star_pattern + 1;
                at_text = star_text + 1;
            }
        }
    }
    pattern[at_pattern..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        assert!(matches_glob("*", ""));
        assert!(matches_glob("/usr/*/redis-server", "/usr/bin/redis-server"));
        assert!(matches_glob("*redis*", "/opt/redis/bin/server"));
        assert!(matches_glob("a?c", "abc"));
        assert!(!matches_glob("a?c", "ac"));
        assert!(!matches_glob("/usr/bin/a", "/usr/bin/ab"));
        assert!(matches_glob("*a*b", "xaxbxb"));
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let text = "a".repeat(2000);
        assert!(!matches_glob(&("*a".repeat(20) + "b"), &text));
    }
}
