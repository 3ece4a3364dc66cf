//! Suggestions for a misspelt name.

/// The least Jaro similarity (0 to 1) at which a name is suggested.
const ALIKE: f64 = 0.7;
/// The number of names in a list of suggestions.
const NEAREST: usize = 5;

/// Returns a question to append to an error, with the known name most similar to `name`. Returns an
/// empty text if no known name is similar enough.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    let likeness = |known: &&str| strsim::jaro(name, known);
    let best =
        known.iter().map(|known| (likeness(known), *known)).max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((alike, known)) if alike > ALIKE => format!("; did you mean '{known}'?"),
        _ => String::new(),
    }
}

/// Returns the known names that are most similar to `name`, the most similar first.
pub fn nearest(name: &str, known: &[&str]) -> String {
    let mut by_likeness: Vec<(f64, &str)> =
        known.iter().map(|known| (strsim::jaro(name, known), *known)).collect();
    by_likeness.sort_by(|one, other| other.0.total_cmp(&one.0));
    let names: Vec<&str> = by_likeness.into_iter().take(NEAREST).map(|(_, known)| known).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_few() {
        let known = ["masstree-fig8", "masstree-fig13", "scan-100", "lookup", "a", "b", "c"];
        let near = nearest("masstree-fig9", &known);
        assert!(near.starts_with("masstree-fig8, masstree-fig13, "), "{near}");
        assert_eq!(near.split(", ").count(), NEAREST);
        assert_eq!(nearest("x", &["a"]), "a");
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["masstree-fig8", "masstree-fig13", "scan-100", "lookup"];
        for (name, meant) in [
            ("masstree-fig-13", "masstree-fig13"),
            ("masstree_fig8", "masstree-fig8"),
            ("scan100", "scan-100"),
            ("lokup", "lookup"),
        ] {
            assert_eq!(did_you_mean(name, &known), format!("; did you mean '{meant}'?"));
        }
        for name in ["", "xyzzy", "7"] {
            assert_eq!(did_you_mean(name, &known), "");
        }
        assert_eq!(did_you_mean("lookup", &[]), "");
    }
}
